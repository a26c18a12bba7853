// Package contracttest checks answers against the OpenAPI document, for tests and cmd/torture.
package contracttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pulsecast/pulsecast/app/contract"
)

func init() {
	openapi3filter.RegisterBodyDecoder("application/jsonl", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/vnd.apache.parquet", openapi3filter.FileBodyDecoder)
}

// strict is a copy of the document that allows no fields that the document doesn't name.
var strict = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := contract.Load()
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	for name, schema := range doc.Components.Schemas {
		if name != "PublicStats" { // Stats extends it with further fields
			closeObjects(schema)
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, response := range op.Responses.Map() {
				for _, media := range response.Value.Content {
					closeObjects(media.Schema)
				}
			}
		}
	}
	return doc, nil
})

// router finds the operation of a request.
var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := strict()
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// address is the address of the document in errors.
const address = "https://pulsecast.example/openapi.json"

// schemas compiles the schemas of JSON answers, each once. openapi3filter would compile a schema again for each
// answer, which takes longer than most requests.
var schemas = sync.OnceValues(func() (func(pointer ...string) (*jsonschema.Schema, error), error) {
	doc, err := strict()
	if err != nil {
		return nil, err
	}
	content, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020) // OpenAPI 3.1
	compiler.AssertFormat()
	if err := compiler.AddResource(address, resource); err != nil {
		return nil, err
	}
	var compiling sync.Mutex
	return func(pointer ...string) (*jsonschema.Schema, error) {
		location := address + "#"
		for _, token := range pointer {
			location += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
		}
		compiling.Lock()
		defer compiling.Unlock()
		return compiler.Compile(location) // which keeps what it has compiled
	}, nil
})

// schemaOf returns the schema of the body of an answer. It returns nil if the body isn't JSON or the document doesn't
// allow the answer.
func schemaOf(route *routers.Route, res *http.Response) (*jsonschema.Schema, error) {
	status := strconv.Itoa(res.StatusCode)
	response := route.Operation.Responses.Value(status)
	if response == nil || response.Value == nil {
		return nil, nil
	}
	media := response.Value.Content.Get(res.Header.Get("Content-Type"))
	for name, m := range response.Value.Content {
		if m != media || !strings.HasPrefix(name, "application/") || !strings.HasSuffix(name, "json") || m.Schema == nil {
			continue
		}
		compiled, err := schemas()
		if err != nil {
			return nil, err
		}
		at := []string{"paths", route.Path, strings.ToLower(route.Method), "responses", status}
		if response.Ref != "" {
			at = strings.Split(strings.TrimPrefix(response.Ref, "#/"), "/")
		}
		return compiled(append(at, "content", name, "schema")...)
	}
	return nil, nil
}

// checkLimit returns an error if an answer tells a rate limit and the document doesn't say that it does.
func checkLimit(route *routers.Route, res *http.Response) error {
	const name = "RateLimit"
	response := route.Operation.Responses.Value(strconv.Itoa(res.StatusCode))
	if response != nil && res.Header.Get(name) != "" && response.Value.Headers[name] == nil {
		return fmt.Errorf("the answer has the header %s, which isn't in the document", name)
	}
	return nil
}

// checkBody returns an error unless a body is JSON that follows a schema.
func checkBody(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// closeObjects forbids fields that a schema doesn't name.
func closeObjects(s *openapi3.SchemaRef) {
	if s == nil || s.Value == nil || s.Ref != "" {
		return
	}
	v := s.Value
	if len(v.Properties) > 0 && len(v.AllOf) == 0 && v.AdditionalProperties.Has == nil {
		no := false
		v.AdditionalProperties.Has = &no
	}
	for _, p := range v.Properties {
		closeObjects(p)
	}
	closeObjects(v.Items)
	for _, part := range append(append(openapi3.SchemaRefs{}, v.OneOf...), v.AnyOf...) {
		closeObjects(part)
	}
}

// Check returns an error unless an answer follows the document. A path below /api that the document
// doesn't have must be refused. Other paths may answer anything.
func Check(req *http.Request, res *http.Response, body []byte) error {
	router, err := router()
	if err != nil {
		return err
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		if strings.HasPrefix(req.URL.Path, "/api/") && res.StatusCode < 400 {
			return fmt.Errorf("%s %s answers %d, but which isn't in the document", req.Method, req.URL.Path, res.StatusCode)
		}
		return nil
	}
	schema, err := schemaOf(route, res)
	if err != nil {
		return err
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{ExcludeResponseBody: schema != nil},
	}
	err = openapi3filter.ValidateResponse(context.Background(), in)
	if err == nil {
		err = checkLimit(route, res)
	}
	if err == nil && schema != nil && req.Method != http.MethodHead {
		err = checkBody(schema, body)
	}
	if err != nil {
		return fmt.Errorf("%s %s %d: %w\n%.2000s", req.Method, req.URL.Path, res.StatusCode, err, body)
	}
	return nil
}

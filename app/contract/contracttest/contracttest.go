// Package contracttest checks answers against the OpenAPI document, for tests and cmd/torture.
package contracttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/pulsecast/pulsecast/app/contract"
)

func init() {
	openapi3filter.RegisterBodyDecoder("application/jsonl", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/vnd.apache.parquet", openapi3filter.FileBodyDecoder)
}

// router finds the operation of a request. Its copy of the document allows no fields that the
// document doesn't name.
var router = sync.OnceValues(func() (routers.Router, error) {
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
	return gorillamux.NewRouter(doc)
})

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
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		return fmt.Errorf("%s %s %d: %w\n%.2000s", req.Method, req.URL.Path, res.StatusCode, err, body)
	}
	return nil
}

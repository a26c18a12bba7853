package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/valyala/fasthttp"
)

// texts are the resources for people and models to read, by the last part of their address.
var texts = map[string]string{"skill": "Instructions for agents", "quickstart": "First steps as commands to paste"}

// record is a kind of record that can be read by its id as a resource. Its content is a tool's answer,
// which differs from the API's because text of others is in a separate field.
type record struct {
	name, title, prefix, tool string
	kind                      kind // of its id
}

// records have a URI scheme that no client tries to fetch directly.
var records = []record{
	{"market", "One market with criteria, prices, consensus and predictions", "pulsecast://markets/", "getMarket", marketID},
	{"prediction", "One prediction with its thesis, evidence and scores", "pulsecast://predictions/", "getPrediction", noKind},
}

func (r record) template() string { return r.prefix + "{id}" }

// addResources adds the texts and the templates of records to a server.
func (s *Server) addResources(server *sdk.Server, tools map[string]*tool) {
	for name, title := range texts {
		server.AddResource(&sdk.Resource{
			URI: s.config.BaseURL + "/api/" + name, Name: name, Title: title, MIMEType: "text/markdown",
		}, s.readText("/api/"+name))
	}
	for _, r := range records {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: r.template(), Name: r.name, Title: r.title, MIMEType: fiber.MIMEApplicationJSON,
			Description: "The same as the answer of the tool " + r.tool + ". " + byOthers,
		}, s.readRecord(r, tools[r.tool]))
	}
}

// readText serves a text of the API as a resource.
func (s *Server) readText(path string) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		request := new(fasthttp.Request)
		request.SetRequestURI(path)
		response := s.ask(ctx, request)
		if response.StatusCode() != fiber.StatusOK {
			return nil, fmt.Errorf("the resource cannot be read now: %s", response.Body())
		}
		return contents(r.Params.URI, "text/markdown", string(response.Body())), nil
	}
}

// readRecord returns the handler that serves a tool's answer about an id as a resource.
func (s *Server) readRecord(kind record, t *tool) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, kind.prefix))
		if err != nil {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		arguments, err := json.Marshal(map[string]string{"id": id})
		if err != nil {
			return nil, fmt.Errorf("read a %s: %w", kind.name, err)
		}
		text, _, err := s.call(ctx, t, arguments)
		switch refused, ok := errors.AsType[*refusedError](err); {
		case ok && (refused.status == 0 || refused.status == fiber.StatusNotFound):
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		case err != nil:
			return nil, fmt.Errorf("the resource cannot be read now: %w", err)
		}
		read := contents(r.Params.URI, fiber.MIMEApplicationJSON, text)
		read.CacheScope = "private" // an author sees more of its own records
		return read, nil
	}
}

// refuseStrangeURIs refuses a URI with characters that the SDK can't repeat in its error. Otherwise the
// client would get an empty answer.
func refuseStrangeURIs(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if read, ok := r.(*sdk.ReadResourceRequest); ok && read.Params != nil && !json.Valid([]byte(strconv.Quote(read.Params.URI))) {
			return nil, invalidParams("resource not found: uri has characters that no URI has")
		}
		return next(ctx, method, r)
	}
}

func contents(uri, mime, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: text}}}
}

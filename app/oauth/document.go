package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/version"
)

const (
	fetchTimeout = 5 * time.Second
	// maxDocument is the longest metadata document that is read, in bytes.
	maxDocument = 32 << 10
	// keptDocuments is how many documents a node keeps. Each is kept for documentFresh. A failure to read
	// one is kept for documentRetry.
	keptDocuments = 1000
	documentFresh = 15 * time.Minute
	documentRetry = 30 * time.Second
)

// document is a client read from its metadata document, or the reason why it could not be read.
type document struct {
	client  *Client
	refusal *problem.Error
}

func (d document) failed() bool { return d.refusal != nil }

// isDocument reports whether a client id is the address of a metadata document.
func isDocument(id string) bool { return strings.HasPrefix(id, "https://") }

// publicOnly returns a transport that connects only to public addresses. It checks the address after
// resolving the name, so a name can't lead to a private address. It uses no proxy.
func publicOnly() http.RoundTripper {
	dialer := &net.Dialer{Timeout: fetchTimeout, Control: ssrf.New(ssrf.WithPorts(443)).Safe}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: fetchTimeout, ResponseHeaderTimeout: fetchTimeout,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10, ForceAttemptHTTP2: true,
	}
}

// Admit is called before a metadata document is read from its host. Its error refuses the request. After the reading,
// leave is called.
type Admit = func() (leave func(), err error)

// readDocument returns the client of a metadata document, from memory if it was read recently. The error is
// a *problem.Error for a page, or the error of admit.
func (s *Server) readDocument(ctx context.Context, id string, admit Admit) (*Client, error) {
	d, err := s.documents.Get(ctx, id, func(ctx context.Context) (document, time.Time, error) {
		leave, err := admit()
		if err != nil {
			return document{}, time.Time{}, memo.Private(err)
		}
		defer leave()
		c, err := s.fetch(ctx, id)
		if err != nil {
			s.Log.Info("the metadata document of a client was not read", "client", id, "error", err)
			return document{refusal: unreadable(err)}, s.Now().Add(documentRetry), nil
		}
		return document{client: c}, s.Now().Add(documentFresh), nil
	})
	if memo.IsPrivate(err) { // not admitted
		return nil, errors.Unwrap(err)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if d.refusal != nil {
		refusal := *d.refusal
		return nil, &refusal
	}
	return d.client, nil
}

// unreadable returns the refusal of an unusable document. Details of network errors only go to the log.
func unreadable(cause error) *problem.Error {
	detail := "The document could not be read from that address."
	if e, ok := errors.AsType[*Error](cause); ok {
		detail = e.Description
	}
	return problem.New(problem.CodeInvalidAuthorization,
		"The app's client_id is the address of its metadata document. "+detail).With(cause)
}

// fetch reads a metadata document (OAuth Client ID Metadata Document, sections 3 and 4).
func (s *Server) fetch(ctx context.Context, id string) (*Client, error) {
	if wrong := checkDocumentID(id); wrong != "" {
		return nil, refuse("invalid_client", "The address %s.", wrong)
	}
	body, err := s.get(ctx, id)
	if err != nil {
		return nil, err
	}
	var m metadata
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, refuse("invalid_client", "The content at this address is not a metadata document.")
	}
	switch {
	case m.ClientID != id:
		return nil, refuse("invalid_client", "The document's client_id is not its own address.")
	case m.AuthMethod != "" && m.AuthMethod != "none":
		return nil, refuse("invalid_client", "The document's token_endpoint_auth_method must be none.")
	}
	c, refusal := m.client(id)
	if refusal != nil {
		return nil, refusal
	}
	return c, nil
}

// get returns the body of an address that answers directly with status 200 and JSON.
func (s *Server) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "pulsecast/"+version.Build())
	res, err := s.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, refuse("invalid_client", "The address answered with status %d.", res.StatusCode)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return nil, refuse("invalid_client", "The address doesn't answer with JSON.")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		return nil, refuse("invalid_client", "The document is longer than %d bytes.", maxDocument)
	}
	return body, err
}

// checkDocumentID returns the complaint about the address of a metadata document, or "" if it is valid.
func checkDocumentID(id string) string {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxClientIDSize || u.Scheme != "https" || u.Host == "":
		return "is not an https address"
	case !isASCII(u.Host):
		return notASCII
	case u.Path == "" || u.Path == "/":
		return "has no path"
	case strings.Contains(id, "#") || u.User != nil:
		return "has a fragment or a user name"
	case strings.Contains(u.Path, "/./") || strings.Contains(u.Path, "/../") ||
		strings.HasSuffix(u.Path, "/.") || strings.HasSuffix(u.Path, "/.."):
		return "has a path with dots"
	}
	return ""
}

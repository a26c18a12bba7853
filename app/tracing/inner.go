package tracing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// maxText is the maximum number of bytes recorded of a query's text.
const maxText = 5000

// queries is a query hook for Bun. Bun's own hook (extra/bunotel) has no release for this version
// of Bun. It also records error texts, which quote what users sent.
type queries struct{ tracer trace.Tracer }

// BeforeQuery starts a span if the query belongs to a trace. Background queries, such as the
// rechecks and lease queries of every second, have no trace. BeforeQuery returns ctx unchanged,
// because Bun passes the context of BEGIN to all queries of the transaction, and their spans are
// not children of BEGIN's.
func (q queries) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if trace.SpanFromContext(ctx).IsRecording() {
		_, span := q.tracer.Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
		e.Stash = map[any]any{querySpan{}: span}
	}
	return ctx
}

type querySpan struct{}

// AfterQuery ends the span. It records the query without its arguments.
func (q queries) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	span, ok := e.Stash[querySpan{}].(trace.Span)
	if !ok {
		return
	}
	defer span.End()
	text := template(e)
	operation, table := subject(e, text)
	name, attrs := operation, []attribute.KeyValue{
		system(e.DB), semconv.DBOperationName(operation), semconv.DBQueryText(text),
	}
	if table != "" {
		name += " " + table
		attrs = append(attrs, semconv.DBCollectionName(table))
	}
	span.SetName(name)
	span.SetAttributes(attrs...)
	if e.Err != nil && !errors.Is(e.Err, sql.ErrNoRows) && !errors.Is(e.Err, sql.ErrTxDone) {
		fail(span, e.Err)
	}
}

// change matches the first change in a hand-written query, after any rows that the query starts
// with.
var change = regexp.MustCompile(`\b(?:(INSERT) INTO|(DELETE) FROM) (\w+)|\b(UPDATE) (\w+) (?:AS \w+ )?SET\b`)

// subject returns the operation of a query and its table, "" if the table is unknown.
func subject(e *bun.QueryEvent, text string) (operation, table string) {
	if _, written := e.IQuery.(*bun.RawQuery); written {
		if all := change.FindAllStringSubmatch(text, -1); len(all) > 0 {
			m := all[0]
			if strings.HasPrefix(text, "WITH w") { // of database.ExecWrites, whose first write stands last
				m = all[len(all)-1]
			}
			return m[1] + m[2] + m[4], m[3] + m[5]
		}
	}
	if e.IQuery != nil {
		table = e.IQuery.GetTableName()
	}
	return strings.ToUpper(e.Operation()), table
}

// template returns a query with a question mark for each argument.
func template(e *bun.QueryEvent) string {
	text := e.QueryTemplate
	if e.IQuery != nil {
		written, err := e.IQuery.AppendQuery(schema.NewNopQueryGen(), nil)
		if err != nil {
			return ""
		}
		text = string(written)
	}
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

func system(db *bun.DB) attribute.KeyValue {
	if db.Dialect().Name() == dialect.PG {
		return semconv.DBSystemNamePostgreSQL
	}
	return semconv.DBSystemNameSQLite
}

// client records calls of sources by host and result.
type client struct {
	tracer trace.Tracer
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c client) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return c.next.RoundTrip(r)
	}
	ctx, span := c.tracer.Start(r.Context(), r.Method+" "+r.URL.Hostname(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.ServerAddress(r.URL.Hostname()), semconv.URLPath(r.URL.Path)))
	defer span.End()
	resp, err := c.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		fail(span, err)
		return nil, err
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	if resp.StatusCode >= 400 {
		span.SetStatus(codes.Error, "")
	}
	return resp, nil
}

// fail marks a span as failed, with the type of the error. The error's text is only logged, because
// it may quote what a user sent.
func fail(span trace.Span, err error) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(kindOf(err)))
}

// kindOf returns the type of the innermost error.
func kindOf(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

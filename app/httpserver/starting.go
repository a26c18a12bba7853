package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// AnswerStarting answers every request on ln with 503 unavailable while the service can't start
// because it waits for its database. stop ends these answers and leaves ln open. Without
// AnswerStarting, callers would wait in the queue of ln without an answer.
func AnswerStarting(ln *net.TCPListener, cfg *config.Config) (stop func() error) {
	p := problem.Unavailable("The service is starting and waits for its database. Send the same request again.", time.Second)
	body, err := json.Marshal(problemBody{
		Type: p.Type(cfg.BaseURL), Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code, Errors: []problem.Field{},
		RetryAfter: p.WaitSeconds(),
	})
	if err != nil {
		panic(err) // strings and ints always encode
	}
	server := &http.Server{ReadTimeout: time.Second, WriteTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", problemType)
		w.Header().Set("Retry-After", strconv.Itoa(p.WaitSeconds()))
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(p.Status)
		w.Write(body)
	})}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan error, 1)
	go func() {
		if cfg.TLSCert != "" {
			ended <- server.ServeTLS(lent{ln}, cfg.TLSCert, cfg.TLSKey)
		} else {
			ended <- server.Serve(lent{ln})
		}
	}()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return errors.Join(err, ln.SetDeadline(time.Time{}))
	}
}

// lent is a listener whose Close ends a waiting Accept and leaves the listener open.
type lent struct{ *net.TCPListener }

// Close implements net.Listener.
func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

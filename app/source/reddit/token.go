package reddit

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

// tokens caches the application's access token. Only one caller at a time requests a new one; the others wait
// for it.
type tokens struct {
	shared
	url, id, secret string

	turn    chan struct{} // holds one element while it is free
	value   string
	expires time.Time
}

func newTokens(s shared, address, id, secret string) *tokens {
	t := &tokens{shared: s, url: address, id: id, secret: secret, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// get returns the current token. It requests a new one if the token has expired or equals refused.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return "", &source.Error{Reason: reasonOf(ctx), Err: context.Cause(ctx)}
	}
	if t.value != "" && t.value != refused && t.now().Before(t.expires) {
		return t.value, nil
	}
	t.value = ""
	return t.renew(ctx)
}

func (t *tokens) renew(ctx context.Context) (string, error) {
	var answer struct {
		Token   lenientjson.Text   `json:"access_token"`
		Expires lenientjson.Number `json:"expires_in"`
		Error   lenientjson.Text   `json:"error"`
	}
	credentials := base64.StdEncoding.EncodeToString([]byte(t.id + ":" + t.secret))
	header := http.Header{}
	header.Set("Authorization", "Basic "+credentials)
	header.Set("User-Agent", t.agent)
	// The response is secret even if it is invalid.
	_, err := t.fetch.JSON(source.Private(ctx), fetch.Request{
		URL: t.url, Header: header, Form: url.Values{"grant_type": {"client_credentials"}},
	}, &answer)
	if err != nil {
		return "", err
	}
	if answer.Token == "" {
		return "", &source.Error{Reason: "unauthorized", Err: errors.New("reddit: no token: " + string(answer.Error))}
	}
	t.value, t.expires = string(answer.Token), t.now().Add(lifetime(answer.Expires))
	return t.value, nil
}

// lifetime returns how long a token is used: the time that Reddit grants, minus a minute or a tenth, whichever
// is less, so that it doesn't expire during a request. The default is ten minutes.
func lifetime(granted lenientjson.Number) time.Duration {
	seconds := 600.0
	if granted.Known && granted.Value > 0 {
		seconds = min(granted.Value, 86400)
	}
	d := time.Duration(seconds * float64(time.Second))
	return d - min(time.Minute, d/10)
}

func reasonOf(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "timeout"
	}
	return "cancelled"
}

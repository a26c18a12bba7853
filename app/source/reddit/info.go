package reddit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

var _ source.PostSource = (*OAuth)(nil)

// Posts reads /api/info. A post counts as deleted if its author has deleted the post or the account, or if
// Reddit or a moderator has removed it.
func (c *OAuth) Posts(ctx context.Context, ids []string) (there, deleted []string, err error) {
	if wait := c.blocked(); wait > 0 {
		return nil, nil, exhausted(wait)
	}
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = "t3_" + id
	}
	resp, err := c.ask(ctx, "/api/info?raw_json=1&id="+url.QueryEscape(strings.Join(names, ",")))
	if err != nil {
		return nil, nil, err
	}
	c.heed(resp.Header)
	var listing wireListing
	if err := json.Unmarshal(resp.Body, &listing); err != nil || listing.Data == nil || listing.Data.Children == nil {
		return nil, nil, &source.Error{Reason: "parse", Err: errors.New("reddit: the response isn't a listing")}
	}
	for _, raw := range *listing.Data.Children {
		var child struct {
			Data struct {
				ID      lenientjson.Text `json:"id"`
				Author  lenientjson.Text `json:"author"`
				Removed lenientjson.Text `json:"removed_by_category"`
			} `json:"data"`
		}
		if json.Unmarshal(raw, &child) != nil || child.Data.ID == "" {
			continue
		}
		if d := child.Data; d.Author == "[deleted]" || d.Removed != "" {
			deleted = append(deleted, string(d.ID))
		} else {
			there = append(there, string(d.ID))
		}
	}
	return there, deleted, nil
}

// ask makes a request to the API. If the token is refused, it tries once more with a new one.
func (c *OAuth) ask(ctx context.Context, path string) (*fetch.Response, error) {
	refused := ""
	for {
		token, err := c.tokens.get(ctx, refused)
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		header.Set("Authorization", "Bearer "+token)
		header.Set("User-Agent", c.agent)
		resp, err := c.fetch.Do(ctx, fetch.Request{URL: c.api + path, Header: header, Format: fetch.JSON})
		if err == nil || source.Reason(err) != "unauthorized" || refused != "" {
			return resp, err
		}
		refused = token
	}
}

package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
)

// Format is a format of the export.
type Format string

// The formats of the export.
const (
	JSONLines Format = "jsonl"
	CSV       Format = "csv"
)

// Export writes all data of the agent to out and calls each after each prediction. The service sends the
// data in parts, which Export joins into one file. A CSV file gets one header, and a JSON Lines file gets
// one line of type end. An incomplete export is an error.
func (c *Client) Export(ctx context.Context, format Format, out io.Writer, each func()) error {
	e := &export{out: bufio.NewWriter(out), each: each, csv: format == CSV}
	query := url.Values{"format": {string(format)}}
	for {
		next, err := c.exportPart(ctx, query, e)
		if err != nil {
			return err
		}
		if next == "" {
			return e.finish()
		}
		query.Set("cursor", next)
	}
}

var nextFile = regexp.MustCompile(`<([^>]+)>;\s*rel="next"`)

// exportPart writes one part and returns the cursor of the next one.
func (c *Client) exportPart(ctx context.Context, query url.Values, e *export) (next string, err error) {
	res, err := repeat(ctx, true, func() (*http.Response, error) {
		req, err := c.request(ctx, Request{Path: "/api/agents/me/export", Query: query}, "*/*")
		if err != nil {
			return nil, err
		}
		return c.answer(req)
	})
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if err := e.part(res.Body); err != nil {
		return "", err
	}
	if link := nextFile.FindStringSubmatch(res.Header.Get("Link")); link != nil {
		address, err := url.Parse(link[1])
		if err != nil {
			return "", fmt.Errorf("the export has no valid address for its next part: %w", err)
		}
		return address.Query().Get("cursor"), nil
	}
	return "", nil
}

// export joins parts into one file.
type export struct {
	out   *bufio.Writer
	each  func()
	csv   bool
	parts int
	text  bool   // inside a quoted CSV text, which may have line breaks
	end   []byte // the closing line of the last part
}

// part copies the lines of one part. From later parts it leaves out the header of CSV, or the agent and its
// keys of JSON Lines. It stores the line of type end, which finish writes.
func (e *export) part(body io.Reader) error {
	e.parts++
	e.end = nil
	in := bufio.NewReaderSize(body, 1<<20)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := e.line(line, first); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the export was cut short: %w", err)
		}
	}
	if !e.csv && e.end == nil {
		return errors.New("the export was cut short: its last line is missing; begin again")
	}
	return nil
}

// line copies one line unless it is left out, and counts the prediction that it ends. first says that the line
// is the first of its part.
func (e *export) line(line []byte, first bool) error {
	var skip, counts bool
	if e.csv {
		skip, counts = first && e.parts > 1, !first && e.endsRecord(line)
	} else {
		skip, counts = e.object(line)
	}
	if skip {
		return nil
	}
	if _, err := e.out.Write(line); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if counts {
		e.each()
	}
	return nil
}

// object reports whether a line of JSON Lines is left out, and whether it is a prediction.
func (e *export) object(line []byte) (skip, prediction bool) {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &head) != nil {
		return false, false
	}
	if head.Type == "end" {
		e.end = bytes.Clone(line)
		return true, false
	}
	return e.parts > 1 && (head.Type == "agent" || head.Type == "key"), head.Type == "prediction"
}

// endsRecord reports whether a line of CSV ends a record.
func (e *export) endsRecord(line []byte) bool {
	if bytes.Count(line, []byte{'"'})%2 == 1 {
		e.text = !e.text
	}
	return !e.text
}

func (e *export) finish() error {
	if _, err := e.out.Write(e.end); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if err := e.out.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

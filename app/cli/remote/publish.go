package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

type publishCommand struct {
	connection
	File       value        `arg:"" optional:"" help:"File with one prediction as JSON, or several as a list or as {\"predictions\": […]}; - for the standard input."`
	Market     value        `placeholder:"ID" help:"Market of the prediction, needed for the ranking. It also gives the title and the horizon."`
	Outcome    value        `help:"Outcome of the market; required if the market has no outcome named Yes; default: the outcome named Yes."`
	Confidence *probability `placeholder:"P" help:"Probability from 0 to 1 that the outcome happens: 0.72, not 72. It is rounded to four decimals."`
	Thesis     value        `help:"The claim and the reasons; - reads them from the standard input."`
	Title      value        `help:"The question."`
	Horizon    value        `placeholder:"TIME" help:"When the answer is expected, such as 2027-01-31T00:00:00Z."`
	Category   value        `help:"Category of the prediction, one word."`
	Model      value        `help:"Model that made the prediction; default: the agent's."`
	Reveal     value        `help:"When others see the prediction: now, baseline or close."`
	Evidence   []value      `sep:"none" placeholder:"TITLE=URL" help:"A link that supports the prediction; can be repeated."`
	Key        value        `name:"idempotency-key" placeholder:"TEXT" help:"Key by which the service recognises a repeated request; default: a new one."`
	DryRun     bool         `help:"Check the prediction without publishing it."`
	Yes        bool         `short:"y" help:"Publish without asking; needed without a terminal."`
}

// probability is a number of the command line. The service checks its range.
type probability float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *probability) UnmarshalText(text []byte) error {
	bare, percent := strings.CutSuffix(string(text), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(bare), 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("must be a number from 0 to 1, such as 0.72, not %q", text)
	case percent:
		return fmt.Errorf("must be a number from 0 to 1: for %g %% send %g", n, math.Round(n*1e10)/1e12)
	}
	*p = probability(n)
	return nil
}

// Run checks the prediction, asks for confirmation, and publishes it.
func (p *publishCommand) Run(ctx context.Context, t *Terminal) error {
	if !p.DryRun && !p.Yes && (!t.Asks || p.File == "-" || p.Thesis == "-") {
		return usage("a publication can't be taken back, and there is no terminal to ask: add --yes, or --dry-run to only check it")
	}
	call, err := p.openAsAgent(t)
	if err != nil {
		return err
	}
	body, batch, err := p.body(t.In)
	if err != nil {
		return err
	}
	if !p.DryRun && !p.Yes {
		if agreed, err := p.ask(ctx, t, call, body, batch); err != nil || !agreed {
			return err
		}
	}
	_, err = p.send(ctx, t, call, body, batch)
	return err
}

// ask shows the prediction and asks a person whether to publish it.
func (p *publishCommand) ask(ctx context.Context, t *Terminal, call *client.Client, body []byte, batch bool) (bool, error) {
	shown := *t
	shown.Out = t.Err // the question isn't a result
	check := *p
	check.JSON, check.DryRun = false, true
	handle, err := check.send(ctx, &shown, call, body, batch)
	question := "This was a dry run. Publish it"
	if items, partly := errors.AsType[*itemsRefused](err); partly && items.refused < items.all {
		question = fmt.Sprintf("This was a dry run, in which %v. Publish the others", items)
	} else if err != nil {
		return false, p.refused(t, err)
	}
	agreed, err := t.confirm(ctx, question+" for good as "+plaintext.PrintableLine(handle)+"?")
	if err == nil && !agreed {
		err = errNotConfirmed
	}
	return agreed, err
}

// send publishes, or only checks, and prints the service's answer. It returns the handle of the agent whose key it sent.
func (p *publishCommand) send(
	ctx context.Context, t *Terminal, call *client.Client, body []byte, batch bool,
) (handle string, err error) {
	r := client.Request{Method: http.MethodPost, Path: "/api/predictions", Body: body, IdempotencyKey: string(p.Key)}
	if batch {
		r.Path = "/api/predictions/batch"
	}
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = client.NewIdempotencyKey()
	}
	if p.DryRun {
		r.Query = url.Values{"dryRun": {"true"}}
	}
	if batch {
		return p.sendBatch(ctx, t, call, r)
	}
	err = show(ctx, &p.connection, t, call, r, func(done client.Published) error {
		handle = done.Prediction.Agent.Handle
		return t.printPublished(done, p.DryRun)
	})
	return handle, err
}

func (t *Terminal) printPublished(done client.Published, dryRun bool) error {
	if _, err := fmt.Fprintln(t.Out, plaintext.PrintableLine(done.ReadAs)); err != nil {
		return err
	}
	if err := t.printNotes("note", done.Warnings); err != nil {
		return err
	}
	if dryRun {
		return nil
	}
	_, err := fmt.Fprintln(t.Out, plaintext.PrintableLine(done.Prediction.URL))
	return err
}

func (t *Terminal) printNotes(what string, notes []string) error {
	for _, note := range notes {
		if _, err := fmt.Fprintf(t.Out, "%s: %s\n", what, plaintext.PrintableLine(note)); err != nil {
			return err
		}
	}
	return nil
}

// sendBatch is send for a batch. It fails if an item was refused. The other items are published.
func (p *publishCommand) sendBatch(ctx context.Context, t *Terminal, call *client.Client, r client.Request) (handle string, err error) {
	var done client.PublishedBatch
	body, err := call.Do(ctx, r, &done)
	if err != nil {
		return "", p.refused(t, err)
	}
	if p.JSON {
		err = t.writeJSON(body)
	} else {
		err = t.printBatch(done, p.DryRun)
	}
	if err != nil {
		return "", err
	}
	refused := 0
	for _, one := range done.Results {
		if one.Error != nil {
			refused++
		}
		if one.Prediction != nil {
			handle = one.Prediction.Agent.Handle
		}
	}
	if refused > 0 {
		return handle, &itemsRefused{refused, len(done.Results)}
	}
	return handle, nil
}

// printBatch prints a line for each item, and then the notes. The pages of a dry run don't exist.
func (t *Terminal) printBatch(done client.PublishedBatch, dryRun bool) error {
	columns := []column{{name: "item", numbers: true}, {name: "status", numbers: true}, {name: "answer", wide: true}}
	if !dryRun {
		columns = append(columns, column{name: "page", wide: true})
	}
	rows := make([][]string, len(done.Results))
	for i, one := range done.Results {
		said, page := orEmpty(one.ReadAs), ""
		if one.Error != nil {
			said = one.Error.Detail
		}
		if one.Prediction != nil {
			page = one.Prediction.URL
		}
		rows[i] = []string{fmt.Sprint(i + 1), fmt.Sprint(one.Status), said, page}[:len(columns)]
	}
	if err := t.printTable(columns, rows); err != nil {
		return err
	}
	for i, one := range done.Results {
		if err := t.printNotes(fmt.Sprintf("note on item %d", i+1), one.Warnings); err != nil {
			return err
		}
	}
	return t.printNotes("note", done.Warnings)
}

// body returns the request body: the file as it is, or an object made from the flags.
func (p *publishCommand) body(in io.Reader) (body []byte, batch bool, err error) {
	if p.File == "" {
		body, err = p.fromFlags(in)
		return body, false, err
	}
	if p.Market+p.Outcome+p.Thesis+p.Title+p.Horizon+p.Category+p.Model+p.Reveal != "" || p.Confidence != nil || len(p.Evidence) > 0 {
		return nil, false, usage("a prediction comes from a file or from flags, not from both")
	}
	if p.File == "-" {
		body, err = io.ReadAll(in)
	} else {
		body, err = os.ReadFile(string(p.File))
	}
	if err != nil {
		return nil, false, err
	}
	return fromFile(body)
}

// fromFile reads one prediction or several. A list becomes the object that the service takes. Any other
// JSON is sent as it is, so that the service names its mistakes.
func fromFile(content []byte) (body []byte, batch bool, err error) {
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) > 0 && trimmed[0] == '[' {
		return append(append([]byte(`{"predictions":`), trimmed...), '}'), true, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &fields); err != nil {
		return nil, false, usage("this is not a prediction as JSON: %v", err)
	}
	_, batch = fields["predictions"]
	return trimmed, batch, nil
}

func (p *publishCommand) fromFlags(in io.Reader) ([]byte, error) {
	if p.Thesis == "" || p.Confidence == nil {
		return nil, usage("give the prediction as --market ID --confidence P --thesis TEXT, or name a file")
	}
	if p.Thesis == "-" {
		typed, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		p.Thesis = value(strings.TrimSpace(string(typed)))
	}
	fields := map[string]any{"thesis": p.Thesis, "confidence": math.Round(float64(*p.Confidence)*1e4) / 1e4}
	for name, given := range map[string]value{
		"marketId": p.Market, "outcome": p.Outcome, "title": p.Title, "horizonAt": p.Horizon, "category": p.Category,
		"model": p.Model, "reveal": p.Reveal,
	} {
		if given != "" {
			fields[name] = given
		}
	}
	evidence, err := p.evidence()
	if err != nil {
		return nil, err
	}
	if len(evidence) > 0 {
		fields["evidence"] = evidence
	}
	return json.Marshal(fields)
}

func (p *publishCommand) evidence() (links []map[string]string, err error) {
	for _, one := range p.Evidence {
		title, address, found := strings.Cut(string(one), "=http")
		if !found {
			return nil, usage("--evidence must be TITLE=URL with an http(s) address, not %q", one)
		}
		links = append(links, map[string]string{"title": title, "url": "http" + address})
	}
	return links, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

const pocketbasePackage = "github.com/pocketbase/pocketbase/examples/base"

// pocketbase compares a list of 24 records from PocketBase with ours.
func (b *bench) pocketbase(ctx context.Context) ([]row, error) {
	n, _, err := b.onPostgres(ctx, "pocketbase")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	predictions := n.want("/api/predictions", `"predictions":[{"id"`)
	if err := n.warm(ctx, predictions, n.signals()); err != nil {
		return nil, err
	}
	other, err := b.startPocketbase(ctx, predictions)
	if err != nil {
		return nil, err
	}
	defer other.Stop()
	theirs := want{address: other.Address, path: "/api/collections/predictions/records?perPage=24", contains: `"totalItems":24`}
	const list, signals, reference = "/api/predictions", "signal list", "PocketBase"
	all, err := b.compare(ctx, []contender{
		n.get(list, predictions), n.get(reference, theirs), n.get(signals, n.signals()),
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "24 records: `/api/predictions`", ours: all.rates(list), reference: all.rates(reference), target: atLeast(10)},
		{what: "24 records: the signal list", ours: all.rates(signals), reference: all.rates(reference), target: atLeast(10)},
	}, nil
}

// startPocketbase builds PocketBase, gives it one public collection and copies the 24
// predictions of our list into it.
func (b *bench) startPocketbase(ctx context.Context, ours want) (*run.Process, error) {
	program := filepath.Join(b.dir, "pocketbase")
	run.Progress("  building PocketBase")
	out, err := exec.CommandContext(ctx, "go", "build", "-modfile="+b.Modfile, "-o", program, pocketbasePackage).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build PocketBase: %w\n%s", err, run.LastLines(string(out), 5))
	}
	const email, password = "bench@example.org", "bench-bench-bench"
	data := "--dir=" + filepath.Join(b.dir, "pb_data")
	out, err = exec.CommandContext(ctx, program, "superuser", "upsert", email, password, data).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("PocketBase: %w\n%s", err, run.LastLines(string(out), 5))
	}
	address, err := run.FreeAddress()
	if err != nil {
		return nil, err
	}
	p, stdout, err := run.Start(ctx, b.dir, run.Command{Name: "pb", Program: program, Args: []string{"serve", "--http=" + address, data}})
	if err != nil {
		return nil, err
	}
	p.Address = address
	if err := p.UntilListening(ctx, stdout); err != nil {
		return nil, err
	}
	if err := fillPocketbase(ctx, address, email, password, ours); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func fillPocketbase(ctx context.Context, address, email, password string, ours want) error {
	var session struct{ Token string }
	err := post(ctx, "http://"+address+"/api/collections/_superusers/auth-with-password", "",
		map[string]any{"identity": email, "password": password}, &session)
	if err != nil {
		return err
	}
	fields := []map[string]any{
		{"name": "title", "type": "text"}, {"name": "thesis", "type": "text", "max": 10000}, {"name": "confidence", "type": "number"},
		{"name": "horizonAt", "type": "date"}, {"name": "category", "type": "text"}, {"name": "model", "type": "text"},
		{"name": "evidence", "type": "json"}, {"name": "agent", "type": "json"}, {"name": "market", "type": "json"}, {"name": "status", "type": "text"},
	}
	err = post(ctx, "http://"+address+"/api/collections", session.Token,
		map[string]any{"name": "predictions", "type": "base", "listRule": "", "fields": fields}, nil)
	if err != nil {
		return err
	}
	answer, err := ours.fetch(ctx)
	if err != nil {
		return err
	}
	var list struct{ Predictions []map[string]any }
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return err
	}
	for _, record := range list.Predictions {
		copied := map[string]any{}
		for _, f := range fields {
			name := f["name"].(string)
			copied[name] = record[name]
		}
		if err := post(ctx, "http://"+address+"/api/collections/predictions/records", session.Token, copied, nil); err != nil {
			return err
		}
	}
	return nil
}

// post sends JSON. It decodes the answer into answer, unless that is nil.
func post(ctx context.Context, url, token string, body, answer any) error {
	packed, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(packed))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("POST %s: status %d: %s", strings.TrimPrefix(url, "http://"), response.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

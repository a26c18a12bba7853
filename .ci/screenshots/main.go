// Command screenshots takes the screenshots of the README. It starts the demo of a built binary in
// an empty directory and captures its main pages in headless Chromium.
//
//	go run ./.ci/screenshots bin/pulsecast docs/screenshots
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: screenshots BINARY DIRECTORY")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, out string) (err error) {
	temp, err := os.MkdirTemp("", "pulsecast-screenshots")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	base, wait, err := startDemo(ctx, binary, temp)
	if err != nil {
		return err
	}
	defer func() { stop(); wait() }()
	pages, err := choosePages(ctx, base)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(temp, "profile")), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	if path, err := exec.LookPath("chromium"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	browser, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	tab, end := chromedp.NewContext(browser)
	defer end()
	for _, page := range pages {
		for _, size := range []struct{ width, height int64 }{{390, 844}, {1280, 900}} {
			for _, scheme := range []string{"light", "dark"} {
				name := fmt.Sprintf("%s-%d-%s.png", page.name, size.width, scheme)
				picture, err := photograph(tab, base+page.path, size.width, size.height, scheme)
				if err == nil {
					err = os.WriteFile(filepath.Join(out, name), picture, 0o644)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// startDemo runs the demo without any source that answers, so that the screenshots show only the
// sample world.
func startDemo(ctx context.Context, binary, dir string) (base string, wait func(), err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--demo")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = []string{"ADDR=127.0.0.1:0", "BASE_URL=https://pulsecast.example", "LOG_FORMAT=off"}
	for _, name := range []string{"POLYMARKET_URL", "POLYMARKET_CLOB_URL", "REDDIT_AUTH_URL", "REDDIT_API_URL", "REDDIT_RSS_URL", "GDELT_URL", "HACKERNEWS_URL"} {
		cmd.Env = append(cmd.Env, name+"=http://127.0.0.1:9")
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "Pulsecast listens on "); ok {
			return address, func() { io.Copy(io.Discard, stdout); cmd.Wait() }, nil
		}
	}
	return "", nil, errors.Join(errors.New("the demo ended before it was ready"), cmd.Wait())
}

type page struct{ name, path string }

// choosePages picks pages with much content: the leading agent, the best settled prediction, and
// the market of the newest prediction.
func choosePages(ctx context.Context, base string) ([]page, error) {
	var board struct {
		Leaderboard []struct {
			Rank  *int
			Agent struct{ Handle string }
		}
	}
	var best, newest struct {
		Predictions []struct {
			ID     string
			Market *struct{ ID string }
		}
	}
	for path, answer := range map[string]any{
		"/api/leaderboard?limit=5": &board, "/api/predictions?sort=edge&limit=5": &best, "/api/predictions?status=open&limit=20": &newest,
	} {
		if err := get(ctx, base+path, answer); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	leader, open := "", ""
	for _, row := range board.Leaderboard {
		if row.Rank != nil && *row.Rank == 1 {
			leader = row.Agent.Handle
		}
	}
	for _, p := range slices.Backward(newest.Predictions) {
		if p.Market != nil {
			open = p.Market.ID
		}
	}
	if leader == "" || open == "" || len(best.Predictions) == 0 {
		return nil, errors.New("the demo has no leader, no open market or no settled prediction")
	}
	return []page{
		{"home", "/"}, {"leaderboard", "/leaderboard"}, {"market", "/markets/" + open},
		{"agent", "/agents/" + leader}, {"prediction", "/predictions/" + best.Predictions[0].ID},
	}, nil
}

func get(ctx context.Context, address string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "pulsecast-screenshots/1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// photograph returns a screenshot of the first screen of a page.
func photograph(tab context.Context, address string, width, height int64, scheme string) ([]byte, error) {
	var options []chromedp.EmulateViewportOption
	if width < 500 {
		options = append(options, chromedp.EmulateMobile)
	}
	dress := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	if err := chromedp.Do(tab, chromedp.EmulateViewport(width, height, options...), dress, chromedp.Navigate(address)); err != nil {
		return nil, err
	}
	raw, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		return nil, err
	}
	return smaller(raw)
}

// smaller reduces an image to at most 256 colours, the most frequent ones. Pages have few colours,
// and the file has a third of the bytes.
func smaller(raw []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	bounds := picture.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	colours := make([]color.RGBA, 0, len(count))
	for c := range count {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var packed bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&packed, out)
	return packed.Bytes(), err
}

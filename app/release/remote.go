package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/version"
)

const (
	// maxFile is the maximum size of a file, and maxJSON of a JSON file or answer, in bytes.
	maxFile = 4 << 30
	maxJSON = 64 << 20
	// maxPages is the maximum number of pages of the list of days. A page has up to 100 days.
	maxPages = 1000
	// attempts is how often a request is sent if it fails temporarily. maxPause is the longest wait, in
	// seconds, that a server can ask for between two attempts.
	attempts = 8
	maxPause = 60
	// answerWithin is how long the server may take to start its answer.
	answerWithin = 30 * time.Second
)

// Remote is the release of another installation. It lists the days once. It downloads each file
// once and checks its SHA-256 against the listed one. It is safe for concurrent use.
type Remote struct {
	base   string
	client *http.Client
	dir    string
	days   []remoteDay

	mu    sync.Mutex
	files map[string]*download
}

type remoteDay struct {
	Day   string       `json:"day"`
	Files []remoteFile `json:"files"`
}

type remoteFile struct {
	Name      string `json:"name"`
	Bytes     *int64 `json:"bytes"`
	SHA256    string `json:"sha256"`
	Published bool   `json:"published"`
}

// download is a file that is downloaded once.
type download struct {
	once sync.Once
	err  error
}

var _ archive.Storage = (*Remote)(nil)

// OpenURL opens the release of the installation at an address, such as https://example.org. Close
// deletes the downloaded files.
func OpenURL(ctx context.Context, address string) (*Remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the http(s) address of an installation", address)
	}
	r := &Remote{
		base: strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(address, "/"), "/data"), "/api"), files: map[string]*download{},
		client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answerWithin}},
	}
	if r.dir, err = os.MkdirTemp("", "pulsecast-release-*"); err != nil {
		return nil, fmt.Errorf("make a folder for the release: %w", err)
	}
	if err := r.list(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close deletes the downloaded files.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return os.RemoveAll(r.dir)
}

// list reads all pages of the list of days, and sorts the days.
func (r *Remote) list(ctx context.Context) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		if len(seen) == maxPages {
			return fmt.Errorf("%s: the list of days has more than %d pages", r.base, maxPages)
		}
		var page struct {
			OK         bool        `json:"ok"`
			Days       []remoteDay `json:"days"`
			NextCursor *string     `json:"nextCursor"`
		}
		address := r.base + "/api/data?limit=100"
		if cursor != "" {
			address += "&cursor=" + url.QueryEscape(cursor)
		}
		content, err := r.get(ctx, address)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(content, &page); err != nil || !page.OK {
			return fmt.Errorf("%s: the answer is not a list of days; check that this is the address of a Pulsecast installation", address)
		}
		r.days = append(r.days, page.Days...)
		if page.NextCursor == nil {
			break
		}
		if cursor = *page.NextCursor; seen[cursor] {
			return fmt.Errorf("%s: the list of days repeats a cursor", address)
		}
		seen[cursor] = true
	}
	slices.SortFunc(r.days, func(a, b remoteDay) int { return strings.Compare(a.Day, b.Day) })
	return nil
}

// get reads a JSON answer.
func (r *Remote) get(ctx context.Context, address string) (content []byte, err error) {
	err = r.try(ctx, address, "", func(answer *http.Response) error {
		content, err = io.ReadAll(io.LimitReader(answer.Body, maxJSON+1))
		if err == nil && len(content) > maxJSON {
			return backoff.Permanent(fmt.Errorf("%s: the answer is larger than %d bytes", address, maxJSON))
		}
		return err
	})
	return content, err
}

// try sends a request until use succeeds, at most attempts times. It doesn't repeat a backoff.Permanent failure.
func (r *Remote) try(ctx context.Context, address, from string, use func(*http.Response) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 250 * time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, r.once(ctx, address, from, use) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(attempts), backoff.WithMaxElapsedTime(0)) // a download may take long
	return err
}

func (r *Remote) once(ctx context.Context, address, from string, use func(*http.Response) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	request.Header.Set("User-Agent", "pulsecast-data/"+version.Build())
	if from != "" {
		request.Header.Set("Range", from)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	refusal := fmt.Errorf("%s: answered %s", address, answer.Status)
	switch {
	case answer.StatusCode == http.StatusOK, answer.StatusCode == http.StatusPartialContent:
		return use(answer)
	case answer.StatusCode == http.StatusNotFound:
		return backoff.Permanent(fmt.Errorf("%s: %w", address, archive.ErrNotExist))
	case answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < 500:
		return backoff.Permanent(refusal)
	}
	if seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")); seconds > 0 {
		return fmt.Errorf("%w: %w", refusal, backoff.RetryAfter(min(seconds, maxPause)))
	}
	return refusal
}

// find returns the listed file with a name, or nil if it isn't listed or not published.
func (r *Remote) find(name string) *remoteFile {
	for i := range r.days {
		rest, ok := strings.CutPrefix(name, "days/"+r.days[i].Day+"/")
		if !ok {
			continue
		}
		for j := range r.days[i].Files {
			if f := &r.days[i].Files[j]; f.Name == rest && f.Published {
				return f
			}
		}
	}
	return nil
}

// List implements archive.Storage.
func (r *Remote) List(_ context.Context, prefix string) ([]archive.Info, error) {
	var list []archive.Info
	for _, d := range r.days {
		for _, f := range d.Files {
			if name := archive.Path(d.Day, f.Name); f.Published && strings.HasPrefix(name, prefix) {
				info := archive.Info{Name: name}
				if f.Bytes != nil {
					info.Size = *f.Bytes
				}
				list = append(list, info)
			}
		}
	}
	slices.SortFunc(list, func(a, b archive.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Open implements archive.Storage. The first Open of a file downloads it.
func (r *Remote) Open(ctx context.Context, name string) (archive.Object, error) {
	f := r.find(name)
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, archive.ErrNotExist)
	}
	r.mu.Lock()
	d := r.files[name]
	if d == nil {
		d = &download{}
		r.files[name] = d
	}
	r.mu.Unlock()
	d.once.Do(func() { d.err = r.fetch(ctx, name, f) })
	if d.err != nil {
		r.forget(name, d)
		return nil, d.err
	}
	return archive.OpenFolder(r.dir).Open(ctx, name)
}

// forget drops a failed download, so that the next Open tries again. It keeps the download that another caller
// of Open may have begun since.
func (r *Remote) forget(name string, failed *download) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files[name] == failed {
		delete(r.files, name)
	}
}

// fetch downloads a file and verifies it. It resumes an interrupted download.
func (r *Remote) fetch(ctx context.Context, name string, f *remoteFile) (err error) {
	limit := int64(maxJSON)
	if f.Bytes != nil {
		if limit = *f.Bytes; limit < 0 || limit > maxFile {
			return fmt.Errorf("%s: its listed size is %d bytes, but the limit is %d", name, limit, int64(maxFile))
		}
	}
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%q is not the name of a file", name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := r.download(ctx, name, file, limit); err != nil {
		return err
	}
	return verified(name, file, f)
}

func (r *Remote) download(ctx context.Context, name string, file *os.File, limit int64) error {
	day, rest, _ := strings.Cut(strings.TrimPrefix(name, "days/"), "/")
	address := r.base + "/api/data/days/" + day + "/" + rest
	for attempt, size := 0, int64(0); ; attempt++ {
		from := ""
		if size > 0 {
			from = fmt.Sprintf("bytes=%d-", size)
		}
		err := r.try(ctx, address, from, func(answer *http.Response) error {
			if from != "" && answer.StatusCode != http.StatusPartialContent {
				return backoff.Permanent(fmt.Errorf("%s: the server ignored the Range header", address))
			}
			n, err := io.Copy(file, io.LimitReader(answer.Body, limit-size+1))
			if size += n; size > limit {
				return backoff.Permanent(fmt.Errorf("%s: it is larger than its listed size of %d bytes", address, limit))
			}
			if err != nil {
				return backoff.Permanent(&cut{err}) // try can't resume it; the loop sends a new range
			}
			return nil
		})
		if !errors.As(err, new(*cut)) || attempt == attempts {
			return err
		}
	}
}

// cut is the error of an interrupted answer.
type cut struct{ error }

func (c *cut) Unwrap() error { return c.error }

// verified compares a downloaded file with its listed SHA-256.
func verified(name string, file *os.File, f *remoteFile) error {
	if f.SHA256 == "" {
		return nil
	}
	hash := sha256.New()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s: its SHA-256 is %s, but the list says %s", name, got, f.SHA256)
	}
	return nil
}

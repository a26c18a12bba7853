package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/release"
)

const (
	// downloadsAtOnce is how many files a node sends at a time, and downloadsOfCaller how many of them to one
	// caller. A caller can read slowly, and then holds its places until the answers end.
	downloadsAtOnce   = 64
	downloadsOfCaller = 4
	// downloadRetry is the Retry-After of a refused download.
	downloadRetry = 5 * time.Second
	// maxWhole is the size in bytes up to which a JSON file is sent from memory. A larger redactions.json is
	// streamed like the Parquet files.
	maxWhole = 1 << 20
	// downloadBuffer is how much of a file is in memory at a time.
	downloadBuffer = 256 << 10
	// hashesKept is how many hashes of large JSON files are in memory, each with its key in about 300 bytes. keepHash
	// is how long.
	hashesKept = 1000
	keepHash   = 24 * time.Hour
	// dataMark begins the cursors of the list of days.
	dataMark = "day"
)

type dataWire struct {
	OK         bool        `json:"ok"`
	Note       *string     `json:"note"`
	License    string      `json:"license"`
	Citation   string      `json:"citation"`
	Schema     int         `json:"schema"`
	Tables     []tableWire `json:"tables"`
	Days       []dayWire   `json:"days"`
	NextCursor *string     `json:"nextCursor"`
}

type tableWire struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Columns     []archive.Column `json:"columns"`
}

type dayWire struct {
	Day           string     `json:"day"`
	SHA256        string     `json:"sha256"`
	Previous      *string    `json:"previous"`
	AbandonedFrom *string    `json:"abandonedFrom"`
	Abandoned     bool       `json:"abandoned"`
	First         *string    `json:"first"`
	Last          *string    `json:"last"`
	Rows          int64      `json:"rows"`
	Bytes         int64      `json:"bytes"`
	SealedAt      time.Time  `json:"sealedAt"`
	Files         []fileWire `json:"files"`
}

type fileWire struct {
	Name      string  `json:"name"`
	Table     *string `json:"table"`
	Source    *string `json:"source"`
	Texts     bool    `json:"texts"`
	Published bool    `json:"published"`
	URL       *string `json:"url"`
	Rows      *int64  `json:"rows"`
	Bytes     *int64  `json:"bytes"`
	SHA256    *string `json:"sha256"`
}

// dataQuery asks for days of the release before one of them, or for the newest ones.
type dataQuery struct {
	before string
	limit  int
}

// listData lists the days of the release, the newest first. The sizes and hashes of text files may be those of up
// to five seconds ago, because the archive changes outside of the database when texts are erased.
func (a *API) listData() fiber.Handler {
	return cached(a, operation[dataQuery]{
		parse: parseData, read: a.readData, topics: []generation.Topic{generation.Archive},
		cost: func(q dataQuery) httpserver.Cost {
			return httpserver.Listing + httpserver.Cost(q.limit)*httpserver.ListedDay
		}, archived: true,
	})
}

func parseData(c *fiber.Ctx) (q dataQuery, err error) {
	args := c.Context().QueryArgs()
	if q.limit, err = ParseLimit(args); err != nil {
		return q, err
	}
	if q.before, err = text(args, "cursor", maxParameter); err != nil || q.before == "" {
		return q, err
	}
	parts, err := cursor.Decode(q.before, 2)
	if err != nil || parts[0] != dataMark || !isDay(parts[1]) {
		return q, cursor.Invalid()
	}
	q.before = parts[1]
	return q, nil
}

func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func (a *API) readData(ctx context.Context, q dataQuery) (any, error) {
	days, more, err := a.Release.Days(ctx, q.before, q.limit)
	if err != nil {
		return nil, archiveError(err)
	}
	w := dataWire{
		OK: true, License: a.Config.DataLicense, Citation: release.Citation(a.Config.OperatorName, a.Config.BaseURL), Schema: archive.Schema,
		Tables: tables(), Days: make([]dayWire, 0, len(days)),
	}
	if more {
		next := cursor.Encode(dataMark, days[q.limit-1].Day)
		w.NextCursor = &next
	}
	for i := range days {
		w.Days = append(w.Days, a.dataDay(&days[i]))
	}
	if len(days) == 0 && q.before == "" {
		w.Note = textOrNull(release.EmptyNote(a.Release.Storage != nil))
	}
	return w, nil
}

func tables() []tableWire {
	var list []tableWire
	for _, t := range release.Tables() {
		list = append(list, tableWire(t))
	}
	return list
}

func (a *API) dataDay(d *release.Day) dayWire {
	w := dayWire{
		Day: d.Day, SHA256: d.Hash, Previous: textOrNull(d.Manifest.Previous), AbandonedFrom: textOrNull(d.Manifest.AbandonedFrom),
		Abandoned: d.Abandoned, First: timeOrNull(d.Manifest.First), Last: timeOrNull(d.Manifest.Last), SealedAt: d.SealedAt, Files: make([]fileWire, len(d.Files)),
	}
	for i := range d.Files {
		f := &d.Files[i]
		w.Files[i] = fileWire{
			Name: f.Name, Table: textOrNull(f.Table), Source: textOrNull(f.Source), Texts: f.Texts, Published: !f.Withheld, SHA256: textOrNull(f.SHA256),
		}
		if !f.Withheld {
			address := a.Config.BaseURL + "/api/data/days/" + d.Day + "/" + f.Name
			w.Files[i].URL = &address
		}
		if f.Bytes >= 0 {
			w.Files[i].Rows, w.Files[i].Bytes = &f.Rows, &f.Bytes
			if !f.Withheld {
				w.Rows, w.Bytes = w.Rows+f.Rows, w.Bytes+f.Bytes
			}
		}
	}
	return w
}

// archiveError returns the refusal for an archive that can't be read now, and logs the cause.
func archiveError(err error) error {
	if !errors.Is(err, release.ErrUnreadable) {
		return err
	}
	return errors.Join(problem.Unavailable("The archive can't be read now. Try again.", 30*time.Second), err)
}

// getDataFile sends a file of a day, or a part of it. prefix is put before the name in the path.
func (a *API) getDataFile(prefix string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		day, name := httpserver.PathValue(c, "day"), prefix+httpserver.PathValue(c, "file")
		// A file is opened before the request's own context ends, and sent after that.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), exportTimeout)
		opened := context.AfterFunc(c.UserContext(), cancel)
		o, f, err := a.Release.Open(ctx, day, name)
		if err != nil {
			cancel()
			return noFile(err)
		}
		opened()
		o = held{o, cancel}
		if f.Bytes < 0 && o.Size() <= maxWhole {
			return a.sendDataJSON(c, o)
		}
		return a.sendDataFile(c, o, f)
	}
}

// noFile returns the refusal that says why a file can't be sent.
func noFile(err error) error {
	switch {
	case errors.Is(err, release.ErrNoFile):
		return problem.NotFound("There is no such file. GET /api/data lists the days and their files.")
	case errors.Is(err, release.ErrWithheld):
		return problem.NotFound("This file is not part of the release: the terms of its source don't allow it, or the operator has left it out.")
	}
	return archiveError(err)
}

// held is an archive object together with the context for reading it. Close ends both.
type held struct {
	archive.Object
	cancel context.CancelFunc
}

func (h held) Close() error {
	h.cancel()
	return h.Object.Close()
}

// sendDataJSON sends a small file whole.
func (a *API) sendDataJSON(c *fiber.Ctx, o archive.Object) error {
	body, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err = errors.Join(err, o.Close()); err != nil {
		return archiveError(errors.Join(release.ErrUnreadable, err))
	}
	httpserver.Respond(c.Context(), httpserver.Representation{
		Body: body, ETag: `"` + archive.Hash(body) + `"`, ContentType: fiber.MIMEApplicationJSON, CacheControl: caching(c),
	})
	return nil
}

// part is the part of a file that is sent. It holds the object and a place for downloads until it is
// closed.
type part struct {
	*bufio.Reader
	object archive.Object
	leave  func()
}

// Close is called once the part is sent, or once the client has left.
func (p *part) Close() error {
	p.leave()
	return p.object.Close()
}

func (a *API) sendDataFile(c *fiber.Ctx, o archive.Object, f *release.File) error {
	hash, mime := f.SHA256, "application/vnd.apache.parquet"
	if f.Bytes < 0 {
		mime = fiber.MIMEApplicationJSON
	}
	if hash == "" {
		var err error
		if hash, err = a.hashOf(c, o, f); err != nil {
			return errors.Join(archiveError(errors.Join(release.ErrUnreadable, err)), o.Close())
		}
	}
	etag := `"` + hash + `"`
	h := &c.Context().Response.Header
	h.Set(fiber.HeaderETag, etag)
	h.Set(fiber.HeaderCacheControl, caching(c))
	h.Set(fiber.HeaderAcceptRanges, "bytes")
	if httpserver.MatchesETag(c.Request().Header.Peek(fiber.HeaderIfNoneMatch), etag) {
		c.Status(fiber.StatusNotModified)
		return o.Close()
	}
	from, n, partial, err := rangeOf(c, etag, o.Size())
	if err != nil {
		h.Set(fiber.HeaderContentRange, fmt.Sprintf("bytes */%d", o.Size()))
		return errors.Join(err, o.Close())
	}
	leave, err := a.downloads.Enter(c)
	if err != nil {
		return errors.Join(noDownload(err), o.Close())
	}
	h.SetContentType(mime)
	if partial {
		c.Status(fiber.StatusPartialContent)
		h.Set(fiber.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, o.Size()))
	}
	body := &part{bufio.NewReaderSize(io.NewSectionReader(o, from, n), downloadBuffer), o, leave}
	c.Context().SetBodyStream(body, int(n))
	return nil
}

// noDownload returns the refusal for a file that can't be sent now.
func noDownload(err error) error {
	if errors.Is(err, httpserver.ErrShare) {
		return problem.RateLimited(fmt.Sprintf("A key or address may receive %d files at a time, all keys of an address or owner %d, and all addresses "+
			"of an IPv6 /48 %d. Wait until one is complete.",
			downloadsOfCaller, httpserver.KeysShare*downloadsOfCaller, httpserver.BlockShare*downloadsOfCaller), downloadRetry)
	}
	return problem.Busy("Many files are being sent. Try again.", downloadRetry)
}

// fileVersion is a file of a day as it was at a time; see archive.Object.
type fileVersion struct{ day, name, version string }

// hashOf returns the SHA-256 of a file that may change, in hex. It reads each version of the file once, in small parts.
func (a *API) hashOf(c *fiber.Ctx, o archive.Object, f *release.File) (string, error) {
	key := fileVersion{httpserver.PathValue(c, "day"), f.Name, o.Version()}
	return a.hashes.Get(c.UserContext(), key, func(context.Context) (string, time.Time, error) {
		hash, until := sha256.New(), time.Time{}
		if key.version != "" {
			until = a.Now().Add(keepHash)
		}
		_, err := io.Copy(hash, io.NewSectionReader(o, 0, o.Size()))
		return hex.EncodeToString(hash.Sum(nil)), until, err
	})
}

// rangeOf returns the part of a file to send. That is the one range of bytes in the Range header. Without the
// header, or if If-Range names another version of the file, it is the whole file.
func rangeOf(c *fiber.Ctx, etag string, size int64) (from, n int64, partial bool, err error) {
	asked := c.Request().Header.Peek(fiber.HeaderRange)
	condition := c.Request().Header.Peek(fiber.HeaderIfRange)
	if len(asked) == 0 || len(condition) > 0 && string(condition) != etag {
		return 0, size, false, nil
	}
	start, end, err := fasthttp.ParseByteRange(asked, int(size))
	if err != nil {
		return 0, 0, false, problem.New(problem.CodeRangeNotSatisfiable,
			"Range must be one range of bytes of the file, such as bytes=0-1023; the file has "+strconv.FormatInt(size, 10)+" bytes.")
	}
	return int64(start), int64(end - start + 1), true, nil
}

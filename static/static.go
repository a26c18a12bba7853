// Package static holds the files a browser loads beside the pages. Each is served
// at an address that carries a hash of its content, so it can be cached for ever
// and a new release is seen at once.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

//go:embed css/app.css js/*.js sw.js favicon.svg
var files embed.FS

// Prefix begins the address of every file.
const Prefix = "/static/"

// CacheControl suits every address that Path returns: what is there never changes.
const CacheControl = "public, max-age=31536000, immutable"

// contentTypes is fixed, since the mime package asks the operating system.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// A File is one embedded file. Its slices are shared: they must not be changed.
type File struct {
	Name        string // below the root of the package: css/app.css
	Path        string // the address: /static/css/app.1a2b3c4d.css
	ContentType string
	Content     []byte

	compressed func() variants
}

type variants struct{ brotli, gzip []byte }

type index struct{ byName, byPath map[string]*File }

// Hashing is put off to the first use and compressing to the first request for
// it: neither should delay the start of the service.
var load = sync.OnceValue(func() index {
	x := index{byName: map[string]*File{}, byPath: map[string]*File{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := newFile(name)
		if err != nil {
			return err
		}
		x.byName[file.Name], x.byPath[file.Path] = file, file
		return nil
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return x
})

func newFile(name string) (*File, error) {
	content, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	ext := path.Ext(name)
	contentType, ok := contentTypes[ext]
	if !ok {
		return nil, fmt.Errorf("static: no content type for %s", name)
	}
	sum := sha256.Sum256(content)
	return &File{
		Name:        name,
		Path:        Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext,
		ContentType: contentType,
		Content:     content,
		compressed:  sync.OnceValue(func() variants { return compress(content) }),
	}, nil
}

// Path returns the address of a file by its name, such as "css/app.css". It
// panics when there is no such file: only a page's source names one.
func Path(name string) string {
	file, ok := Named(name)
	if !ok {
		panic("static: no file " + name)
	}
	return file.Path
}

// Named returns a file by its name. It serves well-known addresses that cannot
// carry a hash, such as /favicon.ico.
func Named(name string) (*File, bool) {
	file, ok := load().byName[name]
	return file, ok
}

// Find returns the file at an address that Path returned.
func Find(hashedPath string) (*File, bool) {
	file, ok := load().byPath[hashedPath]
	return file, ok
}

// Open returns the content and type of the file at an address that Path returned.
func Open(hashedPath string) (content []byte, contentType string, ok bool) {
	file, ok := Find(hashedPath)
	if !ok {
		return nil, "", false
	}
	return file.Content, file.ContentType, true
}

// Encoded returns the smallest form of the file that a request with this
// Accept-Encoding header takes, and the Content-Encoding to send with it, empty
// for the file as it is. The answer varies by Accept-Encoding.
func (f *File) Encoded(acceptEncoding string) (body []byte, encoding string) {
	brotliOK, gzipOK := accepts(acceptEncoding, "br"), accepts(acceptEncoding, "gzip")
	if !brotliOK && !gzipOK {
		return f.Content, ""
	}
	v := f.compressed()
	body = f.Content
	if gzipOK && len(v.gzip) < len(body) {
		body, encoding = v.gzip, "gzip"
	}
	if brotliOK && len(v.brotli) < len(body) {
		body, encoding = v.brotli, "br"
	}
	return body, encoding
}

// accepts tells whether an Accept-Encoding header takes a coding (RFC 9110,
// 12.5.3). A wildcard is not read as consent: no browser sends it alone.
func accepts(header, coding string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		weight, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
		if !ok {
			return true
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return err == nil && q > 0
	}
	return false
}

func compress(content []byte) variants {
	return variants{
		brotli: encode(content, func(w io.Writer) (io.WriteCloser, error) {
			return brotli.NewWriterLevel(w, brotli.BestCompression), nil
		}),
		gzip: encode(content, func(w io.Writer) (io.WriteCloser, error) {
			return gzip.NewWriterLevel(w, gzip.BestCompression)
		}),
	}
}

func encode(content []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	var out bytes.Buffer
	w, err := open(&out)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything; the level is a constant
	}
	return out.Bytes()
}

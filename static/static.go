// Package static holds the files that pages load. Each is served at an address with a hash of its
// content, so it can be cached for ever and a new release is seen at once.
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
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

//go:embed css/app.css js/*.js sw.js favicon.svg favicon.ico apple-touch-icon.png clients/*.py clients/*.ts clients/*.yml
var files embed.FS

// Prefix begins the address of every file.
const Prefix = "/static/"

// CacheControl is the header for every address that Path returns. The content at such an address
// never changes.
const CacheControl = "public, max-age=31536000, immutable"

// contentTypes is fixed, because the mime package asks the operating system.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".ico": "image/x-icon",
	".js":  "text/javascript; charset=utf-8",
	".png": "image/png",
	".py":  "text/x-python; charset=utf-8",
	".svg": "image/svg+xml",
	".ts":  "text/typescript; charset=utf-8",
	".yml": "application/yaml",
}

// File is one embedded file. Its slices are shared and must not be changed.
type File struct {
	Name        string // path below the package's root: css/app.css
	Path        string // address: /static/css/app.1a2b3c4d.css
	ContentType string
	Content     []byte

	compressed func() compressed
}

type compressed struct{ brotli, gzip []byte }

type index struct{ byName, byPath map[string]*File }

// Files are hashed on first use, and compressed on the first request for a compressed form. So
// neither delays the start of the service.
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
		compressed:  sync.OnceValue(func() compressed { return compress(content) }),
	}, nil
}

// Path returns the address of a file by its name, such as "css/app.css". It panics if the file
// doesn't exist, because only our own pages name files.
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

// Codings are the content codings that every file is offered in, smallest first.
var Codings = []string{"br", "gzip"}

// Encoded returns the file in one of Codings. It returns the file unencoded, with an empty coding,
// for any other coding or if compressing doesn't make the file smaller.
func (f *File) Encoded(coding string) (body []byte, contentEncoding string) {
	switch coding {
	case "br":
		body = f.compressed().brotli
	case "gzip":
		body = f.compressed().gzip
	default:
		return f.Content, ""
	}
	if len(body) >= len(f.Content) {
		return f.Content, ""
	}
	return body, coding
}

func compress(content []byte) compressed {
	return compressed{
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
		panic(err) // a write to a buffer can't fail, and the level is valid
	}
	return out.Bytes()
}

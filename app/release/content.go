package release

import "bytes"

// content is an object in memory.
type content struct {
	*bytes.Reader
}

func newContent(b []byte) content { return content{bytes.NewReader(b)} }

func (content) Version() string { return "" }
func (content) Close() error    { return nil }

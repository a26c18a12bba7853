package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/pulsecast/pulsecast/app/archive"
)

// spool keeps texts in a scratch file while the rows with their hashes are written.
type spool struct {
	salt    func(record string, content []byte) []byte
	file    *os.File
	encoder *json.Encoder
	err     error
}

func newSpool(salt func(record string, content []byte) []byte) (*spool, error) {
	file, err := archive.Scratch()
	if err != nil {
		return nil, fmt.Errorf("store texts: %w", err)
	}
	return &spool{salt: salt, file: file, encoder: json.NewEncoder(file)}, nil
}

// add salts and stores the texts of a record and returns their hash. author is the agent of a
// prediction, "" for other records. rows returns any error.
func (s *spool) add(record, author string, texts any) (hash []byte) {
	content, err := json.Marshal(texts)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return nil
	}
	salt := s.salt(record, content)
	s.err = errors.Join(s.err, s.encoder.Encode(archive.TextRow{Record: record, Salt: salt, Content: content, Agent: author}))
	return archive.TextHash(salt, content)
}

// rows yields the stored texts.
func (s *spool) rows() iter.Seq2[archive.TextRow, error] {
	return func(yield func(archive.TextRow, error) bool) {
		_, err := s.file.Seek(0, io.SeekStart)
		if err = errors.Join(s.err, err); err != nil {
			yield(archive.TextRow{}, fmt.Errorf("store texts: %w", err))
			return
		}
		for decoder := json.NewDecoder(s.file); ; {
			var row archive.TextRow
			err := decoder.Decode(&row)
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (s *spool) close() { _ = s.file.Close() }

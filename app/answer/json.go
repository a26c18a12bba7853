package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON encodes a value as the body of an answer. Unlike json.Marshal, it keeps <, > and & as they are, so that a
// text such as "<API_KEY>" stays legible.
func JSON(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

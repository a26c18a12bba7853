package transfer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A value is nil or has one of these types, by its kind: uuid.UUID, string (text, and JSON with any
// spelling), time.Time in UTC with microseconds, []byte, float64, int64 or bool.

// appendValue encodes a value. Two encodings are equal exactly if the values are. An encoding
// starts with the kind. Values of variable length follow their length.
func appendValue(out []byte, k kind, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, 'n'), nil
	case uuid.UUID:
		return append(append(out, 'u'), v[:]...), nil
	case time.Time:
		return binary.BigEndian.AppendUint64(append(out, 't'), uint64(v.UnixMicro())), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(out, 'f'), math.Float64bits(v+0)), nil // -0 is 0
	case int64:
		return binary.BigEndian.AppendUint64(append(out, 'i'), uint64(v)), nil
	case bool:
		return append(out, 'b', map[bool]byte{true: 1}[v]), nil
	case []byte:
		return append(binary.BigEndian.AppendUint64(append(out, 'x'), uint64(len(v))), v...), nil
	case string:
		if k != kindJSON {
			return appendText(append(out, 's'), v), nil
		}
		decoded, err := decodeJSON(v)
		if err != nil {
			return nil, err
		}
		return appendJSON(append(out, 'j'), decoded), nil
	}
	return nil, fmt.Errorf("a value has the unsupported type %T", value)
}

func appendText(out []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint64(out, uint64(len(text))), text...)
}

func decodeJSON(text string) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: more than one value")
	}
	return value, nil
}

// appendJSON encodes a document without the details that the engines change: spaces, the order of
// names, and the spelling of numbers.
func appendJSON(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, 'n')
	case bool:
		return append(out, 'b', map[bool]byte{true: 1}[v])
	case json.Number:
		return appendText(append(out, 'd'), canonicalNumber(v))
	case string:
		return appendText(append(out, 's'), v)
	case []any:
		out = binary.BigEndian.AppendUint64(append(out, '['), uint64(len(v)))
		for _, element := range v {
			out = appendJSON(out, element)
		}
	case map[string]any:
		out = binary.BigEndian.AppendUint64(append(out, '{'), uint64(len(v)))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = appendJSON(appendText(out, name), v[name])
		}
	}
	return out
}

// canonicalNumber returns a canonical spelling of a number.
func canonicalNumber(n json.Number) string {
	if r, ok := new(big.Rat).SetString(n.String()); ok {
		return r.RatString()
	}
	return n.String()
}

// compact returns JSON without spaces, as our models write it to SQLite.
func compact(text string) (string, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		return "", fmt.Errorf("read JSON: %w", err)
	}
	return out.String(), nil
}

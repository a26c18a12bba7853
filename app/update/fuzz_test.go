package update

import "testing"

// FuzzDecode checks that stored updates are refused, or numbered from the first one on.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`[{"type":"market.closed","at":"2026-11-22T00:00:00Z"}]`), int64(7))
	f.Add([]byte(`[]`), int64(0))
	f.Add([]byte(`{}`), int64(-1))
	f.Add([]byte("\xff"), int64(1))
	f.Fuzz(func(t *testing.T, content []byte, first int64) {
		list, err := decode(content, first)
		if err != nil {
			return
		}
		for i := range list {
			if list[i].Seq != first+int64(i) {
				t.Errorf("update %d has the number %d", i, list[i].Seq)
			}
		}
	})
}

package signal

import "testing"

// FuzzUnpack checks that the content of the shared cache is either refused or gives a reading.
func FuzzUnpack(f *testing.F) {
	packed, err := pack(Reading[string]{Records: []string{"a", "b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:len(packed)/2])
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		reading, err := unpack[string](packed)
		if err != nil {
			return
		}
		if _, err := pack(reading); err != nil {
			t.Errorf("a reading can't be packed again: %v", err)
		}
	})
}

package stdio

import "testing"

// FuzzMessages checks that the body of an answer is refused, or splits into messages that are not empty.
func FuzzMessages(f *testing.F) {
	f.Add("application/json", []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add("text/event-stream", []byte("event: message\ndata: {}\n\ndata: a\ndata: b\n\n"))
	f.Add("text/event-stream; charset=\"", []byte("data\n\n:\n\n\xff"))
	f.Add("", []byte(" "))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		all, err := messages(contentType, body)
		if err != nil {
			return
		}
		for _, m := range all {
			if len(m) == 0 {
				t.Errorf("%q holds an empty message", body)
			}
			isMessage(m)
		}
	})
}

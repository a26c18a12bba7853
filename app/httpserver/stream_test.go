package httpserver

import (
	"net"
	"testing"
	"time"
)

// TestSlowReaderIsDropped checks that the queue of a reader is bounded and that sending never waits.
func TestSlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe() // a pipe buffers nothing, so a write waits for the reader
	defer theirs.Close()
	left := make(chan struct{})
	s := newStream(ours, "", func() { close(left) })
	text := make([]byte, 1<<10)
	for range maxUnsent/len(text) + 1 {
		s.Send(text)
		select {
		case <-s.Done():
			t.Fatal("dropped too early")
		default:
		}
	}
	s.Send(text)
	for _, c := range []<-chan struct{}{s.Done(), left} {
		select {
		case <-c:
		case <-time.After(10 * time.Second):
			t.Fatal("a slow reader isn't dropped")
		}
	}
	if s.Flush() {
		t.Error("a closed stream still accepts texts")
	}
	s.Send(text)
}

// TestStreamKeepsOrder checks that texts sent during a write follow it in order.
func TestStreamKeepsOrder(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	s := newStream(ours, "", func() {})
	const n = 100
	for i := range n {
		s.Send([]byte{byte(i)}, []byte{byte(i)})
	}
	got := make([]byte, 2)
	for i := range n {
		for read := 0; read < 2; {
			k, err := theirs.Read(got[read:])
			if err != nil {
				t.Fatal(err)
			}
			read += k
		}
		if got[0] != byte(i) || got[1] != byte(i) {
			t.Fatalf("%d: got %v", i, got)
		}
	}
	if !s.Flush() {
		t.Error("the stream is closed")
	}
	go s.wait()
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	<-s.Done()
}

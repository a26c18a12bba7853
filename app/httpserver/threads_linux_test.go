package httpserver

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestThreads checks that slow work runs at a lower priority, that its panic reaches the request, and that work goes
// on after the threads have ended.
func TestThreads(t *testing.T) { // not parallel: it changes GOMAXPROCS
	processors := runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var log bytes.Buffer
	th := startThreads(ctx, 2, slog.New(slog.NewTextHandler(&log, nil)))
	if got := runtime.GOMAXPROCS(0); got != processors+2 {
		t.Errorf("GOMAXPROCS is %d with 2 threads, was %d", got, processors)
	}
	nice := func() (n int) {
		th.run(func() {
			got, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid())
			if err != nil {
				t.Error(err)
			}
			n = 20 - got // the system call returns 20 minus the nice value
		})
		return n
	}
	if n := nice(); n != slowNice {
		t.Errorf("slow work has the nice value %d, want %d", n, slowNice)
	}
	var cause any
	func() {
		defer func() { cause = recover() }()
		th.run(func() { panic("the cause") })
	}()
	if text, _ := cause.(string); !strings.HasPrefix(text, "the cause\n") || !strings.Contains(text, "TestThreads") {
		t.Errorf("the panic is %v", cause)
	}
	if n := nice(); n != slowNice {
		t.Errorf("after a panic, slow work has the nice value %d", n)
	}
	end()
	for range 20 {
		ran := false
		if th.run(func() { ran = true }); !ran {
			t.Error("work doesn't run after the end of the threads")
		}
	}
	if log.Len() > 0 {
		t.Error(log.String())
	}
	if processors > 1 { // fewer than the machine has, as with a quota
		runtime.GOMAXPROCS(processors - 1)
		if startThreads(t.Context(), 1, slog.Default()) != nil {
			t.Error("threads with a quota of processor time")
		}
	}
}

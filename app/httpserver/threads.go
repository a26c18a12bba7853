package httpserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
)

// threads run slow work on threads of the operating system that have a lower priority than the others.
//
// Go lets a goroutine run for 10 ms before another one gets its processor, and it looks for requests that have
// arrived only then. So, with two processors and one search in SQLite, requests that take 0.1 ms wait up to 20 ms.
// The kernel has no such delay: it runs the thread with the higher priority as soon as that has work. Go must have as
// many processors more as there are such threads, because a thread that waits for the kernel still holds its own.
type threads struct {
	work  chan func()
	ended <-chan struct{}
}

// startThreads starts n threads that run until ctx ends, and raises GOMAXPROCS by n. It returns nil if threads can't
// have different priorities here. It also returns nil if the process may not use all processors. More threads would
// then only use up its quota of processor time sooner.
func startThreads(ctx context.Context, n int, log *slog.Logger) *threads {
	if !canLowerPriority || runtime.GOMAXPROCS(0) < runtime.NumCPU() {
		return nil
	}
	t := &threads{work: make(chan func()), ended: ctx.Done()}
	for range n {
		go t.serve(log)
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	return t
}

// serve runs work on one thread, which ends with it.
func (t *threads) serve(log *slog.Logger) {
	runtime.LockOSThread() // and never unlocked, because a priority can't be raised again
	if err := lowerPriority(); err != nil {
		log.Warn("slow answers have the same priority as others", "error", err)
	}
	for {
		select {
		case f := <-t.work:
			f()
		case <-t.ended:
			return
		}
	}
}

// run calls f on one of the threads once it is free, or at once if there are none. If f panics, run panics with a
// value that has the stack of f.
func (t *threads) run(f func()) {
	if t == nil {
		f()
		return
	}
	var cause any
	done := make(chan struct{})
	job := func() {
		defer close(done)
		defer func() {
			if cause = recover(); cause != nil {
				cause = fmt.Sprintf("%v\n%s", cause, debug.Stack())
			}
		}()
		f()
	}
	select {
	case t.work <- job:
	case <-t.ended:
		job()
	}
	<-done
	if cause != nil {
		panic(cause)
	}
}

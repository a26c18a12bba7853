package database

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// probePause is the time between two probes.
	probePause = 100 * time.Millisecond
	// A database is silent after silentLooks looks, each a slice after the one before, at which
	// nothing had arrived on any connection although a probe waits: 0.7 s. Looks are counted, not
	// time, because on a machine without a free processor this process stands still as well.
	slice       = 50 * time.Millisecond
	silentLooks = 14
	// probeLooks is when a probe is given up and the next one begins with a new connection.
	probeLooks = 20
)

// ErrUnanswered is what queries fail with while the breaker is open.
var ErrUnanswered = errors.New("the database can't be used at the moment")

var errSilent = errors.New("the database says nothing")

// A Breaker knows whether the database can be used. While it can't, the breaker is open:
// queries fail at once, those that wait are ended, and connections are closed, because a
// database that comes back may not know them. Requests never find out by waiting: a probe
// does, in the background, on a connection outside the pool.
//
// On Postgres it opens when a probe fails, or when nothing arrives on any connection for
// 0.7 s although a probe waits. It probes from Start to Stop. On SQLite it is open while
// another process holds the write lock for too long, and concerns transactions that write;
// it needs no Start.
type Breaker struct {
	// Now is this machine's clock. Replace it before Start, if at all.
	Now func() time.Time

	subject string // what the log says can't be used
	probe   prober
	onProbe func(err error) // tells tests of every probe; may be nil

	pooled atomic.Bool   // see DB.Pooled
	heard  atomic.Int64  // how often something arrived from the database
	opened atomic.Int64  // how often the breaker has opened
	offset atomic.Int64  // see ClockOffset
	hint   chan struct{} // has an element if a connection broke: a probe is due

	mu    sync.Mutex
	log   *slog.Logger
	err   error                 // why it is open; nil: closed
	back  chan struct{}         // closed while the breaker is
	life  context.Context       // ends when the breaker opens
	end   context.CancelFunc    // of life
	conns map[net.Conn]struct{} // open connections

	done    chan struct{} // closed by halt
	halted  sync.Once
	running sync.WaitGroup
}

// prober finds out whether the database can be used, and reads its clock. The time is zero if
// the engine has no clock.
type prober interface {
	probe(ctx context.Context) (time.Time, error)
	// drop closes the prober's connection, if there is one.
	drop()
}

func newBreaker(probe prober) *Breaker {
	b := &Breaker{
		Now: time.Now, subject: "the database", probe: probe, log: slog.New(slog.DiscardHandler), conns: map[net.Conn]struct{}{},
		hint: make(chan struct{}, 1), back: make(chan struct{}), done: make(chan struct{}),
	}
	close(b.back)
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Err returns why the database can't be used; nil if it can. It doesn't wait.
func (b *Breaker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return nil
	}
	return errors.Join(ErrUnanswered, b.err)
}

// Back returns a channel that is closed once the database can be used.
func (b *Breaker) Back() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.back
}

// Opened is how often the breaker has opened.
func (b *Breaker) Opened() int64 { return b.opened.Load() }

// ClockOffset is how far the database's clock was ahead of this machine's at the last probe.
// It is 0 on SQLite, and before the first probe.
func (b *Breaker) ClockOffset() time.Duration { return time.Duration(b.offset.Load()) }

// maxClockOffset is how far this machine's clock may be from the database's.
const maxClockOffset = 5 * time.Second

// ClockOff reports whether this machine's clock is more than 5 s from the database's.
func (b *Breaker) ClockOff() bool { return b.ClockOffset().Abs() > maxClockOffset }

// open opens the breaker, unless it is open: it ends what waits.
func (b *Breaker) open(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		b.err = err
		return
	}
	b.err, b.back = err, make(chan struct{})
	b.opened.Add(1)
	b.end()
	for conn := range b.conns {
		_ = conn.Close() // it ends the query that waits on it
	}
	b.log.Warn(b.subject+" can't be used; what needs it is refused until it is back", "cause", err)
}

// close closes the breaker, unless it is closed.
func (b *Breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return
	}
	b.err = nil
	b.life, b.end = context.WithCancel(context.Background())
	close(b.back)
	b.log.Info(b.subject + " can be used again")
}

// bound returns a context that also ends when the breaker opens, or the breaker's error if it
// is open.
func (b *Breaker) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	b.mu.Lock()
	life, err := b.life, b.err
	b.mu.Unlock()
	if err != nil {
		return nil, nil, errors.Join(ErrUnanswered, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// start begins to probe and logs from now on.
func (b *Breaker) start(log *slog.Logger) {
	b.mu.Lock()
	b.log = log
	b.mu.Unlock()
	if _, sqlite := b.probe.(*sqliteProbe); !sqlite {
		b.running.Go(b.watch)
	}
}

// halt ends the probing. The breaker stays as it is.
func (b *Breaker) halt() {
	b.halted.Do(func() { close(b.done) })
	b.running.Wait()
	b.probe.drop()
}

// watch probes until halt.
func (b *Breaker) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.running.Go(func() {
		<-b.done
		cancel()
	})
	pause := time.NewTicker(probePause)
	defer pause.Stop()
	for {
		err := b.look(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			b.close()
		case !errors.Is(err, errUndecided):
			b.open(err)
		}
		if b.onProbe != nil {
			b.onProbe(err)
		}
		select {
		case <-pause.C:
		case <-b.hint:
		case <-ctx.Done():
			return
		}
	}
}

// answer is what a probe has found out.
type answer struct {
	at  time.Time
	err error
}

// errUndecided is what a probe ends with that got no answer, while other connections did.
var errUndecided = errors.New("the probe got no answer, but others did")

// look probes once. The breaker opens as soon as the database is silent, but the probe goes on:
// if the database was only frozen, its answer is the first thing that arrives.
func (b *Breaker) look(ctx context.Context) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	sent, heard := b.Now(), b.heard.Load()
	done := make(chan answer, 1)
	b.running.Go(func() {
		at, err := b.probe.probe(ctx)
		done <- answer{at, err}
	})
	last, quiet := heard, 0
	for range probeLooks {
		a, waiting := wait(done, slice)
		if !waiting {
			b.compareClocks(sent, a)
			return a.err
		}
		quiet++
		if now := b.heard.Load(); now != last {
			last, quiet = now, 0
		}
		if quiet == silentLooks {
			b.open(errSilent)
		}
	}
	giveUp()
	<-done
	if b.heard.Load() != heard {
		return errUndecided
	}
	return errSilent
}

// compareClocks compares the time of an answer with the middle of its probe.
func (b *Breaker) compareClocks(sent time.Time, a answer) {
	if a.err == nil && !a.at.IsZero() {
		b.offset.Store(int64(a.at.Sub(sent.Add(b.Now().Sub(sent) / 2))))
	}
}

func wait(done <-chan answer, d time.Duration) (a answer, waiting bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case a = <-done:
		return a, false
	case <-timer.C:
		return a, true
	}
}

// watched is a connection that the breaker closes when it opens.
type watched struct {
	net.Conn
	breaker *Breaker
}

// hold returns conn as one that the breaker closes, or its error if it is open.
func (b *Breaker) hold(conn net.Conn) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, errors.Join(ErrUnanswered, b.err, conn.Close())
	}
	b.conns[conn] = struct{}{}
	return &watched{conn, b}, nil
}

// Read notes that the database says something, or asks for a probe if the connection broke.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.breaker.heard.Add(1)
	}
	if timeout, ok := err.(net.Error); err != nil && (!ok || !timeout.Timeout()) {
		w.breaker.suspect()
	}
	return n, err
}

func (w *watched) Close() error {
	w.breaker.mu.Lock()
	delete(w.breaker.conns, w.Conn)
	w.breaker.mu.Unlock()
	return w.Conn.Close()
}

// suspect asks for a probe now.
func (b *Breaker) suspect() {
	select {
	case b.hint <- struct{}{}:
	default:
	}
}

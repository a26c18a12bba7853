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
	// probePause is the interval between two probes.
	probePause = 100 * time.Millisecond
	// While a probe waits, the breaker checks once per slice whether data has arrived on any
	// connection. After silentLooks checks without data (0.7 s) it considers the database silent. It
	// counts checks instead of measuring time, because the time in which a busy machine doesn't run
	// this process must not count.
	slice       = 50 * time.Millisecond
	silentLooks = 14
	// After probeLooks checks, the breaker gives up the probe. The next probe opens a new
	// connection.
	probeLooks = 20
)

// ErrUnanswered is the error of queries while the breaker is open.
var ErrUnanswered = errors.New("the database can't be used at the moment")

var errSilent = errors.New("the database doesn't answer")

// A Breaker knows whether the database can be used. While it can't, the breaker is open: new
// queries fail at once, waiting queries are cancelled, and connections are closed, because the
// database may no longer know them when it comes back. Requests never have to wait to learn this,
// because a background probe uses a connection outside the pool.
//
// On Postgres the breaker opens when a probe fails, or when a probe waits and no data arrives on
// any connection for 0.7 s. It probes from Start to Stop. On SQLite it is open while another
// process holds the write lock for too long, and it affects only transactions that write. It needs
// no Start.
type Breaker struct {
	// Now is this machine's clock. Replace it only before Start.
	Now func() time.Time

	subject string // name in the log, such as "the database"
	probe   prober
	onProbe func(err error) // called after every probe, in tests; may be nil

	pooled  atomic.Bool   // see DB.Pooled
	serving atomic.Bool   // set by Start; see boundedConn
	heard   atomic.Int64  // how often data arrived from the database
	opened  atomic.Int64  // how many times the breaker has opened
	offset  atomic.Int64  // see ClockOffset
	hint    chan struct{} // holds an element when a connection broke, so that the next probe starts at once

	mu    sync.Mutex
	log   *slog.Logger
	err   error                 // why the breaker is open; nil if it is closed
	back  chan struct{}         // closed while the breaker is closed
	life  context.Context       // ends when the breaker opens
	end   context.CancelFunc    // cancels life
	conns map[net.Conn]struct{} // open connections

	done    chan struct{} // closed by halt
	halted  sync.Once
	running sync.WaitGroup
}

// prober checks whether the database can be used, and reads its clock. The time is zero if the
// engine has no clock.
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

// Opened returns how many times the breaker has opened.
func (b *Breaker) Opened() int64 { return b.opened.Load() }

// ClockOffset returns how far the database's clock was ahead of this machine's clock at the last
// probe. It is 0 on SQLite, and before the first probe.
func (b *Breaker) ClockOffset() time.Duration { return time.Duration(b.offset.Load()) }

// maxClockOffset is the largest tolerated difference between this machine's clock and the
// database's.
const maxClockOffset = 5 * time.Second

// ClockOff reports whether this machine's clock differs from the database's by more than 5 s.
func (b *Breaker) ClockOff() bool { return b.ClockOffset().Abs() > maxClockOffset }

// open opens the breaker if it is closed, and ends all waiting queries.
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
		_ = conn.Close() // ends the query that waits on it
	}
	b.log.Warn(b.subject+" can't be used; queries fail until it is back", "cause", err)
}

// close closes the breaker if it is open.
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

// bound returns a context that also ends when the breaker opens. If the breaker is open already,
// bound returns its error.
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

// start begins to probe. From now on the breaker writes to log.
func (b *Breaker) start(log *slog.Logger) {
	b.mu.Lock()
	b.log = log
	b.mu.Unlock()
	b.serving.Store(true)
	if _, sqlite := b.probe.(*sqliteProbe); !sqlite {
		b.running.Go(b.watch)
	}
}

// halt ends the probing. The breaker keeps its state.
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

// answer is the result of a probe.
type answer struct {
	at  time.Time
	err error
}

// errUndecided is the result of a probe that got no answer while other connections did.
var errUndecided = errors.New("the probe got no answer, but others did")

// look probes once. The breaker opens as soon as the database is silent, but the probe goes on: if
// the database was only frozen, the answer to the probe is the first data that arrives.
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

// compareClocks stores how far the database's clock is ahead. It compares the time in the answer
// with the middle of the probe.
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

// hold returns conn wrapped so that the breaker can close it. If the breaker is open, hold closes
// conn and returns the breaker's error.
func (b *Breaker) hold(conn net.Conn) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, errors.Join(ErrUnanswered, b.err, conn.Close())
	}
	b.conns[conn] = struct{}{}
	return &watched{conn, b}, nil
}

// Read counts the data that arrives. If the connection broke, it asks for a probe.
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

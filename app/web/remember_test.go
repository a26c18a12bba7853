package web

import (
	"context"
	"errors"
	"testing"
	"time"
)

// While one caller asks again, which may take long, the others go on with the old answer.
func TestRememberedServesTheOldAnswerMeanwhile(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	asked, answer := make(chan struct{}), make(chan error)
	n := 0
	r := &remembered[int]{now: func() time.Time { return clock }, read: func(context.Context) (int, error) {
		if n++; n == 1 {
			return 1, nil
		}
		asked <- struct{}{}
		err := <-answer
		return n, err
	}}
	get := func() int {
		t.Helper()
		got, err := r.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := get(); got != 1 {
		t.Fatalf("first answer %d", got)
	}
	clock = clock.Add(rememberedFor)
	for _, c := range []struct {
		err  error
		want int
	}{{errors.New("the database is away"), 0}, {nil, 3}} {
		slow := make(chan int)
		go func() {
			got, _ := r.get(context.Background())
			slow <- got
		}()
		<-asked
		if got := get(); got != 1 {
			t.Errorf("%d while another asks, want the old answer", got)
		}
		answer <- c.err
		if got := <-slow; c.err == nil && got != c.want {
			t.Errorf("the new answer is %d, want %d", got, c.want)
		}
	}
	if got := get(); got != 3 {
		t.Errorf("%d afterwards, want the new answer", got)
	}
}

// Who forgets does not wait for who is asking: credentials are checked behind it. What
// was asked before is given to nobody afterwards.
func TestRememberedForgetsAtOnce(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 1), make(chan struct{})
	n := 0
	r := &remembered[int]{now: time.Now, read: func(context.Context) (int, error) {
		if n++; n == 1 {
			asked <- struct{}{}
			<-goOn
		}
		return n, nil
	}}
	slow := make(chan int)
	go func() {
		got, _ := r.get(context.Background())
		slow <- got
	}()
	<-asked
	forgotten := make(chan struct{})
	go func() {
		r.forget()
		close(forgotten)
	}()
	select {
	case <-forgotten:
	case <-time.After(5 * time.Second):
		t.Error("it waits for who is asking")
	}
	close(goOn)
	if got := <-slow; got != 1 {
		t.Errorf("who asked before got %d", got)
	}
	<-forgotten
	if got, err := r.get(t.Context()); err != nil || got != 2 {
		t.Errorf("afterwards %d, %v", got, err)
	}
}

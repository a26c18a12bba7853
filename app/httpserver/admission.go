package httpserver

// An Admission allows a request to make an answer that isn't in memory. The zero value allows it without a place.
type Admission struct {
	leave   func()
	threads *threads // nil: answers are made on the goroutine of the request
}

// NewAdmission returns an admission that calls leave at its end. Answers are made on the goroutine of the request.
func NewAdmission(leave func()) *Admission { return &Admission{leave: leave} }

// Leave ends the admission. The next request in the queue is admitted then, or after the rest of the place.
func (a *Admission) Leave() {
	if a.leave != nil {
		a.leave()
	}
}

// Make calls f, which makes the answer. With Options.OwnProcess, f runs on a thread of lower priority unless it reads
// the archive. Make returns once f has returned, and panics if f panics.
func (a *Admission) Make(f func()) { a.threads.run(f) }

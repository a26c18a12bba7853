package prediction

import "time"

// RepeatWait sets how long a repeat waits for the first answer.
func (p *Publisher) RepeatWait(d time.Duration) { p.repeatWait = d }

package httpserver

import "syscall"

const (
	canLowerPriority = true
	// slowNice is the nice value of a thread for slow work. Beside a busy thread of the usual priority it gets a
	// tenth of a processor, and beside none a whole one.
	slowNice = 10
)

// lowerPriority sets the priority of the calling thread. On Linux, every thread has its own.
func lowerPriority() error {
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), slowNice)
}

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc: USER_HZ, which is 100 on every Linux.
const tick = 10 * time.Millisecond

// stat holds fields of /proc/PID/stat.
type stat struct {
	parent int
	own    time.Duration // user and system time of the process
	ended  time.Duration // the same for its children that have ended
}

func parseStat(text string) (s stat, err error) {
	// The name is in parentheses and may contain any character.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return s, fmt.Errorf("not a line of /proc/PID/stat: %q", text)
	}
	var ticks [4]int
	for i := range ticks {
		if ticks[i], err = strconv.Atoi(fields[11+i]); err != nil {
			return s, err
		}
	}
	s.parent, err = strconv.Atoi(fields[1])
	s.own, s.ended = time.Duration(ticks[0]+ticks[1])*tick, time.Duration(ticks[2]+ticks[3])*tick
	return s, err
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// ProcessorTime returns the processor time that a process has used so far.
func ProcessorTime(pid int) (time.Duration, error) {
	s, err := readStat(pid)
	return s.own, err
}

// BackendsTime returns the processor time that all backends of a Postgres server have used so far,
// including ended backends. The writers, the checkpointer and similar processes don't count.
func BackendsTime(postmaster int) (time.Duration, error) {
	main, err := readStat(postmaster)
	if err != nil {
		return 0, err
	}
	sum := main.ended
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
			continue // it ended in the meantime
		}
		s, err := parseStat(string(text))
		if err != nil {
			return 0, err
		}
		if s.parent != postmaster {
			continue
		}
		title, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && strings.Contains(string(title), "[local]") {
			sum += s.own
		}
	}
	return sum, nil
}

// ResidentMiB returns the resident memory of a process in MiB.
func ResidentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseResident(string(text))
}

func parseResident(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}

// Descriptors returns the number of open files and connections of a process.
func Descriptors(pid int) (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open), err
}

// Children lists the running processes that a process has started.
func Children(pid int) (children []int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended in the meantime
		}
		if s, err := parseStat(string(text)); err == nil && s.parent == pid {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, nil
}

package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// State is the state of the schedule of backups. It is the same on every node. It is zero if the
// schedule has never run.
type State struct {
	Since       time.Time // first run of the schedule
	At          time.Time // start of the latest backup; zero if there is none
	Name        string    // name of its file
	Bytes       int64
	Predictions int64
	Took        time.Duration
	FailedAt    time.Time // latest attempt if it failed, else zero
	Failures    int       // consecutive failures
}

// setting is the setting that holds the state.
const setting = "backup"

// ReadState reads the state.
func ReadState(ctx context.Context, db bun.IDB) (s State, err error) {
	text, found, err := database.Setting(ctx, db, setting)
	if err != nil || !found {
		return s, err
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read the state of backups: %w", err)
	}
	return s, nil
}

func (s *State) save(ctx context.Context, db bun.IDB) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return database.SetSetting(ctx, db, setting, string(text))
}

// patience is how late a backup may be, because making it takes time.
const patience = time.Hour

// clockTolerance is what the clocks of two nodes may differ by.
const clockTolerance = time.Minute

// ahead reports whether the latest backup seems to be of the future: the clock was ahead when it was made.
func (s *State) ahead(now time.Time) bool { return s.At.After(now.Add(clockTolerance)) }

// Late reports whether the latest backup is older than the schedule allows, or of the future.
func (s *State) Late(now time.Time, every time.Duration) bool {
	last := s.At
	if last.IsZero() {
		last = s.Since
	}
	return !last.IsZero() && now.Sub(last) > every+min(every, patience) || s.ahead(now)
}

// Failing reports whether the latest attempt failed.
func (s *State) Failing() bool { return s.Failures > 0 }

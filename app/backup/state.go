package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// State is how the schedule of backups goes, on any node. The zero State is that of a
// schedule that has not run.
type State struct {
	Since       time.Time // when the schedule first ran
	At          time.Time // when the latest backup began; zero before the first
	Name        string    // of its file
	Bytes       int64
	Predictions int64
	Took        time.Duration
	FailedAt    time.Time // when the latest attempt failed; zero if it succeeded
	Failures    int       // in a row
}

// setting is where the state is kept.
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

// patience is how much later than planned a backup may be: it takes a while.
const patience = time.Hour

// Late reports whether no backup was made for longer than the schedule demands.
func (s *State) Late(now time.Time, every time.Duration) bool {
	last := s.At
	if last.IsZero() {
		last = s.Since
	}
	return !last.IsZero() && now.Sub(last) > every+min(every, patience)
}

// Failing reports whether the latest attempt failed.
func (s *State) Failing() bool { return s.Failures > 0 }

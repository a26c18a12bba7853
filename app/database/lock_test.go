package database_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
)

// TestLookingDoesNotRefuse checks that Served, which a command calls to see whether a file is
// served, never makes a starting server believe that another server runs.
func TestLookingDoesNotRefuse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				database.Served(path)
			}
		}
	})
	for range 500 {
		release, err := database.Lock(path)
		if err != nil {
			t.Errorf("refused: %v", err)
			break
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	looking.Wait()
}

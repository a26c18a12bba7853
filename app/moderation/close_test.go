package moderation_test

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestCloseCountsAllPredictions checks that closing an account counts its predictions even if
// maintenance erases their texts first.
func TestCloseCountsAllPredictions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, _ := predict(t, db, prediction.Prediction{Title: "One"}, prediction.Prediction{Title: "Two"})
		closing := moderation.New(moderation.Options{DB: db, Now: func() time.Time {
			// Maintenance finds the account from the moment it is closed, which is before its texts are erased.
			if _, err := prediction.EraseClosed(t.Context(), db, start); err != nil {
				t.Error(err)
			}
			return start
		}})
		c, err := closing.CloseAccount(t.Context(), moderation.Act{Actor: "ada", Reason: "Asked by mail."}, ada.Handle)
		if err != nil {
			t.Fatal(err)
		}
		if c.Predictions != 2 || !c.Complete {
			t.Errorf("erased %d predictions, complete %t; want 2, true", c.Predictions, c.Complete)
		}
	})
}

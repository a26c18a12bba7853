package update

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// perRow is the most updates in a row of the outbox, about 100 KB.
const perRow = 400

// outboxRow holds updates without numbers.
type outboxRow struct {
	ID      uuid.UUID `bun:",type:uuid"`
	Content []byte    `bun:",type:bytea"`
}

// Record adds updates to the log. Call it in the transaction that makes the changes, so that both appear
// together. It waits for no other transaction.
func Record(ctx context.Context, tx bun.IDB, list ...Update) error {
	if len(list) == 0 {
		return nil
	}
	if err := database.ExecWrites(ctx, tx, NewWrite(list)); err != nil {
		return fmt.Errorf("record updates: %w", err)
	}
	return nil
}

// NewWrite is Record as a part of a larger statement. The list must not be empty.
func NewWrite(list []Update) database.Write {
	return database.NewInsert("update_outbox", outboxRows(list), "")
}

func outboxRows(list []Update) []outboxRow {
	var rows []outboxRow
	// Ids are in the order of a node's calls, whatever the times of the updates.
	at := time.Now()
	for part := range slices.Chunk(list, perRow) {
		rows = append(rows, outboxRow{database.NewID(at), encode(part)})
		at = at.Add(time.Microsecond)
	}
	return rows
}

func encode(list []Update) []byte {
	content, err := json.Marshal(list)
	if err != nil {
		panic(err) // ids, finite numbers and times can always be encoded
	}
	return content
}

// decode reads updates and numbers them from first on.
func decode(content []byte, first int64) ([]Update, error) {
	var list []Update
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("decode updates: %w", err)
	}
	for i := range list {
		list[i].Seq = first + int64(i)
	}
	return list, nil
}

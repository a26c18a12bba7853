package dbtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// parts is the number of partitions of each table.
const parts = 4

// Partitioned reports whether TEST_PARTITIONED is set. If so, the tables that grow with predictions
// are partitioned by hash of agent_id on Postgres, which enforces the rule that a cluster has for
// keys.
func Partitioned() bool { return os.Getenv("TEST_PARTITIONED") != "" }

// Spread partitions the tables of an empty database from URL as TEST_PARTITIONED does.
func Spread(t testing.TB, address string) {
	t.Helper()
	if Partitioned() {
		return
	}
	if err := spread(address); err != nil {
		t.Fatal(err)
	}
}

// spread partitions the tables of class ByAgent.
func spread(address string) (err error) {
	tables, err := Catalogue()
	if err != nil {
		return err
	}
	db, err := database.Open(context.Background(), address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
		var list []database.Partitioning
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if tables[name].Class != ByAgent || tables[name].View {
				continue
			}
			p := database.Partitioning{Table: name, By: "HASH (agent_id)", Parts: map[string]string{}}
			for i := range parts {
				p.Parts[fmt.Sprintf("%s_part%d", name, i)] = fmt.Sprintf("WITH (MODULUS %d, REMAINDER %d)", parts, i)
			}
			list = append(list, p)
		}
		return database.Partition(ctx, tx, list...)
	})
}

package prediction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
)

// citation records that a prediction's evidence cites a signal. Several links to the same signal make one
// citation.
type citation struct {
	bun.BaseModel `bun:"table:citations,alias:c"`

	Kind         string    `bun:",pk,type:text"` // SignalMarket or SignalNews
	SignalID     string    `bun:",pk,type:text"`
	PredictionID uuid.UUID `bun:",pk,type:uuid"`
	AgentID      uuid.UUID `bun:",pk,type:uuid"`
}

// citationsOf lists the signals that revealed predictions cite, each signal once per prediction.
func citationsOf(predictions []*Prediction) []citation {
	var list []citation
	for _, p := range predictions {
		if p.Unrevealed {
			continue
		}
		first := len(list)
		for _, e := range p.Evidence {
			c := citation{Kind: e.SignalKind, SignalID: e.SignalID, PredictionID: p.ID, AgentID: p.AgentID}
			if c.Kind != "" && !slices.Contains(list[first:], c) {
				list = append(list, c)
			}
		}
	}
	return list
}

const (
	// MaxCitations is the largest number of citations of a signal that are counted.
	MaxCitations = 1000
	// citationsLooked is how many of the newest citations of a signal are looked at for ones whose texts are shown.
	citationsLooked = 100
)

// Cited holds the predictions that cite a signal.
type Cited struct {
	// Total includes predictions with hidden texts. MaxCitations + 1 stands for any larger number.
	Total  int64
	Newest []Record // only predictions whose texts are shown, newest first
}

// CitedBy finds the predictions that cite each of these signals of one kind. It returns at most limit
// predictions per signal, of the newest hundred, and leaves out signals without citations. Its cost grows only with the
// number of signals.
func (s Store) CitedBy(ctx context.Context, db bun.IDB, kind string, ids []string, limit int) (map[string]Cited, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	counts, args := make([]string, len(ids)), make([]any, len(ids))
	for i, id := range ids {
		some := db.NewSelect().Model((*citation)(nil)).Column("c.signal_id").Where("c.kind = ?", kind).Where("c.signal_id = ?", id).
			Limit(MaxCitations + 1)
		counts[i], args[i] = "SELECT signal_id, COUNT(*) AS total FROM (?) AS t GROUP BY signal_id", some
	}
	var totals []struct {
		SignalID string
		Total    int64
	}
	if err := db.NewRaw(strings.Join(counts, " UNION ALL "), args...).Scan(ctx, &totals); err != nil {
		return nil, fmt.Errorf("count citations: %w", err)
	}
	out := make(map[string]Cited, len(totals))
	var found []string
	for _, t := range totals {
		out[t.SignalID] = Cited{Total: t.Total}
		found = append(found, t.SignalID)
	}
	if len(found) == 0 {
		return out, nil
	}
	return out, s.addNewest(ctx, db, kind, found, limit, out)
}

func (s Store) addNewest(
	ctx context.Context, db bun.IDB, kind string, ids []string, limit int, out map[string]Cited,
) error {
	list, err := newestCitations(ctx, db, s.viewer, kind, ids, limit)
	if err != nil || len(list) == 0 {
		return err
	}
	citing := make([]uuid.UUID, len(list))
	for i, c := range list {
		citing[i] = c.PredictionID
	}
	byID, err := s.ByIDs(ctx, db, citing)
	if err != nil {
		return err
	}
	for _, c := range list {
		one := out[c.SignalID]
		one.Newest = append(one.Newest, *byID[c.PredictionID])
		out[c.SignalID] = one
	}
	return nil
}

// newestCitations reads the end of the index for each signal. A window function would read all citations of a
// signal that has thousands.
func newestCitations(
	ctx context.Context, db bun.IDB, viewer agent.Viewer, kind string, ids []string, limit int,
) ([]citation, error) {
	parts, args := make([]string, len(ids)), make([]any, len(ids))
	for i, id := range ids {
		newest := db.NewSelect().Model((*citation)(nil)).Where("c.kind = ?", kind).Where("c.signal_id = ?", id).
			OrderExpr("c.prediction_id DESC").Limit(citationsLooked)
		one := db.NewSelect().TableExpr("(?) AS c", newest).ColumnExpr("c.*").
			Join("JOIN predictions AS p ON p.agent_id = c.agent_id AND p.id = c.prediction_id").
			OrderExpr("c.prediction_id DESC").Limit(int64(limit))
		parts[i], args[i] = "SELECT * FROM (?) AS t", whereTexts(one, viewer)
	}
	var list []citation
	if err := db.NewRaw(strings.Join(parts, " UNION ALL ")+" ORDER BY signal_id, prediction_id DESC", args...).Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("read citations: %w", err)
	}
	return list, nil
}

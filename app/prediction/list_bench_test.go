package prediction_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// listed are lists of every kind, by name.
func listed() map[string]prediction.Filter {
	return map[string]prediction.Filter{
		"all":                                {},
		"agent":                              {AgentID: historyAgent(1)},
		"agent, category":                    {AgentID: historyAgent(1), Category: "c3"},
		"agent, rare category":               {AgentID: historyAgent(1), Category: "rare"},
		"agent, market":                      {AgentID: historyAgent(1), MarketID: "m1"},
		"agent, void":                        {AgentID: historyAgent(1), Status: prediction.Void},
		"agent, by edge":                     {AgentID: historyAgent(1), Sort: prediction.ByEdge},
		"agent, rare category, by edge":      {AgentID: historyAgent(1), Category: "rare", Sort: prediction.ByEdge},
		"agent, by resolution":               {AgentID: historyAgent(1), Sort: prediction.ByResolvedAt},
		"agent, common word":                 {AgentID: historyAgent(1), Words: "common"},
		"agent, rare word":                   {AgentID: historyAgent(1), Words: "rare"},
		"market":                             {MarketID: "m1"},
		"market, open":                       {MarketID: "m1", Status: prediction.Open},
		"market, void":                       {MarketID: "m1", Status: prediction.Void},
		"market, rare category":              {MarketID: "m1", Category: "rare"},
		"market, by edge":                    {MarketID: "m1", Sort: prediction.ByEdge},
		"market, rare word":                  {MarketID: "m1", Words: "rare"},
		"event":                              {EventID: "m1"},
		"event, void":                        {EventID: "m1", Status: prediction.Void},
		"event, rare category":               {EventID: "m1", Category: "rare"},
		"event, by edge":                     {EventID: "m1", Sort: prediction.ByEdge},
		"event, agent":                       {EventID: "m1", AgentID: historyAgent(1)},
		"event, one in a hundred":            {EventID: "m1", Words: "percent"},
		"category":                           {Category: "c3"},
		"rare category":                      {Category: "rare"},
		"unknown category":                   {Category: "unknown"},
		"category, void":                     {Category: "c1", Status: prediction.Void},
		"rare category, open":                {Category: "rare", Status: prediction.Open},
		"rare category, by edge":             {Category: "rare", Sort: prediction.ByEdge},
		"category, by resolution":            {Category: "c3", Sort: prediction.ByResolvedAt},
		"open":                               {Status: prediction.Open},
		"resolved":                           {Status: prediction.Resolved},
		"void":                               {Status: prediction.Void},
		"void, by resolution":                {Status: prediction.Void, Sort: prediction.ByResolvedAt},
		"by resolution":                      {Sort: prediction.ByResolvedAt},
		"by edge":                            {Sort: prediction.ByEdge},
		"common word":                        {Words: "common"},
		"half of all":                        {Words: "half"},
		"one in a hundred":                   {Words: "percent"},
		"one in a thousand":                  {Words: "w17"},
		"rare word":                          {Words: "rare"},
		"unknown word":                       {Words: "nowhere"},
		"common words":                       {Words: "common half made up thesis"},
		"words that never meet":              {Words: "w17 half percent"},
		"common word, rare category":         {Words: "common", Category: "rare"},
		"common word, void":                  {Words: "common", Status: prediction.Void},
		"common word, by edge":               {Words: "common", Sort: prediction.ByEdge},
		"half of all, by edge":               {Words: "half", Sort: prediction.ByEdge},
		"unknown word, by edge":              {Words: "nowhere", Sort: prediction.ByEdge},
		"agent, common word, by edge":        {AgentID: historyAgent(1), Words: "common", Sort: prediction.ByEdge},
		"category, resolved, by edge":        {Category: "c3", Status: prediction.Resolved, Sort: prediction.ByEdge},
		"rare category, void, by resolution": {Category: "rare", Status: prediction.Void, Sort: prediction.ByResolvedAt},
		"category that is never void":        {Category: "c2", Status: prediction.Void},
		"unknown category, void":             {Category: "unknown", Status: prediction.Void},
		"one in a hundred, by resolution":    {Words: "percent", Sort: prediction.ByResolvedAt},
		"one in a hundred, agent, by edge":   {Words: "percent", AgentID: historyAgent(1), Sort: prediction.ByEdge},
	}
}

// BenchmarkList measures pages of each list, from the first to the last, in CPU time of this process and of the
// Postgres backend. It needs HISTORY_URL, the address of an empty database, and fills it with a million
// predictions. Postgres must run on this machine.
func BenchmarkList(b *testing.B) {
	address := os.Getenv("HISTORY_URL")
	if address == "" {
		b.Skip("set HISTORY_URL to the address of a database to fill and measure")
	}
	db, err := database.Open(b.Context(), address)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	var have int
	if err := db.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM results").Scan(&have); err != nil {
		b.Fatal(err)
	}
	const size, chunk = 1_000_000, 50_000
	for ; have < size; have += chunk {
		past.write(b, db, have+1, have+chunk)
	}
	db.Reader.SetMaxOpenConns(1) // one backend does all the work
	var store prediction.Store
	for name, f := range listed() {
		f.Limit = 24
		b.Run(name, func(b *testing.B) {
			found, pages := 0, 0
			before := cpu(b, db)
			for b.Loop() {
				list, next, err := store.List(b.Context(), db.Reader, f)
				if err != nil {
					b.Fatal(err)
				}
				found += len(list)
				pages++
				f.Cursor = next // goes through the whole list and starts again
			}
			after := cpu(b, db)
			b.ReportMetric((after.node-before.node)/float64(pages), "node-µs/op")
			b.ReportMetric((after.server-before.server)/float64(pages), "postgres-µs/op")
			b.ReportMetric(float64(found)/float64(pages), "found/op")
		})
	}
}

// times are CPU times in microseconds.
type times struct{ node, server float64 }

func cpu(b *testing.B, db *database.DB) (t times) {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	micro := func(v syscall.Timeval) float64 { return float64(v.Sec)*1e6 + float64(v.Usec) }
	t.node = micro(self.Utime) + micro(self.Stime)
	if db.Kind != database.Postgres {
		return t
	}
	var pid int
	if err := db.Reader.QueryRowContext(context.Background(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		t.server += ticks * 1e4
	}
	return t
}

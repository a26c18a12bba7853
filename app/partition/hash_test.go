package partition_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hashed are the tests of stores that also run on hash partitions. They cover publishing, listing,
// settling, correcting, ranking and deleting, and are chosen to be quick. With TEST_PARTITIONED=1,
// any other test runs on hash partitions, too.
var hashed = map[string][]string{
	"database": {"KeysAreDistributable"},
	"prediction": {
		"PublishStoresWhatItAnswers", "ManyRepeats", "Idempotency", "BatchIsPublishedInOrder", "ListPagesThroughEverything", "CitedBy",
		"RevealRefused", "SearchesListInOrder", "ResolvedOnRows",
	},
	"settlement":  {"ReopenedMarket", "ReversalsRestoreEverySum", "RebuildMends", "AdminsRuleAtOnce", "CorrectedClosing"},
	"leaderboard": {"IncrementalEqualsRebuild", "Paging", "StatsOfNewAgent", "Compare", "ConsensusFollows"},
	"update":      {"Log", "Prune", "ReaderMissesNothing", "SequencerCrashes"},
	"agent":       {"Usage", "RecentErrors", "Keys", "CreateAndFind"},
}

// TestStoresOnHashPartitions checks that the stores work on tables partitioned by hash of agent_id,
// with the restriction on keys that a cluster has. See docs/scaling.md.
func TestStoresOnHashPartitions(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_POSTGRES_URL") == "" {
		t.Skip("TEST_POSTGRES_URL is not set: run the suite by make test, which starts a private Postgres")
	}
	args, want := []string{"test", "-count=1", "-vet=off", "-ldflags=-s", "-v"}, 0
	var names, packages []string
	for name, tests := range hashed {
		names, packages, want = append(names, tests...), append(packages, "../"+name), want+len(tests)
	}
	args = append(args, "-run", "^Test("+strings.Join(names, "|")+")$/^postgres$")
	cmd := exec.CommandContext(t.Context(), "go", append(args, packages...)...)
	cmd.Env = append(os.Environ(), "TEST_PARTITIONED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A name that several packages share runs in each of them.
	if got := strings.Count(string(out), "/postgres ("); got < want || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%d tests ran on Postgres, want %d:\n%s", got, want, out)
	}
	t.Logf("%s of CPU, without Postgres", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

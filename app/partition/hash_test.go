package partition_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hashed are the tests of the stores that run on hash partitions as well: what publishes, lists,
// settles, corrects, ranks and forgets. They are chosen to be quick; TEST_PARTITIONED=1 runs any other.
var hashed = map[string][]string{
	"database": {"KeysAreDistributable"},
	"prediction": {
		"PublishStoresWhatItAnswers", "RepeatIsWeighed", "Idempotency", "BatchIsPublishedInOrder", "ListPagesThroughEverything", "CitedBy",
		"RevealRefused", "SearchesListInOrder",
	},
	"settlement":  {"ReopenedMarket", "ReversalsRestoreEverySum", "RebuildMends", "AdminsRuleAtOnce", "CorrectedClosing"},
	"leaderboard": {"IncrementalEqualsRebuild", "Paging", "StatsOfNewAgent", "Compare", "ConsensusFollows"},
	"update":      {"Log", "Prune", "ReaderMissesNothing", "SequencerCrashes"},
	"agent":       {"Usage", "RecentErrors", "Keys", "CreateAndFind"},
}

// TestStoresOnHashPartitions: the stores work on tables that are partitioned by hash of agent_id,
// under the rule for keys that a cluster has. See docs/scaling.md.
func TestStoresOnHashPartitions(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_POSTGRES_URL") == "" {
		t.Skip("TEST_POSTGRES_URL is not set: run the suite by make test, which starts a private Postgres")
	}
	args, want := []string{"test", "-count=1", "-vet=off", "-v"}, 0
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
	// Names that several packages have run in each of them.
	if got := strings.Count(string(out), "/postgres ("); got < want || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%d tests ran on Postgres, want %d:\n%s", got, want, out)
	}
	t.Logf("%s of CPU, without Postgres", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

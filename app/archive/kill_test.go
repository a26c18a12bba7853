package archive_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// sealVariable is an environment variable. If it is set, this program seals a day instead of
// running tests. It holds database, folder and day, separated by spaces.
const sealVariable = "ARCHIVE_TEST_SEAL"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(sealVariable)); len(words) == 3 {
		if err := sealIn(words[0], words[1], words[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func sealIn(address, folder, day string) error {
	db, err := database.Open(context.Background(), address)
	if err != nil {
		return err
	}
	fmt.Println("sealing")
	s := archive.Sealer{DB: db, Storage: archive.OpenFolder(folder), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	return s.Seal(context.Background(), day)
}

// kills is how many times TestKilledWhileSealing kills a sealer: TORTURE_SEALING, or 6.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TORTURE_SEALING")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKilledWhileSealing kills a sealer with SIGKILL at random moments, half of the times on each
// database. The next run must seal the complete day once.
func TestKilledWhileSealing(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			k := newKiller(t, kind)
			k.seal(0, time.Hour) // this run measures how long sealing takes
			killed, want := 0, kills(t)/2
			for i := 1; killed < want; i++ {
				if i > 5*want {
					t.Fatalf("killed only %d of %d times while sealing", killed, i-1)
				}
				if k.seal(i, time.Duration(rand.Int64N(int64(k.took)))) {
					killed++
				}
			}
			if problems, notes := k.verify(); len(problems)+len(notes) > 0 {
				t.Errorf("problems %q, notes %q", problems, notes)
			}
		})
	}
}

// killer is a world with a database that other processes can open.
type killer struct {
	*world
	address, folder string
	took            time.Duration // duration of sealing a day
}

const killReadings, killMarkets = 40, 50

func newKiller(t *testing.T, kind database.Kind) *killer {
	t.Helper()
	k := &killer{address: dbtest.URL(t, kind), folder: t.TempDir(), took: time.Second}
	db, err := database.Open(t.Context(), k.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.world = &world{t: t, db: db, storage: &faulty{Writable: archive.OpenFolder(k.folder)}}
	k.recorder = archive.NewRecorder(k.now)
	k.sealer = &archive.Sealer{DB: db, Storage: k.storage, Now: k.now, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	return k
}

// seal records a day, kills its sealer after a delay, seals again, and checks the day. It reports
// whether the sealer was killed before it was done.
func (k *killer) seal(i int, moment time.Duration) (killed bool) {
	k.t.Helper()
	from := day.AddDate(0, 0, i)
	for minute := range killReadings {
		k.set(from.Add(time.Duration(minute) * time.Minute))
		list := make([]market.Market, killMarkets)
		for j := range list {
			list[j] = yesNo(fmt.Sprintf("m%02d", j))
		}
		k.readMarkets(list, nil)
	}
	name := archive.DayOf(from)
	cmd := exec.CommandContext(k.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), sealVariable+"="+strings.Join([]string{k.address, k.folder, name}, " "))
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // sealing has begun
		k.t.Fatal(err)
	}
	began := time.Now()
	timer := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
	killed = cmd.Wait() != nil
	timer.Stop()
	if !killed {
		k.took = time.Since(began)
	}
	k.set(from.AddDate(0, 0, 1).Add(time.Hour))
	k.mustTick()
	k.whole(name, i+1)
	return killed
}

// whole checks that a day holds every reading once, and that no segments are left.
func (k *killer) whole(name string, days int) {
	k.t.Helper()
	if got := k.days(); len(got) != days || got[days-1] != name || k.segments() != 0 {
		k.t.Errorf("got days %v and %d segments left", got, k.segments())
	}
	seen := map[string]bool{}
	rows := rowsOf[archive.PriceRow](k.world, name, archive.Prices)
	for _, r := range rows {
		seen[r.Market+r.ObservedAt.String()] = true
	}
	if len(rows) != killReadings*killMarkets || len(seen) != len(rows) {
		k.t.Errorf("%s: got %d rows, %d of them different; want %d", name, len(rows), len(seen), killReadings*killMarkets)
	}
}

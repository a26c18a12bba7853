package run

import (
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "4711 (a (very) odd name) S 42 4711 4711 0 -1 4194560 100 200 0 0 150 50 7 3 20 0 12 0 100 1000 200"
	got, err := parseStat(line)
	if want := (stat{parent: 42, own: 2 * time.Second, ended: 100 * time.Millisecond}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseStat("4711 (short) S 42"); err == nil {
		t.Error("got no error for a short line")
	}
}

func TestParseResident(t *testing.T) {
	t.Parallel()
	if got, err := parseResident("VmPeak:\t  300000 kB\nVmRSS:\t  102400 kB\n"); err != nil || got != 100 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseResident("VmPeak:\t  300000 kB\n"); err == nil {
		t.Error("got no error for a status without VmRSS")
	}
}

func TestMissingTools(t *testing.T) {
	t.Parallel()
	tools := []Tool{{Program: "wrk", Package: "wrk"}, {Program: "nginx", Package: "nginx-light"}, {Program: "pgbench", Package: "postgresql"}}
	for _, c := range []struct {
		there []string
		want  []string
	}{
		{[]string{"wrk", "nginx", "pgbench"}, nil},
		{[]string{"nginx"}, []string{"wrk", "postgresql"}},
		{nil, []string{"wrk", "nginx-light", "postgresql"}},
	} {
		got := missing(tools, func(t Tool) string {
			if slices.Contains(c.there, t.Program) {
				return "/usr/bin/" + t.Program
			}
			return ""
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("missing with %v: got %v, want %v", c.there, got, c.want)
		}
	}
	if got, want := howTo([]string{"wrk", "nginx-light"}).Error(), "not installed: wrk nginx-light; install with: apt-get install wrk nginx-light"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}

func TestMachineFields(t *testing.T) {
	t.Parallel()
	if got := field("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nmodel name\t: B\n", "model name"); got != "A CPU @ 2 GHz" {
		t.Errorf("got model name %q", got)
	}
	if got := gibibytes("25165824 kB"); got != "24 GiB" {
		t.Errorf("got memory %q", got)
	}
	if got := gibibytes(""); got != "" {
		t.Errorf("got %q for unknown memory", got)
	}
}

// TestKillWithUnreadOutput checks that Kill returns even if nobody reads the output of the process.
func TestKillWithUnreadOutput(t *testing.T) {
	t.Parallel()
	p, out, err := Start(t.Context(), t.TempDir(), Command{Name: "yes", Program: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	killed := make(chan struct{})
	go func() {
		p.Kill()
		close(killed)
	}()
	select {
	case <-killed:
	case <-time.After(30 * time.Second):
		t.Fatal("a killed server is waited for forever")
	}
}

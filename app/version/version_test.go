package version

import (
	"runtime/debug"
	"testing"

	"github.com/pulsecast/pulsecast/app/contract"
)

func TestAPIIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	if doc.Info.Version != API {
		t.Errorf("the contract has %s, the program %s", doc.Info.Version, API)
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	built := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		name, tag string
		info      *debug.BuildInfo
		want      string
	}{
		{"release", "v1.2.3", built("(devel)", commit, dirty), "v1.2.3"},
		{"commit", "", built("(devel)", commit), "0123456789ab"},
		{"changed files", "", built("v0.0.0-20261122", commit, dirty), "0123456789ab+dirty"},
		{"installed module", "", built("v1.2.3"), "v1.2.3"},
		{"without a history", "", built("(devel)"), "devel"},
		{"short commit", "", built("", debug.BuildSetting{Key: "vcs.revision", Value: "0123"}), "0123"},
		{"no information", "", nil, "devel"},
	} {
		if got := of(tt.tag, tt.info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if Program() == "" {
		t.Error("this build has no version")
	}
}

package version

import (
	"runtime/debug"
	"testing"
)

func TestFromInfo(t *testing.T) {
	t.Parallel()
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		name, module, want string
		settings           []debug.BuildSetting
	}{
		{"a tag", "v1.2.3", "v1.2.3", []debug.BuildSetting{commit}},
		{"a commit", "(devel)", "0123456789ab", []debug.BuildSetting{commit}},
		{"a modified tree", "", "0123456789ab-dirty", []debug.BuildSetting{commit, dirty}},
		{"no history", "(devel)", "devel", nil},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		if got := fromInfo(info); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

package cli

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
)

func TestDemoArchive(t *testing.T) {
	const unset = "file://data/archive"
	for _, c := range []struct{ database, archive, want string }{
		{"sqlite:///srv/demo.db", unset, "file:///srv/archive"},
		{"sqlite:///srv/demo.db", "off", "off"},
		{"sqlite:///srv/demo.db", "s3://tape/archive", "s3://tape/archive"},
		{"postgres:///demo", unset, unset},
	} {
		t.Setenv("ARCHIVE_URL", c.archive)
		cfg := config.Config{DatabaseURL: c.database, ArchiveURL: c.archive}
		if got := demoArchive(&cfg); got != c.want {
			t.Errorf("%s with ARCHIVE_URL=%s: got %s, want %s", c.database, c.archive, got, c.want)
		}
	}
}

package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/config"
)

// TestMissingDatabase checks that a command for an existing database makes no new one, such as in a wrong folder, and
// says so in one line.
func TestMissingDatabase(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(ctx context.Context, cfg config.Config) error{
		"settle": func(ctx context.Context, cfg config.Config) error { return (&settleCommand{Config: cfg}).Run(ctx) },
		"settle rebuild": func(ctx context.Context, cfg config.Config) error {
			return (&settleCommand{Config: cfg, Rebuild: true}).Run(ctx)
		},
		"admin list":   func(ctx context.Context, cfg config.Config) error { return (&adminList{cfg}).Run(ctx) },
		"migrate down": func(ctx context.Context, cfg config.Config) error { return (&migrateDown{Config: cfg}).Run(ctx) },
		"data redact": func(ctx context.Context, cfg config.Config) error {
			return (&redactCommand{Config: cfg, Table: archive.News, Record: "x", Reason: "ordered"}).Run(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "data")
			cfg := config.Default()
			cfg.LogFormat, cfg.DatabaseURL, cfg.ArchiveURL = "off", "sqlite://"+filepath.Join(folder, "pulsecast.db"), "file://"+filepath.Join(folder, "archive")
			err := run(t.Context(), cfg)
			if err == nil || !strings.HasPrefix(err.Error(), "there is no database at "+folder) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was made: %v", folder, err)
			}
		})
	}
}

// TestNewDatabase checks that an admin and an agent can be created before the first start.
func TestNewDatabase(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(ctx context.Context, cfg config.Config) error{
		"admin create": func(ctx context.Context, cfg config.Config) error {
			c := &adminCreate{}
			c.Config, c.Name, c.Generate = cfg, "ada", true
			return c.Run(ctx, &remote.Terminal{})
		},
		"agent create": func(ctx context.Context, cfg config.Config) error {
			return (&agentCreate{Config: cfg, Name: "Ada"}).Run(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "data", "pulsecast.db")
			cfg := config.Default()
			cfg.LogFormat, cfg.DatabaseURL = "off", "sqlite://"+path
			if err := run(t.Context(), cfg); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

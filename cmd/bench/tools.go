package main

import (
	"context"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// tools are the paths of the programs that the references need.
type tools struct{ wrk, nginx, pgbench string }

func findTools(ctx context.Context) (tools, error) {
	paths, err := run.Install(ctx,
		run.Tool{Program: "wrk", Package: "wrk"},
		run.Tool{Program: "nginx", Elsewhere: "/usr/sbin/nginx", Package: "nginx-light"},
		run.Tool{Program: "pgbench", Elsewhere: "/usr/lib/postgresql/*/bin/pgbench", Package: "postgresql"},
	)
	if err != nil {
		return tools{}, err
	}
	return tools{wrk: paths[0], nginx: paths[1], pgbench: paths[2]}, nil
}

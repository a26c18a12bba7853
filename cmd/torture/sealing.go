package main

import (
	"fmt"
	"os"
	"regexp"
)

var killedSealing = regexp.MustCompile(`killed (\d+) times while sealing`)

// serverVariable names the Postgres server on which tests create their databases.
const serverVariable = "TEST_POSTGRES_URL"

// killSealers runs the test that kills sealers, which is one of app/archive.
func killSealers(l *lab) {
	l.must(os.Setenv("TORTURE_SEALING", fmt.Sprint(l.Sealing)))
	if os.Getenv(serverVariable) == "" {
		l.must(os.Setenv(serverVariable, l.postgres().url))
		defer func() { l.must(os.Unsetenv(serverVariable)) }()
	}
	out, err := l.goTest(l.ctx, "./app/archive", "-v", "-timeout", "30m", "-run", "^TestKilledWhileSealing$")
	for _, m := range killedSealing.FindAllSubmatch(out, -1) {
		n := 0
		_, _ = fmt.Sscan(string(m[1]), &n)
		l.count("sealers killed", n)
	}
	if err != nil {
		l.fault("the test: %v: %s", err, firstFailure(out))
	}
	if len(l.order) == 0 {
		l.fault("no sealer was killed")
	}
}

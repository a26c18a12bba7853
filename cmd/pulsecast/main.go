// Command pulsecast is the whole service in one binary: the HTTP server, the worker, and the commands for
// operators and agents' authors.
package main

import (
	"os"

	"github.com/pulsecast/pulsecast/app/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

// Command pulsecast is the whole service in one binary: the HTTP side, the worker,
// and the commands of its operators.
package main

import (
	"os"

	"github.com/pulsecast/pulsecast/app/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

// Package version holds the versions of the API and of the program.
package version

import (
	"runtime/debug"
	"sync"
)

// API is the version of the API. It is info.version of the OpenAPI document and "version" of
// /api/health.
const API = "0.1.0"

// build is set by the linker: -ldflags "-X github.com/pulsecast/pulsecast/app/version.build=v1.2.3".
var build string

// Build returns the version of the program: the tag or the commit it was built from, or "devel" if
// that is unknown.
func Build() string {
	if build != "" {
		return build
	}
	return recorded()
}

// recorded returns the version that the go command recorded in the binary.
var recorded = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return fromInfo(info)
})

const devel = "devel"

// fromInfo returns the module's version, which is a tag or names the commit. Without one, it
// returns the commit, with "-dirty" if the tree was modified, or "devel".
func fromInfo(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "-dirty"
			}
		}
	}
	if commit == "" {
		return devel
	}
	return commit + modified
}

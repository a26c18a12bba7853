// Package version says which version of the interface and of the program this is.
package version

import (
	"runtime/debug"
	"sync"
)

// API is the version of the interface: info.version of the contract and "version" of
// /api/health.
const API = "0.1.0"

// tag is set when a release is built:
// -ldflags "-X github.com/pulsecast/pulsecast/app/version.tag=v1.2.3".
var tag string

// Program returns the version of this build: the release tag, or else the commit (with
// "+dirty" if files were changed), or else the module's version, or else "devel". It
// identifies the program to upstreams, clients and operators.
var Program = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return of(tag, info)
})

// commitDigits is the length of an abbreviated commit.
const commitDigits = 12

func of(tag string, info *debug.BuildInfo) string {
	if tag != "" {
		return tag
	}
	if info == nil {
		return "devel"
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(commitDigits, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	switch {
	case commit != "":
		return commit + dirty
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "devel"
}

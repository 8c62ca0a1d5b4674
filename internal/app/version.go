package app

import "runtime/debug"

// Version is the version of the module that the server was built from; "dev"
// for a build from a working copy.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

package serving

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"plannerd/internal/cli"
	"plannerd/planner"
)

// Version is the command that prints what the program was built from.
type Version struct{}

// Run prints what this program was built from.
func (Version) Run(env *cli.Environment) error {
	_, err := fmt.Fprintf(env.Stdout, "plannerd %s\nplanner  revision %s\ngo       %s %s/%s\n",
		version(), planner.Revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the module's version, or the commit of a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return "devel"
	}
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if settings["vcs.modified"] == "true" {
		commit += " (modified)"
	}
	return "devel " + commit
}

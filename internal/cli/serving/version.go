package serving

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

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

// version is that of the module, which of a build from a checkout names the commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return "devel"
}

package asking

import (
	"fmt"
	"strings"

	"plannerd/internal/cli"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// Undo is the command that has a server bring an earlier routing table back.
type Undo struct {
	Operator  string `arg:"" help:"The operator whose table is to be as it was."`
	Server    string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Where the server is (default http://127.0.0.1:8080)."`
	TokenFile string `placeholder:"FILE" help:"The file that has the token for the server (default: the environment variable PLANNERD_TOKEN)."`
	ToVersion *int64 `placeholder:"N" help:"The version of the table to bring back; that which a plan changed is its base_version (default: the one before the committed one)."`
	DryRun    bool   `help:"Only say what it would move."`
	Reason    string `placeholder:"TEXT" help:"Why, for those who read the plan (default: none)."`
	Output    string `own:"" enum:"text,json" default:"text" group:"Output" help:"text for people, json for programs."`
}

// Run asks for the plan, or what it would move.
func (c *Undo) Run(env *cli.Environment) error {
	server, err := Server(env, "--server", c.Server, c.TokenFile, "undo")
	if err != nil {
		return err
	}
	if c.DryRun {
		would, err := server.PreviewUndo(env.Ctx, c.Operator, client.PreviewUndoOptions{ToVersion: c.ToVersion})
		if err != nil {
			return err
		}
		return env.Output(c.Output, func() any { return would }, func(w *cli.Page) {
			fmt.Fprintf(w, "%s would go back to version %d.\n", c.Operator, would.ToVersion)
			writeOutcome(w, would.LeftKeys, would.Theta, would.Migration)
		}, nil)
	}
	request := wire.UndoRequest{ToVersion: c.ToVersion}
	if c.Reason != "" {
		request.Reason = &c.Reason
	}
	p, err := server.Undo(env.Ctx, c.Operator, request)
	if err != nil {
		return err
	}
	return env.Output(c.Output, func() any { return p }, func(w *cli.Page) {
		fmt.Fprintf(w, "Plan %s of %s goes back to version %d. It is %s", p.Id, c.Operator, p.Undo.ToVersion, p.Status)
		if len(p.WaitsFor) > 0 {
			why := make([]string, len(p.WaitsFor))
			for i, one := range p.WaitsFor {
				why[i] = string(one)
			}
			fmt.Fprintf(w, ", and waits for approval because of %s", strings.Join(why, ", "))
		}
		fmt.Fprintln(w, ".")
		writeOutcome(w, p.Undo.LeftKeys, p.Theta, p.Migration)
	}, nil)
}

// writeOutcome says what an undo moves, and what comes of it.
func writeOutcome(w *cli.Page, left int64, theta wire.Theta, moved wire.MigrationFigures) {
	fmt.Fprintf(w, "It moves %s with %s of all state. ", cli.Plural(moved.Keys, "key"), cli.Percent(moved.Fraction))
	fmt.Fprintf(w, "θ goes from %s to %s by the newest statistics.\n", cli.Percent(theta.Before), cli.Percent(theta.After))
	if left > 0 {
		fmt.Fprintf(w, "%s cannot be brought back and stay as they are routed.\n", cli.Plural(left, "key"))
	}
}

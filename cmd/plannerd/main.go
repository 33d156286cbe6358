// Command plannerd plans the rebalancing of partitioned stream operators: as an
// HTTP service, or on files without one. Run "plannerd help".
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	// Certificates of public authorities, for where the system has none: the image is the program alone.
	_ "golang.org/x/crypto/x509roots/fallback"

	"plannerd/internal/cli"
	"plannerd/internal/cli/analyzing"
	"plannerd/internal/cli/asking"
	"plannerd/internal/cli/backtesting"
	"plannerd/internal/cli/collecting"
	"plannerd/internal/cli/counting"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/internal/cli/serving"
	"plannerd/internal/lab/workload"
	"plannerd/planner/partitioner"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command failed: a bad file, a store that is not there
	exitUsage  = 2 // the command line or the environment is wrong
	exitMissed = 3 // plan --check: some plan misses a goal
)

const description = `plannerd decides which keys of a partitioned stream operator to route explicitly
instead of by hash, so that no task instance is overloaded, little state has to
move and the routing table stays small.

  plannerd serve                        the HTTP service
  plannerd generate | plannerd plan -   a synthetic stream, planned interval by interval
  plannerd compare stats.csv            all strategies side by side
  plannerd compact stats.csv            what classes of keys save, and as records
  plannerd analyze schemes stats.csv    which scheme to use: hashing, a routing table or another
  plannerd help plan                    what a command does, its flags, and examples
  plannerd --version                    what was installed

Every flag may be given in the environment instead: the help of a command names the
variable beside each flag. Shares are written 0.05 or 5%, durations 500ms, 30s or 2m. A
flag without a default is off.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 "plan --check" found a plan that is
not balanced or exceeds the table limit.`

// commandLine is the whole command line.
type commandLine struct {
	Serve      serving.Serve         `cmd:"" help:"Serve the HTTP API."`
	Demo       demoCmd               `cmd:"" help:"Serve a dashboard with example data, and store nothing."`
	Plan       offline.Plan          `cmd:"" help:"Plan the statistics in a file or on standard input."`
	Compare    offline.Compare       `cmd:"" help:"Plan with several strategies and compare the outcomes."`
	Backtest   backtesting.Backtest  `cmd:"" help:"Run policies over recorded intervals and recommend one."`
	Compact    compactCmd            `cmd:"" help:"Turn statistics of keys into compact records."`
	Analyze    analyzing.Analyze     `cmd:"" help:"Analyse token rings, partial key grouping and key ranges, or compare all schemes."`
	Reproduce  reproduceCmd          `cmd:"" help:"Measure what the papers' tables and figures show, beside what they published."`
	Resolve    resolveCmd            `cmd:"" help:"Name the keys that carry out a plan of compact records."`
	Count      counting.Count        `cmd:"" help:"Count events, such as lines of an access log: statistics of their keys."`
	Collect    collecting.Collect    `cmd:"" help:"Collect statistics from Kafka, Redis or Prometheus, once or interval by interval."`
	KafkaGroup collecting.KafkaGroup `cmd:"" help:"Have a server balance a consumer group of Kafka by what its partitions carry."`
	Convert    counting.Convert      `cmd:"" help:"Convert statistics of other systems into plannerd's CSV."`
	Undo       asking.Undo           `cmd:"" help:"Ask a server to bring an earlier routing table back."`
	Generate   generateCmd           `cmd:"" help:"Generate a synthetic, drifting key stream."`
	Migrate    serving.Migrate       `cmd:"" help:"Change the database schema."`
	Check      serving.Check         `cmd:"" help:"Check whether anything in a database is damaged."`
	Backup     serving.Backup        `cmd:"" help:"Copy a SQLite database while it is served."`
	Restore    serving.Restore       `cmd:"" help:"Restore a SQLite database from a backup."`
	Token      struct {
		New serving.TokenNew `cmd:"" help:"Make a token for a caller of the service."`
	} `cmd:"" help:"Make access tokens for callers of the service."`

	Healthcheck serving.Healthcheck `cmd:"" help:"Ask a running server whether it is healthy."`

	Version serving.Version `cmd:"" help:"Print the version of the program and of its planner."`
	// Help is listed alone: spelledOut turns it into the flag --help.
	Help struct {
		Command []string `arg:"" optional:"" help:"The command, such as plan or analyze ring (default: the commands)."`
	} `cmd:"" help:"Print what a command does, its flags, and examples."`
	Completion completionCmd `cmd:"" help:"Print a script that makes a shell complete commands and flags."`
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		// A second signal ends the program at once. What shows that the first one came must not be
		// seen before that is so: signal.NotifyContext ends its context first.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// clockSkew is what the clock is ahead of the machine's, such as -10m. Only builds that try
// replicas whose clocks disagree set it, by -ldflags "-X main.clockSkew=-10m".
var clockSkew string

// run is the program: it returns the exit code. Ending ctx ends it gracefully.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := &cli.Environment{Ctx: ctx, Environ: environ, Stdin: stdin, Stdout: stdout, Stderr: stderr, Now: time.Now}
	if skew, err := time.ParseDuration(clockSkew); err == nil {
		env.Now = func() time.Time { return time.Now().Add(skew) }
	}
	return execute(env, args)
}

// execute executes one command line, reports its error and returns the exit code.
func execute(env *cli.Environment, args []string) int {
	err := parseAndRun(env, args)
	var usage cli.UsageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, cli.ErrMissed):
		return exitMissed
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // the reader went away; nobody is left to tell
	case env.Ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(env.Stderr, "plannerd: interrupted")
		return exitFailed
	}
	if list, ok := errors.AsType[*reading.ProblemList](err); ok {
		for _, line := range list.Lines {
			fmt.Fprintln(env.Stderr, "plannerd: "+line)
		}
		return exitFailed
	}
	fmt.Fprintln(env.Stderr, "plannerd: "+cli.OneLine(err.Error()))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func parseAndRun(env *cli.Environment, args []string) error {
	var app commandLine
	helped, names := false, variables{}
	parser, err := newParser(&app, env, names, func() { helped = true })
	if err != nil {
		return fmt.Errorf("the command line is defined wrongly: %w", err)
	}
	if len(args) > 0 && args[0] == completeArg {
		return complete(env, parser.Model.Node, args[1:])
	}
	env.Unknown = names.unknown(env.Environ)
	command, err := parser.Parse(joinValues(spelledOut(args)))
	if helped {
		return nil
	}
	if err != nil {
		return cli.Usagef("%w (%s)", err, seeHelp(err))
	}
	if err := checkLeast(command); err != nil {
		return err
	}
	if command.Command() != "serve" { // which has a log
		for _, warning := range env.Unknown {
			fmt.Fprintln(env.Stderr, "plannerd: "+warning)
		}
	}
	env.Command, _, _ = strings.Cut(command.Command(), " <")
	return command.Run(env, parser.Model)
}

// checkLeast holds the flags of a command against the least values in their tags.
func checkLeast(command *kong.Context) error {
	for _, flag := range command.Flags() {
		text := flag.Tag.Get("least")
		least, err := strconv.ParseInt(text, 10, 64)
		if err != nil || flag.Target.Int() >= least {
			continue
		}
		switch _, timed := flag.Target.Interface().(time.Duration); {
		case timed && least > 0:
			text = "> 0s"
		case timed:
			text = "≥ 0s"
		default:
			text = "≥ " + text
		}
		return cli.Usagef("--%s: must be %s", flag.Name, text)
	}
	return nil
}

// newParser makes the parser of the command line. helped is called when help was
// printed and nothing is left to do.
func newParser(app *commandLine, env *cli.Environment, names variables, helped func()) (*kong.Kong, error) {
	app.Plan.Plugins, app.Compare.Plugins = offline.NewStrategyFlags(), offline.NewStrategyFlags()
	return kong.New(app, append(analyzing.FlagTypes(),
		cli.FlagType("share", cli.ParseShare), cli.FlagType("header", reading.ParseHeader), offline.GridType,
		cli.FlagType("columns", reading.ParseColumns), cli.FlagType("delimiter", reading.ParseDelimiter),
		cli.FlagType("decimal", reading.ParseDecimal),
		cli.FlagType("forecast", backtesting.ParseForecast), cli.FlagType("bytes", serving.ParseBytes),
		kong.Name("plannerd"),
		kong.Description(description),
		kong.Vars(defaults()),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(int) { helped() }),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, NoExpandSubcommands: true, NoAppDescFormat: true, WrapUpperBound: 100,
		}),
		kong.PostBuild(func(k *kong.Kong) error {
			names.collect(k.Model.Node, variablePrefix)
			addHelp(k.Model.Node, "help")
			return nil
		}),
		kong.Resolvers(names.resolver(env.Getenv)),
		kong.ValueFormatter(names.help),
	)...)
}

// helpTexts say what commands do, with examples: those of plannerd analyze pkg are in help/analyze/pkg.txt.
//
//go:embed help
var helpTexts embed.FS

// addHelp gives the commands below a node their texts, which are in that folder.
func addHelp(node *kong.Node, folder string) {
	for _, command := range node.Children {
		name := folder + "/" + command.Name
		text, err := helpTexts.ReadFile(name + ".txt")
		if err == nil { // others have nothing to say but their flags
			command.Detail = strings.Replace(strings.TrimSuffix(string(text), "\n"), "{strategies}", reading.StrategyHelp(), 1)
		}
		addHelp(command, name)
	}
}

// spelledOut turns the short ways to ask for help and for the version into flags and
// commands.
func spelledOut(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	case args[0] == "help" && !slices.Contains(args, "--help"):
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// joinValues writes --flag -1 as --flag=-1. The parser would take -1 for a flag of its own;
// the rule that the number breaks, if any, tells people more.
func joinValues(args []string) []string {
	var joined []string
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		last := len(joined) - 1
		if last >= 0 && negative(arg) && strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") {
			joined[last] += "=" + arg
		} else {
			joined = append(joined, arg)
		}
	}
	return joined
}

// negative tells whether an argument begins like a number below zero.
func negative(arg string) bool {
	digits, minus := strings.CutPrefix(arg, "-")
	return minus && (strings.HasPrefix(strings.ToLower(digits), "inf") ||
		strings.TrimLeft(digits, ".0123456789") != digits)
}

// seeHelp names the help that fits where parsing failed.
func seeHelp(err error) string {
	path := "plannerd"
	if parse := (*kong.ParseError)(nil); errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			path = "plannerd " + node.Path()
		}
	}
	return "see " + path + " --help"
}

// defaults are the numbers that help texts take from the packages that apply them.
func defaults() map[string]string {
	forecasts, targets, paybacks := backtesting.Defaults()
	return map[string]string{
		"tuples_per_key":  strconv.Itoa(workload.DefaultTuplesPerKey),
		"tokens":          strconv.Itoa(partitioner.DefaultTokensPerInstance),
		"forecasts":       forecasts,
		"targets":         targets,
		"paybacks":        paybacks,
		"max_parallelism": strconv.Itoa(partitioner.DefaultMaxParallelism),
	}
}

package backtesting

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"plannerd/internal/backtest"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// Backtest is the command that tries policies.
type Backtest struct {
	File   string `arg:"" help:"Statistics of several intervals: a file, or - for standard input."`
	Format string `enum:"auto,csv,ndjson,json,arrow,parquet" default:"auto" help:"Format of the input: csv, ndjson, json (a document, or one a line and interval), arrow (an IPC stream), parquet, or auto, which looks at it. Compression is always recognised."`
	reading.TextFlags
	reading.OperatorFlags
	reading.ResourceFlags
	EntryGrace int               `least:"0" default:"2" group:"Operator" help:"For how many intervals in a row a key must be absent before its table entry may be dropped; 0: at once."`
	ThetaMax   []float64         `type:"share" own:"" default:"0.08" placeholder:"θ,..." group:"Parameters" help:"θ_max, a share of the fair load: an instance may carry (1+θ_max) times its own. Of several, with commas between them, each is reported with the results of its recommended policy (default 0.08)."`
	TableLimit *int64            `own:"" placeholder:"N" group:"Parameters" help:"Greatest size of the routing table, in entries (default: no limit)."`
	Forecasts  []forecast.Config `type:"forecast" placeholder:"LIST" group:"Parameters" help:"Forecasts to try: combined, last, ewma:ALPHA, level, seasonal:ALPHA or seasonal:ALPHA:PERIOD (default ${forecasts})."`
	Paybacks   []float64         `placeholder:"N,..." group:"Parameters" help:"Within how many intervals plans have to be worth what they move (default ${paybacks})."`
	Worth      float64           `name:"balance-worth" type:"share" own:"" default:"0.0025" placeholder:"PART" group:"Parameters" help:"How much moved state, as a part of all, one point of mean excess over θ_max is worth in each interval: the less, the less moves (default 0.25%)."`
	Targets    []float64         `type:"share" placeholder:"PART,..." group:"Parameters" help:"To which parts of θ_max plans are made (default ${targets})."`
	Window     int               `own:"" least:"1" default:"5" group:"Parameters" help:"For how many intervals keys keep their state. Where none is reported it is the cost of these intervals."`
	Added      bool              `name:"added-state" group:"Parameters" help:"The rows' state is what their interval added: keys have the sum over --window intervals (default: it is all state that they have)."`
	Output     string            `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
}

// ParseForecast reads a method, its alpha and its period.
func ParseForecast(text string) (forecast.Config, error) {
	parts := strings.Split(text, ":")
	c := forecast.Config{Method: forecast.Method(parts[0])}
	var err error
	if len(parts) > 1 {
		c.Alpha, err = strconv.ParseFloat(parts[1], 64)
	}
	if len(parts) > 2 && err == nil {
		c.Period, err = strconv.Atoi(parts[2])
	}
	if err != nil || len(parts) > 3 || c.Validate() != nil {
		return c, fmt.Errorf("%q is not a forecast: write combined, last, ewma:ALPHA, level, seasonal:ALPHA or "+
			"seasonal:ALPHA:PERIOD, with an alpha above 0 and at most 1, and a period from 2 to %d", text, forecast.MaxPeriod)
	}
	return c, nil
}

// forecastText writes a forecast as --forecasts reads it.
func forecastText(c forecast.Config) string {
	text := string(c.Method)
	if c.Alpha > 0 {
		text += ":" + cli.Exact(c.Alpha)
	}
	if c.Period > 0 {
		text += ":" + strconv.Itoa(c.Period)
	}
	return text
}

// Defaults are the forecasts, targets and paybacks of policies of which nobody says more, as the flags write them.
func Defaults() (forecasts, targets, paybacks string) {
	g := policy.DefaultGrid()
	return list(g.Forecasts, forecastText), list(g.Targets, cli.PercentFlag), list(g.Paybacks, cli.Exact)
}

// list writes values with commas between them.
func list[T any](values []T, text func(T) string) string {
	var all []string
	for _, v := range values {
		all = append(all, text(v))
	}
	return strings.Join(all, ",")
}

// grid is what the flags say.
func (c *Backtest) grid() (policy.Grid, error) {
	g := policy.DefaultGrid()
	if len(c.Forecasts) > 0 {
		g.Forecasts = c.Forecasts
	}
	if len(c.Targets) > 0 {
		g.Targets = nil
	}
	for _, part := range c.Targets {
		if !(part >= 0 && part <= 1) {
			return g, cli.Usagef("--targets: must be from 0%% to 100%% of θ_max")
		}
		g.Targets = append(g.Targets, part)
	}
	for _, n := range c.Paybacks {
		if !(n > 0 && n <= planner.MaxAmount) {
			return g, cli.Usagef("--paybacks: must be above 0")
		}
	}
	if len(c.Paybacks) > 0 {
		g.Paybacks = c.Paybacks
	}
	if !(c.Worth >= 1e-9 && c.Worth <= 1e9) {
		return g, cli.Usagef("--balance-worth: must be above 0")
	}
	return g, nil
}

// Run reads all intervals, runs all policies over them and reports.
func (c *Backtest) Run(env *cli.Environment) error {
	grid, err := c.grid()
	if err != nil {
		return err
	}
	for _, thetaMax := range c.ThetaMax {
		options := planner.Options{ThetaMax: thetaMax, TableLimit: c.TableLimit}
		if err := options.Validate(); err != nil {
			return reading.AsFlag(err)
		}
	}
	op, err := c.operator()
	if err != nil {
		return err
	}
	history, err := c.read(env)
	if err == nil {
		op, err = c.operator() // the rows may name its instances
	}
	if err != nil {
		return err
	}
	reports, err := c.search(env, history, op, grid)
	if err != nil {
		return err
	}
	return env.Output(c.Output, func() any {
		if len(reports) > 1 {
			return map[string]any{"reports": reports}
		}
		return reports[0]
	}, func(w *cli.Page) {
		if len(reports) > 1 {
			c.writeBeside(w, reports)
			return
		}
		c.write(w, reports[0])
	}, backtestCSV(reports))
}

// operator is what plans are made for.
func (c *Backtest) operator() (drive.Operator, error) {
	op, err := c.Operator(planner.Options{TableLimit: c.TableLimit}, c.Encoder())
	return op, cmp.Or(err, c.Set(&op.Target, &c.OperatorFlags))
}

// read reads the input.
func (c *Backtest) read(env *cli.Environment) (*backtest.History, error) {
	in, err := (&reading.InputFlags{File: c.File, Format: c.Format, TextFlags: c.TextFlags}).Open(env)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.Operator, in.KeysOnly = &c.OperatorFlags, true
	history := backtest.NewHistory(c.Window)
	if c.Added {
		in.SumUp(c.Window)
		history = backtest.NewHistory(1) // the sums are those of all keys that have any
	}
	if _, err := in.Look(); err != nil {
		return nil, in.Wrap(err)
	}
	for {
		interval, document, err := in.Next()
		if errors.Is(err, io.EOF) {
			return history, nil
		}
		if err == nil {
			err = history.Add(interval, document.Stats)
		}
		if err != nil {
			return nil, in.Wrap(err)
		}
	}
}

// search runs the policies for each θ_max, and shows how far it is.
func (c *Backtest) search(env *cli.Environment, h *backtest.History, op drive.Operator, grid policy.Grid) (
	reports []*backtest.Report, err error,
) {
	runs := 1 + len(grid.Policies(0, 0))
	progress := cli.StartProgress(env.Stderr, int64(h.Len()*runs*len(c.ThetaMax)))
	defer progress.Stop()
	progress.Describe("running policies")
	for _, thetaMax := range c.ThetaMax {
		run := backtest.Operator{Target: op.Target, Base: op.Base, Options: op.Options, EntryGrace: c.EntryGrace,
			BalanceWorth: c.Worth}
		run.Options.ThetaMax = thetaMax
		candidates := backtest.Candidates(grid.Policies(run.Options.ThetaMax, c.Worth))
		report, err := backtest.Search(env.Ctx, h, run, candidates, func(int) { progress.Add(1) })
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

package main

import (
	"fmt"
	"io"
	"math"

	"plannerd/internal/analyses"
	statsio "plannerd/internal/input"
	"plannerd/planner/ranges"
)

type analyzeRangesCmd struct {
	analysisInput
	Instances      instances            `aliases:"followers" default:"8" placeholder:"N|ID:CAPACITY,…" help:"Task instances in the order of their ids: their number, or a list such as 0:1,1:2,7:1 (default 8)."`
	Owners         string               `type:"path" placeholder:"FILE" help:"The present division: CSV with the header low,instance (default: by quantiles for the same keys)."`
	BaseInterval   *int64               `placeholder:"N" help:"Make the present division by quantiles for interval N of the same file, which comes before --interval: how a drift is analysed (default: none)."`
	Event          analyses.RangesEvent `enum:",create,join,leave,crash,drift" default:"" placeholder:"EVENT" help:"What happens: create, join, leave, crash or drift (default: create; drift with a present division)."`
	Position       *int                 `placeholder:"N" help:"join: how many instances are before the new one (default: all)."`
	EventInstances []int32              `aliases:"event-followers" placeholder:"ID" help:"leave, crash: who goes (default: the last one)."`
	Methods        []ranges.Method      `placeholder:"NAME" help:"min_movement, quantile (default: both)."`
	ThetaMax       share                `default:"0.08" help:"θ_max, a share of the fair load: an instance may carry (1+θ_max) times its own."`
	MaxIntervals   int                  `default:"32" help:"Greatest number of intervals of each instance under min_movement."`

	SketchK    int    `placeholder:"K" group:"Sketch" help:"Plan by quantile sketches of size K, one of each instance, merged (default: by all keys)."`
	Sketches   int    `placeholder:"N" group:"Sketch" help:"How many instances report one (default: all)."`
	Confidence share  `placeholder:"P" group:"Sketch" help:"Confidence of the stated error, above 0 and below 1 (default 0.99)."`
	Seed       uint64 `default:"0" group:"Sketch" help:"The same seed gives the same sketches."`

	Table          bool `group:"Table" help:"What every join and leave moves, by both methods, beside the formulas."`
	TableInstances int  `aliases:"table-followers" placeholder:"N" group:"Table" help:"Up to how many instances (default 50)."`

	analysisOutput
}

// Help shows the methods and examples.
func (*analyzeRangesCmd) Help() string {
	return `Methods:

    quantile      one interval for each instance, in their order
    min_movement  several intervals for each, so that as little as possible moves

Shares are parts of the cost of all keys. "At least" is what no division moves less of in
which all are within the tolerance and who joins has its fair share. By a sketch, figures are by what
it knows, ± its error; what they are for all keys stands beside them.

csv has the owners by the first method, as --owners reads them, or with --table its rows.

Examples:

    plannerd analyze ranges stats.csv --instances 8
    plannerd analyze ranges stats.csv --instances 8 --event join --position 4
    plannerd analyze ranges stats.csv --event crash --event-instances 2,3
    plannerd analyze ranges stream.csv --base-interval 0 --interval 5
    plannerd analyze ranges keys.txt.gz --stream --sketch-k 1024
    plannerd analyze ranges stats.csv --table --table-instances 20`
}

// Run divides the keys and reports.
func (c *analyzeRangesCmd) Run(env *environment) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	var base *analyses.Input
	a, err := c.readBoth(env, &base)
	if err != nil {
		return err
	}
	if base != nil {
		if err := c.divideBase(env, a, base, &request); err != nil {
			return err
		}
	}
	result, err := watched(a, analyses.RunRanges, request)
	if err != nil {
		return err
	}
	if p := &result.Plans[0]; c.Output == "csv" && !c.Table {
		switch {
		case result.KeyEncoding != "" && !bool(c.keys()):
			return statsio.ErrKeyText
		case p.OwnerCount > len(p.Owners):
			return fmt.Errorf("%s are too many for csv", plural(p.OwnerCount, "interval"))
		}
	}
	return env.output(c.Output, func() any { return result }, func(w *page) { c.writeRanges(w, result) },
		rangesCSV(result))
}

func (c *analyzeRangesCmd) request() (analyses.RangesRequest, error) {
	top := c.Top
	if c.Output == "csv" {
		top = analyses.MaxTop
	}
	r := analyses.RangesRequest{
		Methods: c.Methods, Event: c.Event, Position: c.Position, EventFollowers: c.EventInstances,
		ThetaMax: c.ThetaMax.float(), MaxIntervals: c.MaxIntervals, SketchK: c.SketchK, Sketches: c.Sketches,
		Confidence: float64(c.Confidence), Seed: c.Seed, Table: c.Table, TableFollowers: c.TableInstances, Top: &top,
	}
	for _, x := range c.Instances {
		r.Followers = append(r.Followers, analyses.RangesFollower{ID: x.ID, Capacity: x.Capacity})
	}
	if c.BaseInterval != nil && c.Owners != "" {
		return r, usagef("--base-interval and --owners both say what the present division is")
	}
	if c.BaseInterval != nil && (c.Interval == nil || c.Stream || *c.Interval <= *c.BaseInterval) {
		return r, usagef("--base-interval: needs an --interval that comes after it")
	}
	var err error
	if c.keys() {
		r.KeyEncoding = analyses.EncodingBase64
	}
	if c.Owners != "" {
		r.Owners, err = readOwners(c.Owners, c.keys())
	}
	return r, err
}

// readBoth reads the interval, and the one before it that the present division is for.
func (c *analyzeRangesCmd) readBoth(env *environment, base **analyses.Input) (*analysis, error) {
	if c.BaseInterval == nil {
		return c.read(env, true)
	}
	flags := c.input()
	flags.Interval = c.BaseInterval
	a := &analysis{env: env}
	if c.File == "" {
		return nil, usagef("an input is needed: a file, or - for standard input")
	}
	in, err := flags.open(env)
	if err != nil {
		return nil, err
	}
	defer in.close()
	in.keysOnly, a.input = true, in
	next := in.source()
	for _, x := range []struct {
		interval *int64
		data     **analyses.Input
	}{{c.BaseInterval, base}, {c.Interval, &a.data}} {
		flags.Interval, in.last = x.interval, nil
		_, document, err := next()
		if err == nil {
			*x.data, err = statisticsInput(document)
		}
		if err != nil {
			return nil, a.wrap(err)
		}
	}
	return a, nil
}

// divideBase makes the present division.
func (c *analyzeRangesCmd) divideBase(env *environment, a *analysis, base *analyses.Input,
	request *analyses.RangesRequest) error {
	all := analyses.MaxTop
	if len(request.Followers) > all {
		return usagef("--base-interval: is for %d instances at most", all)
	}
	first, err := analyses.RunRanges(env.ctx, base, analyses.RangesRequest{
		Followers: request.Followers, Methods: []ranges.Method{ranges.Quantile}, ThetaMax: request.ThetaMax, Top: &all,
	}, nil)
	if err != nil {
		return a.wrap(err)
	}
	request.Owners, request.KeyEncoding = first.Plans[0].Owners, first.KeyEncoding
	return nil
}

// writeRanges prints the division for people.
func (c *analyzeRangesCmd) writeRanges(w *page, r *analyses.RangesResult) {
	event := string(r.Event)
	if event == "" {
		event = "change"
	}
	fmt.Fprintf(w, "%s among %s, %s of cost %s\n", event, plural(len(c.Instances), "instance"),
		plural(r.Keys, "key"), si(r.Cost))
	if s := r.Sketch; s != nil {
		fmt.Fprintf(w, "By the merged sketches of %s, k = %d: %s kept in %s bytes, ranks within %s (%s sure), in truth "+
			"within %s\n",
			plural(s.Sketches, "instance"), s.K, plural(s.Kept, "key"), integer(s.Bytes), percent(s.RankError),
			percent(s.Confidence), percent(s.ActualError))
	}
	fmt.Fprintln(w)
	writeDivisions(w, r)
	for i := range r.Plans {
		c.writeDivision(w, &r.Plans[i])
	}
	writeRangesTable(w, r.Table)
}

// writeDivisions prints the methods side by side.
func writeDivisions(w *page, r *analyses.RangesResult) {
	columns := []column{text("method"), text("balanced"), number("θ before"), number("θ after"), number("moved"),
		number("at least"), number("sent"), number("lost"),
		number("formula"), number("keys"), number("state of all"), number("transfers"), number("intervals")}
	if r.Sketch != nil {
		columns = append(columns, number("true θ after"), number("truly moved"))
	}
	var rows [][]string
	for _, p := range r.Plans {
		formula, before := "", theta(p.Theta.Before)
		if p.Formula != nil {
			formula = percent(*p.Formula)
		}
		if r.Event == analyses.EventCreate {
			before = "" // nobody has anything
		}
		row := []string{
			string(p.Method), yesNo(p.Balanced), before, theta(p.Theta.After), percent(p.Moved),
			percent(math.Max(0, p.LowerBound)),
			percent(p.Sent), percent(p.Lost), formula, integer(p.KeysMoved), percent(p.StateFraction), integer(p.TransferCount),
			integer(p.OwnerCount),
		}
		if p.Actual != nil {
			row = append(row, theta(p.Actual.Theta.After), percent(p.Actual.Moved))
		}
		rows = append(rows, row)
	}
	writeTable(w, columns, rows)
}

// writeDivision prints the followers of one plan, and what they hand over.
func (c *analyzeRangesCmd) writeDivision(w *page, p *analyses.RangesPlan) {
	var rows [][]string
	for _, f := range p.Followers {
		rows = append(rows, []string{
			id(f.ID), string(f.Status), percent(f.Fair), percent(f.Before), percent(f.After), percent(f.In), percent(f.Out),
			count(f.IntervalsBefore), count(f.IntervalsAfter), integer(f.KeysAfter),
		})
	}
	titled(w, fmt.Sprintf("By %s", p.Method), []column{
		number("instance"), text(""), number("fair"), number("before"), number("after"), number("in"), number("out"),
		number("intervals"), number("after"), number("keys after"),
	}, rows)
	if len(p.Transfers) == 0 {
		return
	}
	rows = nil
	for _, t := range p.Transfers[:min(c.Top, len(p.Transfers))] {
		source, high := "lost", "the end"
		if t.Source != nil {
			source = id(*t.Source)
		}
		if t.High != nil {
			high = shown(*t.High)
		}
		rows = append(rows, []string{id(t.From), id(t.To), source, shown(t.Low), high, percent(t.Share),
			integer(t.Keys), si(t.State)})
	}
	titled(w, fmt.Sprintf("%s, the greatest first", plural(p.TransferCount, "transfer")), []column{
		number("from"), number("to"), number("sent by"), text("from key"), text("up to below"), number("share"),
		number("keys"), number("state"),
	}, rows)
}

// writeRangesTable prints the rows of --table.
func writeRangesTable(w *page, table []analyses.RangesRow) {
	if len(table) == 0 {
		return
	}
	var rows [][]string
	for _, x := range table {
		rows = append(rows, []string{
			string(x.Event), count(x.Followers), count(x.Left), count(x.Right), percent(x.Formula), percent(x.Quantile),
			percent(x.Slack),
			percent(x.Least), percent(x.MinMovement), percent(x.LowerBound), count(x.Transfers), count(x.Intervals),
		})
	}
	titled(w, "What every join and leave moves", []column{
		text(""), naming(number("n")), naming(number("i")), naming(number("j")), number("formula"), number("quantile"),
		number("±"), number("1/(n+1), 1/n"),
		number("min_movement"), number("at least"), number("transfers"), number("intervals"),
	}, rows)
}

// rangesCSV writes the rows of the table, or the owners by the first method.
func rangesCSV(r *analyses.RangesResult) func(io.Writer) error {
	if r.Table != nil {
		return csvOf(r.Table, "event followers left right formula quantile slack least min_movement "+
			"lower_bound transfers intervals theta_quantile theta_min_movement")
	}
	return csvOf(r.Plans[0].Owners, "low follower")
}

package analyzing

import (
	"fmt"
	"io"
	"math"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input/lists"
	"plannerd/planner/ranges"
)

type analyzeRangesCmd struct {
	analysisInput
	Instances      reading.Instances    `aliases:"followers" default:"8" placeholder:"N|ID:CAPACITY,…" help:"Task instances in the order of their ids: their number, or a list such as 0:1,1:2,7:1 (default 8)."`
	Owners         string               `type:"path" placeholder:"FILE" help:"The present division: CSV with the header low,instance (default: by quantiles for the same keys)."`
	BaseInterval   *int64               `placeholder:"N" help:"Make the present division by quantiles for interval N of the same file, which comes before --interval: how a drift is analysed (default: none)."`
	Event          analyses.RangesEvent `enum:",create,join,leave,crash,drift" default:"" placeholder:"EVENT" help:"What happens: create, join, leave, crash or drift (default: create; drift with a present division)."`
	Position       *int                 `placeholder:"N" help:"join: how many instances are before the new one (default: all)."`
	EventInstances []int32              `aliases:"event-followers" placeholder:"ID" help:"leave, crash: which instances go (default: the last one)."`
	Methods        []ranges.Method      `placeholder:"NAME" help:"min_movement, quantile (default: both)."`
	ThetaMax       float64              `type:"share" default:"0.08" help:"θ_max, a share of the fair load: an instance may carry (1+θ_max) times its own."`
	MaxIntervals   int                  `default:"32" help:"Greatest number of intervals of each instance under min_movement."`

	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
	Top    int    `default:"20" group:"Output" help:"Greatest length of each list of keys, transfers, arcs and events. Arcs, events and the keys that a ring moves are in json only."`
}

// Run divides the keys and reports.
func (c *analyzeRangesCmd) Run(env *cli.Environment) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	var base *analyses.Input
	if err := c.readBoth(env, &base); err != nil {
		return err
	}
	if base != nil {
		if err := c.divideBase(env, base, &request); err != nil {
			return err
		}
	}
	result, err := watched(env, &c.analysisInput, analyses.RunRanges, request)
	if err != nil {
		return err
	}
	if p := &result.Plans[0]; c.Output == "csv" {
		switch {
		case result.KeyEncoding != "" && !bool(c.Encoder()):
			return lists.ErrKeyText
		case p.OwnerCount > len(p.Owners):
			return fmt.Errorf("%s are too many for csv", cli.Plural(p.OwnerCount, "interval"))
		}
	}
	return env.Output(c.Output, func() any { return result }, func(w *cli.Page) { c.writeRanges(w, result) },
		rangesCSV(result))
}

func (c *analyzeRangesCmd) request() (analyses.RangesRequest, error) {
	top := c.Top
	if c.Output == "csv" {
		top = analyses.MaxTop
	}
	r := analyses.RangesRequest{
		Methods: c.Methods, Event: c.Event, Position: c.Position, EventFollowers: c.EventInstances,
		ThetaMax: &c.ThetaMax, MaxIntervals: c.MaxIntervals, Top: &top,
	}
	for _, x := range c.Instances {
		r.Followers = append(r.Followers, analyses.RangesFollower{ID: x.ID, Capacity: x.Capacity})
	}
	if c.BaseInterval != nil && c.Owners != "" {
		return r, cli.Usagef("--base-interval and --owners both say what the present division is")
	}
	if c.BaseInterval != nil && (c.Interval == nil || c.Stream || *c.Interval <= *c.BaseInterval) {
		return r, cli.Usagef("--base-interval: needs an --interval that comes after it")
	}
	var err error
	if c.Encoder() {
		r.KeyEncoding = analyses.EncodingBase64
	}
	if c.Owners != "" {
		r.Owners, err = reading.ReadOwners(c.Owners, c.Encoder())
	}
	return r, err
}

// readBoth reads the interval, and the one before it that the present division is for.
func (c *analyzeRangesCmd) readBoth(env *cli.Environment, base **analyses.Input) error {
	if c.BaseInterval == nil {
		return c.read(env, true)
	}
	flags := c.input()
	flags.Interval = c.BaseInterval
	if c.File == "" {
		return cli.Usagef("an input is needed: a file, or - for standard input")
	}
	in, err := flags.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	in.KeysOnly, c.in = true, in
	for _, x := range []struct {
		interval *int64
		data     **analyses.Input
	}{{c.BaseInterval, base}, {c.Interval, &c.data}} {
		flags.Interval, in.Last = x.interval, nil
		_, document, err := in.Next()
		if err == nil {
			*x.data, err = statisticsInput(document)
		}
		if err != nil {
			return c.wrap(err)
		}
	}
	return nil
}

// divideBase makes the present division.
func (c *analyzeRangesCmd) divideBase(env *cli.Environment, base *analyses.Input,
	request *analyses.RangesRequest) error {
	all := analyses.MaxTop
	if len(request.Followers) > all {
		return cli.Usagef("--base-interval: is for %d instances at most", all)
	}
	first, err := analyses.RunRanges(env.Ctx, base, analyses.RangesRequest{
		Followers: request.Followers, Methods: []ranges.Method{ranges.Quantile}, ThetaMax: request.ThetaMax, Top: &all,
	}, nil)
	if err != nil {
		return c.wrap(err)
	}
	request.Owners, request.KeyEncoding = first.Plans[0].Owners, first.KeyEncoding
	return nil
}

// writeRanges prints the division for people.
func (c *analyzeRangesCmd) writeRanges(w *cli.Page, r *analyses.RangesResult) {
	event := string(r.Event)
	if event == "" {
		event = "change"
	}
	fmt.Fprintf(w, "%s among %s, %s of cost %s\n", event, cli.Plural(len(c.Instances), "instance"),
		cli.Plural(r.Keys, "key"), cli.SI(r.Cost))
	fmt.Fprintln(w)
	writeDivisions(w, r)
	for i := range r.Plans {
		c.writeDivision(w, &r.Plans[i])
	}
}

// writeDivisions prints the methods side by side.
func writeDivisions(w *cli.Page, r *analyses.RangesResult) {
	columns := "method | balanced | θ before = before theta | θ after = theta/after theta | moved percent" +
		" | at least = least percent | sent percent | lost percent | formula percent | keys = keys_moved" +
		" | state of all = state_fraction percent | transfers = transfer_count | intervals = owner_count"
	cli.WriteList(w, r.Plans, columns, func(i int) cli.More {
		p := &r.Plans[i]
		more := cli.More{"before": &p.Theta.Before, "least": math.Max(0, p.LowerBound)}
		if r.Event == analyses.EventCreate {
			more["before"] = nil // nobody has anything
		}
		return more
	})
}

// writeDivision prints the followers of one plan, and what they hand over.
func (c *analyzeRangesCmd) writeDivision(w *cli.Page, p *analyses.RangesPlan) {
	listed(w, fmt.Sprintf("By %s", p.Method), p.Followers,
		"instance = id id | = status | fair percent | before percent | after percent | in percent | out percent"+
			" | intervals = intervals_before id | after = intervals_after id | keys_after")
	if len(p.Transfers) == 0 {
		return
	}
	listed(w, fmt.Sprintf("%s, the greatest first", cli.Plural(p.TransferCount, "transfer")),
		p.Transfers[:min(c.Top, len(p.Transfers))],
		"from id | to id | sent by = by right | from key = begin | up to below = end | share percent | keys | state si",
		func(i int) cli.More {
			t := p.Transfers[i]
			more := cli.More{"by": "lost", "begin": shown(t.Low), "end": "the end"}
			if t.Source != nil {
				more["by"] = cli.ID(*t.Source)
			}
			if t.High != nil {
				more["end"] = shown(*t.High)
			}
			return more
		})
}

// rangesCSV writes the owners by the first method.
func rangesCSV(r *analyses.RangesResult) func(io.Writer) error {
	return cli.CsvOf(r.Plans[0].Owners, "low follower")
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

type compactCmd struct {
	reading.InputFlags
	Degree int `default:"8" group:"Compact form" help:"The degree R of discretisation, a power of two; 1 is the finest."`
	offline.ScaleFlags
	reading.OperatorFlags
	nameFlags
	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table shows people what there is to gain; json is the body of a request with compact records, csv the records alone."`
	Quiet  bool   `group:"Output" help:"Leave out what json and csv have on standard error: the table."`
}

// Help shows examples.
func (*compactCmd) Help() string {
	return `Keys that are on the same instance, have the same hash instance and, after
discretisation, the same cost and state become one record with their number: d, d_h, v_c,
v_S, # (mixed-routing §IV). The real values are v_c and v_S times the scales. Plans of
records move classes, which plannerd resolve turns into keys again.

Where the keys are is said by the input and the flags, as for plannerd plan; of several
intervals each stands for itself. json then has a body on each line, for POST
/v1/operators/{operator}/plans or plannerd plan with --interval. csv has a column interval
if the input has one and --interval does not pick one, but says nothing of scales: several
intervals in it need --cost-scale and --state-scale, and plannerd plan has to be told them.

The table compares the records with the input's rows in JSON. The load error is by how much
the load that the records of an instance come to differs from the real one.

Examples:

    plannerd compact stats.csv.zst --instances 16
    plannerd compact stats.csv --instances 16 --degree 4 --output json > body.json
    plannerd compact stats.csv --instances 16 --output json --quiet | plannerd plan - --instances 16
    plannerd generate | plannerd compact - --cost-scale 1 --state-scale 1 --output csv
    plannerd compact stats.csv --instances 16 --split --output json --quiet |
      plannerd plan - --instances 16 --split`
}

// nameFlags say which keys are named beside records.
type nameFlags struct {
	Split bool `group:"Compact form" help:"Leave the few keys out of the records that a plan may have to split, and those that --routing-table splits: they are named beside the records."`
}

// compactor makes records of the intervals of an input.
type compactor struct {
	flags    *reading.InputFlags
	operator *reading.OperatorFlags
	op       drive.Operator
	options  compact.Options
	names    bool // keys that may have to be split
}

func newCompactor(
	in *reading.InputFlags, of *reading.OperatorFlags, scales *offline.ScaleFlags, degree int, names nameFlags,
) (*compactor, error) {
	form, err := scales.Form("--degree", degree)
	if err != nil {
		return nil, err
	}
	op, err := of.Operator(planner.Options{}, in.Encoder())
	return &compactor{in, of, op, form.Options(), names.Split}, err
}

// compacted is one interval in compact form.
type compacted struct {
	*compact.Compression
	interval int64
	input    *input.Document
	elapsed  time.Duration // of making the records
	keys     reading.KeyEncoder
	homes    bool // rows say where the hash puts keys
}

// run hands visit one interval after the other.
func (k *compactor) run(env *cli.Environment, visit func(in *reading.Input, c compacted) error) error {
	in, err := k.flags.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Operator = k.operator
	in.KeysOnly = true
	next := in.Source()
	for {
		c := compacted{keys: k.flags.Encoder(), homes: k.op.Target.Hash == nil}
		c.interval, c.input, err = next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			in.Progress.Describe("compacting")
			err = k.compress(env, &c)
		}
		if err != nil {
			return in.Wrap(err)
		}
		if err := visit(in, c); err != nil {
			return err
		}
		in.Progress.Describe("reading")
	}
}

func (k *compactor) compress(env *cli.Environment, c *compacted) error {
	s, err := planner.NewSnapshot(c.input.Stats, k.op.Target, k.op.Base)
	if err != nil {
		return err
	}
	start, options := env.Now(), k.options
	if k.names {
		if options.Named, err = planner.Divisible(s); err != nil {
			return err
		}
	}
	c.Compression, err = compact.Compress(s, options)
	c.elapsed = env.Now().Sub(start)
	return err
}

// Run writes the records, and how they compare with the keys.
func (c *compactCmd) Run(env *cli.Environment) error {
	if c.Split && c.Output == "csv" {
		return cli.Usagef("--split: csv has no place for keys that are named; json has")
	}
	k, err := newCompactor(&c.InputFlags, &c.OperatorFlags, &c.ScaleFlags, c.Degree, c.nameFlags)
	if err != nil {
		return err
	}
	table := c.Output == "table"
	r := &compactReport{cmd: c}
	err = k.run(env, func(in *reading.Input, of compacted) error {
		if !table {
			r.records = append(r.records, recordsOf(in, of))
		}
		r.input = in
		if table || !c.Quiet {
			in.Progress.Describe("measuring")
			return r.measure(of)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if table {
		return env.People(env.Stdout, r.write)
	}
	if err := cli.Buffered(env.Stdout, r.writeRecords); err != nil {
		return err
	}
	if c.Quiet {
		return nil
	}
	return env.People(env.Stderr, r.write)
}

// intervalRecords are the records of one interval.
type intervalRecords struct {
	interval int64 // −1: the input names none
	compact.Statistics
	keys reading.KeyEncoder
}

func recordsOf(in *reading.Input, c compacted) intervalRecords {
	r := intervalRecords{-1, c.Statistics(c.homes), c.keys}
	if in.Stream.HasInterval() {
		r.interval = c.interval
	}
	return r
}

// writeRecords writes all records as json or csv.
func (r *compactReport) writeRecords(w io.Writer) error {
	if r.cmd.Output == "csv" {
		return r.writeRecordsCSV(w)
	}
	for _, x := range r.records {
		if err := lists.WriteCompactJSON(w, x.interval, &x.Statistics, bool(x.keys)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (r *compactReport) writeRecordsCSV(w io.Writer) error {
	if !r.input.Stream.HasInterval() || r.cmd.Interval != nil {
		return lists.WriteCompactCSV(w, r.records[0].Records)
	}
	for _, x := range r.records {
		if x.Scales != r.records[0].Scales {
			return cli.Usagef(
				"several intervals in CSV need the same scales: give --cost-scale and --state-scale, or one --interval")
		}
	}
	return lists.WriteCompactIntervals(w, func(yield func(int64, []compact.Record) bool) {
		for _, x := range r.records {
			if !yield(x.interval, x.Records) {
				return
			}
		}
	})
}

// loadOf is how well the records of an instance tell its load.
type loadOf struct {
	id                int32
	keys              int64
	records           int
	actual, estimated float64
}

// error is |estimated − actual| / actual; 0 when there is no load.
func (l loadOf) error() float64 {
	if l.actual == 0 {
		return 0
	}
	return math.Abs(l.estimated-l.actual) / l.actual
}

// loadsOf returns the loads by instance.
func loadsOf(c *compact.Compression) []loadOf {
	s := c.Keys
	loads := make([]loadOf, len(s.Instances))
	for d, in := range s.Instances {
		loads[d].id = in.ID
	}
	for i, d := range s.Current {
		loads[d].actual += s.Cost[i]
	}
	for i, r := range c.Records {
		l := &loads[c.Items.Current[i]]
		l.records++
		l.keys += r.Count
		l.estimated += float64(r.Count) * (r.Cost * c.Scales.Cost)
	}
	for _, k := range c.Named {
		l := &loads[s.Current[k]]
		l.records++
		l.keys++
		l.estimated += s.Cost[k]
	}
	return loads
}

// greatest is the first of xs, at least one, whose figure no other exceeds.
func greatest[T any](xs []T, figure func(T) float64) T {
	return slices.MaxFunc(xs, func(a, b T) int { return cmp.Compare(figure(a), figure(b)) })
}

// scalesText shows scales.
func scalesText(s compact.Scales) string {
	return fmt.Sprintf("cost scale %s, state scale %s", cli.Exact(s.Cost), cli.Exact(s.State))
}

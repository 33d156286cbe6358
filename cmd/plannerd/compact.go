package main

import (
	"errors"
	"io"
	"time"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/input/lists"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// recordFlags say of what compact records are made, and how.
type recordFlags struct {
	reading.InputFlags
	Degree int `default:"8" group:"Compact form" help:"The degree R of discretisation, a power of two; 1 is the finest."`
	offline.ScaleFlags
	reading.OperatorFlags
	Split bool `group:"Compact form" help:"Leave the few keys out of the records that a plan may have to split, and those that --routing-table splits: they are named beside the records."`
}

type compactCmd struct {
	recordFlags
	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table shows people what there is to gain; json is the body of a request with compact records, csv the records alone."`
	Quiet  bool   `group:"Output" help:"Leave out what json and csv have on standard error: the table."`
}

// compacted is one interval in compact form, and how its records compare with the rows.
type compacted struct {
	*compact.Compression // nil, as is the input, once it was measured
	input                *input.Document
	interval             int64
	elapsed              time.Duration // of making the records
	keys, records        int
	scales               compact.Scales
	statistics           compact.Statistics // for json and csv
	loads                []cli.More         // by instance
	error                float64            // the greatest of a load, which is that of
	instance             int32
	// The bytes of the rows and of the records in JSON, plain and by gzip.
	before, after, zippedBefore, zippedAfter int64
}

// run hands visit one interval after the other.
func (f *recordFlags) run(env *cli.Environment, visit func(in *reading.Input, c *compacted) error) error {
	options, err := f.Form("--degree", f.Degree)
	if err != nil {
		return err
	}
	op, err := f.Operator(planner.Options{}, f.Encoder())
	if err != nil {
		return err
	}
	in, err := f.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Operator, in.KeysOnly = &f.OperatorFlags, true
	if anew, err := in.Look(); err != nil {
		return in.Wrap(err)
	} else if anew {
		if op, err = f.Operator(planner.Options{}, f.Encoder()); err != nil {
			return err
		}
	}
	for {
		c := &compacted{}
		c.interval, c.input, err = in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			in.Progress.Describe("compacting")
			err = c.compress(env, op, options, f.Split)
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

// compress makes the records; those that names leaves out of them are keys that may be split.
func (x *compacted) compress(env *cli.Environment, op drive.Operator, options compact.Options, names bool) error {
	s, err := planner.NewSnapshot(x.input.Stats, op.Target, op.Base)
	if err != nil {
		return err
	}
	start := env.Now()
	if names {
		if options.Named, err = planner.Divisible(s); err != nil {
			return err
		}
	}
	x.Compression, err = compact.Compress(s, options)
	if x.elapsed = env.Now().Sub(start); err != nil {
		return err
	}
	x.keys, x.records, x.scales = x.Keys.Len(), x.Items.Len(), x.Scales
	return nil
}

// Run writes the records, and how they compare with the keys.
func (c *compactCmd) Run(env *cli.Environment) error {
	if c.Split && c.Output == "csv" {
		return cli.Usagef("--split: csv has no place for keys that are named; json has")
	}
	var intervals []*compacted
	var read *reading.Input
	table := c.Output == "table"
	err := c.run(env, func(in *reading.Input, of *compacted) (err error) {
		read, intervals = in, append(intervals, of)
		// Where rows say where the hash puts keys, so do records.
		st := of.Statistics(c.Hash == partitioner.Reported)
		if !table {
			of.statistics = st
		}
		if table || !c.Quiet {
			in.Progress.Describe("measuring")
			err = of.measure(st, c.Encoder())
		}
		of.Compression, of.input = nil, nil // they need not be in memory beside the next
		return err
	})
	if err != nil {
		return err
	}
	people := func(w *cli.Page) { c.write(w, intervals, read.Progress.At.Load()) }
	if table {
		return env.People(env.Stdout, people)
	}
	if err := cli.Buffered(env.Stdout, func(w io.Writer) error {
		return c.writeRecords(w, intervals, read.Stream.HasInterval())
	}); err != nil || c.Quiet {
		return err
	}
	return env.People(env.Stderr, people)
}

// writeRecords writes all records as json or csv; named: the input names intervals.
func (c *compactCmd) writeRecords(w io.Writer, intervals []*compacted, named bool) error {
	if c.Output == "csv" {
		return c.writeRecordsCSV(w, intervals, named)
	}
	for _, x := range intervals {
		interval := int64(-1)
		if named {
			interval = x.interval
		}
		if err := lists.WriteCompactJSON(w, interval, &x.statistics, bool(c.Encoder())); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (c *compactCmd) writeRecordsCSV(w io.Writer, intervals []*compacted, named bool) error {
	if !named || c.Interval != nil {
		return lists.WriteCompactCSV(w, intervals[0].statistics.Records)
	}
	for _, x := range intervals {
		if x.scales != intervals[0].scales {
			return cli.Usagef(
				"several intervals in CSV need the same scales: give --cost-scale and --state-scale, or one --interval")
		}
	}
	return lists.WriteCompactIntervals(w, func(yield func(int64, []compact.Record) bool) {
		for _, x := range intervals {
			if !yield(x.interval, x.statistics.Records) {
				return
			}
		}
	})
}

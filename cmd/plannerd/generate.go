package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input/arrowout"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

type generateCmd struct {
	Keys          int      `default:"10000" help:"K, the size of the key domain, in keys."`
	Intervals     int      `least:"1" default:"10" help:"Number of intervals."`
	Distribution  string   `enum:"zipf,lognormal" default:"zipf" help:"How the tuples spread over the keys: zipf or lognormal."`
	Z             *float64 `placeholder:"0.85" help:"Exponent of the Zipf distribution; 0: all keys alike (default 0.85)."`
	Mu            float64  `placeholder:"1.789" help:"μ of the log-normal distribution (default 1.789, with σ 2.366)."`
	Sigma         float64  `placeholder:"2.366" help:"σ of the log-normal distribution (default 2.366, with μ 1.789)."`
	Tuples        int64    `placeholder:"N" help:"Tuples of each interval (default: ${tuples_per_key} for each key)."`
	Fluctuation   float64  `default:"1" help:"f: from one interval to the next keys swap their frequencies until the load of some instance changes by f times the mean load."`
	Window        int      `least:"1" default:"5" help:"w, in intervals: the state of a key is what its tuples of the last w intervals have left."`
	BytesPerTuple float64  `default:"1" help:"State that each tuple leaves, in bytes."`
	Seed          uint64   `default:"1" help:"The same seed gives the same stream."`
	reading.EncodingFlags

	Instances         int    `default:"15" group:"Operator" help:"Number of instances, 0…N-1, whose loads fluctuate."`
	Hash              string `enum:"ring,modulo" default:"ring" group:"Operator" help:"Where the keys are while they fluctuate: ring or modulo."`
	TokensPerInstance int    `placeholder:"N" group:"Operator" help:"Ring: tokens of each instance (default ${tokens})."`

	Output string `enum:"csv,ndjson,arrow" default:"csv" group:"Output" help:"Format: csv, ndjson or arrow, an IPC stream, which names the interval only where there are several."`
	File   string `type:"path" placeholder:"FILE" group:"Output" help:"Write there (default: standard output)."`
}

// Run writes the stream.
func (c *generateCmd) Run(env *cli.Environment) error {
	generator, current, err := c.generator()
	if err != nil {
		return err
	}
	p := &cli.Progress{}
	if c.File != "" || !cli.IsTerminal(env.Stdout) {
		p = cli.StartProgress(env.Stderr, int64(c.Intervals))
	}
	defer p.Stop()
	p.Describe("generating intervals")
	return c.toOutput(env, func(w *bufio.Writer) error {
		write, finish := c.format(w)
		for interval := range c.Intervals {
			if err := env.Ctx.Err(); err != nil {
				return err
			}
			stats, err := generator.Next(current)
			if err != nil {
				return c.explain(err, interval)
			}
			if err := write(interval, c.present(stats)); err != nil {
				return err
			}
			p.Add(1)
		}
		return finish()
	})
}

// format returns what writes each interval, and what ends the stream.
func (c *generateCmd) format(w *bufio.Writer) (write func(interval int, s *planner.Statistics) error,
	finish func() error) {
	if c.Output == "arrow" {
		out := arrowout.NewWriter(w)
		return func(interval int, s *planner.Statistics) error {
			if c.Intervals == 1 {
				interval = -1 // a request says it beside the rows
			}
			return out.Write(int64(interval), s)
		}, out.Close
	}
	if c.Output == "csv" {
		_, _ = w.WriteString("interval,key,cost,state\n") // the writer keeps its error
	}
	return func(interval int, s *planner.Statistics) error { return c.write(w, interval, s) }, w.Flush
}

// present returns the rows of keys that have cost or state: the others are as good
// as absent. The keys are as they are to be written.
func (c *generateCmd) present(all *planner.Statistics) *planner.Statistics {
	some := &planner.Statistics{Keys: planner.NewKeys(all.Len())}
	for i := range all.Len() {
		if all.Cost[i] == 0 && all.State[i] == 0 {
			continue
		}
		some.Keys.Append([]byte(c.Encoder().Encode(all.Keys.At(i))))
		some.Cost, some.State = append(some.Cost, all.Cost[i]), append(some.State, all.State[i])
	}
	return some
}

// explain says what to do where no further interval can be made.
func (c *generateCmd) explain(err error, interval int) error {
	if errors.Is(err, workload.ErrUnreachable) {
		return fmt.Errorf("interval %d: no swaps of frequencies change the load of an instance by %v times the mean: "+
			"lower --fluctuation or raise --keys", interval, c.Fluctuation)
	}
	return reading.AsFlag(err)
}

// generator returns the workload, and where the hash puts its keys.
func (c *generateCmd) generator() (*workload.Generator, []int32, error) {
	config := workload.Config{
		Keys: c.Keys, Instances: c.Instances, Distribution: c.Distribution, Mu: c.Mu, Sigma: c.Sigma,
		Tuples: c.Tuples, Fluctuation: c.Fluctuation, Window: c.Window, BytesPerTuple: c.BytesPerTuple, Seed: c.Seed,
	}
	switch {
	case c.Z != nil:
		config.Z = *c.Z
	case c.Distribution == workload.Zipf:
		config.Z = workload.DefaultZ
	}
	if c.Instances < 1 || c.Instances > reading.MaxInstances {
		return nil, nil, cli.Usagef("--instances: must be 1 to %d", reading.MaxInstances)
	}
	generator, err := workload.New(config)
	if err != nil {
		return nil, nil, reading.AsFlag(err)
	}
	on := make([]partitioner.Instance, c.Instances)
	for i := range on {
		on[i].ID = int32(i)
	}
	hash, err := partitioner.New(partitioner.Config{Function: c.Hash, TokensPerInstance: c.TokensPerInstance}, on)
	if err != nil {
		return nil, nil, reading.AsFlag(err)
	}
	current, err := generator.Assign(hash)
	return generator, current, err
}

// toOutput calls write with the file or standard output, buffered.
func (c *generateCmd) toOutput(env *cli.Environment, write func(*bufio.Writer) error) error {
	out, done := env.Stdout, func() error { return nil }
	if c.File != "" {
		file, err := os.Create(c.File)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		out, done = file, file.Close
	}
	b := bufio.NewWriterSize(out, 64<<10)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	return errors.Join(err, done())
}

// write writes one interval as text.
func (c *generateCmd) write(w *bufio.Writer, interval int, stats *planner.Statistics) error {
	number := strconv.Itoa(interval)
	prefix, cost, state, end := number+",", ",", ",", "\n"
	if c.Output == "ndjson" {
		// The generated keys need no escaping, in neither format.
		prefix, cost, state, end = `{"interval":`+number+`,"key":"`, `","cost":`, `,"state":`, "}\n"
	}
	line := make([]byte, 0, 128)
	for i := range stats.Len() {
		line = append(append(line[:0], prefix...), stats.Keys.At(i)...)
		line = strconv.AppendFloat(append(line, cost...), stats.Cost[i], 'f', -1, 64)
		line = strconv.AppendFloat(append(line, state...), stats.State[i], 'f', -1, 64)
		if _, err := w.Write(append(line, end...)); err != nil {
			return err
		}
	}
	return nil
}

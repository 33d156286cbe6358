package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/policy"
)

// compareSchemes prints a row for each stream and number of instances: whole keys by mixed and
// by optimal, split keys, partial key grouping with two choices (P), and D-Choices (D).
func (q question) compareSchemes(w io.Writer, all []streams.Stream) error {
	fmt.Fprint(w, "| stream | instances | floor | θ mixed | realised | θ optimal | realised | θ split | realised | θ P | "+
		"θ D | merges split | P | D | pairs whole | split | P | D | moved mixed | optimal | split |\n"+
		"|---|"+strings.Repeat("--:|", 20)+"\n")
	for _, s := range all {
		list, err := q.read(s)
		if err != nil {
			return err
		}
		for _, n := range q.instances {
			if err := q.schemes(w, s.Name, list, n); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

func (q question) schemes(w io.Writer, name string, list []streams.Interval, n int) error {
	mixed, err := runner{list: list, instances: n, strategy: planner.Mixed, options: q.options}.run()
	if err != nil {
		return err
	}
	whole, split, err := q.both(list, n)
	if err != nil {
		return err
	}
	floor, err := q.floor(list, n)
	if err != nil {
		return err
	}
	p, err := grouped(list, n, grouping.PKG)
	if err != nil {
		return err
	}
	d, err := grouped(list, n, grouping.DChoices)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| %s | %d | %s |", name, n, floor)
	for _, t := range []track{mixed, whole, split} {
		fmt.Fprintf(w, " %.2g | %.3g |", median(t.planned), median(t.realised))
	}
	fmt.Fprintf(w, " %.2g | %.2g | %g | %g | %g | %g | %g | %g | %g | %.0f %% | %.0f %% | %.0f %% |\n",
		median(p.planned), median(d.planned), median(split.merges), median(p.merges), median(d.merges),
		median(whole.pairs), median(split.pairs), median(p.pairs), median(d.pairs), mixed.moved, whole.moved, split.moved)
	return nil
}

// floor is the noise floor of the forecast that a backtest recommends.
func (q question) floor(list []streams.Interval, n int) (string, error) {
	h := backtest.NewHistory(drive.DefaultWindow)
	for _, in := range list {
		if err := h.Add(in.Number, in.Statistics); err != nil {
			return "", err
		}
	}
	c, err := target(n, list[0].HashInstance == nil)
	if err != nil {
		return "", err
	}
	op := backtest.Operator{Target: c, Options: planner.Options{ThetaMax: q.options.ThetaMax}, EntryGrace: 2}
	candidates := backtest.Candidates(policy.DefaultGrid().Policies(q.options.ThetaMax))
	report, err := backtest.Search(context.Background(), h, op, candidates, nil)
	if err != nil || report.Floor == nil {
		return "", err
	}
	return fmt.Sprintf("%.2f", report.Floor.Median), nil
}

// grouped runs a scheme on the messages of each interval, in a random order.
func grouped(list []streams.Interval, n int, scheme grouping.Scheme) (t track, err error) {
	for i, in := range list {
		weights, err := grouping.Weights(in.Cost)
		if err != nil {
			return t, err
		}
		s, err := grouping.Generate(grouping.Frequencies{Keys: in.Keys, Count: weights, Seed: uint64(i)})
		if err != nil {
			return t, err
		}
		x, err := grouping.Run(s, grouping.Options{Scheme: scheme, Workers: n, Points: new(int)})
		if err != nil {
			return t, err
		}
		t.planned = append(t.planned, float64(x.MaxLoad)*float64(n)/float64(x.Messages)-1)
		t.merges = append(t.merges, float64(x.Memory.Pairs-int64(x.Keys)))
		t.pairs = append(t.pairs, float64(x.Memory.Pairs))
	}
	return t, nil
}

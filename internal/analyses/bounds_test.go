package analyses

import (
	"context"
	"testing"
	"time"

	"plannerd/internal/lab/livememory"
	"plannerd/planner/grouping"
	"plannerd/planner/ring"
)

// bounded runs an analysis, which may be cut short, and holds what it took against what
// it is said to take.
func bounded[Q, R any](
	run func(context.Context, *Input, Q, Progress) (*R, error), bound func(*Input, *Q) (int64, error), in *Input, r Q,
) func(*testing.T) {
	return func(t *testing.T) {
		said, err := bound(in, &r)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2) // as far as it gets
		defer cancel()
		took := livememory.Peak(func() { _, err = run(ctx, in, r, nil) })
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		const noise = 2 << 20
		if t.Logf("%d bytes of %d", took, said); took > said+noise {
			t.Errorf("it takes %d bytes, and is said to take %d", took, said)
		}
	}
}

// TestBounds: no analysis takes more memory than it is said to, whatever its parameters.
func TestBounds(t *testing.T) {
	few, many := frequencies(10), frequencies(50_000)
	nodes := func(n, tokens int) RingNodes {
		out := Count[RingNode](n)
		for i := range out {
			out[i].Tokens = tokens
		}
		return out
	}
	joining := append(nodes(15, 1<<15), RingNode{ID: 99, Tokens: 1 << 15, Joins: true})
	rings := map[string]struct {
		in *Input
		r  RingRequest
	}{
		"default":         {many, RingRequest{Plan: true, MaxStates: 100}},
		"tokens":          {few, RingRequest{Nodes: nodes(16, 1<<15)}},
		"tokens of queue": {nil, RingRequest{Nodes: nodes(16, 1<<15), Queues: append(make([]float64, 15), 9)}},
		"joins":           {few, RingRequest{Nodes: joining}},
		"doubling": {many, RingRequest{Nodes: nodes(16, 1<<12), Method: ring.Doubling, Plan: true, MaxRounds: 20,
			ThetaMax: new(0.0)}},
		"fitted": {few, RingRequest{Nodes: nodes(16, 64), Method: ring.Fitted, Plan: true, NodeTokenLimit: 1 << 15,
			MaxStates: 10}},
		"choices": {many, RingRequest{Nodes: nodes(128, 8), Method: ring.Fitted, Plan: true, NodeTokenLimit: 1 << 11}},
		"nodes":   {few, RingRequest{Nodes: nodes(1<<15, 1)}},
	}
	for name, c := range rings {
		t.Run("ring/"+name, bounded(RunRing, BoundRing, c.in, c.r))
	}
	for name, r := range map[string]RangesRequest{
		"default":   {},
		"followers": {Followers: Count[RangesFollower](4096)},
		"intervals": {MaxIntervals: 1_000_000, Event: EventJoin},
	} {
		t.Run("ranges/"+name, bounded(RunRanges, BoundRanges, many, r))
	}
	for name, r := range map[string]PKGRequest{
		"default": {},
		"workers": {Workers: 65536, Points: new(MaxPoints), Schemes: []grouping.Scheme{grouping.PKG, grouping.WChoices}},
		"head":    {Workers: 1000, Schemes: []grouping.Scheme{grouping.DChoices}},
		"pairs":   {Workers: 2048, Messages: 1 << 21, AggregationPeriod: 1 << 16},
		"sources": {Workers: 1000, Sources: []int{1000}, LoadInformation: PKGLoadInformation{"local"}},
		"choices": {Workers: 500, Choices: []int{200}},
	} {
		t.Run("pkg/"+name, bounded(RunPKG, BoundPKG, many, r))
	}
	for name, r := range map[string]SchemesRequest{
		"default":   {},
		"instances": {Instances: Count[SchemesInstance](2048)},
		"tokens":    {Instances: Count[SchemesInstance](16), TokensPerInstance: 1 << 15},
	} {
		t.Run("schemes/"+name, bounded(RunSchemes, BoundSchemes, many, r))
	}
}

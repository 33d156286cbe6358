package analyses

import (
	"context"
	"testing"
	"time"

	"plannerd/internal/lab/livememory"
	"plannerd/planner/grouping"
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
	many := frequencies(50_000)
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
		"instances": {Instances: Count(2048)},
		"tokens":    {Instances: Count(16), TokensPerInstance: 1 << 15},
	} {
		t.Run("schemes/"+name, bounded(RunSchemes, BoundSchemes, many, r))
	}
}

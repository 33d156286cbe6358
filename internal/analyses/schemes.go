package analyses

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/schemes"
)

// DefaultInstances is their number in a SchemesRequest that does not say.
const DefaultInstances = 8

// RunSchemes lays all schemes side by side.
func RunSchemes(ctx context.Context, in *Input, r SchemesRequest, progress Progress) (*SchemesResult, error) {
	j, err := newJob(ctx, in, nil, progress)
	if err != nil {
		return nil, err
	}
	o, err := j.schemesOptions(r)
	if err != nil {
		return nil, err
	}
	stream, order, err := j.grouped(r.Order, r.Messages, r.Seed)
	if err != nil {
		return nil, j.failure(err, nil)
	}
	c, err := schemes.Compare(j.input.statistics(), stream, o)
	if err != nil {
		return nil, j.failure(err, nil)
	}
	out := &SchemesResult{
		Keys: int64(in.Len()), Cost: total(j.input.Cost, 0), State: total(j.input.State, in.Len()), Messages: stream.Len(),
		Sampled:   order == grouping.Independent,
		Instances: len(o.Instances), ThetaMax: o.ThetaMax, Hash: hashName(c.Options.Hash), P1: c.P1, LeastTheta: c.LeastTheta,
		Recommendation: SchemeRecommendation(c.Recommendation),
	}
	for i := range c.Figures {
		out.Schemes = append(out.Schemes, schemeFigures(&c.Figures[i]))
	}
	return out, nil
}

func hashName(s schemes.Scheme) string {
	if s == schemes.HashModulo {
		return "modulo"
	}
	return "ring"
}

// schemesOptions turns a request into options; what these check is left to them.
func (j job) schemesOptions(r SchemesRequest) (schemes.Options, error) {
	o := schemes.Options{
		ThetaMax: DefaultThetaMax, TokensPerInstance: r.TokensPerInstance, TableLimit: r.TableLimit,
		Whole: r.Mergeable != nil && !*r.Mergeable, MaxChoices: r.MaxChoices, Sources: r.Sources,
		LoadInformation: r.LoadInformation, AggregationPeriod: r.AggregationPeriod, Seed: r.Seed, Seeds: r.Seeds,
		MaxRounds: r.MaxRounds, MaxIntervals: r.MaxIntervals, Stop: j.stop,
		Progress: func(s schemes.Scheme, done, total int64) { j.tell(string(s))(done, total) },
	}
	if r.ThetaMax != nil {
		o.ThetaMax = *r.ThetaMax
	}
	switch r.Hash {
	case "", "ring":
		o.Hash = schemes.HashRing
	case "modulo":
		o.Hash = schemes.HashModulo
	default:
		return o, planner.Invalid("hash", "must be ring or modulo")
	}
	if r.Instances == nil {
		r.Instances = Count(DefaultInstances)
	}
	for _, x := range r.Instances {
		o.Instances = append(o.Instances, planner.Instance{ID: x.ID, Capacity: cmp.Or(x.Capacity, 1)})
	}
	slices.SortFunc(o.Instances, func(a, b planner.Instance) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(o.Instances); i++ {
		if id := o.Instances[i].ID; id == o.Instances[i-1].ID {
			return o, planner.Invalid("instances", "has "+strconv.Itoa(int(id))+" twice")
		}
	}
	return o, checkSeed(r.Seed)
}

func schemeFigures(f *schemes.Figures) SchemeFigures {
	return SchemeFigures{
		Scheme: f.Scheme, Theta: f.Theta, Imbalance: f.Imbalance, Balanced: f.Balanced, TableWithinLimit: f.WithinLimit,
		KeepsKeys: f.Whole,
		Pairs:     f.Pairs, TableEntries: f.TableEntries, Tokens: f.Tokens, Intervals: f.Intervals,
		KeysMoved: f.KeysMoved, StateMoved: f.State, StateFraction: f.Fraction, AggregationMessages: f.Aggregation,
		Method: f.Method, Choices: f.Choices, OverSeeds: (*Spread)(f.Seeds),
	}
}

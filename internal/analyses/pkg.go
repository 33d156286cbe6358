package analyses

import (
	"context"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/grouping"
)

// DefaultWorkers is W of a PKGRequest that does not say.
const DefaultWorkers = 8

// RunPKG runs schemes of partial key grouping on a stream. What messages cost does not
// count: loads are numbers of messages.
func RunPKG(ctx context.Context, in *Input, r PKGRequest, progress Progress) (*PKGResult, error) {
	if in == nil {
		return nil, planner.Invalid("keys", "must not be empty")
	}
	j, err := newJob(ctx, in, r.Top, progress)
	if err != nil {
		return nil, err
	}
	a := pkgJob{job: j, r: r}
	if err := a.do(a.prepare, a.open, a.runAll); err != nil {
		return nil, err
	}
	return a.out, nil
}

// pkgJob is one analysis of partial key grouping.
type pkgJob struct {
	job
	r      PKGRequest
	stream *grouping.Stream
	runs   []grouping.Options
	out    *PKGResult
}

// prepare fills in defaults and lists the runs.
func (a *pkgJob) prepare() error {
	r := &a.r
	if r.Workers == 0 {
		r.Workers = DefaultWorkers
	}
	if r.Seeds == 0 {
		r.Seeds = 1
	}
	if r.Points == nil {
		r.Points = new(DefaultPoints)
	}
	if r.Schemes == nil {
		r.Schemes = grouping.Schemes()
	}
	if r.Choices == nil {
		r.Choices = []int{max(1, min(grouping.DefaultChoices, r.Workers))}
	}
	if r.Sources == nil {
		r.Sources = []int{1}
	}
	if r.LoadInformation == nil {
		r.LoadInformation = []grouping.LoadInformation{grouping.Global}
	}
	switch {
	case *r.Points < 0 || *r.Points > MaxPoints:
		return planner.Invalid("points", "must be from 0 to "+strconv.Itoa(MaxPoints))
	case r.Seeds < 1 || r.Seeds > MaxSeeds:
		return planner.Invalid("seeds", "must be from 1 to "+strconv.Itoa(MaxSeeds))
	case len(r.Schemes)*len(r.Choices)*len(r.Sources)*len(r.LoadInformation) > 8*MaxRuns:
		return tooManyRuns
	}
	if err := checkSeed(r.Seed); err != nil {
		return err
	}
	if err := a.checkLists(); err != nil {
		return err
	}
	return a.list()
}

var tooManyRuns = planner.Invalid("schemes", "with choices, sources and load_information make more than "+
	strconv.Itoa(MaxRuns)+" runs")

// checkLists checks each value by itself, so that an error names it.
func (a *pkgJob) checkLists() error {
	for i, s := range a.r.Schemes {
		if !slices.Contains(grouping.Schemes(), s) {
			return planner.Invalid("schemes/"+strconv.Itoa(i),
				"must be hash, shuffle, potc, on_greedy, off_greedy, pkg, d_choices or w_choices")
		}
	}
	for i, d := range a.r.Choices {
		if d < 1 || d > grouping.MaxChoices {
			return planner.Invalid("choices/"+strconv.Itoa(i), "must be from 1 to "+strconv.Itoa(grouping.MaxChoices))
		}
	}
	for i, s := range a.r.Sources {
		if s < 1 || s > grouping.MaxSources {
			return planner.Invalid("sources/"+strconv.Itoa(i), "must be from 1 to "+strconv.Itoa(grouping.MaxSources))
		}
	}
	for i, l := range a.r.LoadInformation {
		switch {
		case !slices.Contains([]grouping.LoadInformation{grouping.Global, grouping.Local, grouping.LocalProbing}, l):
			return planner.Invalid("load_information/"+strconv.Itoa(i), "must be global, local or local_probing")
		case l == grouping.LocalProbing && a.r.ProbePeriod == 0:
			return planner.Invalid("probe_period", "is needed with local_probing")
		}
	}
	if a.r.ProbePeriod != 0 && !slices.Contains(a.r.LoadInformation, grouping.LocalProbing) {
		return planner.Invalid("probe_period", "belongs to load_information local_probing")
	}
	return nil
}

// combination is what one run is of.
type combination struct {
	scheme      grouping.Scheme
	choices     int
	sources     int
	information grouping.LoadInformation
}

// list makes every combination a run, once: what a scheme does not use makes none.
func (a *pkgJob) list() error {
	seen := map[combination]bool{}
	for _, c := range a.combinations() {
		chooses, informed := uses(c.scheme)
		if !chooses {
			c.choices = 0
		}
		if !informed {
			c.information = ""
		}
		if !informed && c.scheme != grouping.Shuffle {
			c.sources = a.r.Sources[0] // the same whoever sends
		}
		if seen[c] {
			continue
		}
		seen[c] = true
		o := a.options(c)
		if err := o.Validate(); err != nil {
			return err
		}
		a.runs = append(a.runs, o)
	}
	if len(a.runs) > MaxRuns {
		return tooManyRuns
	}
	return nil
}

// combinations are all there are.
func (a *pkgJob) combinations() (all []combination) {
	for _, scheme := range a.r.Schemes {
		for _, choices := range a.r.Choices {
			for _, sources := range a.r.Sources {
				for _, information := range a.r.LoadInformation {
					all = append(all, combination{scheme, choices, sources, information})
				}
			}
		}
	}
	return all
}

// uses tells whether a scheme chooses among a number of candidates, and by information
// that sources may lack.
func uses(s grouping.Scheme) (chooses, informed bool) {
	switch s {
	case grouping.PoTC:
		return true, false
	case grouping.PKG, grouping.DChoices, grouping.WChoices:
		return true, true
	}
	return false, false
}

// options are those of one run.
func (a *pkgJob) options(c combination) grouping.Options {
	r := &a.r
	o := grouping.Options{
		Scheme: c.scheme, Workers: r.Workers, Sources: c.sources, Choices: c.choices, HashSeed: r.HashSeed,
		LoadInformation:   c.information,
		AggregationPeriod: r.AggregationPeriod, Points: r.Points,
	}
	chooses, _ := uses(c.scheme)
	o.Distinct = r.Distinct && chooses
	if c.information == grouping.LocalProbing {
		o.ProbePeriod = r.ProbePeriod
	}
	return o
}

// open makes the stream and tells what it is.
func (a *pkgJob) open() error {
	s, order, err := a.grouped(a.r.Order, a.r.Messages, a.r.Seed, false)
	if err != nil {
		return err
	}
	if z := a.r.SourceSkew; z != nil {
		if a.input.Messages == nil {
			return planner.Invalid("source_skew", "needs a stream, whose order is given")
		}
		if s, err = s.WithSkewedSources(*z, a.r.Seed); err != nil {
			return a.failure(err, nil)
		}
	}
	a.stream = s
	a.out = &PKGResult{
		KeyEncoding: a.keys.encoding(), Messages: s.Len(), Keys: int64(s.Distinct()), P1: s.P1(), Order: order,
		Workers: a.r.Workers, Seeds: a.r.Seeds,
	}
	a.heavyKeys()
	return nil
}

// heavyKeys lists the keys above 1/(5W) of the messages.
func (a *pkgJob) heavyKeys() {
	var heavy []int32
	w := int64(a.r.Workers)
	for k := range a.stream.Keys().Len() {
		if a.stream.Count(k)*5*w > a.stream.Len() {
			heavy = append(heavy, int32(k))
		}
	}
	slices.SortFunc(heavy, func(x, y int32) int {
		if cx, cy := a.stream.Count(int(x)), a.stream.Count(int(y)); cx != cy {
			return int(cy - cx)
		}
		return a.stream.Keys().Compare(x, y)
	})
	a.out.HeavyKeyCount = len(heavy)
	for _, k := range heavy[:min(a.top, len(heavy))] {
		n, m := a.stream.Count(int(k)), a.stream.Len()
		a.out.HeavyKeys = append(a.out.HeavyKeys, PKGHeavyKey{
			Key: a.keys.encode(a.stream.Keys().At(int(k))), Messages: n, Share: float64(n) / float64(m),
			LeastWorkers: (n*w + m - 1) / m,
		})
	}
}

// runAll does the runs, and those of further seeds.
func (a *pkgJob) runAll() error {
	first := make([]*grouping.Result, len(a.runs))
	imbalances := make([][]float64, len(a.runs))
	all := int64(a.r.Seeds) * a.stream.Len() * int64(len(a.runs))
	tell := a.tell("run")
	for seed := range a.r.Seeds {
		stream := a.stream
		runs := slices.Clone(a.runs)
		if seed > 0 {
			var err error
			if stream, err = a.stream.Reseeded(a.r.Seed + uint64(seed)); err != nil {
				return err
			}
			for i := range runs {
				runs[i].HashSeed += uint32(seed) << 16
				runs[i].Points = new(int)
			}
		}
		done := int64(seed) * a.stream.Len() * int64(len(a.runs))
		results, err := grouping.Compare(stream, runs, a.stop, func(n, total int64) {
			tell(done+n*(all/int64(a.r.Seeds))/max(1, total), all)
		})
		if err != nil {
			return err
		}
		for i, x := range results {
			if seed == 0 {
				first[i] = x
			}
			imbalances[i] = append(imbalances[i], x.Imbalance)
		}
	}
	for i, x := range first {
		a.out.Runs = append(a.out.Runs, pkgRun(x, spreadOf(imbalances[i])))
	}
	return nil
}

// spreadOf sums values up.
func spreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{sorted[0], sorted[(len(sorted)-1)/2], sorted[len(sorted)-1]}
}

// pkgRun describes one run.
func pkgRun(x *grouping.Result, seeds Spread) PKGRun {
	o := x.Options
	out := PKGRun{
		Scheme: o.Scheme, Choices: o.Choices, Sources: o.Sources, LoadInformation: o.LoadInformation,
		ProbePeriod: o.ProbePeriod,
		MaxLoad:     x.MaxLoad, Imbalance: x.Imbalance, AverageImbalance: x.AverageImbalance, PeakImbalance: x.PeakImbalance,
		OverSeeds: seeds,
		Bounds: PKGBounds{
			TopKey: x.Bounds.TopKey, TopKeyChoices: x.Bounds.TopKeyChoices, LeastMaxLoad: x.Bounds.LeastMaxLoad,
			Split:      x.Bounds.Split,
			Bottleneck: len(x.Bounds.Bottleneck), BottleneckMessages: x.Bounds.BottleneckMessages, Sources: x.Bounds.Sources,
		},
		Memory: PKGMemory(x.Memory),
		Aggregation: PKGAggregation{Periods: x.Aggregation.Periods, Messages: x.Aggregation.Messages,
			PerPeriod: x.Aggregation.PerPeriod(), Most: x.Aggregation.Most},
		Head: (*PKGHead)(x.Head),
	}
	if x.Messages > 0 {
		out.Theta = float64(x.MaxLoad)*float64(len(x.Workers))/float64(x.Messages) - 1
	}
	for _, w := range x.Workers {
		out.Loads, out.WorkerKeys = append(out.Loads, w.Load), append(out.WorkerKeys, w.Keys)
	}
	for _, p := range x.Series {
		out.Series = append(out.Series, PKGPoint(p))
	}
	return out
}

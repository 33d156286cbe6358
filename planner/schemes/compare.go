package schemes

import (
	"cmp"
	"slices"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// Comparison is all schemes side by side.
type Comparison struct {
	Options Options // with the defaults filled in
	// P1 is the share of the costliest key in all cost, and LeastTheta the θ that it
	// forces on every scheme that keeps keys whole.
	P1, LeastTheta float64
	// Figures of all schemes, in the order in which they are declared.
	Figures        []Figures
	Recommendation Recommendation
}

// Of returns the figures of a scheme.
func (c *Comparison) Of(s Scheme) *Figures {
	for i := range c.Figures {
		if c.Figures[i].Scheme == s {
			return &c.Figures[i]
		}
	}
	return nil
}

// Compare measures all schemes on the same keys. The stream is what [PKG] is run on:
// it has the same keys with as many messages as they cost, or in proportion. The
// error is a [planner.InputError], whose rows are those of load, or
// planner.ErrStopped.
func Compare(load *planner.Statistics, stream *grouping.Stream, o Options) (*Comparison, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if load.Keys.Len() == 0 {
		return nil, planner.Invalid("Keys", "must not be empty")
	}
	if err := load.ValidateAmounts(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	l := newLedger(load, o)
	c := &Comparison{Options: o, P1: l.p1(), LeastTheta: l.leastTheta()}
	snapshot, err := l.plainHash(c)
	if err != nil {
		return nil, err
	}
	for _, run := range []func() (Figures, error){
		l.ring,
		func() (Figures, error) { return l.pkg(stream) },
		func() (Figures, error) { return l.table(Mixed, snapshot) },
		func() (Figures, error) { return l.table(Optimal, snapshot) },
		func() (Figures, error) { return l.split(Split, snapshot, nil) },
		func() (Figures, error) {
			price := l.state.Float(l.state.Total) / mergesForAll
			return l.split(SplitPriced, snapshot, &price)
		},
		l.ranges,
	} {
		f, err := run()
		if err != nil {
			return nil, err
		}
		c.Figures = append(c.Figures, f)
		if o.stopped() {
			return nil, planner.ErrStopped
		}
	}
	c.Recommendation = Recommend(c)
	return c, nil
}

// plainHash measures both plain hashes, and returns what routing tables are planned
// on: the keys where the chosen one has them.
func (l *ledger) plainHash(c *Comparison) (*planner.Snapshot, error) {
	functions := [2]planner.HashFunction{}
	places := [2][]int32{}
	for i, config := range []partitioner.Config{{Function: partitioner.Modulo}, l.o.ringConfig()} {
		var err error
		if functions[i], err = partitioner.New(config, l.o.hashed()); err != nil {
			return nil, err
		}
		if places[i], err = l.hash(functions[i]); err != nil {
			return nil, err
		}
	}
	base := slices.Index([]Scheme{HashModulo, HashRing}, l.o.Hash)
	l.base = places[base]
	for i, s := range []Scheme{HashModulo, HashRing} {
		f := l.measure(s, places[i])
		if s == HashRing {
			f.Tokens = l.tokens()
		}
		c.Figures = append(c.Figures, f)
	}
	target := planner.Configuration{Instances: l.o.Instances, Hash: functions[base]}
	return planner.NewSnapshot(l.load, target, planner.Base{Configuration: target})
}

// tokens is the number of tokens of the plain ring.
func (l *ledger) tokens() int64 { return int64(len(l.o.Instances)) * int64(l.o.TokensPerInstance) }

// ring redistributes the tokens of the plain ring in three ways and takes the best.
func (l *ledger) ring() (best Figures, err error) {
	for i, method := range []ring.Method{ring.Halving, ring.Doubling, ring.Fitted} {
		tell := l.o.tell(Ring)
		tell(int64(i), 3)
		o := ring.RebalanceOptions{ThetaMax: l.o.ThetaMax, Method: method, MaxRounds: l.o.MaxRounds, Stop: l.o.Stop}
		switch method {
		case ring.Doubling:
			o.TokenLimit = l.o.MostTokens()
		case ring.Fitted:
			o.MaxStates, o.TokenLimit = maxStates, max(ring.DefaultFittedTokens, l.o.TokensPerInstance)
		}
		p, err := ring.Rebalance(l.o.members(), l.load, o)
		if err != nil {
			return best, err
		}
		nodes := p.Change.After
		place, err := l.hash(ring.New(nodes))
		if err != nil {
			return best, err
		}
		f := l.measure(Ring, place)
		f.Method = string(method)
		for _, n := range nodes {
			f.Tokens += int64(n.Tokens)
		}
		if i == 0 || closer(&f, &best) {
			best = f
		}
	}
	return best, nil
}

// closer tells whether a is the better of two ways to do the same: balanced, and then
// with less state moved; else of less θ, then less state.
func closer(a, b *Figures) bool {
	switch {
	case a.Balanced != b.Balanced:
		return a.Balanced
	case a.Balanced:
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Theta, b.Theta)) < 0
	}
	return cmp.Or(cmp.Compare(a.Theta, b.Theta), cmp.Compare(a.State, b.State)) < 0
}

// pkg runs partial key grouping with twice as many choices each time until it is
// balanced, and then looks for the fewest between the last two.
func (l *ledger) pkg(stream *grouping.Stream) (best Figures, err error) {
	for d, tooFew, enough := min(grouping.DefaultChoices, l.o.MaxChoices), 0, 0; ; {
		f, err := l.choices(stream, d)
		if err != nil {
			return best, err
		}
		if tooFew+enough == 0 || closer(&f, &best) || f.Balanced {
			best = f
		}
		if f.Balanced {
			enough = d
		} else {
			tooFew = d
		}
		switch {
		case enough == 0 && d == l.o.MaxChoices, enough > 0 && (enough-tooFew <= 1 || tooFew == 0):
			return best, nil
		case enough == 0:
			d = min(2*d, l.o.MaxChoices)
		default:
			d = (tooFew + enough) / 2
		}
	}
}

// choices runs partial key grouping with d choices by all seeds.
func (l *ledger) choices(stream *grouping.Stream, d int) (Figures, error) {
	points := 0
	runs := make([]Figures, l.o.Seeds)
	for r := range runs {
		at := stream
		if r > 0 {
			// A stream of a given order is the same again, under other candidates.
			var err error
			if at, err = stream.Reseeded(l.o.Seed + uint64(r)); err != nil {
				return Figures{}, err
			}
		}
		tell := l.o.tell(PKG)
		result, err := grouping.Run(at, grouping.Options{
			Scheme: grouping.PKG, Workers: len(l.o.Instances), Sources: l.o.Sources, Choices: d, Distinct: true,
			HashSeed: uint32(r) << 16, LoadInformation: l.o.LoadInformation, AggregationPeriod: l.o.AggregationPeriod,
			Points: &points,
			Stop:   l.o.Stop,
			Progress: func(done, total int64) {
				tell(done+int64(r)*total, total*int64(len(runs)))
			},
		})
		if err != nil {
			return Figures{}, err
		}
		runs[r] = l.grouped(result, d)
	}
	slices.SortStableFunc(runs, func(a, b Figures) int { return cmp.Compare(a.Theta, b.Theta) })
	f := runs[(len(runs)-1)/2]
	f.Seeds = &Spread{Least: runs[0].Theta, Median: f.Theta, Greatest: runs[len(runs)-1].Theta}
	return f, nil
}

// grouped measures one run of partial key grouping.
func (l *ledger) grouped(r *grouping.Result, d int) Figures {
	f := Figures{Scheme: PKG, WithinLimit: true, Whole: d == 1, Pairs: r.Memory.Pairs, Choices: d}
	loads := make([]int64, len(r.Workers))
	for i, w := range r.Workers {
		loads[i] = w.Load
	}
	l.judge(&f, loads)
	if d > 1 {
		f.Aggregation = r.Aggregation.PerPeriod()
	}
	return f
}

// table plans a routing table over the plain hash.
func (l *ledger) table(s Scheme, snapshot *planner.Snapshot) (Figures, error) {
	l.o.tell(s)(0, 1)
	p, err := planner.Run(string(s), snapshot, planner.Options{
		ThetaMax: l.o.ThetaMax, TableLimit: l.o.TableLimit, Certificate: planner.CertificateOff, Stop: l.o.Stop,
	})
	if err != nil {
		return Figures{}, err
	}
	place := slices.Clone(l.base)
	for _, m := range p.Moves {
		place[m.Item] = m.To
	}
	f := l.measure(s, place)
	f.WithinLimit, f.TableEntries = p.TableWithinLimit, p.TableAfter
	if l.o.Hash == HashRing {
		f.Tokens = l.tokens()
	}
	return f, nil
}

// split plans one in which keys that are too costly for any instance are split, and with a
// price of merges, in units of state, those, too, whose splitting is cheaper than moving.
func (l *ledger) split(s Scheme, snapshot *planner.Snapshot, price *float64) (Figures, error) {
	l.o.tell(s)(0, 1)
	p, err := planner.Run(planner.Optimal, snapshot, planner.Options{
		ThetaMax: l.o.ThetaMax, TableLimit: l.o.TableLimit, Certificate: planner.CertificateOff, Stop: l.o.Stop,
		Splitting: &planner.Splitting{Price: price},
	})
	if err != nil {
		return Figures{}, err
	}
	f := Figures{
		Scheme: s, Theta: p.Theta.After, Balanced: p.Balanced, WithinLimit: p.TableWithinLimit, Whole: len(p.Splits) == 0,
		Pairs: int64(snapshot.Len()) + p.Merges(), TableEntries: p.TableAfter, KeysMoved: p.Migration.Keys,
		State: p.Migration.State, Fraction: p.Migration.Fraction,
		Imbalance: max(0, p.Skewness.After-1) / float64(len(p.Instances)),
	}
	if n := int64(len(p.Splits)); n > 0 {
		f.Aggregation = float64(p.Merges() + n)
	}
	if l.o.Hash == HashRing {
		f.Tokens = l.tokens()
	}
	return f, nil
}

// ranges divides the ordered keys, and then evens the division out.
func (l *ledger) ranges() (Figures, error) {
	l.o.tell(Ranges)(0, 1)
	followers := make([]ranges.Follower, len(l.o.Instances))
	index := make(map[int32]int32, len(followers))
	for i, x := range l.o.Instances {
		followers[i] = ranges.Follower{ID: x.ID, Capacity: x.Capacity}
		index[x.ID] = int32(i)
	}
	o := ranges.Options{Method: ranges.MinMovement, ThetaMax: l.o.ThetaMax, MaxIntervals: l.o.MaxIntervals, Stop: l.o.Stop}
	d, err := ranges.DivideKeys(l.load, nil, followers, o)
	if err != nil {
		return Figures{}, err
	}
	if !d.Balanced && !l.o.stopped() {
		// A first division has one interval for each; from there it can do better.
		if d, err = ranges.DivideKeys(l.load, d.After, followers, o); err != nil {
			return Figures{}, err
		}
	}
	place := make([]int32, l.load.Keys.Len())
	for k := range place {
		id, _ := d.After.Find(l.load.Keys.At(k)) // a plan divides the whole key space
		place[k] = index[id]
	}
	f := l.measure(Ranges, place)
	f.Intervals = int64(len(d.After))
	return f, nil
}

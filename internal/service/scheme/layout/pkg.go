package layout

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"plannerd/internal/exact"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/store"
)

// pkgKind gives each key several candidates, and heavy ones more.
type pkgKind struct{}

func (pkgKind) name() operator.SchemeName { return operator.SchemePkg }

// RowHash takes every key.
func (pkgKind) RowHash(p *reading.Placement) planner.HashFunction {
	return allOf(p.Model.Instances[0].ID).Placed()
}

func (pkgKind) strategy(c operator.Configuration) string { return string(c.Pkg.Method) }

func (pkgKind) Migrates(bool) scheme.Migrates { return scheme.MigratesKeys }
func (pkgKind) CountsEntries() bool           { return true }

// sameRoutes looks at capacities, too: routers do.
func (pkgKind) sameRoutes(then, now operator.Configuration) bool {
	alike := func(a, b operator.Instance) bool {
		return a.ID == b.ID && a.Capacity == b.Capacity && a.Tokens == b.Tokens
	}
	return slices.EqualFunc(then.Instances, now.Instances, alike) &&
		min(then.Choices(), len(then.Instances)) == min(now.Choices(), len(now.Instances))
}

// candidates is the layout of scheme pkg: the instances of a configuration, which are its
// workers in this order, the choices and the head. An entry has a key of the head, and
// its number of candidates for its instance.
type candidates struct {
	grouping.Layout
	instances operator.Instances
}

// Workers are the candidates of keys under a configuration, without a head, and the capacities of the
// instances, in the order of their ids.
func Workers(c operator.Configuration) (grouping.Layout, []float64) {
	x := candidatesOf(c)
	return x.Layout, x.capacities()
}

// candidatesOf is the layout of a configuration without a head.
func candidatesOf(c operator.Configuration) candidates {
	return candidates{grouping.Layout{Workers: len(c.Instances), Choices: c.Pkg.Choices}, c.Instances}
}

func (pkgKind) layout(c operator.Configuration, entries []store.Entry) (scheme.Layout, error) {
	out := candidatesOf(c)
	for _, e := range entries {
		out.Head = append(out.Head, grouping.HeadKey{Key: e.Key, Choices: int(e.Instance)})
	}
	return out, nil
}

// Instance implements [planner.HashFunction]: it is the first candidate.
func (c candidates) Instance(_ []byte, hash uint64) (int32, error) {
	return c.instances[hash%uint64(len(c.instances))].ID, nil
}

func (c candidates) Placed() planner.HashFunction { return c }
func (c candidates) Size() int64                  { return int64(len(c.Head)) }
func (c candidates) Nobody() bool                 { return false }
func (c candidates) Part() listing.Part {
	return listing.Part{Name: "head", List: listing.HeadList(slices.Values(c.Entries()))}
}

func (c candidates) Entries() []store.Entry {
	out := make([]store.Entry, len(c.Head))
	for i, k := range c.Head {
		out[i] = store.Entry{Key: k.Key, Instance: int32(k.Choices)}
	}
	return out
}

func (c candidates) Ids() map[int32]bool { return scheme.InstanceSet(c.instances) }

func (c candidates) Unchanged() listing.LayoutDiff {
	d, err := pkgKind{}.diff(stored.EncodeMigrations(&planner.Plan{}), func() ([]store.Change, error) { return nil, nil })
	if err != nil {
		panic(err) // of what was just encoded
	}
	return d
}

// same reports whether two layouts route every key alike.
func (c candidates) same(as candidates) bool {
	return slices.EqualFunc(c.instances, as.instances, func(x, y operator.Instance) bool {
		return x.ID == y.ID && x.Capacity == y.Capacity && x.Name == y.Name
	}) && c.Choices == as.Choices && len(changesTo(as, c.Entries())) == 0
}

func (c candidates) capacities() []float64 {
	out := make([]float64, len(c.instances))
	for i, d := range c.instances {
		out[i] = d.Capacity
	}
	return out
}

func (pkgKind) diff(blob []byte, head func() ([]store.Change, error)) (listing.LayoutDiff, error) {
	m, err := stored.DecodeMigrations(blob)
	if err != nil {
		return nil, err
	}
	changes, err := head()
	return listing.PkgDiff{KeyMigrations: listing.KeyMigrations{Migrations: m}, Blob: blob, Head: changes}, err
}

// replan decides on the head: anew after a change of the instances, as all candidates are
// others then.
func (k pkgKind) replan(b *scheme.Base, st *scheme.Statistics, stop func() bool) (*replanned, error) {
	held, next := b.Layout.(candidates), candidatesOf(b.Newest.Configuration)
	if maps.Equal(held.Ids(), next.Ids()) {
		next.Head = slices.DeleteFunc(slices.Clone(held.Head), func(h grouping.HeadKey) bool {
			return h.Choices <= next.Choices
		})
	}
	var err error
	next.Layout, err = next.Replan(st.Statistics, next.capacities(), grouping.LayoutOptions{
		Scheme: b.Newest.Pkg.Method, ThetaMax: b.Newest.ThetaMax, Stop: stop,
	})
	if err != nil {
		return nil, err
	}
	changes := changesTo(next, b.Stored)
	return &replanned{
		after: next, cause: planner.CauseNothingMovable, rerouted: b.Changed, touched: k.touched(held, next, changes),
		moved: func(judged *planner.Plan) (listing.LayoutDiff, error) {
			return k.diff(stored.EncodeMigrations(judged), func() ([]store.Change, error) { return changes, nil })
		},
	}, nil
}

// touched are the candidates, before and after, of keys that enter or leave the head.
func (pkgKind) touched(held, next candidates, changes []store.Change) (ids []int32) {
	before, after := held.Candidates(), next.Candidates()
	for _, c := range changes {
		for _, w := range before.Append(nil, c.Key) {
			ids = append(ids, held.instances[w].ID)
		}
		for _, w := range after.Append(nil, c.Key) {
			ids = append(ids, next.instances[w].ID)
		}
	}
	return ids
}

// snapshot has what is expected of each instance under the layout before as load of keys
// that nobody names.
func (pkgKind) snapshot(b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before,
	after scheme.Layout) (*planner.Snapshot, error) {
	s, err := wholeKeys{}.snapshot(b, st, config, before, after)
	if err != nil {
		return nil, err
	}
	x := splitKeys{Base: b, Statistics: st, all: s.Instances, before: before.(candidates)}
	x.after = x.before
	x.find()
	out, _, err := x.expected(x.before)
	return out, err
}

// judge compares what is expected under both layouts. Parts of state that are on none of
// the candidates after are merged into that of the first one.
func (pkgKind) judge(
	b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before, after scheme.Layout, thetaMax float64,
) (*planner.Plan, error) {
	s, err := wholeKeys{}.snapshot(b, st, config, before, after)
	if err != nil {
		return nil, err
	}
	x := splitKeys{Base: b, Statistics: st, all: s.Instances, before: before.(candidates), after: after.(candidates)}
	x.find()
	o := planner.Options{ThetaMax: thetaMax, Certificate: planner.CertificateOff}
	then, expected, err := x.expected(x.before)
	if err != nil {
		return nil, err
	}
	was, err := planner.Inspect(then, o)
	if err != nil {
		return nil, err
	}
	p := was
	if !x.before.same(x.after) {
		var now *planner.Snapshot
		if now, expected, err = x.expected(x.after); err != nil {
			return nil, err
		}
		if p, err = planner.Inspect(now, o); err != nil {
			return nil, err
		}
	}
	p.Theta.Before, p.Underload.Before, p.Skewness.Before = was.Theta.Before, was.Underload.Before, was.Skewness.Before
	for i := range p.Instances {
		p.Instances[i].Before, p.Instances[i].KeysBefore = was.Instances[i].Before, was.Instances[i].KeysBefore
	}
	x.move(p)
	p.Certificate = leastTheta(p, expected)
	return p, nil
}

// leastTheta is the proof of how level the candidates after a plan let loads be: some
// instances have all candidates of keys that together cost so much.
func leastTheta(p *planner.Plan, e *grouping.Expected) *planner.Certificate {
	c := &planner.Certificate{Unmet: []planner.Unmet{}}
	if e.MostRate > 0 { // as θ of the greatest rate is that of the plan
		c.LowerBound = max(0, float64((1+p.Theta.After)*min(1, e.BoundRate/e.MostRate))-1)
	}
	switch over := p.Theta.After - c.LowerBound; {
	case over <= exact.Tolerance:
		c.Gap = new(0.0)
	case c.LowerBound > 0:
		c.Gap = new(over / c.LowerBound)
	}
	return c
}

// splitKeys are statistics of keys that are on several instances.
type splitKeys struct {
	*scheme.Base
	*scheme.Statistics
	all           []planner.Instance // of both layouts
	before, after candidates
	strays        []planner.Share // parts that are on none of the candidates after, by index
	to            []int32         // where each of them goes, as an index
	drifted       int64           // parts that are on none of the candidates before
}

// at is the place of an instance that is known.
func (x *splitKeys) at(id int32) int32 {
	i, _ := slices.BinarySearchFunc(x.all, id, func(d planner.Instance, id int32) int { return cmp.Compare(d.ID, id) })
	return int32(i)
}

// expected is a snapshot of the loads to expect under a layout.
func (x *splitKeys) expected(under candidates) (*planner.Snapshot, *grouping.Expected, error) {
	e, err := under.Expect(x.Statistics.Statistics, under.capacities(), x.Base.Stop)
	if err != nil {
		return nil, nil, err
	}
	out := &planner.Snapshot{
		Instances: slices.Clone(x.all), Keys: planner.NewKeys(0), HashChanged: x.Base.Changed, Drifted: x.drifted,
	}
	for w, d := range under.instances {
		on := &out.Instances[x.at(d.ID)]
		on.ResidualCost, on.ResidualKeys = e.Loads[w], e.Keys[w]
	}
	return out, e, nil
}

// find finds the parts of state above 0 that are on no candidate: of a key as its reports say,
// else on the instance of its row, else in equal parts on all its candidates before.
func (x *splitKeys) find() {
	before, after := x.before.Candidates(), x.after.Candidates()
	outdated := x.Statistics.Outdated(x.Op.TableVersion)
	shares := x.Shares
	var parts []planner.Share
	var old, now []int32 // indices into all
	for row := range x.Len() {
		key := x.Keys.At(row)
		old, now = x.places(old, before, x.before, key), x.places(now, after, x.after, key)
		parts = x.known(parts[:0], int32(row), &shares, outdated)
		for _, p := range parts {
			if !slices.Contains(old, p.Instance) {
				x.drifted++
			}
		}
		if len(parts) == 0 {
			slices.Sort(old)
			for _, at := range old {
				parts = append(parts, planner.Share{Row: int32(row), Instance: at, State: x.stateOf(row) / float64(len(old))})
			}
		}
		for _, p := range parts {
			if p.State > 0 && !slices.Contains(now, p.Instance) {
				x.strays, x.to = append(x.strays, p), append(x.to, now[0])
			}
		}
	}
}

// places are the candidates of a key.
func (x *splitKeys) places(row []int32, of *grouping.Candidates, under candidates, key []byte) []int32 {
	row = of.Append(row[:0], key)
	for i, w := range row {
		row[i] = x.at(under.instances[w].ID)
	}
	return row
}

// known appends the parts of a row that the statistics tell of, ascending. Shares are those
// of this row and the ones after it.
func (x *splitKeys) known(out []planner.Share, row int32, shares *[]planner.Share, outdated bool) []planner.Share {
	for ; len(*shares) > 0 && (*shares)[0].Row == row; *shares = (*shares)[1:] {
		p := (*shares)[0]
		p.Instance = x.at(p.Instance)
		if x.State == nil {
			p.State = 1
		}
		out = append(out, p)
	}
	switch {
	case outdated:
		return out[:0]
	case len(out) == 0 && x.Instance != nil && x.Instance[row] != planner.NoInstance:
		out = append(out, planner.Share{Row: row, Instance: x.at(x.Instance[row]), State: x.stateOf(int(row))})
	}
	return out
}

func (x *splitKeys) stateOf(row int) float64 {
	if x.State == nil {
		return 1
	}
	return x.State[row]
}

// move lists the parts that move, by ascending key, and sums them up.
func (x *splitKeys) move(p *planner.Plan) {
	s := p.Snapshot
	s.Keys, s.Cost, s.State, s.Shares = x.Keys, x.Cost, x.State, x.strays
	states, from := make([]float64, len(x.strays)), make([]int32, len(x.strays))
	for i, part := range x.strays {
		states[i], from[i] = part.State, part.Instance
		p.Moves = append(p.Moves, planner.Move{
			Item: part.Row, From: part.Instance, To: x.to[i], Count: 1, Reason: planner.ReasonGather,
		})
	}
	slices.SortFunc(p.Moves, func(a, b planner.Move) int {
		return cmp.Or(bytes.Compare(x.Keys.At(int(a.Item)), x.Keys.At(int(b.Item))), cmp.Compare(a.From, b.From))
	})
	in, out := exact.SumsBy(len(x.all), x.to, states, nil), exact.SumsBy(len(x.all), from, states, nil)
	for i := range p.Instances {
		p.Instances[i].StateIn, p.Instances[i].StateOut = in[i], out[i]
	}
	moved, all := exact.SumsBy(1, make([]int32, len(states)), states, nil)[0], float64(x.Len())
	if x.State != nil {
		all = exact.SumsBy(1, make([]int32, x.Len()), x.State, nil)[0]
	}
	p.Migration = planner.Migration{Keys: int64(len(states)), State: moved, Objective: moved}
	if all > 0 {
		p.Migration.Fraction = min(1, moved/all)
	}
}

// firsts is of how many keys each instance is the first candidate.
func (pkgKind) firsts(st *scheme.Statistics, all []planner.Instance, at scheme.Layout) []int64 {
	c := at.(candidates)
	out, x := make([]int64, len(all)), splitKeys{all: all}
	for row := range st.Len() {
		id, _ := c.Instance(nil, st.Keys.Hash(row))
		out[x.at(id)]++
	}
	return out
}

func (k pkgKind) routeBy(_ context.Context, _ *reading.Reader, _ operator.Configuration, held scheme.Layout,
	key []byte) (scheme.Route, error) {
	c := held.(candidates)
	out := scheme.Route{Source: "candidates"}
	for _, w := range c.Candidates().Append(nil, key) {
		out.Candidates = append(out.Candidates, c.instances[w].ID)
	}
	out.Instance = out.Candidates[0]
	return out, nil
}

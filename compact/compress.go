package compact

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// Classes are records, merged, as strategies plan on them.
type Classes struct {
	// Items is the snapshot that strategies take: item i stands for the keys of
	// Records[i]. Its costs and states are real values: those of the record, or,
	// where the keys are known, the means of theirs, so that loads are right and
	// moving a whole class is, too. Its keys only name items. Behind the classes are the
	// keys that are named, each an item of its own with its exact values: Items.Named of them.
	Items *planner.Snapshot
	// Records in ascending order of d, d_h, v_c and v_S. Planned is Current.
	Records []Record
	Scales  Scales
}

// Compression is a snapshot of keys in compact form.
type Compression struct {
	Classes
	Keys    *planner.Snapshot
	ClassOf []int32 // by key: its item
	Named   []int32 // the keys that are items of their own, ascending
	Degree  int     // R
}

// Options say how to discretise.
type Options struct {
	// Degree is R: a power of two. 1 is the finest.
	Degree int
	// Scales. 0 in either: the smallest positive value, but at least 2^−53 of the
	// greatest. Keys without a state count 1 each, whatever the scale.
	Scales Scales
	// Named are rows of keys, ascending, that stay as they are: see [planner.Divisible].
	Named []int32
}

// Validate reports the first option that is out of range as a
// [planner.InputError].
func (o Options) Validate() error {
	return cmp.Or(ValidateDegree(o.Degree), Scales{cmp.Or(o.Scales.Cost, 1), cmp.Or(o.Scales.State, 1)}.Validate())
}

// Compress discretises the costs and states of a snapshot's keys by HLHE, walked
// instance by instance under common levels, and makes records of keys that have
// become equal, but for those that are named. The items of s must be keys, without counts.
// The error is a [planner.InputError].
func Compress(s *planner.Snapshot, o Options) (*Compression, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if s.Count != nil {
		return nil, planner.Invalid("Count", "must not be given: records are of keys")
	}
	c := &Compression{Keys: s, Degree: o.Degree, ClassOf: make([]int32, s.Len()), Named: o.Named}
	cost, err := newScaled("Scales.Cost", s.Cost, o.Scales.Cost, o.Degree)
	if err != nil {
		return nil, err
	}
	state, err := newScaled("Scales.State", s.State, o.Scales.State, o.Degree)
	if err != nil {
		return nil, err
	}
	c.Scales = Scales{cost.scale, state.scale}

	parts := newParts(s, o.Named)
	inParallel(len(parts), func(d int) {
		parts[d].discretise(cost, state)
		parts[d].classify(c.ClassOf)
	})
	c.assemble(parts)
	return c, nil
}

// scaled is a scale with the levels of the values under it.
type scaled struct {
	scale  float64
	levels Levels
}

// newScaled takes the given scale, unless that is 0. No values at all stand for
// one of 1.
func newScaled(field string, values []float64, scale float64, degree int) (scaled, error) {
	if values == nil {
		return scaled{1, NewLevels(degree, 1)}, nil
	}
	greatest, least := 0.0, math.Inf(1)
	for _, x := range values {
		greatest = max(greatest, x)
		if x > 0 && x < least {
			least = x
		}
	}
	switch {
	case scale > 0:
	case greatest == 0:
		scale = 1
	default:
		scale = max(least, greatest/(1<<53))
	}
	if greatest/scale > planner.MaxAmount {
		return scaled{}, planner.Invalid(field, "must not be below 1e-290 times the greatest value")
	}
	return scaled{scale, NewLevels(degree, greatest/scale)}, nil
}

// part is the keys of one instance, in columns, and what becomes of them.
type part struct {
	s           *planner.Snapshot
	keys        []int32 // ascending
	hash        []int32
	tie         []uint32 // upper half of the key's hash: the start of its canonical place
	cost, state []float64
	// By position in keys: v_c and v_S; the latter is nil for 1 each.
	phiCost, phiState []float64
	classes           []class // in ascending order
	// By class: the means of the real costs and states; the latter are nil for 1 each.
	meanCost, meanState []float64
}

// newParts groups the keys, but for those that are named, by the instance on which they
// are.
func newParts(s *planner.Snapshot, named []int32) []part {
	n := s.Len() - len(named)
	start := make([]int, len(s.Instances)+1)
	for _, d := range s.Current {
		start[d+1]++
	}
	for _, k := range named {
		start[s.Current[k]+1]--
	}
	for d := range s.Instances {
		start[d+1] += start[d]
	}
	all := part{keys: make([]int32, n), hash: make([]int32, n), tie: make([]uint32, n), cost: make([]float64, n)}
	if s.State != nil {
		all.state = make([]float64, n)
	}
	next := slices.Clone(start)
	for i, d := range s.Current {
		if len(named) > 0 && named[0] == int32(i) {
			named = named[1:]
			continue
		}
		at := next[d]
		next[d]++
		all.keys[at], all.hash[at], all.tie[at], all.cost[at] = int32(i), s.Hash[i], uint32(s.Keys.Hash(i)>>32), s.Cost[i]
		if s.State != nil {
			all.state[at] = s.State[i]
		}
	}
	parts := make([]part, len(s.Instances))
	for d := range parts {
		from, to := start[d], start[d+1]
		parts[d] = part{s: s, keys: all.keys[from:to], hash: all.hash[from:to], tie: all.tie[from:to],
			cost: all.cost[from:to]}
		if s.State != nil {
			parts[d].state = all.state[from:to]
		}
	}
	return parts
}

// class is what the keys of a record on one instance have in common.
type class struct {
	hash        int32
	cost, state float64
	count       int64
}

func (p *part) discretise(cost, state scaled) {
	if len(p.keys) == 0 {
		return
	}
	p.phiCost = p.walk(p.cost, cost)
	if p.state != nil {
		p.phiState = p.walk(p.state, state)
	}
}

// entry is a value of the key at a position of the part.
type entry struct {
	value float64
	tie   uint32
	at    int32
}

// walk returns φ of values. It takes the greatest values first and equal ones in
// canonical key order.
func (p *part) walk(values []float64, on scaled) (phi []float64) {
	sorted := make([]entry, len(values))
	for i, x := range values {
		sorted[i] = entry{x / on.scale, p.tie[i], int32(i)}
	}
	slices.SortFunc(sorted, func(a, b entry) int {
		if a.value != b.value {
			return cmp.Compare(b.value, a.value)
		}
		if a.tie != b.tie {
			return cmp.Compare(a.tie, b.tie)
		}
		return p.s.Keys.Compare(p.keys[a.at], p.keys[b.at])
	})
	phi = make([]float64, len(values))
	w := Walk{Levels: on.levels}
	var choices []float64
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].value == sorted[0].value {
			n++
		}
		choices = w.run(sorted[0].value, n, choices[:0])
		for i, e := range sorted[:n] {
			phi[e.at] = choices[min(i, len(choices)-1)]
		}
		sorted = sorted[n:]
	}
	return phi
}

// run appends φ of n equal values, up to the one behind which all are the same.
func (w *Walk) run(x float64, n int, choices []float64) []float64 {
	lower, upper := w.Levels.Neighbours(x)
	for range n {
		before := w.Deviation
		choices = append(choices, w.choose(x, lower, upper))
		if w.Deviation == before {
			break // for good
		}
	}
	for len(choices) > 1 && choices[len(choices)-1] == choices[len(choices)-2] {
		choices = choices[:len(choices)-1]
	}
	return choices
}

// classify finds the classes of the keys, in ascending order, and notes for
// every key which of them is its own.
func (p *part) classify(classOf []int32) {
	number := make(map[class]int32) // of a class without its count
	of := make([]int32, len(p.keys))
	for i, h := range p.hash {
		x := class{hash: h, cost: p.phiCost[i], state: 1}
		if p.state != nil {
			x.state = p.phiState[i]
		}
		n, known := number[x]
		if !known {
			n = int32(len(p.classes))
			number[x], p.classes = n, append(p.classes, x)
		}
		of[i] = n
		p.classes[n].count++
	}
	rank := make([]int32, len(p.classes))
	slices.SortFunc(p.classes, class.compare)
	for r, x := range p.classes {
		x.count = 0
		rank[number[x]] = int32(r)
	}
	for i, k := range p.keys {
		of[i] = rank[of[i]]
		classOf[k] = of[i]
	}
	p.meanCost = p.means(p.cost, of)
	if p.state != nil {
		p.meanState = p.means(p.state, of)
	}
}

// means returns the mean of values by class. It sums in fixed point, so that the
// order of the keys makes no difference.
func (p *part) means(values []float64, of []int32) []float64 {
	n := len(p.classes)
	greatest, sums, means := make([]float64, n), make([]int64, n), make([]float64, n)
	for i, x := range values {
		greatest[of[i]] = max(greatest[of[i]], x)
	}
	scales := make([]exact.Scale, n)
	for c, x := range p.classes {
		scales[c] = exact.ScaleFor(greatest[c], x.count)
	}
	for i, x := range values {
		sums[of[i]] += scales[of[i]].Fixed(x)
	}
	for c, sum := range sums {
		means[c] = min(greatest[c], scales[c].Float(sum)/float64(p.classes[c].count))
	}
	return means
}

// assemble makes records and items of all parts.
func (c *Compression) assemble(parts []part) {
	s, n := c.Keys, 0
	for _, p := range parts {
		first := int32(n)
		for _, k := range p.keys {
			c.ClassOf[k] += first
		}
		n += len(p.classes)
	}
	c.Records = make([]Record, 0, n)
	c.Items = &planner.Snapshot{
		Instances: s.Instances, Retained: s.RetainedEntries(), Partial: s.Partial, HashChanged: s.HashChanged,
		Drifted: s.Drifted, Named: len(c.Named),
		Current: make([]int32, 0, n), Hash: make([]int32, 0, n),
	}
	for d, p := range parts {
		for _, x := range p.classes {
			c.Records = append(c.Records, Record{s.Instances[d].ID, s.Instances[d].ID, s.Instances[x.hash].ID, x.cost,
				x.state, x.count})
			c.Items.Current, c.Items.Hash = append(c.Items.Current, int32(d)), append(c.Items.Hash, x.hash)
		}
		c.Items.Cost, c.Items.State = append(c.Items.Cost, p.meanCost...), append(c.Items.State, p.meanState...)
	}
	if s.State == nil {
		c.Items.State = nil
	}
	c.Items.Keys, c.Items.Count = planner.NewKeys(n+len(c.Named)), make([]int64, n)
	name := classNames(func(yield func([]byte) bool) {
		for _, k := range c.Named {
			if !yield(s.Keys.At(int(k))) {
				return
			}
		}
	})
	for i, r := range c.Records {
		c.Items.Keys.Append(name(r))
		c.Items.Count[i] = r.Count
	}
	c.addNamed()
}

// Statistics are the compression as an engine posts it. homes: the keys that are named say
// where their hash puts them.
func (c *Compression) Statistics(homes bool) Statistics {
	out := Statistics{Records: c.Records, Scales: c.Scales, Degree: c.Degree}
	if len(c.Named) == 0 {
		return out
	}
	s, n := c.Keys, len(c.Named)
	out.Named = &planner.Statistics{Keys: planner.NewKeys(n), Cost: make([]float64, n), Instance: make([]int32, n)}
	if s.State != nil {
		out.Named.State = make([]float64, n)
	}
	if homes {
		out.Named.HashInstance = make([]int32, n)
	}
	for i, k := range c.Named {
		out.Named.Keys.Append(s.Keys.At(int(k)))
		out.Named.Cost[i] = s.Cost[k]
		out.Named.Instance[i] = s.Instances[s.Current[k]].ID
		if homes {
			out.Named.HashInstance[i] = s.Instances[s.Hash[k]].ID
		}
		if s.State != nil {
			out.Named.State[i] = s.State[k]
		}
	}
	return out
}

// addNamed adds the keys that stay as they are to the items.
func (c *Compression) addNamed() {
	s, items, first := c.Keys, c.Items, int32(len(c.Records))
	for i, k := range c.Named {
		c.ClassOf[k] = first + int32(i)
		items.Keys.Append(s.Keys.At(int(k)))
		items.Cost, items.Count = append(items.Cost, s.Cost[k]), append(items.Count, 1)
		if s.State != nil {
			items.State = append(items.State, s.State[k])
		}
		items.Current, items.Hash = append(items.Current, s.Current[k]), append(items.Hash, s.Hash[k])
	}
	for _, x := range s.Shares {
		if x.Row = c.ClassOf[x.Row]; c.IsNamed(x.Row) {
			items.Shares = append(items.Shares, x)
		}
	}
	for _, x := range s.Splits {
		if x.Item = c.ClassOf[x.Item]; c.IsNamed(x.Item) {
			items.Splits = append(items.Splits, x)
		}
	}
}

// name is what the items of a class are called: it breaks ties between them.
func (r Record) name() []byte {
	b := make([]byte, 0, 24)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Current))
	b = binary.BigEndian.AppendUint32(b, uint32(r.Hash))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(r.Cost))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(r.State))
}

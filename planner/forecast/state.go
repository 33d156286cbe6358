package forecast

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
	"plannerd/planner/internal/assign"
)

// State is what is remembered of a stream: of each key its level, and the errors of the
// last forecasts. Amounts are kept as they are encoded, so a state that was stored and
// read again forecasts the same. It is not safe for concurrent use.
type State struct {
	series    // of cost
	keys      *planner.Keys
	size      []float64   // of each key: its state when it was named last. Nil: none was reported
	home      []int32     // of each key: its hash instance as reported last. Nil: none was
	index     index       // of keys; built when needed
	resources []*resource // beside cost, see Track
}

// series is what is remembered of the shares that keys have of all cost, or of a resource.
type series struct {
	config    Config
	intervals int       // with any cost
	level     []float32 // of each key: the share to expect, before any season
	recent    []innovation
	noise     noise // of method level
	period    int   // of the season that was found, and
	weight    float64
	// Of method combined.
	combination combination
}

// New returns a state that has seen nothing.
func New(c Config) (*State, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Alpha == 0 && (c.Method == EWMA || c.Method == Seasonal) {
		c.Alpha = DefaultAlpha
	}
	return &State{series: newSeries(c, 0), keys: planner.NewKeys(0)}, nil
}

// newSeries has seen nothing of so many keys.
func newSeries(c Config, keys int) series {
	x := series{config: c}
	if c.Method == Combined {
		x.combination.averages = make([]average, len(combinedAlphas))
	}
	x.begin(keys)
	return x
}

// begin forgets the levels, and begins with those of so many keys.
func (s *series) begin(keys int) {
	s.level = make([]float32, keys)
	s.combination.each(func(level *[]float32) { *level = make([]float32, keys) })
}

// Config is what the state was made with.
func (s *State) Config() Config { return s.config }

// Intervals is the number of intervals with any cost that the state has seen.
func (s *State) Intervals() int { return s.intervals }

// Len is the number of keys that the state remembers.
func (s *State) Len() int { return s.keys.Len() }

// Observe takes the statistics of the next interval, from which [planner.NewSnapshot]
// made a snapshot without an error, and returns what to expect of the one after it.
//
// A key that complete statistics do not name has cost 0. Partial ones say nothing of
// keys that they do not name; nor do those of which some instances are missing. Rows
// that stand for several keys (Count) are refused by an InputError.
func (s *State) Observe(stats *planner.Statistics) (*Forecast, error) {
	if stats.Count != nil {
		return nil, planner.Invalid("Count", "forecasts are of keys, not of classes of keys")
	}
	if err := stats.ValidateAmounts(); err != nil {
		return nil, err
	}
	ids := s.match(stats)
	s.remember(stats, ids)
	whole := isWhole(stats)
	total := totalCost(stats)
	if total > 0 {
		s.update(shares{cost: stats.Cost, total: total, ids: ids, keys: s.keys, whole: whole})
		for _, r := range s.resources {
			r.observe(stats, ids, s.keys, whole)
		}
	}
	if ids != nil && whole {
		s.forget(ids)
	}
	return s.forecast(stats, ids, total, whole), nil
}

// Again returns what the last Observe did, of the same statistics.
func (s *State) Again(stats *planner.Statistics) (*Forecast, error) {
	if stats.Count != nil {
		return nil, planner.Invalid("Count", "forecasts are of keys, not of classes of keys")
	}
	ids := s.match(stats)
	return s.forecast(stats, ids, totalCost(stats), isWhole(stats)), nil
}

// isWhole reports whether keys that the statistics do not name have no cost.
func isWhole(stats *planner.Statistics) bool {
	return !stats.Partial && len(stats.PartialOn) == 0 && len(stats.Frozen) == 0
}

// totalCost is that of all keys, named or not.
func totalCost(stats *planner.Statistics) float64 {
	total := totalOf(stats.Cost)
	for _, r := range stats.Residual {
		total += r.Cost
	}
	return total
}

// totalOf adds amounts up, in any order.
func totalOf(amounts []float64) float64 {
	all := exact.NewColumn(amounts, len(amounts))
	return all.Float(all.Total)
}

// match returns the number of the key of each row; new keys get the next ones. Nil: row
// i is key i, and there are no others.
func (s *State) match(stats *planner.Statistics) []int32 {
	n, known := stats.Len(), s.keys.Len()
	if known == 0 {
		s.keys = stats.Keys.Clone()
		s.each(func(x *series) { x.begin(n) })
		s.size, s.home = nil, nil // of intervals without a key
		return nil
	}
	ids := make([]int32, n)
	inOrder := n == known && s.sameOrder(stats.Keys, ids)
	if inOrder {
		return nil
	}
	if n != known {
		s.sameOrder(stats.Keys, ids)
	}
	s.lookUp(stats.Keys, ids)
	for i, id := range ids {
		if id < 0 {
			ids[i] = s.add(stats.Keys, i)
		}
	}
	return ids
}

// lookAhead is how many keys may be left out between two that follow each other; fewer
// where none do.
const lookAhead = 8

// sameOrder finds keys that follow each other as they did before; others get -1. It
// reports whether row i is key i everywhere.
func (s *State) sameOrder(keys *planner.Keys, ids []int32) bool {
	known := s.keys.Len()
	var moved [assign.MostParts]bool
	assign.InParts(len(ids), func(part, from, to int) {
		guess, ahead := from, lookAhead
		for i := from; i < to; i++ {
			ids[i] = -1
			for g := guess; g < min(known, guess+ahead); g++ {
				if s.keys.Same(g, keys, i) {
					ids[i], guess, ahead = int32(g), g+1, lookAhead
					break
				}
			}
			if ids[i] < 0 {
				ahead = max(1, ahead-1)
			}
			moved[part] = moved[part] || int(ids[i]) != i
		}
	})
	for _, m := range moved {
		if m {
			return false
		}
	}
	return true
}

// lookUp finds the keys that sameOrder did not.
func (s *State) lookUp(keys *planner.Keys, ids []int32) {
	if !slices.Contains(ids, -1) {
		return
	}
	s.index.build(s.keys)
	assign.InParts(len(ids), func(_, from, to int) {
		for ; from < to; from += batch {
			s.index.findAll(s.keys, keys, from, ids[from:min(to, from+batch)])
		}
	})
}

// add takes in a new key; the index knows the keys before it.
func (s *State) add(keys *planner.Keys, row int) int32 {
	id := int32(s.keys.Len())
	s.keys.Append(keys.At(row))
	s.index.insert(s.keys, id)
	s.each(func(x *series) {
		x.level = append(x.level, 0)
		x.combination.each(func(level *[]float32) { *level = append(*level, 0) })
	})
	if s.size != nil {
		s.size = append(s.size, 0)
	}
	if s.home != nil {
		s.home = append(s.home, planner.NoInstance)
	}
	return id
}

// remember keeps of each key what it needs when an interval lacks it.
func (s *State) remember(stats *planner.Statistics, ids []int32) {
	if stats.State != nil && s.size == nil {
		s.size = make([]float64, s.keys.Len())
	}
	if stats.HashInstance != nil && s.home == nil {
		s.home = make([]int32, s.keys.Len())
		for i := range s.home {
			s.home[i] = planner.NoInstance
		}
	}
	if stats.State == nil {
		s.size = nil
	}
	if stats.HashInstance == nil {
		s.home = nil
	}
	scatter(s.size, stats.State, ids)
	scatter(s.home, stats.HashInstance, ids)
}

// scatter copies values to the places of their ids. Nil ids: each stays at its own.
func scatter[T any](to, values []T, ids []int32) {
	if ids == nil {
		copy(to, values)
		return
	}
	assign.InParts(len(values), func(_, from, until int) {
		for i := from; i < until; i++ {
			to[ids[i]] = values[i]
		}
	})
}

// forecast makes the statistics to plan on.
func (s *State) forecast(stats *planner.Statistics, ids []int32, total float64, whole bool) *Forecast {
	out := *stats
	f := &Forecast{Statistics: &out, Observed: stats, state: s, ids: ids}
	if s.config.Method == Last {
		return f
	}
	if total == 0 {
		total = 1 // shares will do
	}
	expected := s.expected()
	if ids != nil && whole {
		f.addAbsent(s.likely(expected))
	}
	out.Cost = make([]float64, out.Keys.Len())
	assign.InParts(len(out.Cost), func(_, from, to int) {
		for row := from; row < to; row++ {
			out.Cost[row] = expected(f.id(row)) * total
		}
	})
	for _, r := range s.resources {
		r.expect(f, whole)
	}
	return f
}

// expected tells the share to expect of each key.
func (s *series) expected() func(id int32) float64 {
	season := s.season()
	if season.lag == nil {
		return func(id int32) float64 { return float64(s.level[id]) }
	}
	shares := make([]float64, len(s.level))
	for id, level := range s.level {
		shares[id] = float64(level)
	}
	season.each(func(id int32, share float64) { shares[id] = share })
	return func(id int32) float64 { return shares[id] }
}

// likely reports whether a key has a share to expect, of cost or of a resource.
func (s *State) likely(cost func(id int32) float64) func(id int32) bool {
	all := []func(id int32) float64{cost}
	for _, r := range s.resources {
		if r.from == "" {
			all = append(all, r.expected())
		}
	}
	return func(id int32) bool {
		return slices.ContainsFunc(all, func(expected func(id int32) float64) bool { return expected(id) > 0 })
	}
}

// addAbsent adds a row for each key that the statistics lack and that is likely to come back.
func (f *Forecast) addAbsent(likely func(id int32) bool) {
	s, out, rows := f.state, f.Statistics, len(f.ids)
	if rows == s.keys.Len() { // all are named
		return
	}
	named := make([]bool, s.keys.Len())
	for _, id := range f.ids {
		named[id] = true
	}
	for id := range int32(len(named)) {
		if homeless := s.home != nil && s.home[id] == planner.NoInstance; !named[id] && !homeless && likely(id) {
			f.ids = append(f.ids, id)
		}
	}
	absent := f.ids[rows:]
	if len(absent) == 0 {
		return
	}
	out.Keys = out.Keys.Clone()
	for _, id := range absent {
		out.Keys.Append(s.keys.At(int(id)))
	}
	out.State = extend(out.State, absent, func(id int32) float64 { return s.size[id] })
	out.Instance = extend(out.Instance, absent, func(int32) int32 { return planner.NoInstance })
	out.HashInstance = extend(out.HashInstance, absent, func(id int32) int32 { return s.home[id] })
	out.Costs = planner.WithRows(out.Costs, out.Keys.Len())
}

// extend returns a column with a value for each absent key behind it; a column that is
// not there stays so.
func extend[T any](column []T, absent []int32, value func(id int32) T) []T {
	if column == nil {
		return nil
	}
	out := make([]T, len(column), len(column)+len(absent))
	copy(out, column)
	for _, id := range absent {
		out = append(out, value(id))
	}
	return out
}

// negligible is the part of the mean share below which an absent key is forgotten.
const negligible = 1e-4

// forget drops the keys that no row has, as ids say, and that are nearly gone, once they
// are many.
func (s *State) forget(ids []int32) {
	n := s.keys.Len()
	if n-len(ids) <= n/8 {
		return
	}
	keep := make([]bool, n)
	for _, id := range ids {
		keep[id] = true
	}
	least, kept := float32(negligible/float64(n)), 0
	s.each(func(x *series) {
		for id, level := range x.level {
			keep[id] = keep[id] || level > least
		}
	})
	for _, stays := range keep {
		if stays {
			kept++
		}
	}
	if n-kept > n/8 {
		s.compact(keep, kept, ids)
	}
}

// compact leaves the keys to keep, and gives them their new numbers, in ids too.
func (s *State) compact(keep []bool, kept int, ids []int32) {
	number := make([]int32, len(keep))
	keys := planner.NewKeys(kept)
	for id, stays := range keep {
		number[id] = -1
		if !stays {
			continue
		}
		to := keys.Len()
		number[id] = int32(to)
		keys.Append(s.keys.At(id))
		s.each(func(x *series) {
			x.level[to] = x.level[id]
			x.combination.each(func(level *[]float32) { (*level)[to] = (*level)[id] })
		})
		if s.size != nil {
			s.size[to] = s.size[id]
		}
		if s.home != nil {
			s.home[to] = s.home[id]
		}
	}
	s.keys, s.index = keys, index{}
	s.each(func(x *series) {
		x.level = x.level[:kept]
		x.combination.each(func(level *[]float32) { *level = (*level)[:kept] })
		for i := range x.recent {
			x.recent[i].renumber(number)
		}
	})
	s.size, s.home = s.size[:min(kept, len(s.size))], s.home[:min(kept, len(s.home))]
	if len(s.size) == 0 {
		s.size = nil
	}
	if len(s.home) == 0 {
		s.home = nil
	}
	for i, id := range ids {
		ids[i] = number[id]
	}
}

// gain is that of a moving average which has seen n intervals before: the first ones
// count alike.
func (s *series) gain() float64 {
	alpha := 1.0
	switch s.config.Method {
	case EWMA, Seasonal:
		alpha = s.config.Alpha
	case Combined:
		alpha = 0 // each of its averages has its own
	}
	return math.Max(alpha, 1/float64(s.intervals+1))
}

// averages reports whether levels are moving averages, each of one gain for all keys.
func (s *series) averages() bool {
	return s.config.Method == EWMA || s.config.Method == Seasonal || s.config.Method == Combined
}

package hindsight

import (
	"slices"

	"plannerd/planner"
)

// History is a stream of intervals, as every policy sees it. Add must not run
// at the same time as anything else.
type History struct {
	configuration planner.Configuration
	fair          []float64 // share of each instance in the capacity

	keys      *planner.Keys
	numbers   map[string]int32
	home      []int32   // by key: index of its hash instance
	first     []int32   // by key: the first interval that names it
	named     []int32   // by key: the instance that the first interval names, or planner.NoInstance
	may       []*places // by key; nil: it may be everywhere
	byRule    map[int]*places
	intervals []interval
}

// places are the instances that rules and cordons let a key be on.
type places struct {
	enter []bool // where it may come
	keep  []bool // where it may stay: on one that takes nothing, too
}

// interval has loads and states as shares of their sums.
type interval struct {
	rows     []row
	residual []float64 // by instance; nil: 0
}

type row struct {
	key         int32
	cost, state float64
}

// NewHistory returns a history without intervals for instances that stay as they are.
func NewHistory(c planner.Configuration) *History {
	h := &History{configuration: c, keys: planner.NewKeys(0), numbers: map[string]int32{}, byRule: map[int]*places{}}
	all := 0.0
	for _, d := range c.Instances {
		all += d.Capacity
	}
	for _, d := range c.Instances {
		h.fair = append(h.fair, d.Capacity/all)
	}
	return h
}

// Len is the number of intervals.
func (h *History) Len() int { return len(h.intervals) }

// Add appends an interval. Its state is what a plan made of it would move: a key that it
// does not name has neither cost nor state, one that has state alone has a row of its own.
// An error is a [planner.InputError]; the interval is then not in the history. Rows that
// stand for several keys, and instances of which nothing is known, are errors.
func (h *History) Add(s *planner.Statistics) error {
	switch {
	case s.Count != nil:
		return planner.Invalid("Count", "must be absent: classes of keys have no history")
	case len(s.Frozen) > 0:
		return planner.Invalid("Frozen", "must be empty: without an instance's loads nothing is known of balance")
	}
	homes, err := h.homesOf(s)
	if err != nil {
		return err
	}
	in := interval{rows: make([]row, s.Len())}
	allCost, allState := 0.0, 0.0
	for i := range s.Len() {
		in.rows[i] = row{key: h.number(s, i, homes[i]), cost: s.Cost[i], state: 1}
		if s.State != nil {
			in.rows[i].state = s.State[i]
		}
	}
	h.order(in.rows)
	for _, r := range in.rows {
		allCost, allState = allCost+r.cost, allState+r.state
	}
	for _, r := range s.Residual {
		if in.residual == nil {
			in.residual = make([]float64, len(h.fair))
		}
		d, _ := h.instance(r.Instance)
		in.residual[d] += r.Cost
		allCost, allState = allCost+r.Cost, allState+r.State
	}
	in.share(allCost, allState)
	h.intervals = append(h.intervals, in)
	return nil
}

// order is canonical, so that no sum depends on the order of the rows.
func (h *History) order(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return h.keys.Compare(a.key, b.key) })
}

// share divides by the sums. What has no sum has no shares.
func (in *interval) share(cost, state float64) {
	for i := range in.rows {
		r := &in.rows[i]
		r.cost, r.state = quotient(r.cost, cost), quotient(r.state, state)
	}
	for d := range in.residual {
		in.residual[d] = quotient(in.residual[d], cost)
	}
}

func quotient(x, all float64) float64 {
	if all == 0 {
		return 0
	}
	return x / all
}

// homesOf finds the hash instance of each row, and checks the instances.
func (h *History) homesOf(s *planner.Statistics) ([]int32, error) {
	homes := make([]int32, s.Len())
	for i := range homes {
		id := planner.NoInstance
		switch {
		case h.configuration.Hash != nil:
			var err error
			if id, err = h.configuration.Hash.Instance(s.Keys.At(i), s.Keys.Hash(i)); err != nil {
				return nil, planner.InvalidRow(i, "Key", err.Error())
			}
		case s.HashInstance != nil:
			id = s.HashInstance[i]
		}
		if id == planner.NoInstance && s.Instance != nil { // it has an entry wherever it is
			id = s.Instance[i]
		}
		d, ok := h.instance(id)
		if !ok {
			return nil, planner.InvalidRow(i, "HashInstance", "must be one of the instances")
		}
		homes[i] = d
		if s.Instance != nil && s.Instance[i] != planner.NoInstance {
			if _, ok := h.instance(s.Instance[i]); !ok {
				return nil, planner.InvalidRow(i, "Instance", "must be one of the instances")
			}
		}
	}
	for i, r := range s.Residual {
		if _, ok := h.instance(r.Instance); !ok {
			return nil, planner.Invalid(planner.Element("Residual", i)+".Instance", "must be one of the instances")
		}
	}
	return homes, nil
}

// instance is the index of an instance.
func (h *History) instance(id int32) (int32, bool) {
	d, ok := slices.BinarySearchFunc(h.configuration.Instances, id,
		func(in planner.Instance, id int32) int { return int(in.ID) - int(id) })
	return int32(d), ok
}

// number is that of the key of a row.
func (h *History) number(s *planner.Statistics, i int, home int32) int32 {
	key := s.Keys.At(i)
	if k, known := h.numbers[string(key)]; known {
		return k
	}
	k := int32(h.keys.Len())
	h.numbers[string(key)] = k
	h.keys.Append(key)
	named := planner.NoInstance
	if s.Instance != nil && h.Len() == 0 && s.Instance[i] != planner.NoInstance {
		named, _ = h.instance(s.Instance[i])
	}
	h.home = append(h.home, home)
	h.first = append(h.first, int32(h.Len()))
	h.named = append(h.named, named)
	h.may = append(h.may, h.placesOf(key, s.Keys.Hash(i)))
	return k
}

// exempt reports whether a policy had a key where it may not stay, or not come.
func (p *places) exempt(begin, intervals int, was func(t int) int32) bool {
	if p == nil {
		return false
	}
	before := was(begin)
	for t := begin; t < intervals; t++ {
		d := was(t)
		if !p.keep[d] || d != before && !p.enter[d] {
			return true
		}
		before = d
	}
	return false
}

// placesOf says where a key may be; nil: everywhere.
func (h *History) placesOf(key []byte, hash uint64) *places {
	if !h.configuration.Restricts() {
		return nil
	}
	rule, rules := -1, h.configuration.Placement
	if rules != nil {
		rule = rules.Rule(key, hash)
	}
	if p, known := h.byRule[rule]; known {
		return p
	}
	p := &places{enter: make([]bool, len(h.fair)), keep: make([]bool, len(h.fair))}
	stays := rules != nil && rules.Stays(rule)
	for d, in := range h.configuration.Instances {
		p.keep[d] = rules == nil || slices.Contains(rules.Eligible(rule), in.ID)
		p.enter[d] = p.keep[d] && !in.Cordoned && !stays
	}
	if !stays && !slices.Contains(p.enter, true) {
		p.enter = p.keep // all that may have it take nothing
	}
	h.byRule[rule] = p
	return p
}

// Tables are the routing tables that the intervals ran under, as long as the history. The
// first may be nil where the rows of the first interval say where keys are.
type Tables []*planner.RoutingTable

// at is where a key is in an interval: its table entry says so, else in the first interval
// its row, else the hash.
func (h *History) at(tables Tables, t int, key int32) int32 {
	table := tables[t]
	if e := table.Find(h.keys.At(int(key)), h.keys.Hash(int(key))); e >= 0 {
		if d, ok := h.instance(table.At(e).Instance); ok {
			return d
		}
	}
	if t == 0 && table == nil && h.named[key] != planner.NoInstance {
		return h.named[key]
	}
	return h.home[key]
}

// Theta is the overload that each interval had under its table, beside fair loads as [Caps] have them.
func (h *History) Theta(tables Tables, fair [][]float64) []float64 {
	list := make([]float64, h.Len())
	for t, in := range h.intervals {
		load := make([]float64, len(h.fair))
		copy(load, in.residual)
		for _, r := range in.rows {
			load[h.at(tables, t, r.key)] += r.cost
		}
		list[t] = theta(load, h.fairIn(fair, t))
	}
	return list
}

// fairIn are the fair loads of an interval.
func (h *History) fairIn(fair [][]float64, t int) []float64 {
	if fair == nil {
		return h.fair
	}
	return fair[t]
}

// theta is the overload of loads that are shares; 0 where there are none.
func theta(load, fair []float64) float64 {
	most := 0.0
	for d, x := range load {
		if fair[d] > 0 {
			most = max(most, x/fair[d]-1)
		}
	}
	return most
}

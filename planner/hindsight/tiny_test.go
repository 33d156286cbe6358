package hindsight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
	"plannerd/planner/hindsight"
)

// stream is a small stream in plain columns, from which the tests count everything anew.
type stream struct {
	capacity    []float64
	home, start []int       // by key; start is where the first interval has it
	cost, state [][]float64 // by interval and key
	named       [][]bool    // by interval and key
	residual    [][]float64 // by interval and instance: cost, and as much state
	first       []int       // by key: the first interval that names it; the number of intervals: none does
	policy      [][]int     // by interval and key: some sequence
	caps        hindsight.Caps
	rules       rules // nil: there are none
	cordoned    []bool
	fair        [][]float64 // by interval and instance, as shares; nil: by capacity
}

// rules are by key, each of which is named by a rule of its own.
type rules []rule

type rule struct {
	on    []int32
	stays bool
}

func (r rules) Rule(key []byte, _ uint64) int { return int(key[len("key-")] - '0') }
func (r rules) Eligible(rule int) []int32     { return r[rule].on }
func (r rules) Stays(rule int) bool           { return r[rule].stays }
func (r rules) Len() int                      { return len(r) }
func (rules) Name(int) string                 { return "" }
func (rules) Without(int) planner.Placement   { return nil }
func (r rules) may(k, d int) bool             { return r == nil || slices.Contains(r[k].on, int32(10*d)) }

// restrict draws rules, cordons and the fair loads of intervals.
func (s *stream) restrict(r *rand.Rand) {
	s.cordoned = make([]bool, len(s.capacity))
	for d := range s.cordoned {
		s.cordoned[d] = r.IntN(4) == 0
	}
	if r.IntN(4) > 0 {
		for range s.home {
			all := []int32{0, 10, 20}[:len(s.capacity)]
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			on := all[:1+r.IntN(len(all))]
			slices.Sort(on)
			s.rules = append(s.rules, rule{on, r.IntN(4) == 0})
		}
	}
	for range s.cost {
		fair, all := make([]float64, len(s.capacity)), 0.0
		for d := range fair {
			fair[d] = float64(r.IntN(4))
			all += fair[d]
		}
		for d := range fair {
			fair[d] /= max(1, all)
		}
		s.fair = append(s.fair, fair)
	}
}

// mayMove reports whether rules and cordons let a key be on an instance in interval t that was on another one, or
// there, in the one before.
func (s *stream) mayMove(k, t, from, to int) bool {
	if s.cordoned == nil || s.policy[t][k] == to {
		return true
	}
	if from == to || !s.rules.may(k, to) {
		return s.rules.may(k, to)
	}
	if s.rules != nil && s.rules[k].stays {
		return false
	}
	other := false
	for d, cordoned := range s.cordoned {
		other = other || !cordoned && s.rules.may(k, d)
	}
	return !s.cordoned[to] || !other
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// tiny makes a stream of at most 5 keys, 3 instances and 6 intervals.
func tiny(r *rand.Rand) *stream {
	return random(r, 1+r.IntN(5), pick(r, 1, 2, 2, 3), pick(r, 1, 2, 3, 4, 5, 6, 6))
}

func random(r *rand.Rand, keys, instances, intervals int) *stream {
	s := &stream{}
	equal, known := r.IntN(2) == 0, r.IntN(3)
	for range instances {
		s.capacity = append(s.capacity, 1)
		if !equal {
			s.capacity[len(s.capacity)-1] = pick(r, 0.5, 1, 2, 3)
		}
	}
	for range keys {
		s.home = append(s.home, r.IntN(instances))
		s.start = append(s.start, s.home[len(s.home)-1])
		if r.IntN(4) == 0 {
			s.start[len(s.start)-1] = r.IntN(instances)
		}
		s.first = append(s.first, intervals)
	}
	for t := range intervals {
		cost, state, named := make([]float64, keys), make([]float64, keys), make([]bool, keys)
		for k := range keys {
			if named[k] = r.IntN(8) > 0; !named[k] {
				continue
			}
			s.first[k] = min(s.first[k], t)
			cost[k], state[k] = float64(pick(r, r.IntN(8), 1+r.IntN(20))), 1
			if known > 0 {
				state[k] = pick(r, 1, float64(r.IntN(12)), cost[k], 1+cost[k]/3)
			}
		}
		s.cost, s.state, s.named = append(s.cost, cost), append(s.state, state), append(s.named, named)
		s.residual = append(s.residual, nil)
		if r.IntN(5) == 0 {
			s.residual[t] = make([]float64, instances)
			s.residual[t][r.IntN(instances)] = float64(r.IntN(5))
		}
	}
	s.wander(r)
	return s
}

// wander makes the policy: keys that are free go somewhere now and then. It often takes the
// most even of some assignments.
func (s *stream) wander(r *rand.Rand) {
	at := s.start
	often, tries := r.Float64(), pick(r, 1, 1, 30)
	for t := range s.cost {
		best, least := at, math.Inf(1)
		for range tries {
			next := slices.Clone(at)
			for k := range next {
				if t > 0 && s.free(k, t) && r.Float64() < often {
					next[k] = r.IntN(len(s.capacity))
				}
			}
			if theta := s.theta(t, next); theta < least {
				best, least = next, theta
			}
		}
		s.policy = append(s.policy, best)
		at = best
	}
}

// free reports whether a key may be elsewhere in interval t than in the one before.
func (s *stream) free(k, t int) bool { return s.first[k] < t || s.start[k] != s.home[k] }

func key(k int) string { return fmt.Sprintf("key-%d", k) }

// history hands the stream over, rows in any order.
func (s *stream) history(r *rand.Rand) (*hindsight.History, hindsight.Tables) {
	c := planner.Configuration{}
	for d, capacity := range s.capacity {
		c.Instances = append(c.Instances, planner.Instance{ID: int32(10 * d), Capacity: capacity,
			Cordoned: s.cordoned != nil && s.cordoned[d]})
	}
	if s.rules != nil {
		c.Placement = s.rules
	}
	h := hindsight.NewHistory(c)
	var tables hindsight.Tables
	for t := range s.cost {
		rows := &planner.Statistics{Keys: planner.NewKeys(0)}
		for _, k := range r.Perm(len(s.home)) {
			if s.named[t][k] {
				rows.Keys.Append([]byte(key(k)))
				rows.Cost = append(rows.Cost, s.cost[t][k])
				rows.State = append(rows.State, s.state[t][k])
				rows.HashInstance = append(rows.HashInstance, int32(10*s.home[k]))
			}
		}
		for d, x := range s.residual[t] {
			rows.Residual = append(rows.Residual, planner.Residual{Instance: int32(10 * d), Cost: x, State: x, Keys: 1})
		}
		if err := h.Add(rows); err != nil {
			panic(err)
		}
		tables = append(tables, s.table(s.policy[t]))
	}
	return h, tables
}

func (s *stream) table(at []int) *planner.RoutingTable {
	var entries []planner.Entry
	for k, d := range at {
		if d != s.home[k] {
			entries = append(entries, planner.Entry{Key: []byte(key(k)), Instance: int32(10 * d)})
		}
	}
	table, err := planner.NewRoutingTable(entries)
	if err != nil {
		panic(err)
	}
	return table
}

// loads are those of an interval, what of them cannot move, and their fair share.
func (s *stream) loads(t int, at []int) (load, fixed, fair []float64) {
	all, capacity := 0.0, 0.0
	load, fixed, fair = make([]float64, len(s.capacity)), make([]float64, len(s.capacity)), slices.Clone(s.capacity)
	for d, x := range s.residual[t] {
		load[d], fixed[d], all = x, x, all+x
	}
	for k, c := range s.cost[t] {
		all, load[at[k]] = all+c, load[at[k]]+c
		if !s.free(k, t) {
			fixed[at[k]] += c
		}
	}
	for _, c := range s.capacity {
		capacity += c
	}
	for d, c := range s.capacity {
		if fair[d] = c * all / capacity; s.fair != nil {
			fair[d] = s.fair[t][d] * all
		}
	}
	return load, fixed, fair
}

func (s *stream) theta(t int, at []int) (theta float64) {
	load, _, fair := s.loads(t, at)
	for d, x := range fair {
		if x > 0 {
			theta = max(theta, load[d]/x-1)
		}
	}
	return theta
}

// within reports whether the caps of an interval hold, each of them a little looser.
func (s *stream) within(t int, at []int, looser float64) bool {
	load, fixed, fair := s.loads(t, at)
	for d, x := range fair {
		if (s.fair == nil || x > 0) && load[d] > max((1+s.caps.Theta[t])*x, fixed[d])*(1+looser) {
			return false
		}
	}
	return true
}

func (s *stream) tableWithin(t int, at []int) bool {
	entries := int64(0)
	for k, d := range at {
		if d != s.home[k] && (t > 0 || s.start[k] != s.home[k]) {
			entries++
		}
	}
	return s.caps.Table == nil || entries <= s.caps.Table[t]
}

// moved is the share of the state of interval t that goes elsewhere.
func (s *stream) moved(t int, from, to []int) float64 {
	all, moved := 0.0, 0.0
	for _, x := range s.residual[t] {
		all += x
	}
	for k, x := range s.state[t] {
		if all += x; from[k] != to[k] {
			moved += x
		}
	}
	if all == 0 {
		return 0
	}
	return moved / all
}

// total is M of the policy.
func (s *stream) total() (m float64) {
	for t := s.caps.First; t+1 < len(s.policy); t++ {
		m += s.moved(t, s.policy[t], s.policy[t+1])
	}
	return m
}

// least is the least M of all sequences within the caps; +∞: there is none. It tries every
// step from every assignment to every other.
func (s *stream) least(looser float64) float64 {
	all := s.assignments()
	least := map[int]float64{s.number(s.start): 0} // by assignment
	for t := s.caps.First + 1; t < len(s.cost); t++ {
		next := map[int]float64{}
		for to, at := range all {
			if t >= s.caps.Warmup && !(s.tableWithin(t, at) && s.within(t, at, looser)) {
				continue
			}
			for before, m := range least {
				if !s.reachable(t, all[before], at) {
					continue
				}
				m += s.moved(t-1, all[before], at)
				if old, known := next[to]; !known || m < old {
					next[to] = m
				}
			}
		}
		least = next
	}
	best := math.Inf(1)
	for _, m := range least {
		best = min(best, m)
	}
	return best
}

func (s *stream) reachable(t int, from, to []int) bool {
	for k := range from {
		if from[k] != to[k] && !s.free(k, t) || !s.mayMove(k, t, from[k], to[k]) {
			return false
		}
	}
	return true
}

// assignments are all there are, each under its number.
func (s *stream) assignments() [][]int {
	all := [][]int{nil}
	for range s.home {
		var longer [][]int
		for _, a := range all {
			for d := range s.capacity {
				longer = append(longer, append(slices.Clone(a), d))
			}
		}
		all = longer
	}
	return all
}

func (s *stream) number(at []int) (n int) {
	for _, d := range at {
		n = n*len(s.capacity) + d
	}
	return n
}

package compact

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// flow is the keys of one class that a plan sends to one instance.
type flow struct {
	to    int32 // index into the instances
	count int64
}

// departure is what a plan does to the keys of one class.
type departure struct {
	class int32
	keys  []int32 // all keys of the class
	flows []flow  // in ascending order of instances
	count int64   // keys that leave
}

// slack is what the instances could carry beyond what a plan of the classes
// expects, by instance, ≥ 0, in units of cost.
func slack(p *planner.Plan) []float64 {
	out := make([]float64, len(p.Instances))
	for d, x := range p.Instances {
		out[d] = max(0, x.Bound-x.After)
	}
	return out
}

// keysOf chooses the keys that carry out moves of classes: of each class as many
// as move, jointly for all their destinations. It aims at real loads that exceed
// those that the moves come to by no more than slack, and then at least real
// state. moves are in ascending order of items and destinations.
func (c *Compression) keysOf(moves []planner.Move, slack []float64) []planner.Move {
	departures := c.departures(moves)
	ch := chooser{c: c, slack: slack, into: make([]float64, len(slack)), off: make([]float64, len(slack))}
	for _, x := range departures {
		for _, f := range x.flows {
			ch.into[f.to] += float64(float64(f.count) * c.Items.Cost[x.class])
		}
	}
	for rest := departures; len(rest) > 0; {
		d := c.Items.Current[rest[0].class]
		n := 1
		for n < len(rest) && c.Items.Current[rest[n].class] == d {
			n++
		}
		ch.choose(d, rest[:n])
		rest = rest[n:]
	}
	return ch.send(departures)
}

// departures gathers the moves by class, in ascending order, with the keys that
// there are to choose from in canonical order where there is a choice.
func (c *Compression) departures(moves []planner.Move) []departure {
	at := make([]int32, c.Items.Len()) // 1 + index into out
	var out []departure
	for _, m := range moves {
		if at[m.Item] == 0 {
			out = append(out, departure{class: m.Item})
			at[m.Item] = int32(len(out))
		}
		x := &out[at[m.Item]-1]
		x.flows = append(x.flows, flow{m.To, m.Count})
		x.count += m.Count
	}
	for i, class := range c.ClassOf {
		if j := at[class]; j > 0 {
			out[j-1].keys = append(out[j-1].keys, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b departure) int { return cmp.Compare(a.class, b.class) })
	inParallel(len(out), func(i int) { slices.SortFunc(out[i].keys, c.Keys.Keys.Compare) })
	return out
}

// chooser keeps what the choices so far did to the loads.
type chooser struct {
	c     *Compression
	slack []float64 // by instance
	into  []float64 // by instance: what the plan sends there, at the mean costs of classes
	off   []float64 // by instance: real beyond mean cost of what was sent there so far
}

// choose cuts the keys of the classes on one instance down to those that leave.
// Of a class that leaves as a whole there is none to choose. From the others it
// takes those of least state, unless their real cost is then less than the
// instance has to lose, or more than the others can take: then cost counts as
// well, as little as need be.
func (ch *chooser) choose(d int32, departures []departure) {
	c := ch.c
	surplus := 0.0 // what others can take beyond the plan
	var partial []*departure
	for i := range departures {
		x := &departures[i]
		for _, f := range x.flows {
			surplus += ch.slack[f.to] * float64(f.count) * c.Items.Cost[x.class] / max(ch.into[f.to],
				math.SmallestNonzeroFloat64)
		}
		if x.count < c.Records[x.class].Count {
			partial = append(partial, x)
		}
	}
	if len(partial) == 0 {
		return
	}
	spare := ch.slack[d]
	if ch.into[d] > 0 {
		spare /= 2 // the other half is for what arrives
	}
	s := newSelection(c, partial)
	s.choose(-spare, surplus)
	for i, x := range partial {
		x.keys = s.chosen(i)
	}
}

// send distributes the chosen keys of every class to its destinations: one after
// the other, those first whose cost is furthest above that of the class, each to
// where most room is left.
func (ch *chooser) send(departures []departure) []planner.Move {
	c := ch.c
	var moves []planner.Move
	put := func(x *departure, key, to int32) {
		ch.off[to] += c.Keys.Cost[key] - c.Items.Cost[x.class]
		moves = append(moves, planner.Move{Item: key, From: c.Keys.Current[key], To: to, Count: 1})
	}
	for i := range departures {
		if x := &departures[i]; len(x.flows) == 1 {
			for _, key := range x.keys {
				put(x, key, x.flows[0].to)
			}
		}
	}
	for i := range departures {
		x := &departures[i]
		if len(x.flows) == 1 {
			continue
		}
		slices.SortStableFunc(x.keys, func(a, b int32) int { return cmp.Compare(c.Keys.Cost[b], c.Keys.Cost[a]) })
		for _, key := range x.keys {
			best := -1
			for j, f := range x.flows {
				if f.count > 0 && (best < 0 || ch.room(f.to) > ch.room(x.flows[best].to)) {
					best = j
				}
			}
			x.flows[best].count--
			put(x, key, x.flows[best].to)
		}
	}
	return moves
}

func (ch *chooser) room(d int32) float64 { return ch.slack[d] - ch.off[d] }

// selection is the choice from classes on one instance of which some keys stay.
type selection struct {
	c       *Compression
	classes []*departure
	ranked  [][]rankedKey // by class, the chosen ones first
	state   float64       // the greatest of a key, or 1
	spread  float64       // the greatest difference between the cost of a key and the mean of its class
}

// rankedKey is a key with what decides whether it leaves.
type rankedKey struct {
	rank float64
	at   int32 // index into the keys of its class
}

func (a rankedKey) compare(b rankedKey) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.at, b.at))
}

func newSelection(c *Compression, classes []*departure) *selection {
	s := &selection{c: c, classes: classes, ranked: make([][]rankedKey, len(classes))}
	for i, x := range classes {
		s.ranked[i] = make([]rankedKey, len(x.keys))
		for _, k := range x.keys {
			s.state = max(s.state, c.stateOf(k))
			s.spread = max(s.spread, math.Abs(s.excess(x, k)))
		}
	}
	if s.state == 0 {
		s.state = 1
	}
	return s
}

// excess is how far the real cost of a key is above that of its class.
func (s *selection) excess(x *departure, key int32) float64 {
	return s.c.Keys.Cost[key] - s.c.Items.Cost[x.class]
}

// chosen are the keys of class i that leave, in canonical order.
func (s *selection) chosen(i int) []int32 {
	x := s.classes[i]
	first := s.ranked[i][:x.count]
	slices.SortFunc(first, func(a, b rankedKey) int { return cmp.Compare(a.at, b.at) })
	keys := make([]int32, len(first))
	for j, e := range first {
		keys[j] = x.keys[e.at]
	}
	return keys
}

// trials bounds the search for how much cost must count.
const trials = 24

// choose chooses keys whose real cost is above that of their classes by low to
// high, or by little less or more if the keys do not allow that. Of low and high,
// low counts first.
func (s *selection) choose(low, high float64) {
	off := s.weigh(0)
	if low > high {
		high = low
	}
	if s.spread == 0 || low <= off && off <= high {
		return
	}
	sign, enough := 1.0, func(off float64) bool { return off >= low }
	if off > high {
		sign, enough = -1, func(off float64) bool { return off <= high }
	}
	if !enough(s.weigh(sign)) { // as far as it goes
		return
	}
	little, much := 0.0, 1.0
	for range trials {
		if half := (little + much) / 2; enough(s.weigh(sign * half)) {
			much = half
		} else {
			little = half
		}
	}
	if s.weigh(sign*much) < low { // the keys allow nothing between
		s.weigh(sign * little)
	}
}

// weigh chooses from every class the keys of least (1−|t|)·S − t·c, each in units
// of the greatest, ties in canonical order, and returns by how much their real
// cost is above that of their classes.
func (s *selection) weigh(t float64) (off float64) {
	byState := (1 - math.Abs(t)) / s.state
	byCost := 0.0
	if s.spread > 0 {
		byCost = t / s.spread
	}
	for i, x := range s.classes {
		e := s.ranked[i]
		for j, key := range x.keys {
			e[j] = rankedKey{float64(byState*s.c.stateOf(key)) - float64(byCost*s.excess(x, key)), int32(j)}
		}
		exact.SelectLeast(e, int(x.count), rankedKey.compare)
		for _, v := range e[:x.count] {
			off += s.excess(x, x.keys[v.at])
		}
	}
	return off
}

func (c *Compression) stateOf(key int32) float64 {
	if c.Keys.State == nil {
		return 1
	}
	return c.Keys.State[key]
}

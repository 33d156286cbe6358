package division

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// Space is that of the ways to divide the keys of an input.
type Space struct {
	Input
	Committed *Division // as the committed table divides keys
}

// NewSpace begins with the committed division.
func NewSpace(in Input) *Space {
	x := &Space{Input: in}
	x.Committed = &Division{space: x, Splits: in.Splits, Problem: x.problem(in.Splits)}
	return x
}

// Division is one way to divide keys. It is never changed once it is made.
type Division struct {
	space  *Space
	Splits []Split // rows ascending
	// Crowded are rows of keys that would need more parts than they may have.
	Crowded []int32
	Problem *assign.Problem // of the keys that are whole; parts are background
}

// Divided divides keys as splits says, in any order. Only keys that are divided are crowded.
func (x *Space) Divided(splits []Split, crowded []int32) *Division {
	splits = slices.SortedFunc(slices.Values(splits), func(a, b Split) int { return cmp.Compare(a.Item, b.Item) })
	crowded = slices.DeleteFunc(slices.Clone(crowded), func(row int32) bool { return SplitOf(splits, row) == nil })
	return &Division{space: x, Splits: splits, Crowded: crowded, Problem: x.problem(splits)}
}

// Divisible lists the rows of keys that plans may have to divide, the costliest first.
func (x *Space) Divisible() []int32 { return x.costly(x.Committed.Problem) }

// Undivided is the problem of which certificates are, where keys are divided: one in which
// these may be on any instances in any parts, and count nothing there. What is proven of it
// is true of all divisions, not of one alone.
func (d *Division) Undivided(m *assign.Meter) *assign.Problem {
	x := d.space
	items, instances := x.whole()
	x.divide(items, d.Splits)
	entries := x.Entries
	for _, y := range d.Splits {
		items.Unplaced += x.Items.Cost[y.Item]
		for r, of := range x.Items.Resources {
			items.Resources[r].Unplaced += of.Amount[y.Item]
		}
		if x.IsHot(y.Item) { // it has two parts at least in every division
			entries += 2
		}
	}
	p := assign.NewProblem(items, instances, entries, x.Goal, m)
	p.Fill = assign.Fill{} // parts can fill instances, too
	return p
}

// WholeRoom is the greatest cost that some instance can carry beside the keys without a row.
func (x *Space) WholeRoom() int64 {
	room, p := int64(0), x.Committed.Problem
	for _, d := range p.Live {
		room = max(room, p.Maximum[d]-p.Cost.Fixed(x.Instances[d].Cost))
	}
	return room
}

// IsHot reports whether no instance can carry a row's key beside the keys without a row.
func (x *Space) IsHot(row int32) bool {
	p := x.Committed.Problem
	if p.ByResource == nil {
		return p.Cost.Fixed(x.Items.Cost[row]) > x.WholeRoom()
	}
	all := x.accounts(p)
	return !slices.ContainsFunc(p.Live, func(d int32) bool {
		return !slices.ContainsFunc(all, func(c *account) bool { return c.amount(row) > max(0, c.room(d)) })
	})
}

// IsStuck reports whether neither an instance can carry a row's key beside the keys without a row, nor can as many as
// it may have parts.
func (x *Space) IsStuck(row int32) bool {
	if !x.IsHot(row) {
		return false
	}
	v := newDivider(x, x.Committed.Problem.Unmoved())
	sites := v.sites(row)
	_, units := v.needed(sites)
	return min(len(sites), x.MostParts()) < 2 || units < PartUnits
}

// MostParts is how many parts a key may have.
func (x *Space) MostParts() int {
	live := len(x.Committed.Problem.Live)
	if m := x.Splitting.MaxParts; m > 0 {
		return min(m, live)
	}
	return live
}

// Gathering is state that goes where the parts of its key are.
type Gathering struct {
	Item, From, To int32
	Share          bool // it is one of the input's; else what is where the item is
	State          float64
}

// Gathered is the state that is neither where its item goes in an assignment nor on one of
// the parts of its key: it goes to the heaviest part.
func (d *Division) Gathered(a *assign.Assignment) []Gathering {
	x, list := d.space, []Gathering(nil)
	for _, y := range d.Splits {
		from := x.Items.Current[y.Item]
		if !y.IsOn(from) && !x.Expires(y.Item, from) {
			list = append(list, Gathering{Item: y.Item, From: from, To: x.seat(y), State: x.stateOf(y.Item)})
		}
	}
	for _, y := range x.Shares {
		to := a.At[y.Row]
		if split := SplitOf(d.Splits, y.Row); split != nil {
			if split.IsOn(y.Instance) {
				continue
			}
			to = x.seat(*split)
		}
		if to != y.Instance && !x.Expires(y.Row, y.Instance) {
			list = append(list, Gathering{y.Row, y.Instance, to, true, y.State})
		}
	}
	return list
}

// Rooms returns the sums of the 1, 2, … largest rooms of instances, L_max,d − residual_d, as
// long as they grow.
func Rooms(p *assign.Problem, instances []int32, residual []int64) []int64 {
	sums := make([]int64, 0, len(instances))
	for _, d := range instances {
		sums = append(sums, p.Maximum[d]-residual[d])
	}
	slices.SortFunc(sums, func(a, b int64) int { return cmp.Compare(b, a) })
	for i := range sums {
		switch {
		case sums[i] <= 0:
			return sums[:i]
		case i > 0:
			sums[i] = min(sums[i]+sums[i-1], math.MaxInt64/2)
		}
	}
	return sums
}

// PiecesOf is the least n whose n largest rooms sum to at least cost, or 0.
func PiecesOf(cost int64, rooms []int64) int {
	n, _ := slices.BinarySearch(rooms, cost)
	if n == len(rooms) {
		return 0
	}
	return n + 1
}

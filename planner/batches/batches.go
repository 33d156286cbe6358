// Package batches cuts a plan into ordered batches, so that its keys need not all be
// paused together. Each batch is a version of the routing table of its own: it is handed
// over and committed before the next begins, so an engine may stop after any of them.
//
// A batch that has been handed over leaves no instance above the greatest of its bound
// b_d, of what it carried before the plan and of what it carries after it; and no table
// longer than the greatest of its limit, of its size before and of that after the plan.
// Where the hash changes, the table is longer for a while: see [Batch].
//
// What relieves overloaded instances most for the state that it moves goes first. Batches
// are packed like an open shop (Gonzalez and Sahni 1976): every instance sends, and
// receives, one amount of state after the other, and a batch takes as long as its busiest
// instance. The package is pure, like package planner.
package batches

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// Most is how many batches a plan has at most: bounds that ask for more are widened.
const Most = 1000

// Bounds limit each batch. A key that is more than they allow, and keys that can only
// change together, make a batch of their own.
type Bounds struct {
	// Keys is how many keys change their route at most, or have state moved. 0: no limit.
	Keys int64
	// State is how much state moves at most, in units of state. 0: no limit.
	State float64
	// Busiest is how much state any one instance sends at most, and how much it receives,
	// in units of state: the pause that is allowed times the rate of a transfer. 0: no limit.
	Busiest float64
}

// Validate reports the first bound that is out of range as an InputError.
func (b Bounds) Validate() error {
	return cmp.Or(
		planner.Require(b.Keys >= 0, "Keys", "must be ≥ 0"),
		planner.RequireAmount("State", b.State),
		planner.RequireAmount("Busiest", b.Busiest),
	)
}

// Batch is a part of a plan. Its lists are in the order of the plan's.
//
// Where the hash changes, the first batch is the change of the hash: every key that the
// statistics do not name goes by the new one from then on. Keys of later batches are
// pinned: an entry leaves them where they are, until their batch replaces or drops it.
type Batch struct {
	Moves  []planner.Move
	Set    []planner.Setting
	Pins   []planner.Setting // entries of keys of later batches; of the first batch alone
	Unset  []planner.Removal // an item with Entry −1: its pin, or as in a plan
	Splits []planner.PlannedSplit

	Keys    int64   // how many keys change their route, or have state moved
	State   float64 // what moves, in units of state
	Busiest float64 // the most that any one instance sends or receives, in units of state
	Theta   float64 // the largest overload of a live instance afterwards, as in a plan
	Table   int64   // the size of the table afterwards
}

// Schedule is a plan in batches. Amounts are in units of state: divided by the rate at
// which an instance sends and receives, they are times.
type Schedule struct {
	// Batches in their order; none where the plan changes nothing.
	Batches []Batch
	// Busiest is the sum of what the busiest instance of each batch sends or receives: as
	// long as all batches take, one after the other.
	Busiest float64
	// LowerBound is the most that any one instance sends or receives in all. No order of
	// transfers, in batches or not, takes less.
	LowerBound float64
	// TablePeak is the largest size of the table after a batch.
	TablePeak int64
	// Bounds are those that were kept to: as asked for, or wider, so that there are no
	// more than Most batches.
	Bounds Bounds
}

// Cut cuts a plan into batches. Without bounds, and where the plan is one of classes
// ([planner.Snapshot] with counts), there is one batch, which is the plan. The error is an
// InputError.
func Cut(p *planner.Plan, bounds Bounds) (*Schedule, error) {
	if err := bounds.Validate(); err != nil {
		return nil, err
	}
	c := newCutter(p)
	if len(c.changes) == 0 && !p.Snapshot.HashChanged {
		return &Schedule{Bounds: bounds, TablePeak: p.TableBefore}, nil
	}
	if p.Snapshot.Count != nil || bounds == (Bounds{}) {
		return c.whole(bounds), nil
	}
	for {
		if s := c.cut(bounds); s != nil {
			return s, nil
		}
		bounds = Bounds{2 * bounds.Keys, 2 * bounds.State, 2 * bounds.Busiest}
	}
}

// whole is the plan in one batch.
func (c *cutter) whole(bounds Bounds) *Schedule {
	s := &Schedule{Bounds: bounds}
	for i := range c.changes {
		c.take(int32(i))
	}
	c.close(s)
	s.LowerBound = s.Busiest
	return s
}

// cut makes the schedule; nil where it has more than Most batches.
func (c *cutter) cut(bounds Bounds) *Schedule {
	c.reset(bounds)
	s := &Schedule{Bounds: bounds}
	first := true
	for first && c.p.Snapshot.HashChanged || c.left > 0 {
		if len(s.Batches) == Most {
			return nil
		}
		if first && c.p.Snapshot.HashChanged {
			c.flip()
		}
		first = false
		c.fill()
		c.close(s)
	}
	s.LowerBound = c.lowerBound()
	return s
}

// flip takes everything that moves no state into the first batch across a change of the
// hash, and pins what is left.
func (c *cutter) flip() {
	for i := range c.changes {
		if len(c.changes[i].moves) == 0 {
			c.take(int32(i))
			continue
		}
		if c.pins(&c.changes[i]) {
			c.table++
			c.pinned[i] = true
		}
	}
}

// pins reports whether a key that moves needs an entry to stay where it is until its
// batch: it has none, and the new hash puts it elsewhere.
func (c *cutter) pins(x *change) bool {
	s := c.p.Snapshot
	return x.item >= 0 && s.Current[x.item] != s.Hash[x.item] && (s.Entry == nil || s.Entry[x.item] < 0) && s.Table != nil
}

// close ends the batch that is being filled.
func (c *cutter) close(s *Schedule) {
	slices.Sort(c.taken)
	b := Batch{Keys: int64(len(c.taken)), State: c.state.Float(c.moved), Table: c.table, Theta: c.theta()}
	for d := range c.in {
		b.Busiest = max(b.Busiest, c.state.Float(max(c.in[d], c.out[d])))
		c.in[d], c.out[d] = 0, 0
	}
	for _, i := range c.taken {
		x := &c.changes[i]
		b.Moves = append(b.Moves, x.moves...)
		switch {
		case x.set >= 0:
			b.Set = append(b.Set, c.p.Set[x.set])
		case x.split >= 0:
			b.Splits = append(b.Splits, c.p.Splits[x.split])
		case x.unset >= 0:
			b.Unset = append(b.Unset, c.p.Unset[x.unset])
		case c.pinned[i] && len(s.Batches) > 0: // else it never had its pin
			b.Unset = append(b.Unset, planner.Removal{Item: x.item, Entry: -1})
		}
	}
	if len(s.Batches) == 0 {
		for i, x := range c.changes {
			if c.pinned[i] && !c.gone[i] {
				b.Pins = append(b.Pins, planner.Setting{Item: x.item, To: c.p.Snapshot.Current[x.item]})
			}
		}
	}
	c.taken, c.moved, c.longest = c.taken[:0], 0, c.busiest
	s.Batches = append(s.Batches, b)
	s.Busiest += b.Busiest
	s.TablePeak = max(s.TablePeak, b.Table)
}

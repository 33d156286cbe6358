package ring

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/sdk/go/route"
)

// MaxTokens is the greatest number of tokens on a ring, of all nodes together.
const MaxTokens = 1 << 24

// DefaultTokenLimit is the number of tokens on the ring, of all nodes together,
// beyond which doubling is refused unless options say otherwise.
const DefaultTokenLimit = 1 << 20

// Arc is the stretch of the ring of the positions after Start up to and including
// End, wrapping round when Start ≥ End; Start = End is the whole ring. All of it
// changes its owner.
type Arc struct {
	Start    uint32 // exclusive
	End      uint32 // inclusive
	From, To int32  // IDs of the nodes it belongs to before and after
	// The keys of the load that lie on it, what they cost and how much state they
	// hold; 0 when no load was given.
	Keys        int64
	Cost, State float64
}

// Length is the number of positions on the arc, from 1 to 2³².
func (a Arc) Length() uint64 {
	if a.Start == a.End {
		return 1 << 32
	}
	return uint64(a.End - a.Start) // modulo 2³²: wrapping round
}

// Change turns one ring into another.
type Change struct {
	// Before and After are the nodes, in ascending order of ID.
	Before, After []Node
	// Added and Removed are the tokens that only one of the rings has, by node,
	// then index.
	Added, Removed []Token
	// Arcs are what changes its owner: the fewest arcs possible, in ascending order
	// of End.
	Arcs []Arc
}

// Empty reports whether the rings are the same.
func (c *Change) Empty() bool { return len(c.Added) == 0 && len(c.Removed) == 0 }

// Moved is the part of the ring's positions that change their owner, from 0 to 1.
func (c *Change) Moved() float64 {
	positions := uint64(0)
	for _, a := range c.Arcs {
		positions += a.Length()
	}
	return float64(positions) / (1 << 32)
}

// diff compares two valid rings, given as their nodes in any order and as built. Each
// has at least one token.
func diff(before, after []Node, old, now *Ring) *Change {
	c := &Change{Before: inOrder(before), After: inOrder(after)}
	held := make(map[int32]int, len(before))
	for _, n := range c.Before {
		held[n.ID] = n.Tokens
	}
	for _, n := range c.After {
		c.Added = route.AppendTokens(c.Added, n.ID, held[n.ID], n.Tokens)
		held[n.ID] = min(held[n.ID], n.Tokens)
	}
	stays := make(map[int32]bool, len(after))
	for _, n := range c.After {
		stays[n.ID] = true
	}
	for _, n := range c.Before {
		left := held[n.ID]
		if !stays[n.ID] {
			left = 0
		}
		c.Removed = route.AppendTokens(c.Removed, n.ID, left, n.Tokens)
	}
	if !c.Empty() {
		c.Arcs = movedArcs(old.Tokens(), now.Tokens())
	}
	return c
}

// movedArcs walks round both rings at once, from token position to token position.
// Between two neighbouring positions of either ring nothing divides the keys.
func movedArcs(old, now []Token) []Arc {
	var arcs []Arc
	start := max(old[len(old)-1].Position, now[len(now)-1].Position)
	for i, j := 0, 0; i < len(old) || j < len(now); {
		end := uint32(math.MaxUint32)
		if i < len(old) {
			end = old[i].Position
		}
		if j < len(now) {
			end = min(end, now[j].Position)
		}
		from, to := old[i%len(old)].Node, now[j%len(now)].Node
		if last := len(arcs) - 1; from == to {
			// Nothing moves.
		} else if last >= 0 && arcs[last].End == start && arcs[last].From == from && arcs[last].To == to {
			arcs[last].End = end
		} else {
			arcs = append(arcs, Arc{Start: start, End: end, From: from, To: to})
		}
		for i < len(old) && old[i].Position == end {
			i++
		}
		for j < len(now) && now[j].Position == end {
			j++
		}
		start = end
	}
	// The first arc may go on where the last ends.
	if last := len(arcs) - 1; last > 0 && arcs[0].Start == arcs[last].End && arcs[0].From == arcs[last].From &&
		arcs[0].To == arcs[last].To {
		arcs[0].Start = arcs[last].Start
		arcs = arcs[:last]
	}
	return arcs
}

// inOrder returns the nodes in ascending order of ID.
func inOrder(nodes []Node) []Node {
	out := slices.Clone(nodes)
	slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// validateNodes checks nodes that errors call field.
func validateNodes(field string, nodes []Node) error {
	total, seen := 0, make(map[int32]bool, len(nodes))
	for i, n := range nodes {
		at := planner.Element(field, i)
		if err := cmp.Or(
			planner.RequireAtLeast(at+".ID", n.ID, 0),
			planner.Require(!seen[n.ID], at+".ID", "stands twice"),
			planner.RequireWithin(at+".Tokens", n.Tokens, 0, MaxTokens),
		); err != nil {
			return err
		}
		seen[n.ID] = true
		if total += n.Tokens; total > MaxTokens {
			return planner.Invalid(field, "must not have more than "+strconv.Itoa(MaxTokens)+" tokens together")
		}
	}
	if total == 0 {
		return planner.Invalid(field, "must have a token")
	}
	return nil
}

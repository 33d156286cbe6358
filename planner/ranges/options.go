package ranges

import (
	"cmp"
	"slices"
	"strconv"

	"plannerd/planner"
)

// Method is a way to divide the key space.
type Method string

// The methods.
const (
	// Quantile gives every follower one interval, in the order in which they are
	// listed: the one at place i of n gets [q(i/n), q((i+1)/n)), or the share of its
	// capacity. A join with i followers before and j behind it moves
	// [i(i+1)+j(j+1)] / [2n(n+1)] of the weight, a leave [i(i+1)+j(j+1)] / [2n(n−1)].
	Quantile Method = "quantile"
	// MinMovement leaves every key where it is unless it has to move: followers
	// own several intervals. A join moves 1/(n+1), a leave 1/n, a drift what
	// exceeds the tolerance. Where keys are so heavy that Quantile moves less and
	// balances as well, and where nobody owns anything yet, it is the same.
	MinMovement Method = "min_movement"
)

// Status says what becomes of a follower.
type Status string

// The statuses.
const (
	Live Status = "" // it stays
	// Joined: it stays, and is to have its fair share even if nobody else has too
	// much.
	Joined Status = "joined"
	// Left: it hands over all it has, in good order.
	Left Status = "left"
	// Crashed: all it has goes to others, from its replica.
	Crashed Status = "crashed"
)

// Follower is one that owns intervals, or is to own some.
type Follower struct {
	ID       int32   // ≥ 0
	Capacity float64 // κ, relative speed, from planner.MinCapacity to planner.MaxCapacity; 0: 1
	Status   Status
}

// stays reports whether the follower owns anything in the end.
func (f Follower) stays() bool { return f.Status == Live || f.Status == Joined }

func (f Follower) capacity() float64 { return cmp.Or(f.Capacity, 1) }

// DefaultMaxIntervals is enough for a join among 64 followers to move 1/(n+1).
const DefaultMaxIntervals = 32

// Limits of what is planned. The time that MinMovement takes grows with their
// product: milliseconds for a hundred followers, half a minute for the most.
const (
	MaxFollowers = 4096
	MaxOwners    = 1 << 14 // intervals of a division
)

// Options are the parameters of a plan.
type Options struct {
	// Method defaults to MinMovement.
	Method Method
	// ThetaMax is the tolerance θ_max ≥ 0: a follower may carry (1+θ_max) times its
	// fair load. As long as all do, and nobody comes or goes, nothing moves.
	// Defaults to 0, perfect balance.
	ThetaMax float64
	// MaxIntervals ≥ 1 bounds the intervals of each follower under MinMovement. With
	// 1 the followers form a chain, as under Quantile, in any order. Defaults to
	// DefaultMaxIntervals.
	MaxIntervals int
	// Stop is asked now and then, true ends planning with [planner.ErrStopped]: with
	// thousands of followers and intervals it takes seconds. Nil: never.
	Stop func() bool
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o Options) Validate() error {
	return cmp.Or(
		planner.RequireOneOf("Method", cmp.Or(o.Method, MinMovement), Quantile, MinMovement),
		planner.RequireAmount("ThetaMax", o.ThetaMax),
		planner.RequireAtLeast("MaxIntervals", cmp.Or(o.MaxIntervals, 1), 1),
	)
}

func (o Options) withDefaults() Options {
	o.Method, o.MaxIntervals = cmp.Or(o.Method, MinMovement), cmp.Or(o.MaxIntervals, DefaultMaxIntervals)
	return o
}

// validateFollowers checks them, and that they own what is owned.
func validateFollowers(followers []Follower, owners Owners) error {
	if err := cmp.Or(
		planner.Require(len(followers) <= MaxFollowers, "Followers", "must be at most "+strconv.Itoa(MaxFollowers)),
		planner.Require(len(owners) <= MaxOwners, "Owners", "must be at most "+strconv.Itoa(MaxOwners)),
		planner.Require(slices.ContainsFunc(followers, Follower.stays), "Followers", "must name at least one that stays"),
	); err != nil {
		return err
	}
	seen := make(map[int32]bool, len(followers))
	for i, f := range followers {
		at, capacity := planner.Element("Followers", i), f.capacity()
		if err := cmp.Or(
			planner.RequireAtLeast(at+".ID", f.ID, 0),
			planner.Require(!seen[f.ID], at+".ID", "is there twice"),
			planner.Require(planner.MinCapacity <= capacity && capacity <= planner.MaxCapacity, at+".Capacity",
				"must be from 1e-6 to 1e6"),
			planner.Require(slices.Contains([]Status{Live, Joined, Left, Crashed}, f.Status), at+".Status",
				"must be empty, joined, left or crashed"),
		); err != nil {
			return err
		}
		seen[f.ID] = true
	}
	for i, x := range owners {
		if !seen[x.Follower] {
			return planner.Invalid(planner.Element("Owners", i)+".Follower", "is not among the followers")
		}
	}
	return owners.Validate()
}

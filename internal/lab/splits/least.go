package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plannerd/internal/lab/milp"
	"plannerd/planner"
)

// leastOf is at most what any plan has to move of this snapshot, in percent of all state, if it
// keeps to θ_max with no more merges than are enough, and splits no keys but those that are hot
// or were split before. Hot keys and their parts are as they are, x ≤ y; of other keys any
// fraction may leave, to where there is room, so that this is a bound.
func leastOf(p *planner.Plan, percent float64, limit time.Duration) (float64, error) {
	s := p.Snapshot
	f := formulation{s: s, live: len(p.Instances), percent: percent, rooms: make([]map[int]float64, len(p.Instances)),
		free: make([]float64, len(p.Instances)), net: map[int]float64{}, most: p.Instances[0].Max}
	for d := range f.rooms {
		f.free[d] = p.Instances[d].Max - s.Instances[d].ResidualCost
		arrives := f.program.Fraction(0) // of L_max
		f.rooms[d] = map[int]float64{arrives: f.most}
		f.net[arrives] = f.most
	}
	parts, divided := map[int]float64{}, 0
	for i, c := range s.Cost {
		if c > f.most || slices.ContainsFunc(s.Splits, func(x planner.Split) bool { return x.Item == int32(i) }) {
			f.divide(int32(i), parts)
			divided++
		} else if c > 0 {
			f.leave(int32(i))
		}
	}
	for d, room := range f.rooms {
		f.program.AtMost(f.free[d], room)
	}
	f.program.Exactly(0, f.net)
	_, enough := mergesFor(p)
	f.program.AtMost(float64(int64(divided)+enough), parts)
	status, _, bound, err := f.program.Solve(context.Background(), limit)
	if err == nil && status == milp.Infeasible {
		err = fmt.Errorf("the solver says that no plan of %d keys keeps to θ_max", s.Len())
	}
	return max(0, bound), err
}

// formulation is a step as a mixed integer linear program.
type formulation struct {
	program milp.Program
	s       *planner.Snapshot
	live    int
	most    float64 // L_max
	percent float64
	rooms   []map[int]float64 // by instance: what its load is made of
	free    []float64         // by instance: the room for that
	net     map[int]float64   // what arrives less what leaves
}

// leave has any fraction of a key leave.
func (f *formulation) leave(i int32) {
	from, cost := f.s.Current[i], f.s.Cost[i]
	leaves := f.program.Fraction(f.percent * f.s.StateOf(planner.Move{Item: i}))
	f.free[from] -= cost
	f.rooms[from][leaves], f.net[leaves] = -cost, -cost
}

// divide has a key be on any instances in any parts. Its state leaves those without a part.
func (f *formulation) divide(i int32, parts map[int]float64) {
	all := map[int]float64{}
	for d := range int32(f.live) {
		y, x := f.program.Variable(0), f.program.Fraction(0)
		parts[y], all[x] = 1, 1
		f.rooms[d][x] = f.s.Cost[i]
		f.program.AtMost(0, map[int]float64{x: 1, y: -1})
		held := 0.0
		if f.s.Current[i] == d {
			held = f.s.StateOf(planner.Move{Item: i})
		}
		for _, share := range f.s.Shares {
			if share.Row == i && share.Instance == d {
				held += share.State
			}
		}
		if held > 0 {
			f.program.Exactly(1, map[int]float64{y: 1, f.program.Variable(f.percent * held): 1})
		}
	}
	f.program.Exactly(1, all)
}

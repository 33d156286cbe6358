package assign

import (
	"math"
	"slices"
)

// flowClass is a divisible load with the instances that may carry it.
type flowClass struct {
	demand float64
	on     []int32 // ascending
}

// leximin divides the loads of classes over n instances so that the greatest load per capacity
// is least, then the next one, and so on. It finds the classes whose instances have to carry
// most: of all sets of classes that whose demand is greatest for the capacity of its instances.
// These carry just that; the rest is divided over the other instances likewise. (Megiddo,
// "Optimal flows in networks with multiple sources and sinks", 1974.)
func leximin(classes []flowClass, capacity []float64, n int) []float64 {
	loads := make([]float64, n)
	g := newFlow(classes, capacity)
	for g.left() {
		level, busiest := g.densest()
		for _, j := range busiest {
			for _, d := range g.groups[j].instances {
				loads[d] = level * capacity[d]
			}
			g.groups[j].done = true
		}
		for i := range g.classes {
			g.classes[i].done = g.classes[i].done || !slices.ContainsFunc(g.classes[i].groups,
				func(j int32) bool { return !g.groups[j].done })
		}
	}
	return loads
}

// flow is the bipartite network of classes and groups of instances that the same classes may use.
type flow struct {
	classes []flowNode
	groups  []flowGroup
}

type flowNode struct {
	demand float64
	groups []int32
	done   bool
	sent   []float64 // by place in groups
	rest   float64
	depth  int
}

type flowGroup struct {
	instances []int32
	capacity  float64
	classes   []int32
	done      bool
	used      float64
	depth     int
}

func newFlow(classes []flowClass, capacity []float64) *flow {
	users := make([][]int32, len(capacity))
	for i, c := range classes {
		for _, d := range c.on {
			users[d] = append(users[d], int32(i))
		}
	}
	g := &flow{classes: make([]flowNode, len(classes))}
	for i, c := range classes {
		g.classes[i].demand = c.demand
	}
	index := map[string]int{}
	var name []byte
	for d, list := range users {
		if len(list) == 0 {
			continue
		}
		name = name[:0]
		for _, i := range list {
			name = append(name, byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
		}
		j, known := index[string(name)]
		if !known {
			j = len(g.groups)
			index[string(name)] = j
			g.groups = append(g.groups, flowGroup{classes: list})
			for _, i := range list {
				g.classes[i].groups = append(g.classes[i].groups, int32(j))
			}
		}
		g.groups[j].instances = append(g.groups[j].instances, int32(d))
		g.groups[j].capacity += capacity[d]
	}
	for i := range g.classes {
		g.classes[i].sent = make([]float64, len(g.classes[i].groups))
	}
	return g
}

// left reports whether any load has no place yet.
func (g *flow) left() bool {
	return slices.ContainsFunc(g.classes, func(c flowNode) bool { return !c.done })
}

// densest is the greatest demand per capacity of a set of the classes that are left, and the
// groups that it fills. It raises the level to that of each set that does not fit under the one
// before (Dinkelbach 1967), until all fit.
func (g *flow) densest() (level float64, groups []int32) {
	set := make([]bool, len(g.classes))
	for i := range g.classes {
		set[i] = !g.classes[i].done
	}
	for {
		var next float64
		if next, groups = g.density(set); next <= level*(1+flowTolerance) {
			return level, groups
		}
		level = next
		filled := groups
		if set = g.unfit(level); set == nil {
			return level, filled
		}
	}
}

// flowTolerance is by how much a flow may miss a demand, relative to it, for rounding.
const flowTolerance = 1e-12

// density is the demand of a set of classes for the capacity of its groups.
func (g *flow) density(set []bool) (level float64, groups []int32) {
	used, demand, capacity := make([]bool, len(g.groups)), 0.0, 0.0
	for i := range g.classes {
		c := &g.classes[i]
		if !set[i] || c.done {
			continue
		}
		demand += c.demand
		for _, j := range c.groups {
			if !used[j] && !g.groups[j].done {
				used[j] = true
				groups = append(groups, j)
				capacity += g.groups[j].capacity
			}
		}
	}
	slices.Sort(groups)
	return demand / capacity, groups
}

// unfit is the set of classes whose demand exceeds the capacity of their groups under a level by
// most; nil if all classes fit. It is what can be reached behind a greatest flow.
func (g *flow) unfit(level float64) []bool {
	for i := range g.classes {
		g.classes[i].rest = g.classes[i].demand
		clear(g.classes[i].sent)
	}
	for j := range g.groups {
		g.groups[j].used = 0
	}
	for g.layer(level) {
		for i := range g.classes {
			if c := &g.classes[i]; !c.done && g.lacks(c) {
				c.rest -= g.push(level, int32(i), c.rest)
			}
		}
	}
	set, any := make([]bool, len(g.classes)), false
	for i := range g.classes {
		c := &g.classes[i]
		set[i] = !c.done && c.depth < math.MaxInt
		any = any || set[i]
	}
	if !any {
		return nil
	}
	return set
}

func (g *flow) lacks(c *flowNode) bool { return c.rest > flowTolerance*c.demand }

func (g *flow) room(level float64, j int32) float64 {
	x := &g.groups[j]
	room := float64(level*x.capacity) - x.used
	if room <= flowTolerance*float64(level*x.capacity) {
		return 0
	}
	return room
}

// layer computes how far classes and groups are from a class that lacks room, and reports
// whether a group with room can be reached (Dinic 1970).
func (g *flow) layer(level float64) (found bool) {
	var queue []int32
	for i := range g.classes {
		c := &g.classes[i]
		c.depth = math.MaxInt
		if !c.done && g.lacks(c) {
			c.depth = 0
			queue = append(queue, int32(i))
		}
	}
	for j := range g.groups {
		g.groups[j].depth = math.MaxInt
	}
	for ; len(queue) > 0; queue = queue[1:] {
		c := &g.classes[queue[0]]
		for _, j := range c.groups {
			x := &g.groups[j]
			if x.done || x.depth < math.MaxInt {
				continue
			}
			x.depth = c.depth + 1
			found = found || g.room(level, j) > 0
			for _, i := range x.classes {
				other := &g.classes[i]
				if at, _ := slices.BinarySearch(other.groups, j); other.depth == math.MaxInt && other.sent[at] > 0 {
					other.depth = x.depth + 1
					queue = append(queue, i)
				}
			}
		}
	}
	return found
}

// push sends as much as it can from a class, up to a limit, along the layers.
func (g *flow) push(level float64, i int32, limit float64) (sent float64) {
	c := &g.classes[i]
	for at, j := range c.groups {
		x := &g.groups[j]
		if sent >= limit {
			break
		}
		if x.done || x.depth != c.depth+1 {
			continue
		}
		more := min(limit-sent, g.room(level, j))
		if more > 0 {
			x.used += more
		}
		for _, k := range x.classes { // what others send here may go elsewhere
			if sent+more >= limit {
				break
			}
			other := &g.classes[k]
			back, _ := slices.BinarySearch(other.groups, j)
			if other.depth != x.depth+1 || other.sent[back] <= 0 {
				continue
			}
			moved := g.push(level, k, min(limit-sent-more, other.sent[back]))
			other.sent[back] -= moved
			more += moved
		}
		c.sent[at] += more
		sent += more
	}
	if sent < limit {
		c.depth = -1 // a dead end of these layers
	}
	return sent
}

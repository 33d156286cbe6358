package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// groupWith is a group of members that all subscribe to one topic. Nobody has anything yet.
func groupWith(partitions int, names ...string) *group {
	g := &group{names: names, topicOf: make([]int, partitions), owners: slices.Repeat([]int{nobody}, partitions)}
	for range names {
		g.topics = append(g.topics, []bool{true})
	}
	for p := range partitions {
		g.partitions = append(g.partitions, partition{"orders", int32(p)})
	}
	return g
}

// counts are how many partitions members have.
func counts(g *group, at []int) []int {
	out := make([]int, len(g.names))
	for _, m := range at {
		out[m]++
	}
	return out
}

func everywhere(g *group, m int) *target {
	return &target{at: slices.Repeat([]int{m}, len(g.partitions)), placed: slices.Repeat([]bool{true}, len(g.names))}
}

func TestByNumberWithoutTable(t *testing.T) {
	g := groupWith(10, "a", "b", "c")
	g.owners = g.assign(nil)
	if n := counts(g, g.owners); !slices.Equal(n, []int{4, 3, 3}) {
		t.Fatalf("%v", n)
	}
	before := slices.Clone(g.owners)
	g.names, g.topics = append(g.names, "d"), append(g.topics, []bool{true})
	g.owners = g.assign(nil)
	moved := 0
	for p, m := range g.owners {
		if m != before[p] {
			moved++
		}
	}
	if n := counts(g, g.owners); !slices.Equal(n, []int{2, 3, 3, 2}) || moved != 2 {
		t.Errorf("a member joins: %v, %d partitions moved", n, moved)
	}
}

func TestAsTheTableSays(t *testing.T) {
	g := groupWith(6, "a", "b")
	on := &target{at: []int{0, 1, 1, 1, 1, 1}, placed: []bool{true, true}}
	if at := g.assign(on); !slices.Equal(at, on.at) {
		t.Errorf("%v", at)
	}
	on.at[5], g.owners[5] = nobody, 0
	if at := g.assign(on); at[5] != 0 {
		t.Error("a partition without an entry leaves its owner")
	}
	g.owners[5] = nobody
	if at := g.assign(on); at[5] != 0 {
		t.Error("a partition without entry and owner does not go to the member with the fewest")
	}
	g.names, g.topics, on.placed = append(g.names, "c"), append(g.topics, []bool{true}), append(on.placed, false)
	if n := counts(g, g.assign(on)); n[2] != 2 {
		t.Errorf("a member that the table does not know: %v", n)
	}
	g.topics[2][0] = false
	if n := counts(g, g.assign(on)); n[2] != 0 {
		t.Errorf("a member that does not subscribe: %v", n)
	}
}

// TestOtherWorld gives a table that has none of the partitions, or no member.
func TestOtherWorld(t *testing.T) {
	g := groupWith(9, "a", "b", "c")
	if n := counts(g, g.assign(everywhere(g, nobody))); !slices.Equal(n, []int{3, 3, 3}) {
		t.Errorf("%v", n)
	}
	g.topics = [][]bool{{false}, {false}, {false}}
	if at := g.assign(nil); !slices.Equal(at, g.owners) {
		t.Errorf("nobody subscribes: %v", at)
	}
}

// TestSettles: after few rounds, in which members revoke what others get, all stays as it is.
func TestSettles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		names := make([]string, 1+random.IntN(6))
		for m := range names {
			names[m] = fmt.Sprint("member-", m)
		}
		g := groupWith(random.IntN(20), names...)
		on := everywhere(g, nobody)
		for m := range names {
			on.placed[m] = random.IntN(3) > 0
		}
		for p := range g.owners {
			g.owners[p], on.at[p] = random.IntN(len(names)+1)-1, random.IntN(len(names)+1)-1
			if m := on.at[p]; m != nobody && !on.placed[m] {
				on.at[p] = nobody
			}
		}
		at, rounds := g.assign(on), 1
		for ; rounds < 10; rounds++ {
			next := *g
			next.owners = slices.Clone(at)
			for p, m := range at {
				if g.owners[p] != nobody && g.owners[p] != m {
					next.owners[p] = nobody
				}
			}
			g = &next
			if at = g.assign(on); slices.Equal(at, g.owners) {
				break
			}
		}
		if rounds > 4 {
			t.Fatalf("%d rounds: %v with %+v", rounds, g.owners, on)
		}
	}
}

// TestLarge prints how long a large group takes: the worst is one that has to be filled up.
func TestLarge(t *testing.T) {
	names := make([]string, 100)
	for m := range names {
		names[m] = fmt.Sprintf("member-%03d", m)
	}
	g := groupWith(1000, names...)
	for p := range g.owners {
		g.owners[p] = 0
	}
	for name, on := range map[string]*target{"by number": nil, "by the table": everywhere(g, 7)} {
		begin := time.Now()
		g.assign(on)
		t.Logf("1000 partitions, 100 members, %s: %v", name, time.Since(begin))
	}
}

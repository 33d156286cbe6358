package kafka

import (
	"cmp"
	"slices"
	"strconv"
)

// partition is one of a topic.
type partition struct {
	topic  string
	number int32
}

// key is what the partition is called in a routing table.
func (p partition) key() []byte { return strconv.AppendInt([]byte(p.topic+"/"), int64(p.number), 10) }

func (p partition) compare(q partition) int {
	return cmp.Or(cmp.Compare(p.topic, q.topic), cmp.Compare(p.number, q.number))
}

// nobody is where a partition is that no member has.
const nobody = -1

// group is what has to be assigned. Members and partitions are known by their indexes.
type group struct {
	names      []string    // of the members
	topics     [][]bool    // by member and topic: it subscribes to it
	partitions []partition // in ascending order
	topicOf    []int       // by partition
	owners     []int       // by partition; nobody: none that still subscribes
}

// target is what a routing table says of a group.
type target struct {
	at     []int  // by partition: the member that its entry names; nobody: there is no usable entry
	placed []bool // by member: the table knows it, so that it has what it is meant to have
}

// usable tells whether any entry is: a table without one is of another world.
func (t *target) usable() bool {
	return slices.ContainsFunc(t.at, func(m int) bool { return m != nobody })
}

// takes tells whether a member subscribes to the topic of a partition.
func (g *group) takes(m, p int) bool { return g.topics[m][g.topicOf[p]] }

// assign returns the member of each partition. Those that the target knows go where it says; others
// stay, or go to the member with the fewest. Members that it does not know are then filled up by number,
// and without a target all are. The same input gives the same result.
func (g *group) assign(t *target) []int {
	a := assignment{group: g, at: make([]int, len(g.partitions)), has: make([]int, len(g.names)), target: t}
	if t == nil || !t.usable() {
		a.target = &target{at: slices.Repeat([]int{nobody}, len(g.partitions)), placed: make([]bool, len(g.names))}
	}
	for p := range a.at {
		a.at[p] = a.target.at[p]
		if a.at[p] == nobody {
			a.at[p] = g.owners[p]
		}
		if a.at[p] != nobody {
			a.has[a.at[p]]++
		}
	}
	for p, m := range a.at {
		if m != nobody {
			continue
		}
		if m = a.least(func(m int) bool { return g.takes(m, p) }); m != nobody {
			a.at[p] = m
			a.has[m]++
		}
	}
	a.fill()
	return a.at
}

// assignment is one in the making.
type assignment struct {
	*group
	*target
	at  []int // by partition
	has []int // by member: how many
}

// least is the member with the fewest partitions, of some; nobody: there is none. Of equals it is the
// first by name.
func (a *assignment) least(of func(m int) bool) int {
	least := nobody
	for m := range a.names {
		if of(m) && (least == nobody || cmp.Or(a.has[m]-a.has[least], cmp.Compare(a.names[m], a.names[least])) < 0) {
			least = m
		}
	}
	return least
}

// fill gives members that are not placed as many partitions as others have.
func (a *assignment) fill() {
	full := slices.Clone(a.placed)
	for {
		m := a.least(func(m int) bool { return !full[m] })
		if m == nobody {
			return
		}
		if p := a.spare(m); p != nobody {
			a.has[a.at[p]]--
			a.at[p] = m
			a.has[m]++
		} else {
			full[m] = true
		}
	}
}

// spare is the partition that a member gets of one that has the most, and at least two more; nobody:
// there is none. One that it has already is preferred, then one that nobody has, for it may have been
// revoked for this one, then one that the table does not know.
func (a *assignment) spare(m int) int {
	giver := nobody
	for p, from := range a.at {
		if from != nobody && a.takes(m, p) && (giver == nobody || cmp.Or(a.has[giver]-a.has[from],
			cmp.Compare(a.names[from], a.names[giver])) < 0) {
			giver = from
		}
	}
	if giver == nobody || a.has[giver]-a.has[m] < 2 {
		return nobody
	}
	spare, best := nobody, 0
	for p, from := range a.at {
		rank := 1
		switch {
		case from != giver || !a.takes(m, p):
			continue
		case a.owners[p] == m:
			rank = 4
		case a.owners[p] == nobody:
			rank = 3
		case a.target.at[p] == nobody:
			rank = 2
		}
		if rank >= best { // of equals the last
			spare, best = p, rank
		}
	}
	return spare
}

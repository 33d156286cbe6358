package ring

import (
	"math/rand/v2"
	"slices"
)

// rank orders token counts, the least first.
type rank [3]float64

func (r rank) compare(other rank) int { return slices.Compare(r[:], other[:]) }

// searcher looks for good token counts of the nodes of a space.
type searcher struct {
	*space
	judge    func(outcome, []int) rank
	budget   int64 // token counts
	stop     func() bool
	progress func(done, total int64)

	searched int64
	stopped  bool
	best     rank
	counts   []int // of the best
	loads    []int64
	scratch  []int
	rest     withdrawn
}

// askSearch is the number of token counts between two calls of Stop and Progress.
const askSearch = 64

// proceed reports whether another evaluation is granted.
func (s *searcher) proceed() bool {
	if s.searched%askSearch == 0 {
		if s.progress != nil {
			s.progress(s.searched, s.budget)
		}
		s.stopped = s.stopped || s.stop != nil && s.stop()
	}
	return !s.stopped && s.searched < s.budget
}

// note ranks token counts, and keeps the best.
func (s *searcher) note(x outcome, counts []int) rank {
	s.searched++
	r := s.judge(x, counts)
	if s.counts == nil || r.compare(s.best) < 0 {
		s.best, s.counts = r, slices.Clone(counts)
	}
	return r
}

func (s *searcher) prepare() {
	s.loads, s.scratch = make([]int64, len(s.nodes)), make([]int, len(s.nodes))
	most := 0
	for _, n := range s.nodes {
		most = max(most, n.Tokens)
	}
	s.rest = withdrawn{
		first: make([]int32, most), next: make([]int32, len(s.atoms)), owner: make([]int32, len(s.atoms)),
	}
}

// patience is after how many kicks without success a search gives up.
const patience = 60

// explore descends from the token counts x, one node at a time. Then it gives the best
// counts a kick, always the same ones, and descends from there, until that has failed
// patience times in a row or the budget is used up.
func (s *searcher) explore(x []int) {
	s.prepare()
	rng := rand.NewPCG(1, 2)
	least, ok := s.descend(x)
	for failures := 0; ok && failures < patience; failures++ {
		y := slices.Clone(x)
		for range 2 {
			i := below(rng, uint64(len(y)))
			y[i] = 1 + int(below(rng, uint64(s.nodes[i].Tokens)))
		}
		var r rank
		if r, ok = s.descend(y); r.compare(least) < 0 {
			x, least, failures = y, r, 0
		}
	}
}

// descend brings the count of every node in turn to its best value, until none has a
// better one. It returns the rank there, and false when the search is to end.
func (s *searcher) descend(x []int) (rank, bool) {
	if !s.proceed() {
		return rank{}, false
	}
	here := s.note(s.evaluate(x, s.loads), x)
	for improved := true; improved; {
		improved = false
		for i := range x {
			was, value := x[i], x[i]
			ok := s.sweep(i, x, func(count int, r rank) {
				if count != was && r.compare(here) < 0 {
					here, value, improved = r, count, true
				}
			})
			if x[i] = value; !ok {
				return here, false
			}
		}
	}
	return here, true
}

// sweep visits all token counts of node i, beside those of the others. It goes through all
// of them at once, since an atom belongs to the node from some count on. It reports false
// when the search is to end.
func (s *searcher) sweep(i int, x []int, visit func(count int, r rank)) bool {
	copy(s.scratch, x)
	w := s.withoutTokens(i)
	loads := s.loads
	for v := range s.nodes[i].Tokens {
		if !s.proceed() {
			return false
		}
		for j := w.first[v]; j != none; j = w.next[j] {
			a := &s.atoms[j]
			loads[i] += a.cost
			if a.home != int32(i) {
				w.moved += a.state
			}
			if owner := w.owner[j]; owner != none {
				loads[owner] -= a.cost
				if a.home != owner {
					w.moved -= a.state
				}
			}
		}
		s.scratch[i] = v + 1
		visit(v+1, s.note(s.summarize(loads, w.moved), s.scratch))
	}
	return true
}

// withdrawn is what is left to the other nodes when one has no token.
type withdrawn struct {
	first []int32 // the first atom that the node takes with token v
	next  []int32 // the next such atom, by atom
	owner []int32 // whom from, by atom; none if nobody else has it
	moved int64
}

// withoutTokens adds up the loads without node i, and finds which of its tokens takes
// each atom.
func (s *searcher) withoutTokens(i int) *withdrawn {
	w := &s.rest
	w.moved = 0
	for v := range w.first {
		w.first[v] = none
	}
	clear(s.loads)
	for j := range s.atoms {
		a := &s.atoms[j]
		token := none // the lowest of the node's that comes before any other that is held
		w.owner[j] = none
		for _, c := range s.choices[a.first:a.end] {
			if c.node == int32(i) {
				token = c.index
			} else if s.scratch[c.node] > int(c.index) {
				w.owner[j] = c.node
				break
			}
		}
		if owner := w.owner[j]; owner != none {
			s.loads[owner] += a.cost
			if a.home != owner {
				w.moved += a.state
			}
		}
		if token != none {
			w.next[j], w.first[token] = w.first[token], int32(j)
		}
	}
	return w
}

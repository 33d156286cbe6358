package planner

import (
	"cmp"
	"math"
	"slices"
)

// searchCore bounds how many pieces the local search looks at.
const searchCore = 800

// mobile is a piece in the local search.
type mobile struct {
	cost         int64
	weight       float64 // of all its units, scaled
	units        int64
	from, home   int32
	piece        int32
	regret       float64
	live, atHome bool // whether from and home may take it
}

// searcher descends on objective + Σ α_d·overload + α_table·excess entries by
// shifting single pieces and swapping pairs; the penalties rise where a local
// optimum violates a constraint and fall where it does not, as in the local
// searches for the generalised assignment problem (Yagiura, Ibaraki, Glover).
type searcher struct {
	*assignment
	x       *relaxation
	pieces  []mobile
	penalty []float64 // α_d per scaled cost
	entry   float64   // α_table
	table   int64
	limit   int64
	effort  int64
}

// refine returns the best assignment that the local search meets from a on, a
// included. It changes a.
func (p *problem) refine(a *assignment, f *proof) *assignment {
	s := &searcher{assignment: a, x: f.x, limit: math.MaxInt64, table: a.tableSize()}
	if p.o.TableLimit != nil {
		s.limit = *p.o.TableLimit
	}
	s.collect(f)
	s.price(f)
	best, bestScore := a.copyOf(), a.score()
	s.effort = 3_000_000
	idle := 0
	for s.effort > 0 && idle < 40 && p.meter.spend(1) {
		s.descend()
		sc := s.score()
		if sc.compare(bestScore) < 0 {
			best, bestScore = a.copyOf(), sc
			idle = 0
		}
		idle++
		s.adapt()
		if bestScore.violated == 0 && bestScore.objective*f.x.unitWeight <= f.bound*(1+1e-4) {
			break
		}
	}
	return best
}

func (a *assignment) copyOf() *assignment {
	b := *a
	b.at, b.load = slices.Clone(a.at), slices.Clone(a.load)
	b.items, b.units = slices.Clone(a.items), slices.Clone(a.units)
	return &b
}

// collect gathers the pieces whose best option is least certain.
func (s *searcher) collect(f *proof) {
	m := f.x.market(&f.y)
	for piece := range s.at {
		item := int(s.item(int32(piece)))
		from := s.p.s.Current[item]
		quiet := s.at[piece] == from && from == s.p.s.Hash[item]
		if quiet && s.load[from] <= s.p.limit[from] && f.y.load[from] == 0 {
			continue
		}
		if s.p.isHot(item) || s.count(int32(piece)) == 0 {
			continue
		}
		k := f.x.choiceOf(item)
		stays, home, away := k.costs(&f.y, m)
		low := min(stays, home, away)
		next := max(min(stays, home), min(max(stays, home), away)) // the second best
		regret := next - low
		if math.IsInf(regret, 1) || math.IsNaN(regret) {
			regret = 0
		}
		units := s.count(int32(piece))
		s.pieces = append(s.pieces, mobile{
			cost: s.unitCost(int32(piece)) * units, weight: k.weight * k.units * float64(units) / k.units, units: units,
			from: from, home: s.p.s.Hash[item], piece: int32(piece), regret: regret,
			live: !s.p.s.Instances[from].Drained, atHome: !s.p.s.Instances[s.p.s.Hash[item]].Drained,
		})
	}
	byKey := func(a, b mobile) int {
		return cmp.Or(s.p.s.Keys.compare(s.item(a.piece), s.item(b.piece)), cmp.Compare(a.piece, b.piece))
	}
	if len(s.pieces) > searchCore {
		slices.SortFunc(s.pieces, func(a, b mobile) int { return cmp.Or(cmp.Compare(a.regret, b.regret), byKey(a, b)) })
		s.pieces = s.pieces[:searchCore]
	}
	slices.SortFunc(s.pieces, byKey)
}

// price sets the first penalties from the Lagrangian's.
func (s *searcher) price(f *proof) {
	sum, n := 0.0, 0.0
	for _, u := range f.y.load {
		if u > 0 {
			sum, n = sum+u, n+1
		}
	}
	typical := sum / max(n, 1)
	if typical == 0 {
		typical = f.x.everything / (f.x.unitCost*float64(s.p.total) + 1e-300)
	}
	s.penalty = make([]float64, len(s.load))
	for d := range s.penalty {
		s.penalty[d] = 2 * s.x.unitCost * max(f.y.load[d], typical)
	}
	s.entry = 2 * max(f.y.table, f.x.everything/float64(s.p.s.Len()+1))
}

// over is what a load on d costs.
func (s *searcher) over(d int32, load int64) float64 {
	if load <= s.p.limit[d] {
		return 0
	}
	return s.penalty[d] * float64(load-s.p.limit[d])
}

func (s *searcher) overTable(size int64) float64 {
	if size <= s.limit {
		return 0
	}
	return s.entry * float64(size-s.limit)
}

// place describes what a piece costs on d, and its entries.
func (k *mobile) place(d int32) (weight float64, entries int64) {
	if d != k.from {
		weight = k.weight
	}
	if d != k.home {
		entries = k.units
	}
	return weight, entries
}

// shift is by how much the penalised objective changes if k goes to d.
func (s *searcher) shift(k *mobile, d int32) float64 {
	at := s.at[k.piece]
	w0, e0 := k.place(at)
	w1, e1 := k.place(d)
	v := w1 - w0
	if s.p.s.Instances[at].Drained {
		return math.Inf(-1)
	}
	v += s.over(at, s.load[at]-k.cost) - s.over(at, s.load[at])
	v += s.over(d, s.load[d]+k.cost) - s.over(d, s.load[d])
	if e0 != e1 {
		v += s.overTable(s.table-e0+e1) - s.overTable(s.table)
	}
	return v
}

// swap is the same if k and l change places.
func (s *searcher) swap(k, l *mobile) float64 {
	dk, dl := s.at[k.piece], s.at[l.piece]
	kw0, ke0 := k.place(dk)
	lw0, le0 := l.place(dl)
	kw1, ke1 := k.place(dl)
	lw1, le1 := l.place(dk)
	v := kw1 - kw0 + lw1 - lw0
	diff := k.cost - l.cost
	v += s.over(dk, s.load[dk]-diff) - s.over(dk, s.load[dk])
	v += s.over(dl, s.load[dl]+diff) - s.over(dl, s.load[dl])
	if e := ke1 + le1 - ke0 - le0; e != 0 {
		v += s.overTable(s.table+e) - s.overTable(s.table)
	}
	return v
}

func (s *searcher) put(k *mobile, d int32) {
	_, e0 := k.place(s.at[k.piece])
	_, e1 := k.place(d)
	s.table += e1 - e0
	s.move(k.piece, d)
}

// descend goes on to a local optimum of shifts, then of swaps.
func (s *searcher) descend() {
	for s.effort > 0 {
		if s.shifts() {
			continue
		}
		if !s.swaps() {
			return
		}
	}
}

// least is below which a change counts as progress.
const least = -1e-15

func (s *searcher) shifts() bool {
	changed := false
	for i := range s.pieces {
		k := &s.pieces[i]
		at := s.at[k.piece]
		to, gain := at, least
		try := func(d int32) {
			if d != at {
				s.effort--
				if v := s.shift(k, d); v < gain {
					to, gain = d, v
				}
			}
		}
		if k.live {
			try(k.from)
		}
		if k.atHome {
			try(k.home)
		}
		try(s.roomiest(at))
		if to != at {
			s.put(k, to)
			changed = true
		}
	}
	return changed
}

// roomiest is the live instance with most room, but for one.
func (s *searcher) roomiest(not int32) int32 {
	best := not
	for _, d := range s.p.live {
		if d != not && (best == not || s.p.limit[d]-s.load[d] > s.p.limit[best]-s.load[best]) {
			best = d
		}
	}
	return best
}

func (s *searcher) swaps() bool {
	changed := false
	for i := range s.pieces {
		k := &s.pieces[i]
		other, gain := -1, least
		dk := s.at[k.piece]
		for j := i + 1; j < len(s.pieces); j++ {
			l := &s.pieces[j]
			dl := s.at[l.piece]
			if dl == dk || dl == l.from && dk == k.from && s.load[dk] <= s.p.limit[dk] && s.load[dl] <= s.p.limit[dl] {
				continue
			}
			s.effort--
			if v := s.swap(k, l); v < gain {
				other, gain = j, v
			}
		}
		if other >= 0 {
			l := &s.pieces[other]
			dl := s.at[l.piece]
			s.put(k, dl)
			s.put(l, dk)
			changed = true
		}
	}
	return changed
}

// adapt raises the penalties of what is violated and lowers the others.
func (s *searcher) adapt() {
	violated := s.table > s.limit
	for _, d := range s.p.live {
		violated = violated || s.load[d] > s.p.limit[d]
	}
	for _, d := range s.p.live {
		switch {
		case s.load[d] > s.p.limit[d]:
			s.penalty[d] *= 1.6
		case !violated:
			s.penalty[d] *= 0.6
		}
	}
	switch {
	case s.table > s.limit:
		s.entry *= 1.6
	case !violated:
		s.entry *= 0.6
	}
}

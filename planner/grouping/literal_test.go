package grouping

import (
	"cmp"
	"math"
	"slices"

	spaolacci "github.com/spaolacci/murmur3"
)

// What follows is the schemes as the papers' text has them, message by message,
// with nothing remembered that could be computed again, and with another murmur3.

type literalRun struct {
	o       Options
	keys    []string
	sources []int
	count   map[string]int // of the whole stream
	to      []int          // decisions so far
	fixed   map[string]int // where a key was put for good
	probed  [][]int        // per source, the loads at its last probe
	own     [][]int        // per source, what it sent since
	head    map[string]int // choices of the keys of the head; 0: all workers
	offered map[string]int // the most choices a key was ever offered; 0: all
}

func runLiteral(keys []string, sources []int, o Options) *literalRun {
	o = o.withDefaults()
	r := &literalRun{
		o: o, keys: keys, sources: sources, count: map[string]int{}, fixed: map[string]int{},
		offered: map[string]int{},
	}
	for _, k := range keys {
		r.count[k]++
	}
	for range o.Sources {
		r.probed = append(r.probed, make([]int, o.Workers))
		r.own = append(r.own, make([]int, o.Workers))
	}
	r.head = literalHead(r.count, len(keys), o)
	if o.Scheme == OffGreedy {
		r.offline()
	}
	for i := range keys {
		w := r.decide(i)
		r.own[sources[i]][w]++
		r.to = append(r.to, w)
		if o.LoadInformation == LocalProbing && (i+1)%int(o.ProbePeriod) == 0 {
			for j := range r.probed {
				r.probed[j] = r.loads()
				clear(r.own[j])
			}
		}
	}
	return r
}

// loads counts the true loads.
func (r *literalRun) loads() []int {
	l := make([]int, r.o.Workers)
	for _, w := range r.to {
		l[w]++
	}
	return l
}

func (r *literalRun) candidates(key string, d int) (c []int) {
	for j := range d {
		w := int(spaolacci.Sum64WithSeed([]byte(key), r.o.HashSeed+uint32(j)) % uint64(r.o.Workers))
		for r.o.Distinct && slices.Contains(c, w) {
			w = (w + 1) % r.o.Workers
		}
		c = append(c, w)
	}
	return c
}

func (r *literalRun) everyone() (all []int) {
	for w := range r.o.Workers {
		all = append(all, w)
	}
	return all
}

func leastLoaded(candidates, loads []int) int {
	best := candidates[0]
	for _, c := range candidates {
		if loads[c] < loads[best] {
			best = c
		}
	}
	return best
}

func (r *literalRun) decide(i int) int {
	key, source := r.keys[i], r.sources[i]
	switch r.o.Scheme {
	case Hash:
		return r.candidates(key, 1)[0]
	case Shuffle:
		before := 0
		for _, s := range r.sources[:i] {
			if s == source {
				before++
			}
		}
		return (source*r.o.Workers/r.o.Sources + before) % r.o.Workers
	case OffGreedy:
		return r.fixed[key]
	case PoTC, OnGreedy:
		if _, seen := r.fixed[key]; !seen {
			among := r.everyone()
			if r.o.Scheme == PoTC {
				among = r.candidates(key, r.o.Choices)
			}
			r.fixed[key] = leastLoaded(among, r.loads())
		}
		return r.fixed[key]
	}
	return leastLoaded(r.choices(key), r.known(source))
}

// known is what a source knows of the loads.
func (r *literalRun) known(source int) []int {
	if r.o.LoadInformation == Global {
		return r.loads()
	}
	l := slices.Clone(r.probed[source])
	for w, n := range r.own[source] {
		l[w] += n
	}
	return l
}

// choices are the candidates of a message under pkg, d_choices and w_choices.
func (r *literalRun) choices(key string) []int {
	d, inHead := r.o.Choices, false
	if r.o.Scheme != PKG {
		if n, ok := r.head[key]; ok {
			d, inHead = n, true
		}
	}
	if most, ok := r.offered[key]; !ok || most != 0 && (d == 0 || d > most) {
		r.offered[key] = d
	}
	if inHead && d == 0 {
		return r.everyone()
	}
	return r.candidates(key, d)
}

func (r *literalRun) offline() {
	var keys []string
	for k := range r.count {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.count[b], r.count[a]),
			cmp.Compare(spaolacci.Sum64([]byte(a)), spaolacci.Sum64([]byte(b))), cmp.Compare(a, b))
	})
	loads := make([]int, r.o.Workers)
	for _, k := range keys {
		w := leastLoaded(r.everyone(), loads)
		r.fixed[k] = w
		loads[w] += r.count[k]
	}
}

// literalHead gives the keys above 1/(5W) and the choices they get; 0 means all
// workers.
func literalHead(count map[string]int, m int, o Options) map[string]int {
	if o.Scheme != DChoices && o.Scheme != WChoices {
		return nil
	}
	var p []float64
	var rest float64
	head := map[string]int{}
	for k, c := range count {
		if float64(c)/float64(m) > 1/(5*float64(o.Workers)) {
			head[k] = 0
			p = append(p, float64(c)/float64(m))
		} else {
			rest += float64(c) / float64(m)
		}
	}
	if o.Scheme == WChoices || len(p) == 0 {
		return head
	}
	slices.Sort(p)
	slices.Reverse(p)
	for k := range head {
		head[k] = literalChoices(p, rest, o)
	}
	return head
}

// literalChoices is the smallest d from max(Choices, ⌈p1·W⌉) on that satisfies
// the constraint of every prefix of the head; 0 when it would reach W.
func literalChoices(p []float64, rest float64, o Options) int {
	n := float64(o.Workers)
	for d := max(o.Choices, int(math.Ceil(p[0]*n-1e-12))); d < o.Workers; d++ {
		ok := true
		for h := 1; h <= len(p); h++ {
			b := n - n*math.Pow((n-1)/n, float64(h*d))
			inside, between := 0.0, 0.0
			for i, x := range p {
				if i < h {
					inside += x
				} else {
					between += x
				}
			}
			if inside+math.Pow(b/n, float64(d))*between+math.Pow(b/n, float64(o.Choices))*rest > b*(1/n+headEpsilon) {
				ok = false
			}
		}
		if ok {
			return d
		}
	}
	return 0
}

// literalFigures recounts from the decisions what a Result says.
type literalFigures struct {
	loads         []int
	sumMax        int   // Σ_t max L(t)
	imbalance     []int // W·I(t), t = 1…m
	sourceBound   []int // W·Σ_j Î^j(t)
	pairs         int
	perPeriod     []int
	pairsByWorker []int
}

func figuresOf(keys []string, sources, to []int, o Options) literalFigures {
	o = o.withDefaults()
	f := literalFigures{loads: make([]int, o.Workers), pairsByWorker: make([]int, o.Workers)}
	bySource := make([][]int, o.Sources)
	for j := range bySource {
		bySource[j] = make([]int, o.Workers)
	}
	type pair struct {
		key    string
		worker int
	}
	ever, period := map[pair]bool{}, map[pair]bool{}
	for i, w := range to {
		f.loads[w]++
		bySource[sources[i]][w]++
		f.sumMax += slices.Max(f.loads)
		bound := 0
		for _, l := range bySource {
			bound += slices.Max(l)
		}
		f.imbalance = append(f.imbalance, o.Workers*slices.Max(f.loads)-(i+1))
		f.sourceBound = append(f.sourceBound, o.Workers*bound-(i+1))
		p := pair{keys[i], w}
		if !ever[p] {
			f.pairsByWorker[w]++
		}
		ever[p], period[p] = true, true
		if o.AggregationPeriod > 0 && (i+1)%int(o.AggregationPeriod) == 0 || i+1 == len(to) {
			f.perPeriod = append(f.perPeriod, len(period))
			clear(period)
		}
	}
	f.pairs = len(ever)
	return f
}

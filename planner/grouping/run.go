package grouping

import "plannerd/planner"

// Run sends the stream through the sources to the workers and reports what came
// of it. Errors are those of [Options.Validate], and planner.ErrStopped.
func Run(s *Stream, o Options) (*Result, error) {
	r, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	r.account.pairs = newPairs(s, &r.o)
	if r.o.Scheme != Shuffle {
		r.shuffled, r.reference = newRoundRobin(&r.o), newPairs(s, &Options{Workers: r.o.Workers})
	}
	if r.o.CompareGlobal {
		r.compareGlobal()
	}
	if err := r.simulate(); err != nil {
		return nil, err
	}
	return r.result()
}

// Compare does several runs on the same stream. In place of their own, stop and
// progress, which may be nil, serve all of them, and progress counts the messages
// of all.
func Compare(s *Stream, runs []Options, stop func() bool, progress func(done, total int64)) ([]*Result, error) {
	for _, o := range runs {
		if err := o.Validate(); err != nil {
			return nil, err
		}
	}
	results := make([]*Result, len(runs))
	for i, o := range runs {
		o.Stop, o.Progress = stop, nil
		if progress != nil {
			before, total := int64(i)*s.messages, int64(len(runs))*s.messages
			o.Progress = func(done, _ int64) { progress(before+done, total) }
		}
		var err error
		if results[i], err = Run(s, o); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// run is a run on its way.
type run struct {
	s       *Stream
	o       Options
	table   candidates
	router  router
	head    []int32 // keys of the head by exact counts, under DChoices and WChoices
	choices int     // of these
	account *account

	shuffled  router  // for comparison: the pairs that Shuffle would have made,
	reference pairSet // nil when nobody asks
	global    router  // and the decisions of global information, nil alike
	same      int64
}

// prepare gets ready to simulate, without counting pairs.
func prepare(s *Stream, o Options) (*run, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults().relevant()
	r := &run{s: s, o: o, account: newAccount(s, &o)}
	switch o.Scheme {
	case DChoices:
		r.head, r.choices = s.headKeys(o.Workers, o.Choices, headEpsilon, o.Stop)
	case WChoices:
		r.head, r.choices = s.above(s.messages/int64(5*o.Workers)), o.Workers
	}
	r.table = newCandidates(s, &r.o, r.offers())
	switch o.Scheme {
	case Hash:
		r.router = newHash(r.table)
	case Shuffle:
		r.router = newRoundRobin(&r.o)
	case PoTC, OnGreedy:
		r.router = newRemembering(r.table, o.Workers)
	case OffGreedy:
		r.router = newOffGreedy(s, o.Workers)
	default:
		r.router = &greedy{newEstimates(&r.o), r.table}
	}
	return r, nil
}

// relevant clears what the scheme does not use.
func (o Options) relevant() Options {
	if !o.splits() {
		o.LoadInformation, o.ProbePeriod = "", 0
		if o.Scheme != PoTC {
			o.Choices, o.Distinct = 0, false
		}
	}
	o.CompareGlobal = o.CompareGlobal && o.local()
	return o
}

// offers tells how many candidates a key has, 0 for all workers.
func (r *run) offers() func(k int) int {
	switch r.o.Scheme {
	case Hash:
		return func(int) int { return 1 }
	case Shuffle, OnGreedy, OffGreedy:
		return func(int) int { return 0 }
	}
	more := make(map[int]int, len(r.head))
	for _, k := range r.head {
		if r.choices < r.o.Workers {
			more[int(k)] = r.choices
		} else {
			more[int(k)] = 0
		}
	}
	return func(k int) int {
		if d, ok := more[k]; ok {
			return d
		}
		return r.o.Choices
	}
}

// compareGlobal prepares to route every message with global information too.
func (r *run) compareGlobal() {
	o := r.o
	o.LoadInformation, o.ProbePeriod = Global, 0
	r.global = &greedy{newEstimates(&o), r.table}
}

// simulate goes through the stream.
func (r *run) simulate() error {
	to, other := make([]int32, blockMessages), make([]int32, blockMessages)
	for c := r.s.read(r.o.Sources); ; {
		if r.o.stopped() {
			return planner.ErrStopped
		}
		keys, sources := c.next()
		n := len(keys)
		if n == 0 {
			return nil
		}
		r.router.route(keys, sources, to[:n])
		r.account.add(keys, sources, to[:n])
		if r.reference != nil {
			r.shuffled.route(keys, sources, other[:n])
			r.reference.add(keys, other[:n])
		}
		if r.global != nil {
			r.global.route(keys, sources, other[:n])
			for i, w := range to[:n] {
				if other[i] == w {
					r.same++
				}
			}
		}
		if r.o.Progress != nil {
			r.o.Progress(c.at, r.s.messages)
		}
	}
}

func (r *run) result() (*Result, error) {
	a := r.account
	m, w := r.s.messages, int64(r.o.Workers)
	o := r.o
	o.Stop, o.Progress = nil, nil
	result := &Result{
		Options: o, Messages: m, Keys: r.s.distinct, P1: r.s.P1(),
		MaxLoad: int64(a.max), Imbalance: a.fraction(int64(a.max)), AverageImbalance: a.average(),
		PeakImbalance: float64(max(a.peak, a.peakSince)) / (float64(w) * float64(m)),
		Aggregation:   a.aggr, Series: a.series, Memory: r.memory(),
	}
	_, keys := a.pairs.held()
	for i, l := range a.loads {
		result.Workers = append(result.Workers, Worker{Load: int64(l), Keys: keys[i]})
	}
	best, err := leastMaxLoad(r.table, r.s.counts, r.o.Workers, m, r.o.stopped)
	if err != nil {
		return nil, err
	}
	result.Bounds = r.bounds(best)
	result.Head = r.headFound()
	if r.global != nil {
		result.Agreement = &Agreement{Same: r.same, Jaccard: float64(r.same) / float64(2*m-r.same)}
	}
	return result, nil
}

func (r *run) memory() Memory {
	pairs, _ := r.account.pairs.held()
	memory := Memory{Pairs: pairs, KeyGrouping: int64(r.s.distinct), ShuffleGrouping: pairs}
	if r.reference != nil {
		memory.ShuffleGrouping, _ = r.reference.held()
	}
	switch {
	case r.o.Scheme == PoTC || r.o.Scheme == OnGreedy || r.o.Scheme == OffGreedy:
		memory.Remembered = int64(r.s.distinct)
	default:
		memory.Remembered = int64(len(r.head))
	}
	return memory
}

func (r *run) bounds(best split) Bounds {
	a := r.account
	m, w := r.s.messages, int64(r.o.Workers)
	d := 1
	if r.o.splits() || r.o.Scheme == Shuffle {
		d = r.atMostAll(r.offers()(r.s.Top()))
	}
	return Bounds{
		TopKey: fraction(r.s.counts[r.s.top], int64(d), w, m), TopKeyChoices: d,
		LeastMaxLoad: best.most, Split: a.fraction(best.most),
		Bottleneck: best.bottleneck, BottleneckMessages: best.messages,
		Sources: a.fraction(a.sourceLoad()),
	}
}

// atMostAll turns the 0 that stands for all workers into their number, and what
// is above it.
func (r *run) atMostAll(choices int) int {
	if choices == 0 {
		return r.o.Workers
	}
	return min(choices, r.o.Workers)
}

func (r *run) headFound() *Head {
	if r.o.Scheme != DChoices && r.o.Scheme != WChoices {
		return nil
	}
	return &Head{Keys: len(r.head), Choices: r.atMostAll(r.choices)}
}

package ring

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// naive is a second simulation: it goes from tick to tick, asks everyone what there is
// to do, keeps messages in slices and states in maps, and looks for the owner of a key
// among all tokens. It shares the options and the meaning of seeds with Simulate, no
// code.
type naive struct {
	o      simulationOptions
	stream *stream
	tick   int64

	nodes    []Node // of the ring, by reducer
	adopted  []Node // those that reducers and mappers go by
	previous []Node // those before, while states are exchanged
	reducers []*naiveReducer
	mappers  []*naiveMapper
	flying   []naiveFlight
	reports  []naiveReport
	queues   []float64
	unread   []int32

	phase            string // "", "announced", "agreeing", "exchanging"
	until            int64  // the end of the phase; 0 when it is not known
	processed        int64
	out              Run
	owners           map[string]int32
	ownersOf         []Node
	previousOwners   map[string]int32
	previousOwnersOf []Node
	lastDone         int64
}

type naiveReducer struct {
	id          int32
	queue, held []int32
	working     bool
	message     int32
	forwardTo   int32
	parts       bool // with the state of the message's key
	until       int64
	rng         *rand.PCG
	nextReport  int64
	state       map[int32]int64
	mine        map[int32]bool  // the keys whose state it may change, under OldOwner
	gone        map[int32]int32 // where it sent those that it has no more
	rounds      int
	done, fwd   int64
}

type naiveMapper struct {
	working bool
	message int32
	until   int64
	rng     *rand.PCG
}

type naiveFlight struct {
	at      int64
	message int32
	to      int32
	state   *int64 // of the key of the message; nil: it stays
}

type naiveReport struct {
	at, length int64
	reducer    int
}

func naiveRun(s *stream, o simulationOptions) Run {
	o = o.withDefaults()
	n := &naive{o: o, stream: s, nodes: o.nodes, adopted: o.nodes, queues: make([]float64, len(o.nodes)),
		out: Run{InVain: map[Cause]int{}}}
	for m := range s.messages {
		n.unread = append(n.unread, int32(m))
	}
	for _, x := range o.nodes {
		n.addReducer(x)
	}
	for k := range s.keys.Len() {
		for _, r := range n.reducers {
			r.mine[int32(k)] = naiveOwner(o.nodes, Position(s.keys.At(k))) == r.id
		}
	}
	for i := range o.mappers {
		n.mappers = append(n.mappers, &naiveMapper{rng: rand.NewPCG(o.seed, 2*uint64(i)+2)})
		n.read(n.mappers[i])
	}
	for n.processed < int64(len(s.messages)) {
		n.tick++
		n.oneTick()
	}
	return n.result()
}

func (n *naive) addReducer(x Node) {
	r := &naiveReducer{id: x.ID, rng: rand.NewPCG(n.o.seed, 2*uint64(len(n.reducers))+1), state: map[int32]int64{},
		mine: map[int32]bool{}, gone: map[int32]int32{}}
	if n.o.method != None {
		high, _ := bits.Mul64(r.rng.Uint64(), uint64(n.o.timing.report))
		r.nextReport = n.tick + 1 + int64(high)
	}
	n.reducers = append(n.reducers, r)
}

func (n *naive) duration(mean int64, rng *rand.PCG) int64 {
	spread := int64(*n.o.timing.jitter * float64(mean))
	if spread == 0 {
		return mean
	}
	high, _ := bits.Mul64(rng.Uint64(), uint64(2*spread+1))
	return mean - spread + int64(high)
}

func (n *naive) read(m *naiveMapper) {
	if m.working = len(n.unread) > 0; m.working {
		m.message, n.unread = n.unread[0], n.unread[1:]
		m.until = n.tick + n.duration(n.o.timing.mapping, m.rng)
	}
}

// owner is the index of the reducer of a message's key under the adopted ring.
func (n *naive) owner(m int32) int32 {
	if !slices.Equal(n.ownersOf, n.adopted) {
		n.owners, n.ownersOf = map[string]int32{}, n.adopted
	}
	return n.find(n.owners, n.adopted, m)
}

func (n *naive) previousOwner(m int32) int32 {
	if !slices.Equal(n.previousOwnersOf, n.previous) {
		n.previousOwners, n.previousOwnersOf = map[string]int32{}, n.previous
	}
	return n.find(n.previousOwners, n.previous, m)
}

func (n *naive) find(memo map[string]int32, nodes []Node, m int32) int32 {
	key := n.stream.keys.At(int(n.stream.messages[m]))
	if i, ok := memo[string(key)]; ok {
		return i
	}
	id := naiveOwner(nodes, Position(key))
	i := int32(slices.IndexFunc(nodes, func(x Node) bool { return x.ID == id }))
	memo[string(key)] = i
	return i
}

func (n *naive) oneTick() {
	for len(n.flying) > 0 && n.flying[0].at == n.tick {
		f := n.flying[0]
		n.flying = n.flying[1:]
		r := n.reducers[f.to]
		if key := n.stream.messages[f.message]; f.state != nil {
			r.mine[key] = true
			if *f.state > 0 {
				r.state[key] = *f.state
			}
		}
		r.queue = append(r.queue, f.message)
		n.takeUp(int(f.to))
	}
	for len(n.reports) > 0 && n.reports[0].at == n.tick {
		r := n.reports[0]
		n.reports = n.reports[1:]
		n.consider(r)
	}
	if n.phase != "" && n.until == n.tick {
		n.nextPhase()
	}
	for i, r := range n.reducers {
		if r.working && r.until == n.tick {
			n.complete(i, r)
		}
	}
	for i, r := range n.reducers {
		if r.nextReport == n.tick {
			n.reports = append(n.reports, naiveReport{n.tick + n.o.timing.network, int64(len(r.queue) + len(r.held)), i})
			r.nextReport += n.o.timing.report
		}
	}
	for _, m := range n.mappers {
		if m.working && m.until == n.tick {
			to := n.owner(m.message)
			if n.o.state == OldOwner {
				to = n.ownerAtFirst(m.message)
			}
			n.flying = append(n.flying, naiveFlight{n.tick + n.o.timing.network, m.message, to, nil})
			n.read(m)
		}
	}
}

// takeUp lets a reducer begin a message if it may.
func (n *naive) takeUp(i int) {
	r := n.reducers[i]
	if r.working || n.phase == "agreeing" {
		return
	}
	for len(r.queue) > 0 {
		m := r.queue[0]
		r.queue = r.queue[1:]
		to := n.owner(m)
		if n.phase == "exchanging" && (to != int32(i) || n.previousOwner(m) != int32(i)) {
			r.held = append(r.held, m)
			n.out.HeldBack++
			continue
		}
		key := n.stream.messages[m]
		if n.o.state == OldOwner && !r.mine[key] {
			to = r.gone[key]
		}
		r.working, r.message, r.forwardTo = true, m, to
		r.parts = n.o.state == OldOwner && r.mine[key] && to != int32(i)
		if to != int32(i) {
			r.until = n.tick + n.o.timing.forward
			if r.parts && r.state[key] > 0 {
				r.until += n.o.timing.state
			}
			return
		}
		r.until = n.tick + n.duration(n.o.timing.process, r.rng)
		return
	}
}

func (n *naive) complete(i int, r *naiveReducer) {
	r.working = false
	if r.forwardTo != int32(i) {
		r.fwd++
		n.flying = append(n.flying, naiveFlight{n.tick + n.o.timing.network, r.message, r.forwardTo, n.parting(r)})
	} else {
		r.done++
		r.state[n.stream.messages[r.message]]++
		n.processed++
		n.lastDone = n.tick
	}
	n.settleIfIdle()
	n.takeUp(i)
}

// parting is the state that leaves ahead of the message that a reducer forwards.
func (n *naive) parting(r *naiveReducer) *int64 {
	key := n.stream.messages[r.message]
	if !r.parts {
		return nil
	}
	count := r.state[key]
	delete(r.state, key)
	r.mine[key], r.gone[key] = false, r.forwardTo
	return &count
}

// ownerAtFirst is the owner of a message's key when the run began.
func (n *naive) ownerAtFirst(m int32) int32 {
	id := naiveOwner(n.o.nodes, Position(n.stream.keys.At(int(n.stream.messages[m]))))
	return int32(slices.IndexFunc(n.o.nodes, func(x Node) bool { return x.ID == id }))
}

// settleIfIdle: once nobody works any more, agreement takes one more message.
func (n *naive) settleIfIdle() {
	if n.phase == "agreeing" && !slices.ContainsFunc(n.reducers, func(r *naiveReducer) bool { return r.working }) {
		n.until = n.tick + n.o.timing.network
	}
}

func (n *naive) consider(r naiveReport) {
	n.queues[r.reducer] = float64(r.length)
	if n.phase != "" {
		return
	}
	first := slices.Max(n.queues)
	at := slices.Index(n.queues, first)
	rest := slices.Delete(slices.Clone(n.queues), at, at+1)
	second := slices.Max(rest)
	tau := 0.2
	if n.o.policy.Tau != nil {
		tau = *n.o.policy.Tau
	}
	if at != r.reducer || first <= second*(1+tau) || first < n.o.policy.MinQueue {
		return
	}
	if n.reducers[at].rounds == n.o.maxRounds {
		n.out.InVain[CauseMaxRounds]++
		return
	}
	after, total, same := slices.Clone(n.nodes), 0, true
	for i := range after {
		if n.o.method == Halving && i == at {
			kept := 0
			for j := range after[i].Tokens {
				if 2*j < after[i].Tokens {
					kept++
				}
			}
			same = same && kept == after[i].Tokens
			after[i].Tokens = kept
		}
		if n.o.method == Doubling && i != at {
			after[i].Tokens += after[i].Tokens
			same = false
		}
		total += after[i].Tokens
	}
	switch {
	case same:
		n.out.InVain[CauseExhausted]++
	case total > n.o.tokenLimit:
		n.out.InVain[CauseTokenLimit]++
	default:
		n.reducers[at].rounds++
		n.change(after, Event{Node: n.nodes[at].ID, Max: first, Second: second})
	}
}

func (n *naive) change(after []Node, e Event) {
	e.Tick = n.tick
	for _, x := range after {
		e.Tokens = append(e.Tokens, x.Tokens)
	}
	for k := range n.stream.keys.Len() {
		p := Position(n.stream.keys.At(k))
		if naiveOwner(n.nodes, p) != naiveOwner(after, p) {
			e.Keys++
		}
	}
	n.out.History = append(n.out.History, e)
	n.nodes = after
	if n.o.state != StateForwarding {
		n.adopted = after
		return
	}
	n.phase, n.until = "announced", n.tick+n.o.timing.network
}

func (n *naive) nextPhase() {
	switch n.phase {
	case "announced":
		n.phase, n.until = "agreeing", 0
		n.out.Stages++
		n.settleIfIdle()
	case "agreeing":
		n.phase = "exchanging"
		n.previous, n.adopted = n.adopted, n.nodes
		longest := int64(0)
		moves := make([]map[int32]int64, len(n.reducers))
		for i, r := range n.reducers {
			sent := int64(0)
			moves[i] = map[int32]int64{}
			for k, count := range r.state {
				id := naiveOwner(n.adopted, Position(n.stream.keys.At(int(k))))
				if id != r.id {
					moves[i][k] = count
					sent++
				}
			}
			longest = max(longest, sent)
		}
		for i, states := range moves {
			for k, count := range states {
				delete(n.reducers[i].state, k)
				id := naiveOwner(n.adopted, Position(n.stream.keys.At(int(k))))
				to := slices.IndexFunc(n.reducers, func(r *naiveReducer) bool { return r.id == id })
				n.reducers[to].state[k] += count
			}
		}
		n.until = n.tick + longest*n.o.timing.state + n.o.timing.network
		for i := range n.reducers {
			n.takeUp(i)
		}
	case "exchanging":
		n.phase = ""
		for _, r := range n.reducers {
			r.queue, r.held = append(r.held, r.queue...), nil
		}
		for i := range n.reducers {
			n.takeUp(i)
		}
	}
}

// lesserParts are the parts of a key's state but for the largest.
func (n *naive) lesserParts(key int32) (parts []int64) {
	for _, x := range n.reducers {
		if count, ok := x.state[key]; ok {
			parts = append(parts, count)
		}
	}
	slices.Sort(parts)
	slices.Reverse(parts)
	return parts[1:]
}

func (n *naive) result() Run {
	r := n.out
	r.Counts = make([]int64, n.stream.keys.Len())
	holders := make([]int64, n.stream.keys.Len())
	most, total := int64(0), int64(0)
	for i, x := range n.reducers {
		for k, count := range x.state {
			r.Counts[k] += count
			holders[k]++
		}
		r.Forwarded += x.fwd
		most, total = max(most, x.done), total+x.done
		r.Reducers = append(r.Reducers, Reducer{x.id, n.nodes[i].Tokens, x.rounds, x.done, x.fwd})
	}
	ideal := (total + int64(len(n.reducers)) - 1) / int64(len(n.reducers))
	if total > ideal {
		r.Skew = float64(most-ideal) / float64(total-ideal)
	}
	for k, h := range holders {
		if h > 1 {
			r.Partial = append(r.Partial, n.lesserParts(int32(k))...)
		}
	}
	r.Processed = n.lastDone
	r.Ticks = r.Processed + int64(len(r.Partial))*n.o.timing.merge
	return r
}

package ring

import (
	"math/rand/v2"
	"slices"
)

// none stands for a message, a node or a reducer where there is none.
const none int32 = -1

// simulation is a discrete-event simulation under way.
type simulation struct {
	o      simulationOptions // with defaults
	stream *stream
	now    int64

	nodes    []Node            // of the ring, by reducer
	position []uint32          // of each key on it
	owner    []int32           // by key: the index of the reducer that the ring gives it to
	home     []int32           // the same at the beginning
	states   []map[int32]int64 // by key: how many of its messages each reducer has processed
	reducers []reducer
	mappers  []mapper
	flying   []flight // in the order in which they arrive, as reports are: all takes equally long
	reports  []report
	queues   []float64 // as last reported; 0 before the first report

	// Under StateForwarding:
	phase phase
	until int64   // the end of the phase; never: when nobody works any more
	other []int32 // by key, the owner on the ring that the stage adopts; while exchanging, on the one before
	// Under OldOwner:
	holder []int32         // by key: the reducer that has the state; none: it is on its way
	sent   map[track]int32 // where a reducer sent the state of a key last

	fed       int // messages that mappers have taken
	processed int // messages
	run       Run
}

type reducer struct {
	queue, held []int32 // messages; held: put back during a stage
	message     int32   // that it works on, or none
	until       int64
	forwardTo   int32 // where it forwards the message; itself: it processes it
	withState   bool  // it sends the key's state ahead of the message
	reports     int64 // when next
	rng         *rand.PCG

	rounds               int
	processed, forwarded int64
}

type mapper struct {
	message int32 // that it works on
	until   int64
	rng     *rand.PCG
}

// flight is a message on its way.
type flight struct {
	at          int64
	message, to int32
	state       bool // the state of its key arrives just before it
}

// report is a reducer's queue length on its way to the load balancer.
type report struct {
	at      int64
	length  int
	reducer int
}

type track struct{ key, reducer int32 }

// newSimulation prepares a simulation whose options have their defaults.
func newSimulation(x *stream, o simulationOptions) *simulation {
	n := x.keys.Len()
	s := &simulation{o: o, stream: x, nodes: o.nodes, position: make([]uint32, n), states: make([]map[int32]int64, n),
		reducers: make([]reducer, len(o.nodes)), mappers: make([]mapper, o.mappers),
		queues: make([]float64, len(o.nodes)), until: never, sent: map[track]int32{}, run: Run{InVain: map[Cause]int{}}}
	for k := range s.position {
		s.position[k], s.states[k] = Position(x.keys.At(k)), map[int32]int64{}
	}
	s.owner = s.locate()
	s.home, s.holder = s.owner, slices.Clone(s.owner)
	for i := range s.reducers {
		r := &s.reducers[i]
		r.message, r.until, r.reports, r.rng = none, never, never, rand.NewPCG(o.seed, 2*uint64(i)+1)
		if o.method != None {
			r.reports = 1 + int64(below(r.rng, uint64(o.timing.report)))
		}
	}
	for i := range s.mappers {
		s.mappers[i].rng = rand.NewPCG(o.seed, 2*uint64(i)+2)
		s.feed(&s.mappers[i])
	}
	return s
}

// locate returns the reducer of every key as the ring has it now.
func (s *simulation) locate() []int32 {
	r, index, owner := New(s.nodes), map[int32]int32{}, make([]int32, len(s.position))
	for i, n := range s.nodes {
		index[n.ID] = int32(i)
	}
	reducers := indices(r, index)
	for k, p := range s.position {
		owner[k] = reducers[r.TokenAt(p)]
	}
	return owner
}

// done: a reducer stops only when all are done, since until then it may be sent
// messages.
func (s *simulation) done() bool { return s.processed == len(s.stream.messages) }

// tick goes on to when something is due next, and does all that is due then, in this order: messages arrive in
// the order in which they were sent; reports reach the load balancer; a stage of state forwarding
// begins, adopts the new ring or ends; reducers finish messages, lower IDs first, and take up
// the next; reports are taken; mappers send, lower numbers first.
func (s *simulation) tick() {
	s.now = s.next()
	for len(s.flying) > 0 && s.flying[0].at == s.now {
		f := s.flying[0]
		s.flying = s.flying[1:]
		s.deliver(f)
	}
	for len(s.reports) > 0 && s.reports[0].at == s.now {
		r := s.reports[0]
		s.reports = s.reports[1:]
		s.receive(r)
	}
	if s.until == s.now {
		s.advance()
	}
	for i := range s.reducers {
		if s.reducers[i].until == s.now {
			s.finish(int32(i))
		}
	}
	for i := range s.reducers {
		if r := &s.reducers[i]; r.reports == s.now {
			s.reports = append(s.reports, report{s.now + s.o.timing.network, len(r.queue) + len(r.held), i})
			r.reports += s.o.timing.report
		}
	}
	for i := range s.mappers {
		if s.mappers[i].until == s.now {
			s.send(&s.mappers[i])
		}
	}
}

// next is when something is due next.
func (s *simulation) next() int64 {
	at := s.until
	if len(s.flying) > 0 {
		at = min(at, s.flying[0].at)
	}
	if len(s.reports) > 0 {
		at = min(at, s.reports[0].at)
	}
	for i := range s.reducers {
		at = min(at, s.reducers[i].until, s.reducers[i].reports)
	}
	for i := range s.mappers {
		at = min(at, s.mappers[i].until)
	}
	return at
}

// feed gives a mapper the next message of the stream, if there is one.
func (s *simulation) feed(m *mapper) {
	m.until = never
	if s.fed < len(s.stream.messages) {
		m.message, m.until = int32(s.fed), s.now+s.jittered(s.o.timing.mapping, m.rng)
		s.fed++
	}
}

// send lets a mapper send its message to the reducer that owns the key now, or under
// OldOwner owned it at the beginning.
func (s *simulation) send(m *mapper) {
	owner := s.owner
	if s.o.state == OldOwner {
		owner = s.home
	}
	s.transmit(m.message, owner[s.stream.messages[m.message]], false)
	s.feed(m)
}

// transmit puts a message on its way.
func (s *simulation) transmit(message, to int32, state bool) {
	s.flying = append(s.flying, flight{s.now + s.o.timing.network, message, to, state})
}

// deliver puts a message into the queue that it was sent to.
func (s *simulation) deliver(f flight) {
	if f.state {
		s.holder[s.stream.messages[f.message]] = f.to
	}
	r := &s.reducers[f.to]
	r.queue = append(r.queue, f.message)
	s.begin(f.to)
}

// begin lets an idle reducer take up the first message in its queue that it may work on now; what
// it may not is put back.
func (s *simulation) begin(i int32) {
	r := &s.reducers[i]
	for r.message == none && s.phase != agreeing && len(r.queue) > 0 {
		m := r.queue[0]
		r.queue = r.queue[1:]
		key := s.stream.messages[m]
		if s.phase == exchanging && !s.stays(key, i) {
			r.held = append(r.held, m)
			s.run.HeldBack++
			continue
		}
		r.message, r.forwardTo, r.withState = m, s.owner[key], false
		if s.o.state == OldOwner {
			r.forwardTo, r.withState = s.track(key, i)
		}
		ticks := s.o.timing.forward
		switch {
		case r.forwardTo == i:
			ticks = s.jittered(s.o.timing.process, r.rng)
		case r.withState && len(s.states[key]) > 0:
			ticks += s.o.timing.state
		}
		r.until = s.now + ticks
	}
}

// jittered draws a duration of the given mean.
func (s *simulation) jittered(mean int64, rng *rand.PCG) int64 {
	spread := int64(*s.o.timing.jitter * float64(mean))
	if spread == 0 {
		return mean
	}
	return mean - spread + int64(below(rng, uint64(2*spread+1)))
}

// finish ends a reducer's work on a message.
func (s *simulation) finish(i int32) {
	r := &s.reducers[i]
	m, key := r.message, s.stream.messages[r.message]
	r.message, r.until = none, never
	if r.forwardTo != i {
		r.forwarded++
		if r.withState {
			s.release(key, i, r.forwardTo)
		}
		s.transmit(m, r.forwardTo, r.withState)
	} else {
		r.processed++
		s.processed++
		s.states[key][i]++
	}
	if s.phase == agreeing {
		s.agree()
	}
	s.begin(i)
}

// track returns where a reducer has to send a message of a key, itself if it may process
// it, and whether it has to send the key's state ahead.
//
// Whoever has the state sends it to the owner that the ring has now. Whoever had it sends
// the message after it, which is there before the message: so messages pass along all the
// reducers at which the state has been.
func (s *simulation) track(key, reducer int32) (to int32, withState bool) {
	if s.holder[key] == reducer {
		to = s.owner[key]
		return to, to != reducer
	}
	return s.sent[track{key, reducer}], false
}

// release takes a key's state from a reducer that sends it away.
func (s *simulation) release(key, reducer, to int32) {
	s.holder[key] = none
	s.sent[track{key, reducer}] = to
	s.hand(key, to)
}

// hand gives all of a key's state, which is on one reducer, to another, and tells whom from.
func (s *simulation) hand(key, to int32) (from int32) {
	from = none
	for at, n := range s.states[key] {
		from = at
		s.states[key] = map[int32]int64{to: n}
	}
	return from
}

// receive lets the load balancer take note of a report, and act if the one who reports is
// overloaded ("DPA Load Balancer" §2.4). The ring is not changed again before all agree on it.
func (s *simulation) receive(r report) {
	s.queues[r.reducer] = float64(r.length)
	v := s.o.policy.Judge(s.queues)
	if s.phase != settled || !v.Fires || v.At != r.reducer {
		return
	}
	x := &s.reducers[v.At]
	if x.rounds == s.o.maxRounds {
		s.run.InVain[CauseMaxRounds]++
		return
	}
	nodes, cause := s.o.method.relieve(s.nodes, v.At, s.o.tokenLimit)
	if cause != CauseOverloaded {
		s.run.InVain[cause]++
		return
	}
	x.rounds++
	s.changeRing(nodes, Event{Tick: s.now, Node: nodes[v.At].ID, Max: v.Max, Second: v.Second})
}

// changeRing puts a new ring in place, or begins the stage that will.
func (s *simulation) changeRing(nodes []Node, e Event) {
	s.nodes = nodes
	for _, n := range nodes {
		e.Tokens = append(e.Tokens, n.Tokens)
	}
	owner := s.locate()
	for k := range owner {
		if owner[k] != s.owner[k] {
			e.Keys++
		}
	}
	s.run.History = append(s.run.History, e)
	if s.o.state != StateForwarding {
		s.owner = owner
		return
	}
	s.phase, s.other, s.until = announced, owner, s.now+s.o.timing.network
}

// The phases of state forwarding ("DPA Load Balancer" §7).
type phase uint8

const (
	settled    phase = iota // all reducers agree on the ring and forward at will
	announced               // a new ring is on its way to the reducers
	agreeing                // no reducer begins a message until all have finished theirs
	exchanging              // states are on their way; nothing is forwarded
)

// advance goes on to the next phase.
func (s *simulation) advance() {
	s.until = never
	switch s.phase {
	case announced:
		s.phase = agreeing
		s.run.Stages++
		s.agree()
		return
	case agreeing:
		s.exchange()
	case exchanging: // all states have arrived, and what was put back comes first
		s.phase = settled
		for i := range s.reducers {
			r := &s.reducers[i]
			r.queue, r.held = append(r.held, r.queue...), nil
		}
	}
	for i := range s.reducers {
		s.begin(int32(i))
	}
}

// agree lets the last reducer that has finished its message tell all others.
func (s *simulation) agree() {
	if !slices.ContainsFunc(s.reducers, func(r reducer) bool { return r.message != none }) {
		s.until = s.now + s.o.timing.network
	}
}

// exchange adopts the new ring and lets every reducer send away, one after the
// other, the states of keys that it no longer owns.
func (s *simulation) exchange() {
	s.phase = exchanging
	s.owner, s.other = s.other, s.owner
	sent, longest := make([]int64, len(s.reducers)), int64(0)
	for k, to := range s.owner {
		if to == s.other[k] {
			continue
		}
		if from := s.hand(int32(k), to); from != none {
			sent[from]++
			longest = max(longest, sent[from])
		}
	}
	s.until = s.now + longest*s.o.timing.state + s.o.timing.network
}

// stays reports whether a reducer owns a key before and after the stage, so that
// the key's state is with it.
func (s *simulation) stays(key, reducer int32) bool {
	return s.owner[key] == reducer && s.other[key] == reducer
}

package ring

import (
	"math/rand/v2"

	"plannerd/planner"
)

// The actors of a simulation, in the order in which they act within a tick. After
// these come the reducers, the reducers' report timers, and the mappers.
const (
	messageNetwork = iota
	reportNetwork
	staging
	fixedActors
)

// askEvery is the number of events between two calls of Stop.
const askEvery = 1 << 14

// simulation is a discrete-event simulation under way.
type simulation struct {
	o      SimulationOptions // with defaults
	stream *Stream
	schedule
	now int64

	owner    []int32 // by key: the index of the reducer that the ring gives it to
	position []uint32
	queued   messages
	states   states
	reducers []reducer
	mappers  []mapper
	flying   pipe[flight]
	reports  pipe[report]
	balancer balancer
	stage    stage
	tracks   tracks // under OldOwner

	fed       int   // messages that mappers have taken
	processed int64 // messages
	slow      bool  // the last event took long: time to ask whether to go on
}

type reducer struct {
	queue, held queue // held: put back during a stage
	message     int32 // that it works on, or none
	forwardTo   int32 // where it forwards the message, or none when it processes it
	withState   bool  // it sends the key's state ahead of the message
	rng         rand.PCG

	processed, forwarded int64
}

type mapper struct {
	message int32 // that it works on
	rng     rand.PCG
}

// flight is a message on its way.
type flight struct {
	at          int64
	message, to int32
	state       bool // the state of its key arrives just before it
}

// report is a reducer's queue length on its way to the load balancer.
type report struct {
	at, length int64
	reducer    int32
}

// newSimulation prepares a simulation with valid options and their defaults.
func newSimulation(s *Stream, o SimulationOptions) *simulation {
	reducers := len(o.Nodes)
	sim := &simulation{
		o: o, stream: s, schedule: *newSchedule(fixedActors + 2*reducers + o.Mappers),
		owner: make([]int32, s.Keys.Len()), position: make([]uint32, s.Keys.Len()),
		queued: make(messages, len(s.Messages)), states: newStates(s.Keys.Len()),
		reducers: make([]reducer, reducers), mappers: make([]mapper, o.Mappers),
	}
	for k := range sim.position {
		sim.position[k] = Position(s.Keys.At(k))
	}
	sim.balancer = newBalancer(o, reducers)
	sim.locate(sim.owner)
	if o.State == OldOwner {
		sim.tracks = newTracks(sim.owner)
	}
	for i := range sim.reducers {
		r := &sim.reducers[i]
		r.message = none
		r.rng.Seed(o.Seed, 2*uint64(i)+1)
		sim.startReports(i)
	}
	for i := range sim.mappers {
		sim.mappers[i].rng.Seed(o.Seed, 2*uint64(i)+2)
		sim.feed(i)
	}
	return sim
}

func (s *simulation) reducerActor(i int) int { return fixedActors + i }

func (s *simulation) timerActor(i int) int { return fixedActors + len(s.reducers) + i }

func (s *simulation) mapperActor(i int) int { return fixedActors + 2*len(s.reducers) + i }

// run simulates to the end.
func (s *simulation) run() error {
	for n := 0; !s.done(); n++ {
		if n%askEvery == 0 || s.slow {
			if s.slow = false; !s.proceed() {
				return planner.ErrStopped
			}
		}
		s.step()
	}
	return nil
}

// done: a reducer stops only when all are done, since until then it may be sent
// messages.
func (s *simulation) done() bool { return s.processed == int64(len(s.stream.Messages)) }

// proceed asks whether to go on.
func (s *simulation) proceed() bool { return s.o.Stop == nil || !s.o.Stop() }

// step is one event.
func (s *simulation) step() {
	actor := s.first()
	s.now = s.at[actor]
	switch i := actor - fixedActors; {
	case actor == messageNetwork:
		s.deliver()
	case actor == reportNetwork:
		s.receiveReport()
	case actor == staging:
		s.advance()
	case i < len(s.reducers):
		s.finish(i)
	case i < 2*len(s.reducers):
		s.takeReport(i - len(s.reducers))
	default:
		s.send(i - 2*len(s.reducers))
	}
}

// feed gives a mapper the next message of the stream, if there is one.
func (s *simulation) feed(i int) {
	if s.fed == len(s.stream.Messages) {
		s.set(s.mapperActor(i), never)
		return
	}
	m := &s.mappers[i]
	m.message = int32(s.fed)
	s.fed++
	s.set(s.mapperActor(i), s.now+s.jittered(s.o.Timing.Map, &m.rng))
}

// send lets a mapper send its message to the reducer that owns the key now, or under
// OldOwner owned it at the beginning.
func (s *simulation) send(i int) {
	m := s.mappers[i].message
	owner := s.owner
	if s.o.State == OldOwner {
		owner = s.tracks.home
	}
	s.transmit(m, owner[s.stream.Messages[m]], false)
	s.feed(i)
}

// transmit puts a message on its way.
func (s *simulation) transmit(m, to int32, state bool) {
	s.flying.push(flight{s.now + s.o.Timing.Network, m, to, state})
	if s.flying.n == 1 {
		s.set(messageNetwork, s.flying.front().at)
	}
}

// deliver puts a message into the queue that it was sent to.
func (s *simulation) deliver() {
	f := s.flying.pop()
	next := int64(never)
	if s.flying.n > 0 {
		next = s.flying.front().at
	}
	s.set(messageNetwork, next)
	if f.state {
		s.tracks.holder[s.stream.Messages[f.message]] = f.to
	}
	r := &s.reducers[f.to]
	s.queued.push(&r.queue, f.message)
	if r.message == none {
		s.begin(int(f.to))
	}
}

// begin lets an idle reducer take up the next message that it may.
func (s *simulation) begin(i int) {
	r := &s.reducers[i]
	m := none
	if s.stage.phase != agreeing {
		m = s.next(i)
	}
	if m == none {
		return
	}
	r.message, r.forwardTo, r.withState = m, none, false
	key, ticks := s.stream.Messages[m], s.o.Timing.Forward
	to := s.owner[key]
	if s.o.State == OldOwner {
		to, r.withState = s.track(key, int32(i))
	}
	switch {
	case to == int32(i):
		ticks = s.jittered(s.o.Timing.Process, &r.rng)
	case r.withState && s.states.first[key] != none:
		ticks += s.o.Timing.State
	}
	if to != int32(i) {
		r.forwardTo = to
	}
	s.set(s.reducerActor(i), s.now+ticks)
}

// next takes the first message off a reducer's queue that it may work on now; what
// it may not is put back.
func (s *simulation) next(i int) int32 {
	r := &s.reducers[i]
	for r.queue.length > 0 {
		m := s.queued.pop(&r.queue)
		if s.stage.phase != exchanging || s.stays(s.stream.Messages[m], int32(i)) {
			return m
		}
		s.queued.push(&r.held, m)
		s.stage.heldBack++
	}
	return none
}

// jittered draws a duration of the given mean.
func (s *simulation) jittered(mean int64, rng *rand.PCG) int64 {
	spread := int64(*s.o.Timing.Jitter * float64(mean))
	if spread == 0 {
		return mean
	}
	return mean - spread + int64(below(rng, uint64(2*spread+1)))
}

// finish ends a reducer's work on a message.
func (s *simulation) finish(i int) {
	r := &s.reducers[i]
	m := r.message
	r.message = none
	s.set(s.reducerActor(i), never)
	if r.forwardTo != none {
		r.forwarded++
		if r.withState {
			s.release(s.stream.Messages[m], int32(i), r.forwardTo)
		}
		s.transmit(m, r.forwardTo, r.withState)
	} else {
		r.processed++
		s.processed++
		s.states.add(s.stream.Messages[m], int32(i))
	}
	if s.stage.phase == agreeing {
		s.agree()
	}
	s.begin(i)
}

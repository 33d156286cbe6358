// Package queueing simulates messages that sources send to instances of an operator, or of
// several, one after the other. Each instance works on one message at a time, in the order in
// which they came. The number of messages under way is bounded, as by Storm's "max spout
// pending", so that an instance that falls behind slows down all sources, and with them the
// others, and the operators before and behind its own: the back-pressure of mixed-routing §I.
package queueing

import "plannerd/internal/exact"

// Config is what does not change during a simulation. Times are in seconds.
type Config struct {
	Instances []int // of each operator
	// Pending is the most messages that are under way, sent and not acknowledged, over all
	// operators together. 0: any number.
	Pending int
	// Gap returns the time that the sources, all together, need between one message and
	// the next. Nil: none, they send as fast as Pending allows.
	Gap func() float64
	// Network is how long a message is under way besides: to its instance, and its
	// acknowledgement back. No instance is busy with it meanwhile.
	Network float64
}

// Simulation is a simulation so far.
type Simulation struct {
	config   Config
	free     [][]float64       // by operator and instance: when it has worked off what has reached it
	release  []float64         // by operator: when messages of keys that move reach their instances
	events   exact.Heap[event] // the earliest first
	number   int
	now      float64
	underWay int

	messages int
	latency  float64 // of all messages, summed up
	begin    float64 // of what the next figures are about
}

// Visit is what a message does at one operator.
type Visit struct {
	Instance int
	Work     float64 // time
	// Held: its key moves, so it waits for the time of [Simulation.Hold].
	Held bool
}

// event is a message that reaches an operator, or, behind the last one, is acknowledged.
type event struct {
	at     float64
	number int // of the event: those of the same time are in the order in which they arose
	sent   float64
	path   []Visit // what is left of its way
}

// New begins a simulation.
func New(c Config) *Simulation {
	s := &Simulation{config: c, release: make([]float64, len(c.Instances))}
	s.events.Before = func(a, b event) bool { return a.at < b.at || a.at == b.at && a.number < b.number }
	for _, n := range c.Instances {
		s.free = append(s.free, make([]float64, n))
	}
	return s
}

// Now is when the newest message was sent.
func (s *Simulation) Now() float64 { return s.now }

// Send sends a message on its way, which has a visit for each operator, as soon as the
// sources may. The path is kept.
func (s *Simulation) Send(path ...Visit) {
	if s.config.Gap != nil {
		s.pass(s.now + s.config.Gap())
	}
	for s.config.Pending > 0 && s.underWay >= s.config.Pending {
		s.step()
	}
	s.underWay++
	s.push(event{at: s.now, sent: s.now, path: path})
}

// Hold holds messages of keys that move at an operator back for a time from now on.
func (s *Simulation) Hold(operator int, duration float64) {
	s.pass(s.now)
	s.release[operator] = s.now + duration
}

// Occupy has an instance of the first operator do other work for a time, before what reaches
// it from now on.
func (s *Simulation) Occupy(instance int, work float64) {
	s.pass(s.now)
	free := &s.free[0][instance]
	*free = max(*free, s.now) + work
}

// pass lets the time pass.
func (s *Simulation) pass(until float64) {
	for len(s.events.E) > 0 && s.events.E[0].at <= until {
		s.step()
	}
	s.now = until
}

func (s *Simulation) push(e event) {
	s.number++
	e.number = s.number
	s.events.Push(e)
}

// step goes on to the next event.
func (s *Simulation) step() {
	e := s.events.Pop()
	s.now = e.at
	if len(e.path) == 0 {
		s.underWay--
		s.messages++
		s.latency += e.at - e.sent
		return
	}
	operator := len(s.free) - len(e.path)
	if e.path[0].Held && e.at < s.release[operator] {
		e.at = s.release[operator]
		s.push(e)
		return
	}
	free := &s.free[operator][e.path[0].Instance]
	*free = max(*free, e.at) + e.path[0].Work
	next := event{at: *free, sent: e.sent, path: e.path[1:]}
	if len(next.path) == 0 {
		next.at += s.config.Network
	}
	s.push(next)
}

// Figures are those of the messages since the beginning, or since the last figures.
type Figures struct {
	Messages int
	// Throughput is messages per second, from the end of the figures before to when the
	// last message was finished.
	Throughput float64
	// Mean is the mean latency, from sending to the acknowledgement.
	Mean float64
}

// Figures waits until all messages are finished, and returns their figures. The sources go
// on from there.
func (s *Simulation) Figures() Figures {
	for s.underWay > 0 {
		s.step()
	}
	f := Figures{Messages: s.messages}
	if f.Messages > 0 {
		f.Mean, f.Throughput = s.latency/float64(f.Messages), float64(f.Messages)/(s.now-s.begin)
	}
	s.messages, s.latency, s.begin = 0, 0, s.now
	return f
}

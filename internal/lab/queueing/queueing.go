// Package queueing simulates messages that sources send to instances of an operator, each
// of which works on one message at a time, in the order in which they came. The number of
// messages under way is bounded, as by Storm's "max spout pending", so that an instance
// that falls behind slows down all sources, and with them the others: the back-pressure of
// mixed-routing §I.
package queueing

import (
	"cmp"

	"plannerd/internal/exact"
)

// Config is what does not change during a simulation. Times are in seconds.
type Config struct {
	Instances int
	// Pending is the most messages that are under way, sent and not worked off. 0: any
	// number.
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
	sent     float64             // when the newest message was sent
	free     []float64           // when each instance has worked off what has reached it
	underWay exact.Heap[float64] // when the messages under way are finished, but for the held ones
	held     []message
	release  float64 // when the held messages reach their instances
	messages int
	latency  float64 // of all messages, summed up
	last     float64 // when all messages that have reached an instance are acknowledged
	begin    float64 // of what the next figures are about
}

// message is one that is held.
type message struct {
	to   int
	work float64
	sent float64
}

// New begins a simulation.
func New(c Config) *Simulation {
	return &Simulation{config: c, free: make([]float64, c.Instances),
		underWay: exact.Heap[float64]{Before: cmp.Less[float64]}}
}

// Now is when the newest message was sent.
func (s *Simulation) Now() float64 { return s.sent }

// Send sends a message, as soon as the sources may, to an instance that works on it for a
// time.
func (s *Simulation) Send(to int, work float64) {
	s.next()
	s.reach(message{to, work, s.sent}, s.sent)
}

// SendHeld is Send of a message that is held back until Hold's time.
func (s *Simulation) SendHeld(to int, work float64) {
	s.next()
	if m := (message{to, work, s.sent}); s.sent < s.release {
		s.held = append(s.held, m)
	} else {
		s.reach(m, s.sent)
	}
}

// Hold holds messages of SendHeld back for a time from now on.
func (s *Simulation) Hold(duration float64) {
	s.letGo()
	s.release = s.sent + duration
}

// Occupy has an instance do other work for a time, before what reaches it from now on.
func (s *Simulation) Occupy(instance int, work float64) {
	s.free[instance] = max(s.free[instance], s.sent) + work
}

// next moves the clock to when the next message is sent.
func (s *Simulation) next() {
	at := s.sent
	if s.config.Gap != nil {
		at += s.config.Gap()
	}
	if s.config.Pending > 0 {
		for len(s.underWay.E) > 0 && s.underWay.E[0] <= at {
			s.underWay.Pop()
		}
		for len(s.underWay.E)+len(s.held) >= s.config.Pending {
			if len(s.held) > 0 && (len(s.underWay.E) == 0 || s.release <= s.underWay.E[0]) {
				at = max(at, s.release)
				s.letGo()
				continue
			}
			at = max(at, s.underWay.Pop())
		}
	}
	if at >= s.release {
		s.letGo()
	}
	s.sent = at
}

// letGo has the held messages reach their instances.
func (s *Simulation) letGo() {
	for _, m := range s.held {
		s.reach(m, s.release)
	}
	s.held = s.held[:0]
}

// reach has a message reach its instance.
func (s *Simulation) reach(m message, at float64) {
	end := max(s.free[m.to], at) + m.work
	s.free[m.to] = end
	s.messages++
	end += s.config.Network
	s.latency += end - m.sent
	s.last = max(s.last, end)
	if s.config.Pending > 0 {
		s.underWay.Push(end)
	}
}

// Figures are those of the messages since the beginning, or since the last figures.
type Figures struct {
	Messages int
	// Throughput is messages per second, from the end of the figures before to when the
	// last message was finished.
	Throughput float64
	// Mean is the mean latency, from sending to the end of work.
	Mean float64
}

// Figures waits until all messages are finished, and returns their figures. The sources go
// on from there.
func (s *Simulation) Figures() Figures {
	s.letGo()
	f := Figures{Messages: s.messages}
	if f.Messages == 0 {
		return f
	}
	f.Mean = s.latency / float64(f.Messages)
	took := s.last - s.begin
	f.Throughput = float64(f.Messages) / took
	s.messages, s.latency, s.underWay.E = 0, 0, s.underWay.E[:0]
	s.sent, s.begin = s.last, s.last
	return f
}

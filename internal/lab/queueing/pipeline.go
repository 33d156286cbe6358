package queueing

import "plannerd/internal/exact"

// Pipeline simulates messages that pass through several operators, one after the other:
// what an instance of one has worked off reaches an instance of the next. The number of
// messages under way is bounded over all operators together, so one that falls behind
// slows down the sources, and with them the operators before and behind it.
//
// The sources send as fast as that bound allows. Times are in seconds.
type Pipeline struct {
	pending  int
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
	// Held: its key moves, so it waits for the time of [Pipeline.Hold].
	Held bool
}

// NewPipeline begins a simulation of operators with so many instances each. At most pending
// messages, 1 or more, are under way.
func NewPipeline(instances []int, pending int) *Pipeline {
	p := &Pipeline{pending: pending, release: make([]float64, len(instances))}
	p.events.Before = func(a, b event) bool { return a.at < b.at || a.at == b.at && a.number < b.number }
	for _, n := range instances {
		p.free = append(p.free, make([]float64, n))
	}
	return p
}

// event is a message that reaches an operator, or, behind the last one, is finished.
type event struct {
	at     float64
	number int // of the event: those of the same time are in the order in which they arose
	sent   float64
	path   []Visit // what is left of its way
}

// Send sends a message on its way, which has a visit for each operator, as soon as the
// sources may. The path is kept.
func (p *Pipeline) Send(path []Visit) {
	for p.underWay >= p.pending {
		p.step()
	}
	p.underWay++
	p.push(event{at: p.now, sent: p.now, path: path})
}

// Hold holds messages of keys that move at an operator back for a time from now on.
func (p *Pipeline) Hold(operator int, duration float64) { p.release[operator] = p.now + duration }

func (p *Pipeline) push(e event) {
	p.number++
	e.number = p.number
	p.events.Push(e)
}

// step goes on to the next event.
func (p *Pipeline) step() {
	e := p.events.Pop()
	p.now = e.at
	if len(e.path) == 0 {
		p.underWay--
		p.messages++
		p.latency += e.at - e.sent
		return
	}
	operator := len(p.free) - len(e.path)
	if e.path[0].Held && e.at < p.release[operator] {
		e.at = p.release[operator]
		p.push(e)
		return
	}
	free := &p.free[operator][e.path[0].Instance]
	*free = max(*free, e.at) + e.path[0].Work
	p.push(event{at: *free, sent: e.sent, path: e.path[1:]})
}

// Figures waits until all messages are finished, and returns their figures. The
// sources go on from there.
func (p *Pipeline) Figures() Figures {
	for p.underWay > 0 {
		p.step()
	}
	f := Figures{Messages: p.messages}
	if f.Messages > 0 {
		f.Mean, f.Throughput = p.latency/float64(f.Messages), float64(f.Messages)/(p.now-p.begin)
	}
	p.messages, p.latency, p.begin = 0, 0, p.now
	return f
}

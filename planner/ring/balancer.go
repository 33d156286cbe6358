package ring

// balancer is the load balancer: it knows the ring and what reducers last
// reported ("DPA Load Balancer" §2.4).
type balancer struct {
	nodes   []Node          // of the ring, by reducer
	index   map[int32]int32 // of a node, by ID
	queues  []float64       // as last reported; 0 before the first report
	longest int             // a reducer that had the longest queue
	rounds  []int
	history []Event

	exhausted, outOfRounds, overTokenLimit int64
}

func newBalancer(o SimulationOptions, reducers int) balancer {
	b := balancer{nodes: o.Nodes, queues: make([]float64, reducers), rounds: make([]int, reducers)}
	b.index = make(map[int32]int32, reducers)
	for i, n := range o.Nodes {
		b.index[n.ID] = int32(i)
	}
	return b
}

// locate fills in the reducer of every key as the ring has it now.
func (s *simulation) locate(owner []int32) {
	r := New(s.balancer.nodes)
	reducers := indices(r, s.balancer.index)
	for k, p := range s.position {
		owner[k] = reducers[r.TokenAt(p)]
	}
}

// startReports starts the timer of a reducer's reports.
func (s *simulation) startReports(i int) {
	if s.o.Method != None {
		s.set(s.timerActor(i), s.now+1+int64(below(&s.reducers[i].rng, uint64(s.o.Timing.Report))))
	}
}

// takeReport sends a reducer's queue length to the load balancer.
func (s *simulation) takeReport(i int) {
	r := &s.reducers[i]
	s.reports.push(report{s.now + s.o.Timing.Network, r.queue.length + r.held.length, int32(i)})
	if s.reports.n == 1 {
		s.set(reportNetwork, s.reports.front().at)
	}
	s.set(s.timerActor(i), s.now+s.o.Timing.Report)
}

// receiveReport lets the load balancer take note of a report, and act if the one
// who reports is overloaded. Others are not judged by what they reported before
// the ring last changed.
func (s *simulation) receiveReport() {
	r := s.reports.pop()
	next := int64(never)
	if s.reports.n > 0 {
		next = s.reports.front().at
	}
	s.set(reportNetwork, next)
	b := &s.balancer
	b.queues[r.reducer] = float64(r.length)
	if s.stage.phase != settled {
		return // the ring is not changed again before all agree on this one
	}
	if !b.isLongest(int(r.reducer)) {
		return
	}
	v := s.o.Policy.Judge(b.queues)
	if !v.Fires {
		return
	}
	if b.rounds[v.At] == s.o.MaxRounds {
		b.outOfRounds++
		return
	}
	nodes, cause := s.o.Method.relieve(b.nodes, v.At, s.o.TokenLimit)
	switch cause {
	case CauseExhausted:
		b.exhausted++
	case CauseTokenLimit:
		b.overTokenLimit++
	default:
		b.rounds[v.At]++
		s.changeRing(nodes, Event{Node: b.nodes[v.At].ID, Max: v.Max, Second: v.Second})
	}
}

// isLongest reports whether a reducer's queue is longer than all others. The policy fires
// for no other.
func (b *balancer) isLongest(reducer int) bool {
	length := b.queues[reducer]
	if b.longest != reducer && b.queues[b.longest] >= length {
		return false
	}
	b.longest = reducer
	for i, q := range b.queues {
		if i != reducer && q >= length {
			b.longest = i
			return false
		}
	}
	return true
}

// changeRing puts a new ring in place, or begins the stage that will.
func (s *simulation) changeRing(nodes []Node, c Event) {
	b := &s.balancer
	b.nodes = nodes
	s.slow = true
	c.Tick = s.now
	for _, n := range nodes {
		c.Tokens = append(c.Tokens, n.Tokens)
	}
	owner := make([]int32, len(s.owner))
	s.locate(owner)
	for k := range owner {
		if owner[k] != s.owner[k] {
			c.Keys++
		}
	}
	b.history = append(b.history, c)
	if s.o.State != StateForwarding {
		s.owner = owner
		return
	}
	s.stage.phase = announced
	s.stage.owner = owner
	s.set(staging, s.now+s.o.Timing.Network)
}

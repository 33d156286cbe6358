package queueing_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/internal/lab/queueing"
)

// With Poisson arrivals at one instance the mean wait is ρD/(2(1−ρ)) (M/D/1, the formula
// of Pollaczek and Khinchine).
func TestMD1(t *testing.T) {
	for _, load := range []float64{0.3, 0.6, 0.8} {
		const work = 0.001
		rng := rand.New(rand.NewPCG(1, uint64(100*load)))
		s := queueing.New(queueing.Config{Instances: []int{1}, Gap: func() float64 { return rng.ExpFloat64() * work / load }})
		for range 1_000_000 {
			s.Send(queueing.Visit{Work: work})
		}
		f := s.Figures()
		want := work + load*work/(2*(1-load))
		if math.Abs(f.Mean/want-1) > 0.03 {
			t.Errorf("load %v: mean latency %v, want %v", load, f.Mean, want)
		}
		if math.Abs(f.Throughput*work-load) > 0.01 {
			t.Errorf("load %v: throughput %v", load, f.Throughput)
		}
	}
}

// Where the messages under way are bounded and nothing else is, the busiest instance
// decides: the throughput is what it can do over its share.
func TestBackPressure(t *testing.T) {
	s := queueing.New(queueing.Config{Instances: []int{4}, Pending: 50})
	for i := range 100_000 {
		to := i % 8 // three of eight go to the last
		if to > 3 {
			to = []int{0, 1, 3, 3}[to-4]
		}
		s.Send(queueing.Visit{Instance: to, Work: 0.001})
	}
	f := s.Figures()
	if want := 1000.0 / (3.0 / 8); math.Abs(f.Throughput/want-1) > 0.01 {
		t.Errorf("throughput %v, want %v", f.Throughput, want)
	}
	// Little: as many are under way as throughput times latency.
	if under := f.Throughput * f.Mean; math.Abs(under/50-1) > 0.02 {
		t.Errorf("%v messages under way", under)
	}
}

// sent is a message of the literal simulation.
type sent struct {
	to, work  int
	held      bool
	at, begun int
	end       int
}

// literal moves a clock by ticks: instances finish, held messages are let go, sources send.
func literal(instances, pending, gap, network int, messages []sent, holdAt, holdFor int) []sent {
	queues := make([][]int, instances)
	working := make([]int, instances)
	for d := range working {
		working[d] = -1
	}
	var held []int
	next, underWay, earliest, release := 0, 0, gap, -1
	done := 0
	acknowledged := map[int]int{} // messages, by tick
	for tick := 0; done < len(messages); tick++ {
		for changed := true; changed; {
			changed = false
			for d, i := range working {
				if i >= 0 && messages[i].begun+messages[i].work == tick {
					messages[i].end = tick + network
					working[d] = -1
					acknowledged[tick+network]++
					changed = true
				}
			}
			underWay -= acknowledged[tick]
			done += acknowledged[tick]
			delete(acknowledged, tick)
			if release == tick {
				for _, i := range held {
					queues[messages[i].to] = append(queues[messages[i].to], i)
				}
				held = nil
			}
			if next < len(messages) && earliest <= tick && underWay < pending {
				m := &messages[next]
				m.at = tick
				if m.held && tick < release {
					held = append(held, next)
				} else {
					queues[m.to] = append(queues[m.to], next)
				}
				if next == holdAt {
					release = tick + holdFor
				}
				earliest = tick + gap
				underWay++
				next++
				changed = true
			}
			for d := range queues {
				if working[d] < 0 && len(queues[d]) > 0 {
					working[d], queues[d] = queues[d][0], queues[d][1:]
					messages[working[d]].begun = tick
					changed = true
				}
			}
		}
	}
	return messages
}

// The same as a literal simulation, message by message.
func TestAgainstLiteral(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 400 {
		instances, pending, gap, network := 1+rng.IntN(5), 1+rng.IntN(12), 1+rng.IntN(3), rng.IntN(6)
		messages := make([]sent, 60)
		for i := range messages {
			messages[i] = sent{to: rng.IntN(instances), work: 1 + rng.IntN(9), held: rng.IntN(3) == 0}
		}
		holdAt, holdFor := rng.IntN(60), 1+rng.IntN(80)
		want := literal(instances, pending, gap, network, messages, holdAt, holdFor)
		every := func() float64 { return float64(gap) }
		s := queueing.New(queueing.Config{Instances: []int{instances}, Pending: pending, Gap: every,
			Network: float64(network)})
		sum := 0.0
		for i, m := range want {
			sum += float64(m.end - m.at)
			s.Send(queueing.Visit{Instance: m.to, Work: float64(m.work), Held: m.held})
			if i == holdAt {
				s.Hold(0, float64(holdFor))
			}
			if s.Now() != float64(m.at) {
				t.Fatalf("case %d: message %d is sent at %v, want %d", n, i, s.Now(), m.at)
			}
		}
		if got := s.Figures().Mean * float64(len(want)); math.Abs(got-sum) > 1e-6 {
			t.Fatalf("case %d: latencies of %v together, want %v", n, got, sum)
		}
	}
}

func TestOccupy(t *testing.T) {
	s := queueing.New(queueing.Config{Instances: []int{2}, Pending: 1})
	s.Occupy(0, 5)
	s.Send(queueing.Visit{Work: 1})
	if f := s.Figures(); f.Mean != 6 {
		t.Errorf("%+v", f)
	}
}

package queueing_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/internal/lab/queueing"
)

// piped is a message of the literal pipeline.
type piped struct {
	path  []queueing.Visit
	at    int
	stage int
	left  int // of the work on it
}

// pipe moves a clock by ticks: instances work, pass on what they have worked off, and
// sources send. It returns the sum of the latencies and when the last message was finished.
func pipe(instances []int, pending int, messages []piped) (latency, last int) {
	queues := make([][][]int, len(instances))
	for s, n := range instances {
		queues[s] = make([][]int, n)
	}
	next, done := 0, 0
	for tick := 0; done < len(messages); tick++ {
		for s := len(queues) - 1; s >= 0; s-- {
			for d, q := range queues[s] {
				if len(q) == 0 || messages[q[0]].left > 0 {
					continue
				}
				m := &messages[q[0]]
				queues[s][d] = q[1:]
				if m.stage++; m.stage == len(instances) {
					done++
					latency, last = latency+tick-m.at, tick
					continue
				}
				m.left = int(m.path[m.stage].Work)
				to := m.path[m.stage].Instance
				queues[m.stage][to] = append(queues[m.stage][to], q[0])
			}
		}
		for ; next < len(messages) && next-done < pending; next++ {
			m := &messages[next]
			m.at, m.left = tick, int(m.path[0].Work)
			queues[0][m.path[0].Instance] = append(queues[0][m.path[0].Instance], next)
		}
		for s := range queues {
			for _, q := range queues[s] {
				if len(q) > 0 {
					messages[q[0]].left--
				}
			}
		}
	}
	return latency, last
}

// The same as a literal simulation, with one instance in each operator, so that which of
// two messages of the same time comes first makes no difference.
func TestPipelineAgainstLiteral(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := range 300 {
		instances, pending := []int{1, 1, 1}[:1+rng.IntN(3)], 1+rng.IntN(9)
		p := queueing.New(queueing.Config{Instances: instances, Pending: pending})
		messages := make([]piped, 40)
		for i := range messages {
			for range instances {
				messages[i].path = append(messages[i].path, queueing.Visit{Work: float64(1 + rng.IntN(7))})
			}
			p.Send(messages[i].path...)
		}
		latency, last := pipe(instances, pending, messages)
		f := p.Figures()
		if got := f.Mean * 40; math.Abs(got-float64(latency)) > 1e-6 || math.Abs(40/f.Throughput-float64(last)) > 1e-6 {
			t.Fatalf("case %d: latencies of %v until %v, want %v and %v", n, got, 40/f.Throughput, latency, last)
		}
	}
}

// The busiest operator decides how many messages pass, and those of a key that moves wait.
func TestPipelineBackPressure(t *testing.T) {
	p := queueing.New(queueing.Config{Instances: []int{2, 4, 3}, Pending: 60})
	for i := range 30_000 {
		p.Send(queueing.Visit{Instance: i % 2, Work: 0.001}, queueing.Visit{Instance: i % 4, Work: 0.001},
			queueing.Visit{Instance: i % 3, Work: 0.003})
	}
	f := p.Figures()
	if math.Abs(f.Throughput/1000-1) > 0.01 || math.Abs(f.Throughput*f.Mean/60-1) > 0.02 {
		t.Errorf("%+v", f)
	}
	q := queueing.New(queueing.Config{Instances: []int{1, 1}, Pending: 2})
	q.Hold(1, 10)
	q.Send(queueing.Visit{Work: 1}, queueing.Visit{Work: 1, Held: true})
	q.Send(queueing.Visit{Work: 1}, queueing.Visit{Work: 1})
	if f := q.Figures(); f.Mean != (11+3)/2.0 {
		t.Errorf("held for 10 s: %+v", f)
	}
}

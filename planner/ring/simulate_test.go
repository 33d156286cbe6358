package ring

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
)

// randomCase draws a stream and options whose times are short, so that much happens
// within the same tick.
func randomCase(rng *rand.Rand) (*Stream, SimulationOptions) {
	keys := planner.NewKeys(0)
	counts := make([]int64, 1+rng.IntN(20))
	for i := range counts {
		keys.Append([]byte("k" + strconv.Itoa(i) + "-" + strconv.Itoa(rng.IntN(1000))))
		counts[i] = rng.Int64N(12)
		if rng.IntN(4) == 0 {
			counts[i] *= 8
		}
	}
	s, err := NewStream(keys, counts, rng.Uint64(), nil)
	if err != nil {
		panic(err)
	}
	jitter, tau := rng.Float64()*0.9, rng.Float64()
	o := SimulationOptions{
		Mappers: 1 + rng.IntN(5), MaxRounds: 1 + rng.IntN(4), Seed: rng.Uint64(), TokenLimit: 1 << (4 + rng.IntN(6)),
		Method: []Method{Halving, Doubling, Halving, Doubling, None}[rng.IntN(5)],
		State:  []StateScheme{FinalMerge, StateForwarding, OldOwner}[rng.IntN(3)],
		Policy: Policy{Tau: &tau, MinQueue: float64(rng.IntN(4))},
		Timing: Timing{
			Map: 1 + rng.Int64N(4), Process: 1 + rng.Int64N(20), Forward: 1 + rng.Int64N(4), Network: 1 + rng.Int64N(6),
			Report: 1 + rng.Int64N(30), Merge: 1 + rng.Int64N(5), State: 1 + rng.Int64N(9), Jitter: &jitter,
		},
	}
	tokens := 1
	if o.Method == Halving {
		tokens = 1 << rng.IntN(5)
	}
	ids := rng.Perm(40)
	for range 2 + rng.IntN(5) {
		o.Nodes = append(o.Nodes, Node{ID: int32(ids[len(o.Nodes)]), Tokens: tokens})
	}
	return s, o
}

func TestSimulationAgreesWithNaiveOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var rounds, stages, splits, held, exhausted, limited, spent int
	for i := range 1500 {
		s, o := randomCase(rng)
		x, err := Simulate(s, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := naiveRun(s, o); !cmp.Equal(x.Balanced, want) {
			t.Fatalf("case %d: %+v\n%s", i, o, cmp.Diff(want, x.Balanced))
		}
		if !x.Balanced.Consistent || !x.Baseline.Consistent {
			t.Fatalf("case %d: counts differ from a direct count", i)
		}
		rounds += len(x.Balanced.History)
		stages += int(x.Balanced.Stages)
		held += int(x.Balanced.HeldBack)
		if moves := o.State == StateForwarding || o.State == OldOwner; moves && x.Balanced.SplitKeys != 0 {
			t.Fatalf("case %d: %s left the state of %d keys in parts", i, o.State, x.Balanced.SplitKeys)
		}
		splits += int(x.Balanced.SplitKeys)
		exhausted += int(x.Balanced.Exhausted)
		limited += int(x.Balanced.OverTokenLimit)
		spent += int(x.Balanced.OutOfRounds)
	}
	t.Logf("%d rounds, %d stages, %d split keys, %d held back, fired in vain: %d exhausted, %d at the limit, "+
		"%d out of rounds",
		rounds, stages, splits, held, exhausted, limited, spent)
	for _, n := range []int{rounds, stages, splits, held, exhausted, limited, spent} {
		if n < 100 {
			t.Error("something was hardly tried")
		}
	}
}

// After every event each message is in exactly one place, and states count exactly
// the processed ones.
func TestNoMessageIsLostOrDoubled(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 150 {
		s, o := randomCase(rng)
		sim := newSimulation(s, o.withDefaults())
		now := int64(0)
		for !sim.done() {
			sim.step()
			if sim.now < now {
				t.Fatalf("case %d: time went back from %d to %d", i, now, sim.now)
			}
			now = sim.now
			checkPlaces(t, sim)
		}
	}
}

func checkPlaces(t *testing.T, s *simulation) {
	t.Helper()
	seen := make([]bool, len(s.stream.Messages))
	see := func(m int32) {
		if seen[m] {
			t.Fatalf("message %d is in two places", m)
		}
		seen[m] = true
	}
	for m := s.fed; m < len(seen); m++ {
		see(int32(m))
	}
	for i, m := range s.mappers {
		if s.at[s.mapperActor(i)] != never {
			see(m.message)
		}
	}
	for i := range s.flying.n {
		see(s.flying.ring[(s.flying.first+i)&(len(s.flying.ring)-1)].message)
	}
	for i := range s.reducers {
		r := &s.reducers[i]
		if r.message != none {
			see(r.message)
			if s.stage.phase == exchanging && !s.stays(s.stream.Messages[r.message], int32(i)) {
				t.Fatalf("reducer %d works on a key whose state is on its way", i)
			}
		}
		for _, q := range []queue{r.queue, r.held} {
			for m, n := q.head, q.length; n > 0; m, n = s.queued[m], n-1 {
				see(m)
			}
		}
	}
	elsewhere := int64(0)
	for _, x := range seen {
		if x {
			elsewhere++
		}
	}
	counted := int64(0)
	for key, i := range s.states.first {
		for ; i != none; i = s.states.all[i].next {
			counted += s.states.all[i].count
			if s.o.State != FinalMerge && s.states.all[i].next != none {
				t.Fatalf("the state of key %d is in two places", key)
			}
		}
	}
	if s.processed != counted || s.processed+elsewhere != int64(len(seen)) {
		t.Fatalf("%d processed, %d counted, %d elsewhere of %d", s.processed, counted, elsewhere, len(seen))
	}
}

func TestSimulationIsReproducible(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 50 {
		s, o := randomCase(rng)
		a, _ := Simulate(s, o)
		b, _ := Simulate(s, o)
		if !cmp.Equal(a, b) {
			t.Fatal(cmp.Diff(a, b))
		}
	}
}

// Without balancing, what is processed where is what the ring says, whatever the time.
func TestBaselineIsTheRingItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for range 200 {
		s, o := randomCase(rng)
		x, err := Simulate(s, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int32]int64{}
		for _, k := range s.Messages {
			want[naiveOwner(o.Nodes, Position(s.Keys.At(int(k))))]++
		}
		for _, r := range x.Baseline.Reducers {
			if r.Processed != want[r.ID] || r.Forwarded != 0 || r.Rounds != 0 {
				t.Fatalf("node %d processed %d messages, want %d", r.ID, r.Processed, want[r.ID])
			}
		}
		if x.Baseline.SplitKeys != 0 || len(x.Baseline.History) != 0 {
			t.Fatalf("the baseline changed: %+v", x.Baseline)
		}
	}
}

func TestSimulationWithoutMessages(t *testing.T) {
	x, err := Simulate(&Stream{Keys: planner.KeysOf("a")}, SimulationOptions{})
	if err != nil || x.Balanced.Ticks != 0 || x.Balanced.Skew != 0 || !x.Balanced.Consistent ||
		len(x.Balanced.Reducers) != 4 {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestSimulationStops(t *testing.T) {
	counts, keys := zipfCounts(100, 1, 30_000)
	s, _ := NewStream(keys, counts, 1, nil)
	n := 0
	_, err := Simulate(s, SimulationOptions{Stop: func() bool { n++; return n == 3 }})
	if !errors.Is(err, planner.ErrStopped) {
		t.Errorf("error %v", err)
	}
}

func TestSimulationInputErrors(t *testing.T) {
	one := &Stream{Keys: planner.KeysOf("a"), Messages: []int32{0}}
	high := 1.0
	for _, c := range []struct {
		field string
		s     *Stream
		o     SimulationOptions
	}{
		{"Method", one, SimulationOptions{Method: Fitted}},
		{"Mappers", one, SimulationOptions{Mappers: -1}},
		{"MaxRounds", one, SimulationOptions{MaxRounds: -1}},
		{"State", one, SimulationOptions{State: "lost"}},
		{"TokenLimit", one, SimulationOptions{TokenLimit: MaxTokens + 1}},
		{"MinQueue", one, SimulationOptions{Policy: Policy{MinQueue: -1}}},
		{"Timing.Process", one, SimulationOptions{Timing: Timing{Process: -1}}},
		{"Timing.Map", one, SimulationOptions{Timing: Timing{Map: MaxTicks + 1}}},
		{"Timing.Jitter", one, SimulationOptions{Timing: Timing{Jitter: &high}}},
		{"Nodes", one, SimulationOptions{Nodes: EqualNodes(1, 4)}},
		{"Nodes[1].Tokens", one, SimulationOptions{Nodes: []Node{{ID: 0, Tokens: 1}, {ID: 1, Tokens: 0}}}},
		{"Nodes[1].ID", one, SimulationOptions{Nodes: []Node{{ID: 3, Tokens: 1}, {ID: 3, Tokens: 1}}}},
		{"Key", &Stream{Keys: planner.KeysOf("a"), Messages: []int32{1}}, SimulationOptions{}},
	} {
		_, err := Simulate(c.s, c.o)
		wantInputError(t, err, c.field)
	}
	_, err := NewStream(planner.KeysOf("a"), []int64{-1}, 0, nil)
	wantInputError(t, err, "Count")
}

func wantInputError(t *testing.T, err error, field string) {
	t.Helper()
	var input *planner.InputError
	if !errors.As(err, &input) || input.Field != field {
		t.Errorf("error %v, want one of field %s", err, field)
	}
}

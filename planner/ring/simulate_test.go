package ring

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
)

// randomCase draws a stream and options whose times are short, so that much happens
// within the same tick.
func randomCase(rng *rand.Rand) (*stream, simulationOptions) {
	keys := planner.NewKeys(0)
	counts := make([]int64, 1+rng.IntN(20))
	for i := range counts {
		keys.Append([]byte("k" + strconv.Itoa(i) + "-" + strconv.Itoa(rng.IntN(1000))))
		counts[i] = rng.Int64N(12)
		if rng.IntN(4) == 0 {
			counts[i] *= 8
		}
	}
	s := newStream(keys, counts, rng.Uint64())
	jitter, tau := rng.Float64()*0.9, rng.Float64()
	o := simulationOptions{
		mappers: 1 + rng.IntN(5), maxRounds: 1 + rng.IntN(4), seed: rng.Uint64(), tokenLimit: 1 << (4 + rng.IntN(6)),
		method: []Method{Halving, Doubling, Halving, Doubling, None}[rng.IntN(5)],
		state:  []StateScheme{FinalMerge, StateForwarding, OldOwner}[rng.IntN(3)],
		policy: Policy{Tau: &tau, MinQueue: float64(rng.IntN(4))},
		timing: timing{
			mapping: 1 + rng.Int64N(4), process: 1 + rng.Int64N(20), forward: 1 + rng.Int64N(4), network: 1 + rng.Int64N(6),
			report: 1 + rng.Int64N(30), merge: 1 + rng.Int64N(5), state: 1 + rng.Int64N(9), jitter: &jitter,
		},
	}
	tokens := 1
	if o.method == Halving {
		tokens = 1 << rng.IntN(5)
	}
	ids := rng.Perm(40)
	for range 2 + rng.IntN(5) {
		o.nodes = append(o.nodes, Node{ID: int32(ids[len(o.nodes)]), Tokens: tokens})
	}
	return s, o
}

func TestSimulationAgreesWithNaiveOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var rounds, stages, splits, held, exhausted, limited, spent int
	for i := range 1500 {
		s, o := randomCase(rng)
		x, err := simulate(s, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := naiveRun(s, o); !cmp.Equal(x.Balanced, want) {
			t.Fatalf("case %d: %+v\n%s", i, o, cmp.Diff(want, x.Balanced))
		}
		direct := make([]int64, s.keys.Len())
		for _, k := range s.messages {
			direct[k]++
		}
		if !slices.Equal(x.Balanced.Counts, direct) || !slices.Equal(x.Baseline.Counts, direct) {
			t.Fatalf("case %d: counts differ from a direct count", i)
		}
		rounds += len(x.Balanced.History)
		stages += int(x.Balanced.Stages)
		held += int(x.Balanced.HeldBack)
		if moves := o.state == StateForwarding || o.state == OldOwner; moves && len(x.Balanced.Partial) != 0 {
			t.Fatalf("case %d: %s left %d states in parts", i, o.state, len(x.Balanced.Partial))
		}
		splits += len(x.Balanced.Partial)
		exhausted += x.Balanced.InVain[CauseExhausted]
		limited += x.Balanced.InVain[CauseTokenLimit]
		spent += x.Balanced.InVain[CauseMaxRounds]
	}
	t.Logf("%d rounds, %d stages, %d split states, %d held back, fired in vain: %d exhausted, %d at the limit, "+
		"%d out of rounds",
		rounds, stages, splits, held, exhausted, limited, spent)
	for _, n := range []int{rounds, stages, splits, held, exhausted, limited, spent} {
		if n < 100 {
			t.Error("something was hardly tried")
		}
	}
}

// After every tick each message is in exactly one place, and states count exactly
// the processed ones.
func TestNoMessageIsLostOrDoubled(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 150 {
		s, o := randomCase(rng)
		sim := newSimulation(s, o.withDefaults())
		now := int64(0)
		for !sim.done() {
			sim.tick()
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
	seen := make([]bool, len(s.stream.messages))
	see := func(m int32) {
		if seen[m] {
			t.Fatalf("message %d is in two places", m)
		}
		seen[m] = true
	}
	for m := s.fed; m < len(seen); m++ {
		see(int32(m))
	}
	for _, m := range s.mappers {
		if m.until != never {
			see(m.message)
		}
	}
	for _, f := range s.flying {
		see(f.message)
	}
	for i, r := range s.reducers {
		if r.message != none {
			see(r.message)
			if s.phase == exchanging && !s.stays(s.stream.messages[r.message], int32(i)) {
				t.Fatalf("reducer %d works on a key whose state is on its way", i)
			}
		}
		for _, m := range slices.Concat(r.queue, r.held) {
			see(m)
		}
	}
	elsewhere := 0
	for _, x := range seen {
		if x {
			elsewhere++
		}
	}
	counted := 0
	for key, parts := range s.states {
		for _, n := range parts {
			counted += int(n)
		}
		if s.o.state != FinalMerge && len(parts) > 1 {
			t.Fatalf("the state of key %d is in two places", key)
		}
	}
	if s.processed != counted || s.processed+elsewhere != len(seen) {
		t.Fatalf("%d processed, %d counted, %d elsewhere of %d", s.processed, counted, elsewhere, len(seen))
	}
}

func TestSimulationIsReproducible(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 50 {
		s, o := randomCase(rng)
		a, _ := simulate(s, o)
		b, _ := simulate(s, o)
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
		x, err := simulate(s, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int32]int64{}
		for _, k := range s.messages {
			want[naiveOwner(o.nodes, Position(s.keys.At(int(k))))]++
		}
		for _, r := range x.Baseline.Reducers {
			if r.Processed != want[r.ID] || r.Forwarded != 0 || r.Rounds != 0 {
				t.Fatalf("node %d processed %d messages, want %d", r.ID, r.Processed, want[r.ID])
			}
		}
		if len(x.Baseline.Partial) != 0 || len(x.Baseline.History) != 0 {
			t.Fatalf("the baseline changed: %+v", x.Baseline)
		}
	}
}

func TestSimulationWithoutMessages(t *testing.T) {
	x, err := simulate(&stream{keys: planner.KeysOf("a")}, simulationOptions{})
	if err != nil || x.Balanced.Ticks != 0 || x.Balanced.Skew != 0 ||
		len(x.Balanced.Reducers) != 4 {
		t.Errorf("%+v, %v", x, err)
	}
}

func wantInputError(t *testing.T, err error, field string) {
	t.Helper()
	var input *planner.InputError
	if !errors.As(err, &input) || input.Field != field {
		t.Errorf("error %v, want one of field %s", err, field)
	}
}

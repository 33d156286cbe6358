package handoff_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"plannerd/sdk/go/handoff"
)

var (
	historyCount = flag.Int("histories", 100, "how many histories each of the tests of them simulates, in each mode")
	firstSeed    = flag.Uint64("first-seed", 1, "the seed of the first history of TestHistories")
)

// actor is whatever does one step at a time; false: there was nothing to do.
type actor interface{ step() bool }

// most is how many steps a history has until it is said not to end, and disturbed how many
// have faults.
const (
	disturbed = 80_000
	most      = 2_000_000
)

// run goes on until nothing more happens, and says what is wrong.
func (h *history) run() error {
	var actors []actor
	var lazy []int // in percent
	idle := 0
	for steps := range most {
		if steps%400 == 0 {
			h.disturb(steps)
			actors, lazy = h.actors(), nil
			for range actors {
				lazy = append(lazy, []int{0, 0, 50, 95, 99}[h.rng.IntN(5)])
			}
		}
		n := h.rng.IntN(len(actors))
		if h.chance(lazy[n]) {
			continue
		}
		if idle++; actors[n].step() {
			idle = 0
		}
		if h.wrong != nil {
			return h.wrong
		}
		if h.calm && idle > 20*len(actors) {
			moved := false
			for _, a := range h.actors() {
				moved = a.step() || moved
			}
			if !moved {
				h.tally["steps"] += steps
				return h.final()
			}
			idle = 0
		}
	}
	return errors.New("it does not end")
}

func (h *history) actors() (list []actor) {
	h.routers = slices.DeleteFunc(h.routers, func(p *router) bool { return p.dead })
	for _, p := range h.routers {
		list = append(list, p)
	}
	for _, p := range h.instances {
		list = append(list, p)
	}
	for _, p := range h.drivers {
		list = append(list, p)
	}
	return list
}

// disturb has something fail, unless all is done; then those that have not joined do.
func (h *history) disturb(steps int) {
	left := 0
	for _, s := range h.sources {
		left += s.left
	}
	if h.calm = h.calm || steps >= disturbed || left == 0 && h.plans == 0; h.calm {
		for r := range routerCount {
			if h.running(r) == nil {
				h.startRouter(r)
			}
		}
		return
	}
	switch r := h.rng.IntN(routerCount); h.rng.IntN(6) {
	case 0:
		h.crashRouter(r)
		if h.without == sourcesStay { // two swap theirs
			other := (r + 1) % routerCount
			h.sources[r], h.sources[other] = h.sources[other], h.sources[r]
			h.crashRouter(r)
			h.crashRouter(other)
		}
	case 1:
		h.instances[h.rng.IntN(instanceCount)].crash()
	case 2:
		h.takeOver()
	case 3: // the router may only be slow
		if h.epochs[r] > 0 {
			h.tally["leases that ran out"]++
			h.expired[r] = true
		}
	}
}

// final says what is wrong in the end: not every message was counted once where its key
// is, or something is left over.
func (h *history) final() error {
	if h.pending != nil || h.plans > 0 || len(h.batches) > 0 {
		return fmt.Errorf("version %d is not reached, and %d plans are not begun", h.version+1, h.plans)
	}
	for r, s := range h.sources {
		if s.left > 0 || len(s.unacknowledged) > 0 || h.running(r).machine.Holds() > 0 {
			return fmt.Errorf("source %d: %d messages are left, %d are not acknowledged", s.id, s.left, len(s.unacknowledged))
		}
	}
	var counted [keyCount][routerCount]int
	var astray [keyCount]int
	for _, p := range h.instances {
		for k, s := range p.states {
			astray[k] += s.Active.Astray
			if s.Kept.There || s.Provisional.There || !slices.Contains(append(h.table[k], h.astray[k]), p.id) {
				return fmt.Errorf("instance %d has of key %d, whose route is %v: %+v", p.id, k, h.table[k], s)
			}
			for r, n := range s.Active.Counted {
				counted[k][r] += n
			}
		}
	}
	for k, n := range astray {
		if n != 0 != (k%4 == 1 && h.now == nil) || n > 1 {
			return fmt.Errorf("key %d: what was elsewhere at first is there %d times", k, n)
		}
	}
	for _, s := range h.sources {
		for k, n := range s.last {
			got, most := counted[k][s.id], n
			if h.merged[k] { // another part does not know the numbers
				most += h.repeated[k][s.id]
			}
			if got < n || got > most {
				return fmt.Errorf("key %d of source %d: %d of %d counted at %v", k, s.id, got, n, h.table[k])
			}
		}
	}
	return nil
}

// TestHistories: over long random histories of many keys, with crashes and slow processes
// of each kind, every message counts once and in order, where its key is.
func TestHistories(t *testing.T) {
	t.Parallel()
	simulate(t, newHistory)
}

// beginning begins a history.
type beginning func(uint64, handoff.Mode, assumption) *history

// simulate runs histories in each mode, and requires that nothing is wrong and that much happens.
func simulate(t *testing.T, begin beginning, more ...string) {
	t.Helper()
	for name, mode := range map[string]handoff.Mode{"holding": handoff.Holding, "following": handoff.Following} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := map[string]int{}
			for seed := *firstSeed; seed < *firstSeed+uint64(*historyCount); seed++ {
				h := begin(seed, mode, allGiven)
				if err := h.run(); err != nil {
					t.Errorf("history %d: %v", seed, err)
				}
				for what, n := range h.tally {
					tally[what] += n
				}
			}
			t.Logf("%d histories (-histories has more): %v", *historyCount, tally)
			happens := slices.Concat(more, []string{
				"acknowledgements refused", "commits", "crashes of drivers", "crashes of instances", "crashes of routers",
				"duplicates dropped", "markers for lost routers", "messages taken again", "moves of keys", "refusals of routers",
				"words that overtook the view of a driver",
			})
			if mode == handoff.Holding {
				happens = append(happens, "aborts", "messages held")
			} else {
				happens = append(happens, "messages that waited for state, or markers meanwhile")
			}
			for _, what := range happens {
				if tally[what] == 0 {
					t.Errorf("no %s in %v", what, slices.Sorted(maps.Keys(tally)))
				}
			}
		})
	}
}

// TestAssumptions: without any one of what an engine and its transport have to give, some
// history loses, doubles, reorders or strands something.
func TestAssumptions(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		without assumption
		name    string
		mode    handoff.Mode
	}{
		{epochsRefused, "an append under a lower epoch is refused", handoff.Holding},
		{heldUnacknowledged, "a message that is held is not acknowledged to its source", handoff.Holding},
		{sourcesStay, "a source stays with its router", handoff.Holding},
		{registeredFirst, "a router registers before it reads the table", handoff.Holding},
		{lostAwaited, "a plan waits for routers whose leases have run out, too", handoff.Holding},
		{channelsOrdered, "channels are ordered", handoff.Holding},
		{transfersOrdered, "transfers from one instance to another are ordered", handoff.Holding},
		{sentAfterDurable, "ends, acknowledgements and votes are sent once all is durable", handoff.Holding},
		{stateWithPosition, "state is durable with positions", handoff.Holding},
		{machineWithState, "the machine is durable with the state", handoff.Holding},
		{numbersChecked, "a message whose number is not new is dropped", handoff.Holding},
		{numbersMove, "the last numbers move with the state", handoff.Holding},
		{earlyApart, "a message that was sent before a plan is not processed on imported state", handoff.Holding},
		{followingFinished, "a plan whose messages follow is not aborted", handoff.Following},
		{rehashTold, "other rules, affinity or instances are told as another hash", handoff.Holding},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			const histories = 1000
			var begin beginning = newHistory
			if x.without == rehashTold {
				begin = newRuledHistory
			}
			for seed := range uint64(histories) {
				if err := begin(seed, x.mode, x.without).run(); err != nil {
					t.Logf("history %d: %v", seed, err)
					return
				}
			}
			t.Errorf("nothing is wrong in %d histories without it", histories)
		})
	}
}

// TestEarly: a message is early when who sent it registered before the hand-over, and has
// not announced it under the same epoch.
func TestEarly(t *testing.T) {
	t.Parallel()
	view := handoff.View{Version: 1, Pending: &handoff.Pending{
		Version: 2, Routers: map[string]int64{"r": 5}, Awaits: []int32{0},
	}}
	for _, x := range []struct {
		name   string
		router string
		marker int64 // under this epoch comes first; 0: none
		epoch  int64
		want   bool
	}{
		{"before the marker", "r", 0, 5, true},
		{"behind it", "r", 5, 5, false},
		{"of an older process, before its marker", "r", 0, 4, true},
		{"of an older process, behind its marker", "r", 4, 4, false},
		{"of the newer process, behind the marker of the older one", "r", 4, 5, true},
		{"of a process that registered later", "r", 0, 6, false},
		{"the same, behind a marker of the driver", "r", 6, 7, false},
		{"of a router that nobody waits for", "s", 0, 1, false},
	} {
		m := handoff.NewInstance(0, handoff.Holding, handoff.Record[int]{})
		m.See(view)
		if x.marker > 0 {
			m.Read(handoff.Read[int]{Router: x.router, Epoch: x.marker, Marker: 2})
		}
		got, _ := m.Read(handoff.Read[int]{Router: x.router, Epoch: x.epoch, Key: []byte("k")})
		if len(got) != 1 || got[0].Early != x.want {
			t.Errorf("%s: %+v", x.name, got)
		}
	}
}

package handoff

import (
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	whole = flag.Bool("handoff.whole", false, "explore every scenario to its end")
	only  = flag.String("handoff.only", "", "explore scenarios of this prefix alone")
)

// step is one thing that may happen in a world.
type step struct {
	name string
	does func(*world) bool // false: it cannot happen
}

// steps lists what may happen next.
func (w *world) steps() []step {
	var list []step
	may := func(if_ bool, does func(*world) bool, name string, args ...any) {
		if if_ {
			list = append(list, step{fmt.Sprintf(name, args...), does})
		}
	}
	p := w.pending
	may(p == nil && w.next < len(w.routes)-1, func(w *world) bool { w.start(); return true }, "plan %d starts", w.next+1)
	if p != nil {
		may(w.aborts > 0 && !p.Aborting, func(w *world) bool {
			w.aborts--
			w.call(w.driver.Abort(), false)
			return true
		}, "the driver aborts")
		may(w.takeovers > 0, func(w *world) bool {
			w.takeovers--
			w.epoch++
			w.pending.ExecutorEpoch = w.epoch
			w.startDriver()
			return true
		}, "the driver crashes, and a successor takes over")
		may(w.behind && w.drove != w.now(), func(w *world) bool { w.drive(); return true }, "the driver sees %+v", w.now())
		for r := range routers {
			lost := w.life[r] == slow
			may(lost && p.Routers[names[r]] != 0 && w.driver.fences[names[r]] == 0, func(w *world) bool {
				w.registered[r]++
				w.call(w.driver.Lost(names[r], w.registered[r]), false)
				return true
			}, "the driver announces the plan for %s", names[r])
		}
	}
	for n, m := range w.mail {
		may(true, func(w *world) bool { w.deliver(n); return true }, "%+v reaches the driver", m)
	}
	for r := range routers {
		w.stepsOfRouter(r, may)
	}
	for i := range instances {
		w.stepsOfInstance(i, may)
	}
	return list
}

func (w *world) stepsOfRouter(r int, may func(bool, func(*world) bool, string, ...any)) {
	life := w.life[r]
	switch life {
	case away:
		if w.broken == registerFirst {
			may(true, func(w *world) bool {
				w.router[r].Registered(1) // it forwards by what it read
				w.life[r], w.joins = early, w.joins-1
				w.look(r, -1)
				return true
			}, "%s reads the table", names[r])
			return
		}
		may(true, func(w *world) bool { w.joins--; w.register(r); return true }, "%s joins", names[r])
		return
	case early:
		may(true, func(w *world) bool { w.registered[r], w.life[r] = 1, up; return true }, "%s registers", names[r])
	case out:
		may(true, func(w *world) bool { w.register(r); return true }, "%s registers again", names[r])
		return
	}
	news := w.saw[r] != w.now() && life != early
	may(news, func(w *world) bool { w.look(r, -1); return true }, "%s sees %+v", names[r], w.now())
	for n := range instances + 1 {
		may(news && w.routerCrashes > 0, func(w *world) bool {
			w.routerCrashes--
			c := w.clone()
			c.look(r, -1)
			if n > 0 && appends(w, c, r) <= n { // no part of its appends
				return false
			}
			held := slices.Clone(w.router[r].held)
			w.look(r, n)
			w.router[r].held = held
			w.crash(r, false)
			return true
		}, "%s crashes after %d appends", names[r], n)
	}
	for k := range keys {
		may(w.left[r][k] > 0, func(w *world) bool { w.arrive(r, k); return true },
			"%c%d arrives at %s", 'a'+k, w.handed[r][k]+1, names[r])
	}
	may(w.routerCrashes > 0 && life == up, func(w *world) bool { w.routerCrashes--; w.crash(r, true); return true },
		"%s crashes, and the last messages come again", names[r])
	may(w.expiries > 0 && life == up && r == 1, func(w *world) bool { w.expiries--; w.life[r] = slow; return true },
		"the lease of %s runs out", names[r])
	may(life == slow, func(w *world) bool { w.register(r); return true }, "%s registers again", names[r])
}

// appends is how much more is in a router's channels.
func appends(before, after *world, r int) int {
	n := 0
	for i := range instances {
		n += len(after.channel[r][i]) - len(before.channel[r][i])
	}
	return n
}

func (w *world) stepsOfInstance(i int, may func(bool, func(*world) bool, string, ...any)) {
	may(w.watched[i] != w.now(), func(w *world) bool { w.watch(i); return true }, "i%d sees %+v", i, w.now())
	for r := range routers {
		may(len(w.channel[r][i]) > 0, func(w *world) bool { return w.read(i, r) }, "i%d reads of %s", i, names[r])
	}
	for j := range instances {
		may(len(w.transfer[j][i]) > 0, func(w *world) bool { return w.receive(i, j) }, "i%d receives of i%d", i, j)
	}
	exports := w.instance[i].mayExport() && w.instance[i].table != nil
	if w.broken == frozenRouters && w.instance[i].Doing != nil {
		exports = w.exportsNow(i)
	}
	may(exports, func(w *world) bool { w.exported(i, w.export(i)); return true }, "i%d exports", i)
	may(exports && w.instanceCrashes > 0, func(w *world) bool {
		w.instanceCrashes--
		w.export(i)
		w.restart(i)
		return true
	}, "i%d exports, and crashes before that is durable", i)
	may(len(w.unsent[i]) > 0, func(w *world) bool { w.send(i); return true }, "i%d sends", i)
	may(len(w.unsent[i]) > 0 && w.instanceCrashes > 0, func(w *world) bool {
		w.instanceCrashes--
		w.restart(i)
		return true
	}, "i%d crashes before it sends", i)
	may(w.broken == recordIsDurable && w.instanceCrashes > 0 && w.instance[i].Doing != nil, func(w *world) bool {
		w.instanceCrashes--
		w.restart(i)
		return true
	}, "i%d crashes", i)
}

// exportsNow is mayExport by the routers that are registered at this moment.
func (w *world) exportsNow(i int) bool {
	d := w.instance[i].Doing
	if d.Exported || d.Voted || w.instance[i].table == nil {
		return false
	}
	for r := range routers {
		if w.registered[r] > 0 && w.life[r] == up && w.instance[i].Markers[names[r]].Version != d.Version {
			return false
		}
	}
	return true
}

// final says what is wrong with a world in which nothing happens any more.
func (w *world) final() string {
	if w.pending != nil {
		return fmt.Sprintf("plan %d neither finishes nor aborts", w.planning)
	}
	for r := range routers {
		if w.router[r].Holds() > 0 {
			return fmt.Sprintf("%s holds messages for ever", names[r])
		}
	}
	for i, x := range w.instance {
		if x.Doing != nil {
			return fmt.Sprintf("i%d does not end the hand-over", i)
		}
	}
	for k := range keys {
		n, where := w.copies(k)
		if n > 1 || n == 1 && where != int(w.routes[w.plan][k]) {
			return fmt.Sprintf("%c has %d copies, one at i%d; its route is i%d", 'a'+k, n, where, w.routes[w.plan][k])
		}
		for r := range routers {
			got := uint8(0)
			if where >= 0 {
				got = w.cells[where][k].last[r]
			}
			if got != w.handed[r][k] || w.left[r][k] > 0 {
				return fmt.Sprintf("%c of %s: %d were sent, %d counted", 'a'+k, names[r], w.handed[r][k], got)
			}
		}
	}
	return ""
}

// result is what an exploration found.
type result struct {
	states, ends int
	complete     bool
	wrong        string
	trace        []string
}

// order is the order in which worlds are explored: depth first few of them are held at a
// time, breadth first what goes wrong is found in the fewest steps.
type order bool

const (
	breadthFirst order = false
	depthFirst   order = true
)

// explore goes through every order in which things may happen, up to a number of worlds.
func explore(s *scenario, most int, order order) result {
	type node struct {
		parent int32
		name   string
	}
	type open struct {
		w  *world
		at int32
	}
	type id [2]uint64
	seed, other := maphash.MakeSeed(), maphash.MakeSeed()
	identify := func(w *world) id {
		key := w.key()
		return id{maphash.String(seed, key), maphash.String(other, key)}
	}
	first := newWorld(s)
	visited, nodes, left := map[id]struct{}{identify(first): {}}, []node{{-1, ""}}, []open{{first, 0}}
	texts := map[string]string{} // of steps, which repeat
	var out result
	end := func(wrong string, at int32, last string) result {
		out.states, out.wrong, out.trace = len(nodes), wrong, []string{last}
		for ; at > 0; at = nodes[at].parent {
			out.trace = append(out.trace, nodes[at].name)
		}
		slices.Reverse(out.trace)
		return out
	}
	for len(left) > 0 && len(nodes) < most {
		now := left[0]
		if order == depthFirst {
			now, left = left[len(left)-1], left[:len(left)-1]
		} else {
			left[0].w, left = nil, left[1:]
		}
		happened := false
		for _, x := range now.w.steps() {
			c := now.w.clone()
			if !x.does(c) {
				continue
			}
			happened = true
			if c.wrong != "" {
				return end(c.wrong, now.at, x.name)
			}
			key := identify(c)
			if _, ok := visited[key]; ok {
				continue
			}
			visited[key] = struct{}{}
			if _, ok := texts[x.name]; !ok {
				texts[x.name] = x.name
			}
			left, nodes = append(left, open{c, int32(len(nodes))}), append(nodes, node{now.at, texts[x.name]})
		}
		if !happened {
			out.ends++
			if wrong := now.w.final(); wrong != "" {
				return end(wrong, now.at, "nothing more happens")
			}
		}
	}
	out.states, out.complete = len(nodes), len(left) == 0
	return out
}

// walk goes through one order of things to its end, by chance.
func walk(s *scenario, r *rand.Rand) (wrong string, trace []string) {
	w := newWorld(s)
	for {
		list := w.steps()
		for len(list) > 0 {
			n := r.IntN(len(list))
			c := w.clone()
			if list[n].does(c) {
				w, trace = c, append(trace, list[n].name)
				break
			}
			list = slices.Delete(list, n, n+1)
		}
		switch {
		case w.wrong != "":
			return w.wrong, trace
		case len(list) == 0:
			return w.final(), trace
		}
	}
}

// moveOne has key a move from instance 0 to 1, and another stay.
func moveOne(name string, change func(*scenario)) scenario {
	s := scenario{name: name, routes: [][keys]int32{{0, 1, 2}, {1, 1, 2}}, at: [keys]int32{0, 1, -1},
		send: [routers][keys]uint8{{1, 1, 0}, {1, 0, 0}}}
	change(&s)
	return s
}

// unlisted has key b move, of which no statistics told, by a change of the hash.
func unlisted(s *scenario) {
	s.routes, s.at, s.all = [][keys]int32{{0, 1, 2}, {1, 2, 2}}, [keys]int32{0, -1, -1}, true
}

// drifted has the state of key b elsewhere than its route, which stays.
func drifted(s *scenario) {
	s.routes, s.at, s.named = [][keys]int32{{0, 1, 2}, {1, 1, 2}}, [keys]int32{0, 2, -1}, []uint8{0, 2}
	s.send = [routers][keys]uint8{{1, 0, 0}, {0, 0, 0}}
}

// scenarios are those in which all rules are kept.
func scenarios() []scenario {
	var list []scenario
	for _, mode := range []Mode{Holding, Following} {
		prefix := map[Mode]string{Holding: "holding: ", Following: "following: "}[mode]
		add := func(name string, change func(*scenario)) {
			list = append(list, moveOne(prefix+name, func(s *scenario) { s.mode = mode; change(s) }))
		}
		add("one key", func(*scenario) {})
		add("more messages", func(s *scenario) { s.send = [routers][keys]uint8{{2, 1, 0}, {2, 0, 0}} })
		add("a chain of two", func(s *scenario) { s.routes[1] = [keys]int32{1, 2, 2} })
		add("a cycle of three", func(s *scenario) {
			s.routes[1], s.all = [keys]int32{1, 2, 0}, true
			s.send = [routers][keys]uint8{{1, 1, 0}, {0, 0, 1}}
		})
		add("unlisted, change of the hash", func(s *scenario) {
			unlisted(s)
			s.send = [routers][keys]uint8{{1, 1, 0}, {0, 1, 0}}
		})
		add("drifted", func(s *scenario) { drifted(s) })
		add("a router joins", func(s *scenario) { s.joins = 1; s.send[1][0] = 2 })
		add("an instance crashes", func(s *scenario) { s.instanceCrashes = 1 })
		add("an instance crashes twice", func(s *scenario) { s.instanceCrashes = 2; s.send[1][0] = 0 })
		add("a router crashes", func(s *scenario) { s.routerCrashes = 1 })
		add("a lease runs out", func(s *scenario) { s.expiries = 1; s.send = [routers][keys]uint8{{1, 0, 0}, {2, 1, 0}} })
		add("a driver takes over", func(s *scenario) { s.takeovers = 1 })
		add("two batches", func(s *scenario) {
			s.routes = [][keys]int32{{0, 1, 2}, {1, 1, 2}, {1, 0, 2}}
			s.send = [routers][keys]uint8{{1, 1, 0}, {0, 1, 0}}
		})
		add("a lease runs out, two plans", func(s *scenario) {
			s.expiries = 1
			s.routes = [][keys]int32{{0, 2, 2}, {1, 2, 2}, {1, 0, 2}}
			s.at, s.send = [keys]int32{0, 2, -1}, [routers][keys]uint8{{0, 0, 0}, {0, 2, 0}}
		})
		add("a driver is behind", func(s *scenario) {
			s.behind, s.takeovers, s.send = true, 1, [routers][keys]uint8{{1, 0, 0}}
		})
		faults := func(s *scenario) {
			s.routerCrashes, s.instanceCrashes, s.takeovers, s.expiries = 1, 1, 1, 1
			s.send = [routers][keys]uint8{{1, 0, 0}, {1, 0, 0}}
		}
		if mode == Following {
			add("every fault", faults)
			continue
		}
		add("an abort", func(s *scenario) { s.aborts = 1 })
		add("an abort, an instance crashes", func(s *scenario) { s.aborts, s.instanceCrashes = 1, 1; s.send[1][0] = 0 })
		add("an abort, a driver takes over", func(s *scenario) { s.aborts, s.takeovers = 1, 1 })
		add("an abort, then another plan", func(s *scenario) {
			s.aborts, s.send = 1, [routers][keys]uint8{{1, 0, 0}, {1, 0, 0}}
			s.routes = append(s.routes, [keys]int32{2, 1, 2})
		})
		add("an abort, a router crashes", func(s *scenario) {
			s.aborts, s.routerCrashes, s.send = 1, 1, [routers][keys]uint8{{2, 0, 0}, {0, 0, 0}}
		})
		add("an abort, a driver is behind", func(s *scenario) {
			s.behind, s.aborts, s.takeovers, s.send = true, 1, 1, [routers][keys]uint8{{1, 0, 0}}
		})
		add("every fault, and an abort", func(s *scenario) { faults(s); s.aborts = 1 })
	}
	return list
}

// TestProtocol: whatever happens in whatever order, no message is lost, doubled or
// processed where its key's state is not, and every hand-over ends. Unless all of it is
// asked for (-handoff.whole), a scenario is explored as far as the first worlds go, and
// by orders that chance draws to their end.
func TestProtocol(t *testing.T) {
	t.Parallel()
	most, walks, order := 10_000, 1000, breadthFirst
	switch {
	case *whole:
		most, order = 30_000_000, depthFirst
	case testing.Short(), os.Getenv("PLANNERD_DEEP") == "":
		most, walks = 2000, 100
	}
	for _, s := range scenarios() {
		if !strings.HasPrefix(s.name, *only) {
			continue
		}
		begin := time.Now()
		got := explore(&s, most, order)
		if got.wrong != "" {
			t.Errorf("%s: after %d states: %s\n\t%s", s.name, got.states, got.wrong, strings.Join(got.trace, "\n\t"))
		}
		how := "all"
		if !got.complete {
			how = fmt.Sprintf("%d orders to their end, and the first", walks)
			r := rand.New(rand.NewPCG(1, uint64(len(s.name))))
			for range walks {
				if wrong, trace := walk(&s, r); wrong != "" {
					t.Fatalf("%s: %s\n\t%s", s.name, wrong, strings.Join(trace, "\n\t"))
				}
			}
		}
		t.Logf("%-40s %s %d states, %.1f s", s.name, how, got.states, time.Since(begin).Seconds())
		if *whole && !got.complete {
			t.Errorf("%s: not explored to its end", s.name)
		}
	}
}

// TestEveryRuleIsNeeded: without any one of the rules there is an order of things that
// loses, doubles or strands something. Depth first, one is found among fewer worlds.
func TestEveryRuleIsNeeded(t *testing.T) {
	t.Parallel()
	type sends = [routers][keys]uint8
	faults := func(of func(*scenario) *int, send sends) func(*scenario) {
		return func(s *scenario) { *of(s), s.send = 1, send }
	}
	expiry := faults(func(s *scenario) *int { return &s.expiries }, sends{1: {1, 0, 0}})
	instanceCrash := faults(func(s *scenario) *int { return &s.instanceCrashes }, sends{1: {1, 0, 0}})
	behind := func(s *scenario) { s.behind, s.send = true, sends{0: {1, 0, 0}} }
	abort := faults(func(s *scenario) *int { return &s.aborts }, sends{0: {1, 0, 0}})
	for _, x := range []struct {
		broken rule
		name   string
		change func(*scenario)
	}{
		{markersToAll, "markers go to all that are awaited, not to givers alone", func(*scenario) {}},
		{markersToAll, "the same where a key has drifted", drifted},
		{markersToAll, "the same where messages follow", func(s *scenario) { s.mode = Following }},
		{ackAfterEnds, "an acknowledgement comes after all ends", func(s *scenario) {
			unlisted(s)
			s.send = sends{0: {0, 1, 0}}
		}},
		{frozenRouters, "the routers that count are frozen when the plan starts", expiry},
		{registerFirst, "a router registers before it reads the table", func(s *scenario) { s.joins = 1 }},
		{durableBeforeAck, "an import is durable before it is acknowledged", instanceCrash},
		{importOnce, "a transfer is taken once", instanceCrash},
		{twoPhases, "an abort has two phases", abort},
		{noAckAfterAbort, "no acknowledgement counts once an abort has begun", abort},
		{lostAreAwaited, "routers whose leases ran out are waited for", expiry},
		{fencedEpochs, "the driver's marker fences", expiry},
		{refusedAtAppend, "what is of a lower epoch is refused at the append", expiry},
		{heldIsUnacknowledged, "what is held is not acknowledged",
			faults(func(s *scenario) *int { return &s.routerCrashes }, sends{1: {1, 0, 0}})},
		{fencedAckAgain, "a fenced acknowledgement is repeated",
			faults(func(s *scenario) *int { return &s.takeovers }, sends{})},
		{neverAbortFollowing, "a plan whose messages follow is never aborted", func(s *scenario) {
			abort(s)
			s.mode = Following
		}},
		{unnamedFollow, "messages of unlisted keys wait for their state, too", func(s *scenario) {
			unlisted(s)
			s.mode, s.send = Following, sends{0: {0, 2, 0}}
		}},
		{endsFree, "ends free messages whose keys have no state", func(s *scenario) {
			unlisted(s)
			s.mode, s.send = Following, sends{0: {0, 1, 0}}
		}},
		{recordIsDurable, "the machine is durable with the state", instanceCrash},
		{earlyIsKept, "what instances say before the driver sees the plan is kept", behind},
		{earlyIsKept, "the same of votes", func(s *scenario) {
			s.behind, s.aborts, s.takeovers = true, 1, 1
		}},
	} {
		s := moveOne(x.name, func(s *scenario) { s.broken = x.broken; x.change(s) })
		if !strings.HasPrefix(s.name, *only) {
			continue
		}
		got := explore(&s, 200_000, depthFirst)
		if got.wrong == "" {
			t.Errorf("%s: nothing is wrong in %d states without it", s.name, got.states)
			continue
		}
		t.Logf("%-70s %6d states, %2d steps: %s", s.name, got.states, len(got.trace), got.wrong)
	}
}

package service_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/input/lists"
	"plannerd/internal/lab/deep"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/feed"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// TestPartsKeepTheirState: whatever becomes of split keys, no message that an engine has
// counted is lost. Engines count messages for each key and instance. Their routers send by
// the table; keys become hot and cool, so that plans add parts, weigh them anew and remove
// them; instances come and go; plans are given up half-way. After every plan the state of a
// key is only where the table sends it, that of a whole key on one instance, and the table
// that the routers made of what they were told is the one that the service has.
func TestPartsKeepTheirState(t *testing.T) {
	t.Parallel()
	simulateParts(t, false)
}

// TestPartsRunOut is the same of an operator with windows, whose parts expire: what a plan
// takes away stays, and no message comes to it. When the window has passed each instance
// emits what it has of a key as a partial result, and each message is in exactly one.
func TestPartsRunOut(t *testing.T) {
	t.Parallel()
	simulateParts(t, true)
}

func simulateParts(t *testing.T, expire bool) {
	t.Helper()
	n := *histories / 10
	if !deep.On() || testing.Short() {
		n = min(n, 10)
	}
	e, seen := newEnv(t), map[string]int{}
	for i := range n {
		s := newPartsSimulation(e, *first+uint64(i), expire)
		for range 20 {
			s.step(seen)
		}
		if t.Failed() {
			t.Fatalf("%s:\n%s", s.name, strings.Join(s.log, "\n"))
		}
	}
	t.Logf("%d histories: %v", n, seen)
	for _, what := range []string{"committed", "aborted", "split", "weighed", "more parts", "fewer parts", "whole again"} {
		if n > 5 && seen[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
	if expire && n > 5 && seen["ran out"] == 0 {
		t.Error("no part ran out")
	}
}

// routeOf are by key the instances to which routers send it, with weights.
type routeOf map[string][]planner.Part

type partsSimulation struct {
	*env
	random   *rand.Rand
	name     string
	config   operator.Configuration
	interval int64
	epoch    int64
	hot      int                          // the key that has most messages
	held     map[string]map[int32]float64 // messages, by key and instance
	sent     map[string]float64           // messages, by key
	cost     map[string]map[int32]float64 // messages in the interval
	log      []string
}

func newPartsSimulation(e *env, seed uint64, expire bool) *partsSimulation {
	random := rand.New(rand.NewPCG(seed, 23))
	s := &partsSimulation{
		env: e, random: random, name: fmt.Sprintf("parts-%d-%t", seed, expire), config: configuration(3 + random.IntN(3)),
		held: map[string]map[int32]float64{}, sent: map[string]float64{}, cost: map[string]map[int32]float64{},
	}
	s.config.Splitting = parameters.Splitting{MaxParts: 2 + random.IntN(4), MergeCost: float64(random.IntN(3))}
	if expire {
		s.config.Splitting.Parts = parameters.Expire
	}
	s.config.Strategy = []string{"mixed", "optimal", "minmig"}[random.IntN(3)]
	s.config.EntryGrace = random.IntN(3)
	s.configure(s.name, s.config)
	return s
}

func (s *partsSimulation) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// look reads the table, and what the plan that is carried out makes of it, if one is.
func (s *partsSimulation) look() (view *feed.TableView, now, next routeOf) {
	s.Helper()
	memory := s.budget.Lease(s.Context())
	defer memory.Release()
	view, err := s.Table(s.Context(), feed.TableQuery{Operator: s.name, Version: feed.NotAsked,
		Since: feed.NotAsked}, memory)
	if err != nil {
		s.Fatal(err)
	}
	entries := s.told(routeOf{}, view.Parts)
	now = everyRoute(entries, hashOf(view.Instances, view.Hash, nil))
	if view.NextPlan != nil {
		entries = s.told(maps.Clone(entries), view.NextPlan.Parts)
		next = everyRoute(entries, hashOf(view.NextPlan.Instances, view.NextPlan.Hash, nil))
	}
	return view, now, next
}

// told changes entries as parts of an answer say.
func (s *partsSimulation) told(entries routeOf, parts []listing.Part) routeOf {
	s.Helper()
	for _, part := range parts {
		switch list := part.List.(type) {
		case lists.Records[lists.Entry]:
			for e := range list {
				entries[string(e.Key)] = []planner.Part{{Instance: e.Instance, Weight: planner.PartUnits}}
				if e.Parts != nil {
					entries[string(e.Key)] = slices.Clone(e.Parts)
				}
			}
		case lists.Records[lists.UnsetKey]:
			for key := range list {
				delete(entries, string(key))
			}
		default:
			s.Fatalf("a part of %T", list)
		}
	}
	return entries
}

const simulatedKeys = 12

func everyRoute(entries routeOf, hash planner.HashFunction) routeOf {
	all := routeOf{}
	for k := range simulatedKeys {
		key := fmt.Sprint("k", k)
		if all[key] = entries[key]; all[key] != nil {
			continue
		}
		id, err := hash.Instance([]byte(key), planner.KeyHash([]byte(key)))
		if err != nil {
			panic(err)
		}
		all[key] = []planner.Part{{Instance: id, Weight: planner.PartUnits}}
	}
	return all
}

// traffic sends messages; those of keys whose route is about to change are held back.
func (s *partsSimulation) traffic(n int, now, next routeOf) {
	for range n {
		k := s.random.IntN(simulatedKeys)
		if s.random.IntN(2) == 0 {
			k = s.hot
		}
		key := fmt.Sprint("k", k)
		if next != nil && !slices.Equal(now[key], next[key]) {
			continue
		}
		at, turn := now[key][0].Instance, s.random.Int32N(planner.PartUnits)
		for _, x := range now[key] {
			if at = x.Instance; turn < x.Weight {
				break
			}
			turn -= x.Weight
		}
		if s.held[key] == nil {
			s.held[key] = map[int32]float64{}
		}
		if s.cost[key] == nil {
			s.cost[key] = map[int32]float64{}
		}
		s.held[key][at]++
		s.cost[key][at]++
		s.sent[key]++
	}
}

func (s *partsSimulation) step(seen map[string]int) {
	s.Helper()
	_, now, _ := s.look()
	switch s.random.IntN(5) {
	case 0:
		s.hot = s.random.IntN(simulatedKeys)
		s.note("k%d is hot", s.hot)
	case 1:
		if s.random.IntN(2) == 0 {
			s.config.Instances = configuration(2 + s.random.IntN(5)).Instances
			s.configure(s.name, s.config)
			s.note("%d instances", len(s.config.Instances))
		}
	}
	s.traffic(100+s.random.IntN(200), now, nil)
	s.plan(seen)
	_, now, _ = s.look()
	s.check(now)
	if s.interval%simulatedWindow == 0 && s.config.Splitting.Expires() {
		s.emit(now, seen)
	}
}

// simulatedWindow is how many intervals a window has.
const simulatedWindow = 3

// emit ends the window: instances send partial results of all that they have, which check
// has found to be all messages that were sent, each once, and begin anew.
func (s *partsSimulation) emit(now routeOf, seen map[string]int) {
	for key, by := range s.held {
		for d := range by {
			if !isPart(now[key], d) {
				seen["ran out"]++
			}
		}
	}
	clear(s.held)
	clear(s.sent)
}

// plan closes the interval and carries out what is planned.
func (s *partsSimulation) plan(seen map[string]int) {
	s.Helper()
	view, _, _ := s.look()
	in := intake.Proposal{Memory: s.budget.Lease(s.Context())}
	defer in.Memory.Release()
	if s.random.IntN(3) == 0 {
		in.Statistics = s.whole(view.Version)
	} else {
		in.Statistics = &scheme.Statistics{Statistics: &planner.Statistics{Keys: planner.NewKeys(0)},
			Interval: s.interval}
		in.Reports = &intake.ReportsQuery{Missing: operator.MissingFail}
		s.report(view)
	}
	s.interval++
	clear(s.cost)
	p, err := s.Propose(s.Context(), s.name, in)
	if err != nil {
		s.Fatal(err)
	}
	s.note("interval %d: %s %s %v, awaits %v\n%s", s.interval-1, p.ID, p.Status, p.Causes, p.Awaited, changeText(s.T, p))
	if p.Status == "proposed" {
		s.must(s.Approve(s.Context(), on(p.ID)))
	}
	if q, err := s.Plan(s.Context(), p.ID); err == nil && q.Status == "approved" {
		s.carryOut(p.ID, seen)
	}
}

func (s *partsSimulation) must(p store.Plan, err error) store.Plan {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\n%s", err, strings.Join(s.log, "\n"))
	}
	return p
}

// whole are statistics that name each key once, and not where it is.
func (s *partsSimulation) whole(version int64) *scheme.Statistics {
	st := &planner.Statistics{Keys: planner.NewKeys(len(s.held))}
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		st.Keys.Append([]byte(key))
		st.Cost, st.State = append(st.Cost, sumOf(s.cost[key])), append(st.State, sumOf(s.held[key]))
	}
	return &scheme.Statistics{Statistics: st, Interval: s.interval, TableVersion: &version}
}

func sumOf(by map[int32]float64) (sum float64) {
	for _, v := range by {
		sum += v
	}
	return sum
}

// report has each instance report what it has of keys.
func (s *partsSimulation) report(view *feed.TableView) {
	s.Helper()
	for _, id := range instancesOf(view) {
		st := &planner.Statistics{Keys: planner.NewKeys(len(s.held)), Cost: []float64{}, State: []float64{}}
		for _, key := range slices.Sorted(maps.Keys(s.held)) {
			if state, has := s.held[key][id]; has {
				st.Keys.Append([]byte(key))
				st.Cost, st.State = append(st.Cost, s.cost[key][id]), append(st.State, state)
			}
		}
		report := &scheme.Statistics{Statistics: st, Interval: s.interval, TableVersion: &view.Version}
		if _, err := s.PutReport(s.Context(), s.name, id, report, nil); err != nil {
			s.Fatal(err)
		}
	}
}

// carryOut has the awaited instances hand over what they have of keys that are not sent to
// them any more, or gives the plan up after some of them.
func (s *partsSimulation) carryOut(id string, seen map[string]int) {
	s.Helper()
	s.epoch++
	s.must(s.Start(s.Context(), on(id), store.Executor{Name: "engine", Epoch: s.epoch}))
	view, now, next := s.look()
	before := map[string]map[int32]float64{}
	for key, by := range s.held {
		before[key] = maps.Clone(by)
	}
	awaited := slices.Clone(view.NextPlan.Plan.Awaited)
	s.random.Shuffle(len(awaited), func(i, j int) { awaited[i], awaited[j] = awaited[j], awaited[i] })
	for _, d := range awaited {
		if s.random.IntN(20) == 0 {
			s.rollBack(id, now, next, before)
			seen["aborted"]++
			return
		}
		s.export(d, awaited, now, next)
		s.traffic(20, now, next)
		s.must(s.Acknowledge(s.Context(), on(id), s.epoch, 0, []int32{d}))
	}
	if p, err := s.Plan(s.Context(), id); err != nil || p.Status != "committed" {
		s.must(s.Commit(s.Context(), on(id), false))
	}
	_, after, _ := s.look()
	if !maps.EqualFunc(next, after, slices.Equal) {
		s.Errorf("routers have %v, and the service has %v", next, after)
	}
	count(seen, now, after)
}

// count notes what became of split keys.
func count(seen map[string]int, before, after routeOf) {
	seen["committed"]++
	for key, parts := range after {
		switch old := len(before[key]); {
		case old == 1 && len(parts) > 1:
			seen["split"]++
		case old > 1 && len(parts) == 1:
			seen["whole again"]++
		case len(parts) > old:
			seen["more parts"]++
		case len(parts) < old:
			seen["fewer parts"]++
		case old > 1 && !slices.Equal(before[key], parts):
			seen["weighed"]++
		}
	}
}

// export has an instance hand over to the heaviest part what is routed elsewhere.
func (s *partsSimulation) export(d int32, awaited []int32, now, next routeOf) {
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		state, has := s.held[key][d]
		to := planner.Split{Parts: next[key]}.Heaviest().Instance
		if !has || isPart(next[key], d) || !slices.Contains(awaited, to) || s.runsOut(key, d, now) {
			continue
		}
		delete(s.held[key], d)
		s.held[key][to] += state
		s.note("%v of %s go from %d to %d", state, key, d, to)
	}
}

// runsOut reports whether what an instance has of a key stays there where nothing of it is
// sent any more: a part, or what is left of one.
func (s *partsSimulation) runsOut(key string, d int32, now routeOf) bool {
	stays := slices.ContainsFunc(s.config.Instances, func(x operator.Instance) bool { return x.ID == d })
	whole := len(now[key]) == 1 && isPart(now[key], d)
	return s.config.Splitting.Expires() && stays && !whole
}

func isPart(parts []planner.Part, d int32) bool {
	return slices.ContainsFunc(parts, func(x planner.Part) bool { return x.Instance == d })
}

// rollBack gives the plan up: what was handed over goes back.
func (s *partsSimulation) rollBack(id string, now, next routeOf, before map[string]map[int32]float64) {
	s.Helper()
	s.must(s.Abort(s.Context(), on(id), s.epoch, false))
	for key := range before {
		if !slices.Equal(now[key], next[key]) { // nothing came meanwhile
			s.held[key] = before[key]
		}
	}
	s.must(s.Abort(s.Context(), on(id), s.epoch, true))
	s.note("%s is given up", id)
	_, after, pending := s.look()
	if pending != nil || !maps.EqualFunc(now, after, slices.Equal) {
		s.Errorf("after a plan was given up, the service has %v in place of %v", after, now)
	}
}

// check fails unless all messages that were sent are counted where the table sends the key.
func (s *partsSimulation) check(now routeOf) {
	s.Helper()
	for key, by := range s.held {
		if all := sumOf(by); all != s.sent[key] {
			s.Errorf("%v messages of %s were sent, %v are counted", s.sent[key], key, all)
		}
		for d, state := range by {
			if !isPart(now[key], d) && !s.config.Splitting.Expires() {
				s.Errorf("%v messages of %s are counted on %d, and it goes to %v", state, key, d, now[key])
			}
		}
	}
}

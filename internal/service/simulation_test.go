package service_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plannerd/internal/input/lists"
	"plannerd/internal/lab/deep"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/feed"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/life"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/route"
	"plannerd/store"
)

var (
	histories = flag.Int("histories", 150, "simulated histories of engines")
	first     = flag.Uint64("first-history", 0, "the seed of the first one")
)

// TestStateFollowsTheRoute: after every commit, and after every plan that was given up,
// the state of every key is where the committed table, ring or ranges route the key.
// Engines are simulated with exact places of state: keys come and go between any two
// steps; statistics are complete or partial, whole or in reports, of now or of an older
// table, late or sent twice; state is found where no table puts it; operators are
// rescaled at any time; plans wait, expire, are replayed, rejected, carried out step by
// step or with the engine at rest, and aborted half-way; executors crash and are
// succeeded; instances crash and repeat what they did.
func TestStateFollowsTheRoute(t *testing.T) {
	t.Parallel()
	n := *histories
	if !deep.On() || testing.Short() {
		n = min(n, 20)
	}
	var mu sync.Mutex
	committed := map[operator.SchemeName]int{}
	batches, stopped, removed := 0, 0, 0
	t.Run("histories", func(t *testing.T) {
		const perStore = 100 // so that it stays small
		for from := 0; from < n; from += perStore {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				t.Parallel()
				e := newEnv(t)
				for i := from; i < min(n, from+perStore) && !t.Failed(); i++ {
					s := newSimulation(e, *first+uint64(i))
					s.run()
					mu.Lock()
					committed[s.config.Scheme] += s.committed
					batches, stopped, removed = batches+s.batches, stopped+s.stopped, removed+s.removed
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d histories, commits by scheme: %v, %d batches before the last, %d plans stopped, %d plans of a table that "+
		"names removed instances", n, committed, batches, stopped, removed)
	if n > 100 && (batches == 0 || stopped == 0 || removed == 0) {
		t.Errorf("%d batches before the last, %d plans stopped, %d plans of a table that names removed instances", batches,
			stopped, removed)
	}
	for _, chosen := range []operator.SchemeName{operator.SchemeTable, operator.SchemeRing, operator.SchemeRanges} {
		if n > 10 && committed[chosen] == 0 {
			t.Errorf("no plan under %s was committed", chosen)
		}
	}
}

// simulation is the history of an operator and its engine.
type simulation struct {
	*env
	*engine
	name     string
	config   operator.Configuration
	interval int64
	executor int64 // the epoch of the newest
	flight   *flight
	late     *closed // statistics that arrive later
	// known are the faults that the statistics of plans told of.
	known     map[string]map[string]int
	configs   map[int64]operator.Configuration // by version
	committed int
	batches   int        // that were committed before the last of their plan
	stopped   int        // plans that ended before their last batch
	rules     *rand.Rand // of where keys may be, which change at each rescale; nil: there are none
	ruled     int        // keys that were looked at under rules
	between   bool       // the last plan ended before its last batch: it pins keys where they were
	removed   int        // plans that started from a table whose entries name instances that are removed
	log       []string
}

func newSimulation(e *env, seed uint64) *simulation {
	random := rand.New(rand.NewPCG(seed, 17))
	s := &simulation{
		env: e, engine: newEngine(random), name: fmt.Sprintf("engine-%d", seed), known: map[string]map[string]int{},
		configs: map[int64]operator.Configuration{},
	}
	s.config = configuration(2 + random.IntN(5))
	s.config.EntryGrace = random.IntN(3)
	s.config.ThetaMax = []float64{0.05, 0.3, 1}[random.IntN(3)] // the greater, the fewer keys move
	if random.IntN(3) == 0 {
		s.config.Approval.Auto = operator.AutoNever
	}
	ttl := parameters.Duration(2 * time.Minute)
	s.config.Approval.TTL = &ttl
	if random.IntN(3) == 0 {
		s.config.Approval.OnPending = "replace"
	}
	switch random.IntN(6) {
	case 0:
		s.config.Scheme, s.config.Hash = operator.SchemeRing, operator.Hash{Function: partitioner.Ring, TokensPerInstance: 8}
		s.config.Strategy = ""
	case 1:
		s.config.Scheme, s.config.Hash = operator.SchemeRanges, operator.Hash{}
		s.config.Strategy = ""
	case 2:
		s.config.Hash = operator.Hash{Function: partitioner.Reported} // it is modulo
	case 3:
		s.config.Hash = operator.Hash{Function: partitioner.Ring, TokensPerInstance: 8}
	}
	if s.config.Scheme == operator.SchemeTable && random.IntN(3) == 0 {
		limit := int64(random.IntN(4))
		s.config.TableLimit = &limit
	}
	if s.config.Scheme == operator.SchemeTable && random.IntN(3) > 0 {
		s.config.Batches = &operator.BatchBounds{Keys: 1}
	}
	if s.config.Scheme == operator.SchemeTable && seed%3 == 0 {
		s.rules = rand.New(rand.NewPCG(seed, 18))
		s.place()
	}
	s.configs[s.configure(s.name, s.config).ConfigVersion] = s.config
	return s
}

// place draws rules, and instances that take nothing.
func (s *simulation) place() {
	all := s.config.Instances
	some := func() []int32 {
		on := []int32{all[s.rules.IntN(len(all))].ID}
		if id := all[s.rules.IntN(len(all))].ID; id > on[0] {
			on = append(on, id)
		}
		return on
	}
	rules := []operator.PlacementRule{
		{Name: "named", Keys: operator.RuleKeys{Equals: []string{fmt.Sprint("k", 0), fmt.Sprint("k", 3)}},
			On: &operator.RuleInstances{Instances: some()}},
		{Name: "begun", Keys: operator.RuleKeys{Prefix: fmt.Sprint("k", 1)}, On: &operator.RuleInstances{Instances: some()},
			Exclusive: len(all) > 3},
		{Name: "asleep", Keys: operator.RuleKeys{Equals: []string{fmt.Sprint("k", 2)}}, Stay: true},
	}
	s.config.Placement = &operator.Placement{Rules: rules[s.rules.IntN(len(rules)):]}
	if all[0].Takes = ""; len(all) > 2 && s.rules.IntN(2) == 0 {
		all[0].Takes = operator.TakesNone
	}
	if _, err := operator.NewConfiguration(s.config); err != nil { // others are exclusive on all that a rule names
		s.config.Placement = nil
	}
}

// obeys fails where a table sends a key, seen or not, to an instance that may not have it.
func (s *simulation) obeys(view *feed.TableView) {
	s.Helper()
	if s.between || view.Placement == nil || view.Hash.Function == partitioner.Reported {
		return
	}
	ids := pinnedBy(view)
	rules, err := route.NewPlacement(view.Placement.Over(view.Instances), ids)
	if err != nil {
		s.Fatal(err)
	}
	for i := range s.keys + 20 {
		key := fmt.Sprint("k", i)
		may := rules.Eligible(rules.Rule([]byte(key), route.KeyHash([]byte(key))))
		if s.ruled++; !slices.Contains(may, s.routes.route(key)) {
			s.Errorf("%s is routed to %d, and may be on %v", key, s.routes.route(key), may)
		}
	}
}

func (s *simulation) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// run lets a history take its course.
func (s *simulation) run() {
	s.Helper()
	for range 45 {
		s.step()
	}
	if s.Failed() {
		s.Errorf("%s:\n%s", s.name, strings.Join(s.log, "\n"))
	}
}

// step lets something happen.
func (s *simulation) step() {
	s.Helper()
	view := s.look()
	s.traffic()
	switch s.random.IntN(16) {
	case 0:
		s.rescale()
	case 1, 7:
		for _, key := range s.forget() {
			s.note("the state of %s is gone", key)
		}
	case 2:
		s.pass(time.Minute)
		s.note("a minute passes")
	case 3:
		s.replay()
	case 4:
		s.resume()
	case 5, 6:
		s.plan(view)
	default:
		if s.flight == nil {
			s.plan(view)
		} else {
			s.progress()
		}
	}
	if s.flight == nil && !s.Failed() {
		s.obeys(s.look())
		s.check()
	}
}

func (s *simulation) rescale() {
	n := 1 + s.random.IntN(6)
	s.config.Instances = configuration(n).Instances
	if s.rules != nil {
		s.place()
	}
	complete, err := operator.NewConfiguration(s.config)
	if err != nil {
		s.Fatal(err)
	}
	op, err := s.Configure(s.Context(), s.name, complete, anyway, true, nil)
	if err == nil {
		s.configs[op.ConfigVersion] = s.config
	}
	s.note("%d instances (%v)", n, err)
}

// plan closes the interval, and decides on what is planned.
func (s *simulation) plan(view *feed.TableView) {
	s.Helper()
	fault := ""
	if s.flight == nil && s.config.Scheme == operator.SchemeTable && s.random.IntN(4) == 0 {
		fault = s.fault(instancesOf(view))
	}
	st := s.close(view.Version)
	st.Interval = s.interval
	s.interval++
	if fault != "" {
		s.note("state of %s is found at %d, and more at %d", fault, s.at[fault], s.strays[fault])
	}
	s.traffic() // before the statistics arrive
	if s.late != nil {
		late := s.late
		s.late = nil
		s.propose(late, view)
	} else if st.moving || s.random.IntN(6) == 0 {
		s.late = st
		return
	}
	s.propose(st, view)
}

// propose posts the statistics whole, or what of them each instance reports.
func (s *simulation) propose(st *closed, view *feed.TableView) {
	s.Helper()
	if s.config.Hash.Function == partitioner.Reported {
		s.tellHomes(st.Statistics.Statistics, hashOf(s.config.Instances, &s.config.Hash, nil))
	}
	var in intake.Proposal
	tells := !st.Partial && st.Instance != nil && (st.TableVersion == nil || *st.TableVersion == view.Version)
	if st.Partial || st.Instance == nil || s.random.IntN(3) > 0 {
		in.Statistics, tells = st.Statistics, tells && len(st.strays) == 0 // rows name each key once
	} else {
		missing, err := s.report(st, view)
		if err != nil {
			s.note("report of interval %d: %v", st.Interval, err)
			return
		}
		tells = tells && missing == operator.MissingFail
		for _, at := range slices.Concat(st.Instance, slices.Collect(maps.Values(st.strays))) {
			tells = tells && slices.Contains(instancesOf(view), at) // one that was removed says nothing
		}
		in.Statistics = &scheme.Statistics{Statistics: &planner.Statistics{Keys: planner.NewKeys(0)},
			Interval: st.Interval}
		in.Reports = &intake.ReportsQuery{Missing: missing}
	}
	p, err := s.post(in)
	if err != nil {
		s.note("interval %d: %v", st.Interval, err)
		return
	}
	if s.flight == nil && len(instancesOf(view)) > len(view.Instances) {
		s.removed++
	}
	s.note("interval %d of %d keys (partial %v, version %v, reports %v, tells %v): %s %s %v, awaits %v, %d keys move, "+
		"table %d→%d\n%s", st.Interval, st.Len(), st.Partial, st.TableVersion, in.Reports != nil, tells, p.ID, p.Status,
		p.Causes, p.Awaited, p.MigrationKeys, p.TableBefore, p.TableAfter, changeText(s.T, p))
	// A key in the reports of two instances counts as drifted wherever it is.
	if st.moving && s.flight == nil && len(st.faults) == 0 && in.Reports == nil && p.DriftedKeys > 0 {
		s.Errorf("%d keys are believed to be where they were on their way", p.DriftedKeys)
	}
	if _, again := s.known[p.ID]; tells && !again {
		s.known[p.ID] = st.faults
	}
	if s.random.IntN(8) == 0 {
		if again, err := s.post(in); err == nil && again.ID != p.ID {
			s.Errorf("the same statistics make plan %s, and then %s", p.ID, again.ID)
		}
	}
	s.look()
	s.traffic() // before the plan is approved
	s.decide(p.ID, p.Status)
}

func changeText(t *testing.T, p *intake.StoredPlan) string {
	if len(p.Lists.Change) == 2 {
		return text(t, p.Lists.Change...)
	}
	return ""
}

func (s *simulation) post(in intake.Proposal) (*intake.StoredPlan, error) {
	in.Memory = s.budget.Lease(s.Context())
	defer in.Memory.Release()
	return s.Propose(s.Context(), s.name, in)
}

// report has instances report their shares, and says what is asked to become of missing
// ones.
func (s *simulation) report(st *closed, view *feed.TableView) (operator.MissingReports, error) {
	missing := operator.MissingFail
	for _, id := range instancesOf(view) {
		if s.random.IntN(8) == 0 {
			missing = []operator.MissingReports{operator.MissingFreeze, operator.MissingCarry}[s.random.IntN(2)]
			continue
		}
		share := &planner.Statistics{Keys: planner.NewKeys(st.Len()), Cost: []float64{}, State: []float64{}}
		if st.HashInstance != nil {
			share.HashInstance = []int32{}
		}
		for i, at := range st.Instance {
			if stray, has := st.strays[string(st.Keys.At(i))]; at != id && !(has && stray == id) {
				continue
			}
			share.Keys.Append(st.Keys.At(i))
			share.Cost, share.State = append(share.Cost, st.Cost[i]), append(share.State, st.State[i])
			if st.HashInstance != nil {
				share.HashInstance = append(share.HashInstance, st.HashInstance[i])
			}
		}
		report := &scheme.Statistics{Statistics: share, Interval: st.Interval, TableVersion: st.TableVersion}
		if missing == operator.MissingFail && s.random.IntN(10) == 0 {
			missing = operator.MissingFreeze // some are partial
			share.Partial = true
			last := share.Len() - 1
			if last >= 0 {
				share.Residual = []planner.Residual{{Instance: id, Cost: share.Cost[last], State: share.State[last], Keys: 1}}
				share.Keys = head(share.Keys, last)
				share.Cost, share.State = share.Cost[:last], share.State[:last]
				if share.HashInstance != nil {
					share.HashInstance = share.HashInstance[:last]
				}
			}
		}
		if _, err := s.PutReport(s.Context(), s.name, id, report, nil); err != nil {
			return missing, err
		}
	}
	return missing, nil
}

func head(keys *planner.Keys, n int) *planner.Keys {
	out := planner.NewKeys(n)
	for i := range n {
		out.Append(keys.At(i))
	}
	return out
}

// replay proposes another plan of earlier statistics.
func (s *simulation) replay() {
	s.Helper()
	plans, _, err := s.Plans(s.Context(), store.PlanFilter{Operator: s.name, Limit: 3})
	if err != nil || len(plans) == 0 {
		return
	}
	memory := s.budget.Lease(s.Context())
	defer memory.Release()
	of := plans[s.random.IntN(len(plans))].ID
	r, err := s.Replay(s.Context(), of, memory)
	if err != nil {
		s.note("replay of %s: %v", of, err)
		return
	}
	p, err := r.Parameters()
	if err != nil {
		s.Fatal(err)
	}
	strategy := []string{"mintable", "minmig", "llfd", "optimal"}[s.random.IntN(4)]
	q, err := r.Propose(s.Context(), propose.ReplayProposal{
		Trial: propose.Trial{Strategy: strategy, Parameters: p}, Replace: s.random.IntN(2) == 0,
	})
	if err != nil {
		s.note("replay of %s: %v", of, err)
		return
	}
	s.note("replay of %s: %s %s awaits %v\n%s", of, q.ID, q.Status, q.Awaited, changeText(s.T, q))
	if _, again := s.known[q.ID]; !again {
		s.known[q.ID] = s.known[of]
	}
	s.decide(q.ID, q.Status)
}

// resume takes up a plan that was left waiting.
func (s *simulation) resume() {
	s.Helper()
	op, err := s.Operator(s.Context(), s.name)
	if err != nil {
		s.Fatal(err)
	}
	if op.CurrentPlan != "" {
		s.decide(op.CurrentPlan, op.CurrentStatus)
	}
}

// on is a step on a plan that nothing guards.
func on(id string) life.Step {
	return life.Step{Plan: id, Guard: func(store.Plan) error { return nil }}
}

// decide approves or rejects a plan, and has it carried out, if it is not left alone.
func (s *simulation) decide(id string, status store.Status) {
	s.Helper()
	if status == "proposed" {
		switch s.random.IntN(6) {
		case 0:
			return // it goes on waiting
		case 1:
			s.took(s.Reject(s.Context(), on(id)))
			return
		}
		status = s.took(s.Approve(s.Context(), on(id))).Status
	}
	if status != "approved" || s.flight != nil {
		return
	}
	switch s.random.IntN(6) {
	case 0:
	case 1:
		s.stopTheWorld(id)
	default:
		s.start(id)
	}
}

func (s *simulation) took(p store.Plan, err error) store.Plan {
	s.Helper()
	if err != nil {
		s.note("refused: %v", err)
		return store.Plan{}
	}
	s.note("%s is %s", p.ID, p.Status)
	return p
}

// instancesOf are the ids of the instances that the committed table pins, and of those that
// its entries name besides, ascending.
func instancesOf(view *feed.TableView) []int32 {
	out := pinnedBy(view)
	for _, part := range view.Parts {
		if list, ok := part.List.(lists.Records[lists.Entry]); ok {
			for e := range list {
				out = append(out, e.Instance)
				for _, part := range e.Parts {
					out = append(out, part.Instance)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func pinnedBy(view *feed.TableView) []int32 {
	out := make([]int32, len(view.Instances))
	for i, d := range view.Instances {
		out[i] = d.ID
	}
	return out
}

// check fails unless the state of every key is where the committed table routes the key,
// but for what a fault put elsewhere and no committed plan knew of.
func (s *simulation) check() {
	s.Helper()
	for _, key := range slices.Sorted(maps.Keys(s.at)) {
		if _, faulty := s.faults[key]; faulty {
			continue
		}
		if to := s.routes.route(key); to != s.at[key] {
			s.Errorf("%s is routed to %d, and its state is at %d", key, to, s.at[key])
		}
		if at, has := s.strays[key]; has {
			s.Errorf("%s is routed to %d, and a part of its state is at %d", key, s.routes.route(key), at)
		}
	}
}

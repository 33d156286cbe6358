package planning_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/planning"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

var histories = flag.Int("histories", 300, "simulated histories of engines")

// TestStateFollowsTheRoute: after every commit, and after every plan that was given up,
// the state of every key is where the committed table routes the key. Engines are
// simulated with exact places of state: keys come and go between any two steps, statistics
// are complete or partial, whole or in reports, of now or of an older table; operators are
// rescaled; executors crash and are succeeded; plans are aborted half-way.
func TestStateFollowsTheRoute(t *testing.T) {
	t.Parallel()
	e, n := newEnv(t), *histories
	if testing.Short() {
		n = min(n, 20)
	}
	for seed := range n {
		s := newSimulation(e, uint64(seed))
		for range 40 {
			s.step()
		}
		if t.Failed() {
			t.Fatalf("history %d:\n%s", seed, strings.Join(s.log, "\n"))
		}
	}
}

// simulation is an engine with its operator, and all that is true of it.
type simulation struct {
	*env
	random *rand.Rand
	name   string
	config planning.Configuration
	// at is where the state of keys is. cost is their traffic in this interval.
	at       map[string]int32
	cost     map[string]float64
	interval int64
	seen     int64 // the table version that was committed throughout this interval
	epoch    int64 // of the executor
	log      []string
}

func newSimulation(e *env, seed uint64) *simulation {
	s := &simulation{
		env: e, random: rand.New(rand.NewPCG(seed, 17)), name: fmt.Sprintf("engine-%d", seed),
		at: map[string]int32{}, cost: map[string]float64{},
	}
	s.config = configuration(2 + s.random.IntN(3))
	s.config.EntryGrace = s.random.IntN(3)
	s.config.ThetaMax = 0.05
	if s.random.IntN(2) == 0 {
		s.config.Hash = planning.Hash{Function: partitioner.Ring, TokensPerInstance: 8}
	}
	if s.random.IntN(3) == 0 {
		limit := int64(s.random.IntN(4))
		s.config.TableLimit = &limit
	}
	s.config.RequireApproval = s.random.IntN(3) == 0
	s.configure(s.name, s.config)
	return s
}

func (s *simulation) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// router sends keys by a table.
type router struct {
	entries map[string]int32
	hash    planner.HashFunction
}

func newRouter(instances []planning.Instance, h planning.Hash, entries map[string]int32) router {
	nodes := make([]partitioner.Instance, len(instances))
	for i, d := range instances {
		nodes[i] = partitioner.Instance{ID: d.ID, Tokens: d.Tokens}
	}
	hash, err := partitioner.New(partitioner.Config{Function: h.Function, TokensPerInstance: h.TokensPerInstance}, nodes)
	if err != nil {
		panic(err)
	}
	return router{entries, hash}
}

func (r router) route(key string) int32 {
	if id, ok := r.entries[key]; ok {
		return id
	}
	id, err := r.hash.Instance([]byte(key), planner.KeyHash([]byte(key)))
	if err != nil {
		panic(err)
	}
	return id
}

// routers are those of the committed table, and of the one that is pending if there is
// one.
func (s *simulation) routers() (now router, next *router, view *planning.TableView) {
	s.Helper()
	memory := s.budget.Lease(s.Context())
	defer memory.Release()
	view, err := s.Table(s.Context(), planning.TableQuery{Operator: s.name, Version: planning.NotAsked,
		Since: planning.NotAsked}, memory)
	if err != nil {
		s.Fatal(err)
	}
	entries := map[string]int32{}
	set, _ := partEntries(s.T, view.Parts)
	maps.Copy(entries, set)
	now = newRouter(view.Instances, *view.Hash, entries)
	if view.NextPlan == nil {
		return now, nil, view
	}
	after := maps.Clone(entries)
	set, unset := partEntries(s.T, view.NextPlan.Parts)
	maps.Copy(after, set)
	for _, key := range unset {
		delete(after, key)
	}
	pending := newRouter(view.NextPlan.Instances, *view.NextPlan.Hash, after)
	return now, &pending, view
}

// traffic sends tuples; those of keys that are on their way are held back.
func (s *simulation) traffic(now router, next *router) {
	for range 1 + s.random.IntN(6) {
		key := fmt.Sprint("k", s.random.IntN(14))
		to := now.route(key)
		if next != nil && next.route(key) != to {
			continue
		}
		if at, ok := s.at[key]; ok && at != to {
			continue // a drifted key on its way to where it is routed
		}
		s.at[key] = to
		s.cost[key] += float64(1 + s.random.IntN(9))
	}
}

// step lets something happen.
func (s *simulation) step() {
	s.Helper()
	now, next, view := s.routers()
	s.traffic(now, next)
	switch s.random.IntN(10) {
	case 0:
		s.rescale()
	case 1: // state that was not used for long goes
		for _, key := range slices.Sorted(maps.Keys(s.at)) {
			if s.random.IntN(4) == 0 && (next == nil || next.route(key) == now.route(key)) {
				delete(s.at, key)
				delete(s.cost, key)
				s.note("the state of %s is gone", key)
			}
		}
	default:
		s.plan(view)
	}
	if !s.Failed() {
		s.check()
	}
}

func (s *simulation) rescale() {
	n := 1 + s.random.IntN(4)
	if op, err := s.Operator(s.Context(), s.name); err != nil || op.CurrentPlan != "" && op.CurrentStatus.InFlight() {
		return
	}
	s.config.Instances = configuration(n).Instances
	s.configure(s.name, s.config)
	s.note("%d instances", n)
}

// plan closes the interval and carries out what is planned, or another plan that waits.
func (s *simulation) plan(view *planning.TableView) {
	s.Helper()
	st := s.statistics(view.Version)
	s.interval++
	now, next, _ := s.routers()
	s.traffic(now, next) // before the statistics arrive
	p, err := s.propose(st, view)
	if err != nil {
		s.note("interval %d: %v", st.Interval, err)
		return
	}
	s.note("interval %d of %d keys (partial %v, version %v): %s %s %v, awaits %v, %d keys move, table %d→%d\n%s",
		st.Interval, st.Len(), st.Partial, st.TableVersion, p.ID, p.Status, p.Causes, p.Awaited, p.MigrationKeys,
		p.TableBefore, p.TableAfter,
		text(s.T, p.Lists.Change...))
	now, next, _ = s.routers()
	s.traffic(now, next) // before the plan is approved
	if p.Status == "proposed" {
		if s.random.IntN(4) == 0 {
			return // it goes on waiting
		}
		s.took(s.Approve(s.Context(), step(p)))
		p.Status = "approved"
	}
	if p.Status == "approved" && s.random.IntN(6) > 0 {
		s.handOver(p)
	}
	s.seen = -1
	clear(s.cost)
	for key := range s.at {
		s.cost[key] = 0
	}
}

// propose posts the statistics whole, or what of them each instance reports.
func (s *simulation) propose(st *planning.Statistics, view *planning.TableView) (*planning.StoredPlan, error) {
	if st.Partial || st.Instance == nil || s.random.IntN(3) > 0 {
		return s.post(planning.Proposal{Statistics: st})
	}
	missing := planning.MissingFail
	for _, d := range view.Instances {
		if s.random.IntN(6) == 0 {
			missing = []planning.MissingReports{planning.MissingFreeze, planning.MissingCarry}[s.random.IntN(2)]
			continue
		}
		share := &planner.Statistics{Keys: planner.NewKeys(st.Len()), Cost: []float64{}, State: []float64{}}
		for i, id := range st.Instance {
			if id == d.ID {
				share.Keys.Append(st.Keys.At(i))
				share.Cost, share.State = append(share.Cost, st.Cost[i]), append(share.State, st.State[i])
			}
		}
		report := &planning.Statistics{Statistics: share, Interval: st.Interval, TableVersion: st.TableVersion}
		if _, err := s.PutReport(s.Context(), s.name, d.ID, report, nil); err != nil {
			return nil, err
		}
	}
	return s.post(planning.Proposal{
		Statistics: &planning.Statistics{Statistics: &planner.Statistics{Keys: planner.NewKeys(0)}, Interval: st.Interval},
		Reports:    &planning.ReportsQuery{Missing: missing},
	})
}

func (s *simulation) post(in planning.Proposal) (*planning.StoredPlan, error) {
	in.Memory = s.budget.Lease(s.Context())
	defer in.Memory.Release()
	return s.Propose(s.Context(), s.name, in)
}

// statistics says what is known of the interval.
func (s *simulation) statistics(version int64) *planning.Statistics {
	if s.seen < 0 {
		s.seen = version
	}
	keys := slices.SortedFunc(maps.Keys(s.at),
		func(a, b string) int { return cmp.Or(cmp.Compare(s.cost[b], s.cost[a]), strings.Compare(a, b)) })
	st := &planner.Statistics{Keys: planner.NewKeys(len(keys))}
	heavy := len(keys)
	if len(keys) > 3 && s.random.IntN(3) == 0 {
		st.Partial, heavy = true, 3
	}
	rest := map[int32]*planner.Residual{}
	for i, key := range keys {
		if i < heavy {
			st.Keys.Append([]byte(key))
			st.Cost, st.State, st.Instance = append(st.Cost, s.cost[key]), append(st.State, 1), append(st.Instance, s.at[key])
			continue
		}
		r := rest[s.at[key]]
		if r == nil {
			r = &planner.Residual{Instance: s.at[key]}
			rest[s.at[key]] = r
		}
		r.Cost, r.State, r.Keys = r.Cost+s.cost[key], r.State+1, r.Keys+1
	}
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		st.Residual = append(st.Residual, *rest[id])
	}
	out := &planning.Statistics{Statistics: st, Interval: s.interval, TableVersion: &s.seen}
	seen := s.seen
	out.TableVersion = &seen
	if s.random.IntN(4) == 0 {
		st.Instance, out.TableVersion = nil, nil // the engine does not say where keys are
	}
	return out
}

func (s *simulation) took(p planning.Plan, err error) planning.Plan {
	s.Helper()
	if err != nil {
		s.note("refused: %v", err)
	} else {
		s.note("%s is %s", p.ID, p.Status)
	}
	return p
}

// handOver carries a plan out by what routers are told, not by the list of migrations.
func (s *simulation) handOver(p *planning.StoredPlan) {
	s.Helper()
	s.epoch++
	executor := planning.Executor{Name: "first", Epoch: s.epoch}
	if started := s.took(s.Start(s.Context(), step(p), executor)); started.Status != "applying" {
		return
	}
	before := maps.Clone(s.at)
	now, next, view := s.routers()
	s.traffic(now, next)
	awaits := slices.Clone(view.NextPlan.Plan.Awaited)
	s.random.Shuffle(len(awaits), func(i, j int) { awaits[i], awaits[j] = awaits[j], awaits[i] })
	moved := map[string]int32{} // from where
	for i, id := range awaits {
		for _, key := range slices.Sorted(maps.Keys(s.at)) {
			if to := next.route(key); s.at[key] == id && to != id && slices.Contains(awaits, to) {
				if _, again := moved[key]; !again {
					moved[key], s.at[key] = id, to
				}
			}
		}
		s.traffic(now, next)
		switch s.random.IntN(12) {
		case 0:
			s.epoch++
			executor = planning.Executor{Name: "successor", Epoch: s.epoch}
			s.took(s.Start(s.Context(), step(p), executor))
		case 1:
			s.giveUp(p, executor, moved)
			return
		case 2: // an older executor is heard no more
			if _, err := s.Acknowledge(s.Context(), step(p), executor.Epoch-1, []int32{id}); err == nil {
				s.Errorf("an ack with the epoch before %d was taken", executor.Epoch)
			}
		}
		if i+1 == len(awaits) {
			s.note("moved %v, state was at %v", moved, before)
		}
		s.took(s.Acknowledge(s.Context(), step(p), executor.Epoch, []int32{id}))
	}
	if len(awaits) == 0 {
		s.took(s.Commit(s.Context(), step(p), false))
	}
}

// giveUp takes all state back.
func (s *simulation) giveUp(p *planning.StoredPlan, executor planning.Executor, moved map[string]int32) {
	s.Helper()
	s.took(s.Abort(s.Context(), step(p), executor.Epoch, false))
	if s.random.IntN(2) == 0 {
		// Statistics are taken while state is on its way; they arrive later.
		st := s.statistics(s.seen)
		defer func() {
			s.interval++
			if q, err := s.post(planning.Proposal{Statistics: st}); err == nil {
				s.note("late: %s of %d drifted keys", q.Status, q.DriftedKeys)
				if q.DriftedKeys > 0 {
					s.Errorf("%d keys are believed to be where they were on their way", q.DriftedKeys)
				}
				if q.Status == "approved" || q.Status == "proposed" {
					if q.Status == "proposed" {
						s.took(s.Approve(s.Context(), step(q)))
					}
					s.handOver(q)
				}
			}
		}()
	}
	for key, from := range moved {
		if _, ok := s.at[key]; ok {
			s.at[key] = from
		}
	}
	s.took(s.Abort(s.Context(), step(p), executor.Epoch, true))
}

// check fails unless the state of every key is where the committed table routes the key.
func (s *simulation) check() {
	s.Helper()
	now, next, _ := s.routers()
	if next != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(s.at)) {
		if to := now.route(key); to != s.at[key] {
			s.Errorf("%s is routed to %d, and its state is at %d", key, to, s.at[key])
		}
	}
}

// partEntries reads the entries and the removed keys of parts.
func partEntries(t *testing.T, parts []planning.Part) (set map[string]int32, unset []string) {
	t.Helper()
	set = map[string]int32{}
	for _, part := range parts {
		switch list := part.List.(type) {
		case statsio.Records[statsio.Entry]:
			for e := range list {
				set[string(e.Key)] = e.Instance
			}
		case statsio.Records[statsio.UnsetKey]:
			for key := range list {
				unset = append(unset, string(key))
			}
		default:
			t.Fatalf("a part of %T", list)
		}
	}
	return set, unset
}

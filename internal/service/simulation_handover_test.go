package service_test

import (
	"maps"
	"slices"

	"plannerd/internal/operator"
	"plannerd/store"
)

// flight is a plan that the simulated engine carries out.
type flight struct {
	plan     string
	executor store.Executor
	crashed  bool // its executor
	aborting bool
	batches  int64            // that are committed
	done     map[int32]bool   // instances that have exported what is routed elsewhere
	at       map[string]int32 // where state was
	strays   map[string]int32
}

func (s *simulation) start(id string) {
	s.Helper()
	s.executor++
	f := &flight{plan: id, executor: store.Executor{Name: "first", Epoch: s.executor}, done: map[int32]bool{},
		at: maps.Clone(s.at), strays: maps.Clone(s.strays)}
	if s.took(s.Start(s.Context(), on(id), f.executor)).Status == "applying" {
		s.flight = f
		s.look()
		s.traffic()
	}
}

// progress is one event of a plan that is being carried out, by what routers are told,
// not by the list of migrations.
func (s *simulation) progress() {
	s.Helper()
	f := s.flight
	switch view := s.look(); {
	case f.aborting:
		s.rollBack()
	case f.crashed:
		s.succeed()
	default:
		switch s.random.IntN(14) {
		case 0:
			f.crashed = true
			s.note("the executor crashes")
		case 1:
			s.abort()
		case 2, 3:
			s.took(s.Stop(s.Context(), on(f.plan), f.executor.Epoch))
		default:
			s.acknowledge(view.NextPlan.Plan)
		}
	}
}

// export hands over what an instance has of keys that are routed elsewhere. It may repeat
// it.
func (s *simulation) export(id int32, awaits []int32) {
	s.flight.done[id] = true
	for _, key := range slices.Sorted(maps.Keys(s.at)) {
		to := s.pending.route(key)
		if !s.isHeld(key) || to == id || !slices.Contains(awaits, to) {
			continue
		}
		if s.at[key] == id {
			s.at[key] = to
			s.note("%s goes from %d to %d", key, id, to)
		}
		if at, has := s.strays[key]; has && at == id {
			delete(s.strays, key)
			s.note("more of %s goes from %d to %d", key, id, to)
		}
		if at, has := s.strays[key]; has && at == s.at[key] {
			delete(s.strays, key)
		}
	}
}

// acknowledge has one more of the awaited instances say that it is done, or, after a
// crash, one say it once more.
func (s *simulation) acknowledge(p store.Plan) {
	s.Helper()
	f := s.flight
	var left []int32
	for _, id := range p.Awaited {
		if !slices.ContainsFunc(p.Acked, func(a store.Ack) bool { return a.Instance == id }) {
			left = append(left, id)
		}
	}
	if len(left) == 0 {
		s.ended(s.took(s.Commit(s.Context(), on(f.plan), false)))
		return
	}
	id := left[s.random.IntN(len(left))]
	if again := slices.Sorted(maps.Keys(f.done)); len(again) > 0 && s.random.IntN(6) == 0 {
		id = again[s.random.IntN(len(again))]
	}
	s.export(id, p.Awaited)
	if s.random.IntN(8) == 0 {
		s.note("%d crashes before it acknowledges", id)
		return
	}
	s.traffic()
	s.ended(s.took(s.Acknowledge(s.Context(), on(f.plan), f.executor.Epoch, p.BatchesDone+1, []int32{id})))
}

// ended notes a commit of a batch or of the plan, and what faults the plan mended.
func (s *simulation) ended(p store.Plan) {
	f := s.flight
	switch {
	case p.Status != "committed" && p.BatchesDone == f.batches:
		return
	case p.Status != "committed":
		f.batches, f.done = p.BatchesDone, map[int32]bool{}
		s.look()
		f.at, f.strays = maps.Clone(s.at), maps.Clone(s.strays)
		s.batches++
		if _, err := s.Acknowledge(s.Context(), on(f.plan), f.executor.Epoch, 0, p.Awaited); err == nil {
			s.Errorf("an ack of no batch in particular was taken")
		}
		return
	}
	s.flight = nil
	if p.BatchesDone == p.BatchCount {
		s.mended(p.ID)
		return
	}
	s.committed++
	s.stopped++
	s.between = true
}

func (s *simulation) mended(plan string) {
	s.between = false
	s.committed++
	for key, number := range s.known[plan] {
		if s.faults[key] == number {
			delete(s.faults, key)
		}
	}
}

// succeed has another executor take the plan over. The one before is heard no more.
func (s *simulation) succeed() {
	s.Helper()
	f, older := s.flight, s.executor
	s.executor++
	f.executor, f.crashed = store.Executor{Name: "successor", Epoch: s.executor}, false
	s.took(s.Start(s.Context(), on(f.plan), f.executor))
	if _, err := s.Acknowledge(s.Context(), on(f.plan), older, f.batches+1, nil); err == nil {
		s.Errorf("an ack with the epoch %d was taken after %d", older, s.executor)
	}
	if _, err := s.Abort(s.Context(), on(f.plan), older, false); err == nil {
		s.Errorf("an abort with the epoch %d was taken after %d", older, s.executor)
	}
}

func (s *simulation) abort() {
	s.Helper()
	f := s.flight
	f.aborting = true
	s.took(s.Abort(s.Context(), on(f.plan), f.executor.Epoch, false))
	view := s.look()
	_, err := s.Acknowledge(s.Context(), on(f.plan), f.executor.Epoch, f.batches+1, view.NextPlan.Plan.Awaited)
	if err == nil {
		s.Errorf("an ack was taken of a plan that is given up")
	}
}

// rollBack takes all state back.
func (s *simulation) rollBack() {
	s.Helper()
	f := s.flight
	for key, from := range f.at {
		if _, there := s.at[key]; there && s.isHeld(key) {
			s.at[key] = from
			if stray, has := f.strays[key]; has {
				s.strays[key] = stray
			}
		}
	}
	s.took(s.Abort(s.Context(), on(f.plan), f.executor.Epoch, true))
	s.flight = nil
}

// stopTheWorld carries a plan out while nothing flows, by where it routes keys.
func (s *simulation) stopTheWorld(id string) {
	s.Helper()
	memory := s.budget.Lease(s.Context())
	defer memory.Release()
	p, err := s.Plan(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	lists, err := s.Lists(s.Context(), p, true, false, memory)
	if err != nil {
		s.Fatal(err)
	}
	if s.config.Scheme == operator.SchemeRing {
		s.start(id) // the plan tells the tokens that it changes, not all
		return
	}
	config := s.configs[p.ConfigVersion]
	next := &router{entries: maps.Clone(s.routes.entries)}
	if s.config.Scheme == operator.SchemeTable {
		next.hash = hashOf(config.Instances, &config.Hash, config.Placement)
	}
	next.follow(s.T, lists.Change)
	if s.took(s.Commit(s.Context(), on(id), true)).Status != "committed" {
		return
	}
	s.mended(id)
	for key := range s.at {
		s.at[key] = next.route(key)
	}
	clear(s.strays)
	clear(s.faults)
}

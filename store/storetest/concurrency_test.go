package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plannerd/store"
)

var concurrencyCases = []testCase{
	{name: "replicas make one table version at a time", run: oneVersionAtATime},
	{name: "of competing plans one is committed", run: oneOfCompetingPlans},
	{name: "of plans that are started together one is", run: oneIsStarted},
	{name: "of acks that arrive together one commits", run: oneAckCommits},
	{name: "an abort and the last ack arrive together", run: abortOrCommit},
	{name: "proposals that arrive together", run: oneIsProposed},
	{name: "a request sent to all replicas makes one plan", run: oneOfTheSamePlan},
	{name: "a plan is committed as it was resolved last", run: committedAsResolved},
	{name: "an operator is created once", run: operatorIsCreatedOnce, bare: true},
	{name: "configurations that arrive together are all counted", run: configurationsTogether},
}

// replicas returns stores on the same database, each for several goroutines.
func (f *fixture) replicas(t *testing.T) []store.Store {
	return []store.Store{f, openStore(t, f.open), openStore(t, f.open)}
}

// together runs n calls at once, spread over the replicas, and waits for them.
func (f *fixture) together(t *testing.T, n int, call func(i int, s store.Store)) {
	t.Helper()
	stores := f.replicas(t)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			call(i, stores[i%len(stores)])
		})
	}
	close(start)
	all.Wait()
}

// oneVersionAtATime lets workers plan and commit as engines do, each from what
// it last saw. Whoever comes too late is told so and tries again.
func oneVersionAtATime(t *testing.T, f *fixture) {
	const workers, each = 6, 5
	versions := make([][]int64, workers)
	f.together(t, workers, func(i int, s store.Store) {
		for try := 0; len(versions[i]) < each; try++ {
			version, err := planAndCommit(t.Context(), s, fmt.Sprintf("worker %d, try %d", i, try), i%2 == 0)
			if err == nil {
				versions[i] = append(versions[i], version)
			} else if !tooLate(err) {
				t.Errorf("worker %d: %v", i, err)
				return
			}
		}
	})
	seen := map[int64]bool{}
	for i := range versions {
		for n, v := range versions[i] {
			holds(t, !seen[v], "version %d was committed twice", v)
			seen[v] = true
			if n > 0 && v <= versions[i][n-1] {
				t.Errorf("worker %d committed version %d after %d", i, v, versions[i][n-1])
			}
		}
	}
	op := f.operator(t, "clicks")
	is(t, "version", op.TableVersion, workers*each)
	is(t, "entries", op.TableSize, workers*each)
	for version := range op.TableVersion + 1 {
		table := must(f.Table(t.Context(), "clicks", &version))(t)
		is(t, "entries", int64(len(table.Entries)), version)
	}
}

// planAndCommit adds one entry to the table, in one step or in two.
func planAndCommit(ctx context.Context, s store.Store, key string, atOnce bool) (int64, error) {
	op, err := s.Operator(ctx, "clicks")
	if err != nil {
		return 0, err
	}
	p := store.NewPlan{Plan: store.Plan{
		ID: key, Operator: op.Name, Status: store.StatusApproved, Fingerprint: key,
		BaseVersion: op.TableVersion, ConfigVersion: op.ConfigVersion, CreatedAt: time.Now(),
	}, Changes: []store.Change{set(key, 1)}}
	if op.LastInterval != nil {
		p.Interval = *op.LastInterval + 1
	}
	by := store.Transition{Actor: key, At: time.Now()}
	if atOnce {
		p.Status = store.StatusCommitted
	}
	made, _, err := s.CreatePlan(ctx, p, by)
	if err == nil && !atOnce {
		made, _, err = s.CommitPlan(ctx, key, by, store.Retention{})
	}
	if err != nil {
		return 0, err
	}
	return *made.Version, nil
}

func tooLate(err error) bool {
	return errors.Is(err, store.ErrIntervalPlanned) || errors.Is(err, store.ErrIntervalOutdated) ||
		errors.Is(err, store.ErrBaseChanged) || errors.Is(err, store.ErrTransition)
}

func oneOfCompetingPlans(t *testing.T, f *fixture) {
	const n = 6
	var plans []store.Plan
	for i := range n {
		plans = append(plans, f.create(t, f.plan(t, "clicks", int64(i), store.StatusApproved, set("k", int32(i)))))
	}
	results := make([]error, 2*n) // each is committed by two
	commits := make([]bool, 2*n)
	by := f.by("x")
	f.together(t, 2*n, func(i int, s store.Store) {
		_, commits[i], results[i] = s.CommitPlan(t.Context(), plans[i%n].ID, by, store.Retention{})
	})
	winner := -1
	for i := range n {
		first, second := results[i], results[i+n]
		switch {
		case first == nil && second == nil && winner < 0:
			winner = i
		case !errors.Is(first, store.ErrTransition) || !errors.Is(second, store.ErrTransition):
			t.Errorf("plan %d: errors %v and %v, after plan %d was committed", i, first, second, winner)
		}
	}
	if winner < 0 {
		t.Fatal("no plan was committed")
	}
	for i := range n {
		if done := commits[i] != commits[i+n]; done != (i == winner) || commits[i] && commits[i+n] {
			t.Errorf("plan %d: its calls say %v and %v that they committed it, and plan %d was", i, commits[i],
				commits[i+n], winner)
		}
	}
	is(t, "table version", f.operator(t, "clicks").TableVersion, 1)
	f.wantTable(t, "clicks", -1, fmt.Sprintf("k=%d", winner))
	steps, err := f.Transitions(t.Context(), plans[winner].ID)
	ok(t, err)
	is(t, "transitions", len(steps), 2)
}

// oneIsStarted lets executors start plans: each plan is started by several.
func oneIsStarted(t *testing.T, f *fixture) {
	const n = 4
	var plans []store.Plan
	for i := range n {
		plans = append(plans, f.beside(t, f.plan(t, "clicks", int64(i), store.StatusApproved, set("k", int32(i)))))
	}
	results := make([]error, 3*n)
	by := f.by("x")
	f.together(t, 3*n, func(i int, s store.Store) {
		_, results[i] = s.StartPlan(t.Context(), plans[i%n].ID, store.Executor{Name: fmt.Sprint("engine ", i/n)}, by)
	})
	op := f.operator(t, "clicks")
	p, err := f.Plan(t.Context(), op.CurrentPlan)
	need(t, err == nil && op.CurrentStatus == store.StatusApplying,
		"the current plan is %q, error %v", op.CurrentStatus, err)
	for i, err := range results {
		switch {
		case plans[i%n].ID != p.ID:
			fails(t, "another plan", err, store.ErrPlanInFlight)
		case p.Executor.Name != fmt.Sprint("engine ", i/n):
			fails(t, "another executor", err, store.ErrTransition)
		case err != nil:
			t.Errorf("the executor: %v", err)
		}
	}
}

// oneAckCommits lets each instance ack twice.
func oneAckCommits(t *testing.T, f *fixture) {
	const n = 8
	in := f.plan(t, "clicks", 1, store.StatusApproved, set("k", 1))
	in.Awaited = nil
	for i := range int32(n) {
		in.Awaited = append(in.Awaited, i)
	}
	p := f.create(t, in)
	f.start(t, p.ID)
	by := f.by("x")
	var commits atomic.Int32
	f.together(t, 2*n, func(i int, s store.Store) {
		_, committed, err := s.AckPlan(t.Context(), p.ID, 1, []int32{int32(i % n)}, by, store.Retention{})
		if err != nil {
			t.Error(err)
		}
		if committed {
			commits.Add(1)
		}
	})
	holds(t, commits.Load() == 1, "%d acks committed", commits.Load())
	got, err := f.Plan(t.Context(), p.ID)
	holds(t, err == nil && got.Status == store.StatusCommitted && len(got.Acked) == n,
		"status %q, %d acks, error %v", got.Status, len(got.Acked), err)
	f.wantTable(t, "clicks", 1, "k=1")
}

func abortOrCommit(t *testing.T, f *fixture) {
	for i := range int32(6) {
		op := f.operator(t, "clicks")
		p := f.create(t, f.awaiting(t, "clicks", int64(i), store.StatusApproved, set(fmt.Sprint("k", i), i)))
		f.start(t, p.ID)
		by := f.by("x")
		var results [2]error
		f.together(t, 2, func(k int, s store.Store) {
			if k == 0 {
				_, results[k] = s.AbortPlan(t.Context(), p.ID, false, by)
			} else {
				_, _, results[k] = s.AckPlan(t.Context(), p.ID, 1, []int32{0, 2}, by, store.Retention{})
			}
		})
		got := must(f.Plan(t.Context(), p.ID))(t)
		aborted := got.Status == store.StatusAborting
		if won, lost := results[0], results[1]; aborted {
			holds(t, won == nil && errors.Is(lost, store.ErrTransition), "aborted: errors %v and %v", won, lost)
		} else if lost != nil || !errors.Is(won, store.ErrTransition) {
			t.Errorf("%s: errors %v and %v", got.Status, won, lost)
		}
		if moved := f.operator(t, "clicks").TableVersion != op.TableVersion; moved == aborted {
			t.Errorf("the plan is %s, and there is a new version: %v", got.Status, moved)
		}
		if aborted {
			f.abort(t, p.ID)
		}
	}
}

// oneIsProposed lets replicas propose plans of as many intervals.
func oneIsProposed(t *testing.T, f *fixture) {
	const n = 6
	var plans []store.NewPlan
	for range n {
		plans = append(plans, f.proposal(t, "clicks", 1))
	}
	by := f.by("x")
	f.together(t, n, func(i int, s store.Store) {
		p := plans[i]
		p.Interval = int64(i)
		if i%2 == 0 {
			p.OnPending = store.PendingReplace
		}
		_, _, err := s.CreatePlan(t.Context(), p, by)
		if err != nil && !errors.Is(err, store.ErrPlanPending) && !errors.Is(err, store.ErrIntervalOutdated) {
			t.Error(err)
		}
	})
	proposed, _, err := f.Plans(t.Context(), store.PlanFilter{Operator: "clicks", Status: store.StatusProposed, Limit: n})
	holds(t, err == nil && len(proposed) == 1, "%d plans are proposed, error %v", len(proposed), err)
}

func oneOfTheSamePlan(t *testing.T, f *fixture) {
	const n = 8
	p := f.plan(t, "clicks", 1, store.StatusCommitted, set("a", 1))
	by := f.by("x")
	var lock sync.Mutex
	created, ids := 0, map[string]bool{}
	f.together(t, n, func(i int, s store.Store) {
		mine := p
		mine.ID = fmt.Sprintf("request %d", i)
		got, isNew, err := s.CreatePlan(t.Context(), mine, by)
		if err != nil {
			t.Error(err)
		}
		lock.Lock()
		defer lock.Unlock()
		ids[got.ID] = true
		if isNew {
			created++
		}
	})
	holds(t, created == 1 && len(ids) == 1, "%d plans were created, and plans %v returned", created, ids)
	f.wantTable(t, "clicks", -1, "a=1")
	f.wantStatuses(t, "clicks", store.StatusCommitted)
}

// committedAsResolved lets resolutions and commits of one plan meet. Each commit
// finds all of one resolution, and none is taken after it.
func committedAsResolved(t *testing.T, f *fixture) {
	const n = 12 // each third is a commit
	ctx := t.Context()
	p := f.create(t, f.classes(t, 1))
	results := make([]error, n)
	by := f.by("x")
	f.together(t, n, func(i int, s store.Store) {
		if i%3 == 2 {
			_, _, results[i] = s.CommitPlan(ctx, p.ID, by, store.Retention{})
			return
		}
		own := set(fmt.Sprintf("own %d", i), int32(i))
		_, results[i] = s.ResolvePlan(ctx, p.ID, store.Resolution{Keys: int64(i),
			Changes: []store.Change{set("k", int32(i)), own}}, by)
	})
	resolved, committed := 0, 0
	for i, err := range results {
		switch {
		case i%3 == 2 && err == nil:
			committed++
		case i%3 == 2:
			fails(t, "a commit before the first resolution", err, store.ErrUnresolved)
		case err == nil:
			resolved++
		default:
			fails(t, "a resolution after the commit", err, store.ErrTransition)
		}
	}
	holds(t, resolved != 0 && (committed != 0 || resolved == n*2/3),
		"%d resolutions and %d commits", resolved, committed)
	got, _ := must2(f.CommitPlan(ctx, p.ID, by, store.Retention{}))(t)
	last := *got.ResolvedKeys
	f.wantTable(t, "clicks", 1, fmt.Sprintf("k=%d", last), fmt.Sprintf("own %d=%d", last, last))
	f.wantTable(t, "clicks", 0)
	steps, err := f.Transitions(ctx, p.ID)
	holds(t, err == nil && len(steps) == resolved+2 && steps[len(steps)-1].To == store.StatusCommitted,
		"transitions %v, error %v; want %d", steps, err, resolved+2)
	wantDiffs(t, f, 1)
}

func operatorIsCreatedOnce(t *testing.T, f *fixture) {
	at := f.now()
	for _, life := range []string{"first", "second"} {
		var lock sync.Mutex
		created := 0
		f.together(t, 8, func(_ int, s store.Store) {
			_, isNew, err := s.PutOperator(t.Context(), "clicks", []byte(`{}`), at)
			if err != nil {
				t.Error(err)
			}
			lock.Lock()
			defer lock.Unlock()
			if isNew {
				created++
			}
		})
		holds(t, created == 1, "%s life: created %d times", life, created)
		ok(t, f.DeleteOperator(t.Context(), "clicks", at))
	}
	if op := f.put(t, "clicks", `{}`); op.ConfigVersion != 3 || op.TableVersion != 2 {
		t.Errorf("configuration %d and table %d, want 3 and 2", op.ConfigVersion, op.TableVersion)
	}
}

func configurationsTogether(t *testing.T, f *fixture) {
	const n = 8
	at := f.now()
	f.together(t, n, func(i int, s store.Store) {
		if _, _, err := s.PutOperator(t.Context(), "clicks", fmt.Appendf(nil, `{"v":%d}`, i), at); err != nil {
			t.Error(err)
		}
	})
	is(t, "configuration version", f.operator(t, "clicks").ConfigVersion, n+1)
	seen := map[string]bool{}
	for version := range int64(n + 1) {
		c := must(f.Configuration(t.Context(), "clicks", version+1))(t)
		seen[string(c.Config)] = true
	}
	holds(t, len(seen) == n+1, "%d configurations were kept, want %d", len(seen), n+1)
}

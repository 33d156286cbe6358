package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/store"
)

var planCases = []testCase{
	{name: "a plan keeps every field", run: planKeepsFields},
	{name: "a plan keeps its long parts", run: planKeepsLongParts},
	{name: "a second plan with the same fingerprint is the same plan", run: duplicateIsSamePlan, bare: true},
	{name: "an ended plan makes room for its interval", run: endedPlanMakesRoom},
	{name: "an undo is beside the plan of its interval, until the migration is taken back", run: undoIsBeside},
	{name: "refusals come in their order", run: refusalsInOrder, bare: true},
	{name: "intervals go forward within an epoch", run: intervalsGoForward},
	{name: "plans are listed newest first", run: plansAreListed},
	{name: "an impossible plan leaves nothing behind", run: impossiblePlans},
}

func planKeepsFields(t *testing.T, f *fixture) {
	for i, status := range []store.Status{store.StatusNoAction, store.StatusApproved, store.StatusCommitted} {
		in := f.plan(t, "clicks", math.MinInt64/2, status, set(fmt.Sprint("key", i), 1))
		in.Epoch, in.Interval = int64(i), 1<<53-1
		in.Version = new(int64) // the store decides
		want := in.Plan
		want.Version, want.CreatedAt = nil, kept(in.CreatedAt)
		if status == store.StatusCommitted {
			*in.Version = 77
			want.Version = new(int64(1))
		}
		got := f.create(t, in)
		same(t, "plans", want, got)
		same(t, "plans read", want, must(f.Plan(t.Context(), in.ID))(t))
		same(t, "plans found", want, must(f.FindPlan(t.Context(), "clicks", in.Epoch, in.Interval, in.Fingerprint))(t))
	}
	bare := store.NewPlan{Plan: store.Plan{
		ID: "bare", Operator: "clicks", Epoch: 9, Status: store.StatusNoAction,
		BaseVersion: 1, ConfigVersion: 1, CreatedAt: kept(f.now()),
	}}
	bare.ThetaAfter, bare.Objective = math.Inf(1), math.MaxFloat64
	bare.SkewnessAfter = math.SmallestNonzeroFloat64
	same(t, "bare plans", bare.Plan, f.create(t, bare))
}

// undoIsBeside: it is refused for no interval, found by its fingerprint alone, and begins none.
func undoIsBeside(t *testing.T, f *fixture) {
	first := f.create(t, f.plan(t, "clicks", 4, store.StatusCommitted, set("a", 1)))
	f.create(t, f.plan(t, "clicks", 5, store.StatusNoAction))
	var made []store.Plan
	for i, status := range []store.Status{store.StatusCommitted, store.StatusApproved} {
		in := f.plan(t, "clicks", 4, status, [][]store.Change{{unset("a", 1)}, {set("a", 1)}}[i]...)
		in.Fingerprint, in.Undo = fmt.Sprint("undo ", i), []byte(`{"to_version": 0}`)
		p := f.create(t, in)
		if _, again := must2(f.CreatePlan(t.Context(), in, f.by("x")))(t); again {
			t.Error("the same undo twice")
		}
		same(t, "undos", p, must(f.FindPlan(t.Context(), "clicks", 0, 4, in.Fingerprint))(t))
		made = append(made, p)
	}
	same(t, "the plan of the interval", first, must(f.FindPlan(t.Context(), "clicks", 0, 4, first.Fingerprint))(t))
	is(t, "interval", *f.operator(t, "clicks").LastInterval, 5)
	f.down(t, 17)
	must(f.Migrator().Up(t.Context()))(t)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusNoAction, store.StatusSuperseded, store.StatusAborted)
	steps := must(f.Transitions(t.Context(), made[1].ID))(t)
	if last := steps[len(steps)-1]; last.To != store.StatusAborted || last.Actor != "migration" {
		t.Errorf("transitions %v", steps)
	}
	f.wantTable(t, "clicks", -1)
}

func planKeepsLongParts(t *testing.T, f *fixture) {
	random := make([]byte, 3<<20)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	for i, data := range [][]byte{nil, {}, {0}, []byte("\xff\x00text"), random} {
		p := f.plan(t, "clicks", int64(i), store.StatusNoAction)
		p.Migrations, p.Input = data, data
		f.create(t, p)
		migrations, err := f.Migrations(t.Context(), p.ID)
		holds(t, err == nil && bytes.Equal(migrations, data) && (migrations == nil) == (data == nil),
			"%d bytes of migrations: %d returned, error %v", len(data), len(migrations), err)
		input, err := f.Input(t.Context(), p.ID)
		holds(t, err == nil && bytes.Equal(input, data) && (input == nil) == (data == nil),
			"%d bytes of input: %d returned, error %v", len(data), len(input), err)
	}
	unsorted := []store.Change{set("c", 1), set("a", 2), set("b", 3)}
	p := f.plan(t, "clicks", 10, store.StatusApproved, unsorted...)
	f.create(t, p)
	same(t, "changes", []store.Change{set("a", 2), set("b", 3), set("c", 1)}, must(f.Changes(t.Context(), p.ID))(t))
	same(t, "the caller's changes", []store.Change{set("c", 1), set("a", 2), set("b", 3)}, unsorted)
}

func duplicateIsSamePlan(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{"v":1}`)
	for interval, status := range []store.Status{store.StatusNoAction, store.StatusApproved, store.StatusCommitted} {
		first := f.plan(t, "clicks", int64(interval), status)
		want := f.create(t, first)
		again := first
		again.ID, again.Strategy = "another id", "another strategy"
		again.Changes = []store.Change{set("never", 1)}
		// Whatever happened since: the request is the same, so is its answer.
		if status == store.StatusCommitted {
			f.create(t, f.plan(t, "clicks", 100, store.StatusNoAction))
			f.put(t, "clicks", `{"v":2}`)
		}
		before := read(t, f)
		got, created, err := f.CreatePlan(t.Context(), again, f.by("x"))
		ok(t, err)
		is(t, "created", created, false)
		same(t, "plans", want, got)
		same(t, "contents", before, read(t, f))
	}
}

func endedPlanMakesRoom(t *testing.T, f *fixture) {
	ctx := t.Context()
	aborted := f.plan(t, "clicks", 5, store.StatusApproved, set("a", 1))
	f.create(t, aborted)
	must(f.AbortPlan(ctx, aborted.ID, false, f.by("x")))(t)
	fails(t, "an aborted plan", errorOf(f.FindPlan(ctx, "clicks", 0, 5, aborted.Fingerprint)), store.ErrNotFound)
	ok(t, f.CheckInterval(ctx, "clicks", 0, 5))
	// The same request may have another try.
	second := f.plan(t, "clicks", 5, store.StatusApproved, set("a", 1))
	second.Fingerprint = aborted.Fingerprint
	f.create(t, second)
	f.commit(t, "clicks", set("b", 2)) // supersedes it
	fails(t, "a superseded plan", errorOf(f.FindPlan(ctx, "clicks", 0, 5, second.Fingerprint)), store.ErrNotFound)
	f.wantStatuses(t, "clicks", store.StatusAborted, store.StatusSuperseded, store.StatusCommitted)
	// But the interval is over.
	fails(t, "checking interval 5", f.CheckInterval(ctx, "clicks", 0, 5), store.ErrIntervalOutdated)
}

// refusalsInOrder makes everything wrong with a plan at once and mends one thing
// after the other.
func refusalsInOrder(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{"v":1}`)
	f.create(t, f.plan(t, "clicks", 1, store.StatusNoAction))
	p := f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1))
	f.commit(t, "clicks", set("b", 1)) // interval 2, version 1
	f.put(t, "clicks", `{"v":2}`)
	before := read(t, f)
	try := func(want error) {
		t.Helper()
		fails(t, "the plan", notDone(f.CreatePlan(t.Context(), p, f.by("x"))), want)
		same(t, "contents", before, read(t, f))
	}
	operator := p.Operator
	p.Operator = "none"
	try(store.ErrNotFound)
	p.Operator = operator
	try(store.ErrIntervalPlanned)
	p.Interval = 0
	try(store.ErrIntervalOutdated)
	p.Interval = 3
	try(store.ErrConfigurationChanged)
	p.ConfigVersion = 3 // one that is not there yet
	try(store.ErrConfigurationChanged)
	p.ConfigVersion = 2
	try(store.ErrBaseChanged)
	p.BaseVersion = 2
	try(store.ErrBaseChanged)
	p.BaseVersion = 1
	f.create(t, p)
}

func intervalsGoForward(t *testing.T, f *fixture) {
	last := func(epoch, interval int64) {
		t.Helper()
		op := f.operator(t, "clicks")
		if op.LastEpoch == nil || op.LastInterval == nil {
			t.Fatal("no last interval")
		}
		is(t, "last interval", *op.LastEpoch, epoch)
		is(t, "last interval", *op.LastInterval, interval)
	}
	if op := f.operator(t, "clicks"); op.LastEpoch != nil || op.LastInterval != nil {
		t.Errorf("before the first plan: %+v", op)
	}
	for _, step := range []struct {
		epoch, interval int64
		want            error
	}{
		{0, 10, nil},
		{0, 10, store.ErrIntervalPlanned},
		{0, 9, store.ErrIntervalOutdated},
		{-1, 11, store.ErrFenced}, // a lower epoch
		{0, 12, nil},
		{0, 10, store.ErrIntervalPlanned}, // it has a plan, though it is over too
		{0, 11, store.ErrIntervalOutdated},
		{2, 3, nil}, // a higher epoch begins anew
		{0, 13, store.ErrFenced},
		{0, 10, store.ErrFenced}, // it has a plan too
		{1, 1, store.ErrFenced},
		{2, 2, store.ErrIntervalOutdated},
		{2, 3, store.ErrIntervalPlanned},
		{2, 4, nil},
	} {
		what := fmt.Sprintf("interval %d of epoch %d", step.interval, step.epoch)
		err := f.CheckInterval(t.Context(), "clicks", step.epoch, step.interval)
		holds(t, errors.Is(err, step.want), "checking %s: error %v, want %v", what, err, step.want)
		p := f.plan(t, "clicks", step.interval, store.StatusNoAction)
		p.Epoch = step.epoch
		_, created, err := f.CreatePlan(t.Context(), p, f.by("x"))
		holds(t, errors.Is(err, step.want) && created == (step.want == nil),
			"planning %s: created = %v, error %v, want %v", what, created, err, step.want)
		if step.want == nil {
			last(step.epoch, step.interval)
		}
	}
	last(2, 4)
}

func plansAreListed(t *testing.T, f *fixture) {
	f.put(t, "other", `{}`)
	var all []store.Plan
	for i := range 23 {
		f.create(t, f.plan(t, "other", int64(i), store.StatusNoAction))
		p := f.plan(t, "clicks", int64(i/2), store.StatusNoAction)
		if i%2 == 0 {
			p.Status = store.StatusApproved
		}
		plan := f.create(t, p)
		if i%2 == 0 {
			var err error
			if plan, err = f.AbortPlan(t.Context(), plan.ID, false, f.by("x")); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, plan)
	}
	all = summaries(all)
	slices.Reverse(all)
	three := int64(3)
	for _, c := range []struct {
		name   string
		filter store.PlanFilter
		want   func(store.Plan) bool
	}{
		{"all", store.PlanFilter{}, func(store.Plan) bool { return true }},
		{"status", store.PlanFilter{Status: store.StatusAborted},
			func(p store.Plan) bool { return p.Status == store.StatusAborted }},
		{"no status", store.PlanFilter{Status: store.StatusApproved}, func(store.Plan) bool { return false }},
		{"interval", store.PlanFilter{Interval: &three}, func(p store.Plan) bool { return p.Interval == 3 }},
		{"both", store.PlanFilter{Interval: &three, Status: store.StatusNoAction},
			func(p store.Plan) bool { return p.Interval == 3 && p.Status == store.StatusNoAction }},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(p store.Plan) bool { return !c.want(p) })
		for _, limit := range []int{1, 4, 23, 100} {
			c.filter.Operator, c.filter.Limit, c.filter.Before = "clicks", limit, 0
			same(t, fmt.Sprintf("plans by %s, %d at a time,", c.name, limit), want, pages(t, f, c.filter))
		}
	}
}

// summaries are plans as they are listed.
func summaries(plans []store.Plan) []store.Plan {
	short := slices.Clone(plans)
	for i := range short {
		short[i].Instances, short[i].HotKeys, short[i].Splits, short[i].Resources = nil, nil, nil, nil
		short[i].Reports = nil
		short[i].Awaited, short[i].Acked, short[i].Routers = nil, nil, nil
		short[i].Batches = nil
	}
	return short
}

// pages returns all pages of a list.
func pages(t *testing.T, f *fixture, filter store.PlanFilter) (all []store.Plan) {
	t.Helper()
	for {
		page, next := must2(f.Plans(t.Context(), filter))(t)
		need(t, len(page) <= filter.Limit && (len(page) >= filter.Limit || next == 0),
			"a page of %d of %d plans, next %d", len(page), filter.Limit, next)
		all = append(all, page...)
		if next == 0 {
			return all
		}
		filter.Before = next
	}
}

func impossiblePlans(t *testing.T, f *fixture) {
	f.commit(t, "clicks", set("a", 1))
	before := read(t, f)
	for what, spoil := range map[string]func(*store.NewPlan){
		"a key twice":  func(p *store.NewPlan) { p.Changes = []store.Change{set("x", 1), set("x", 2)} },
		"an empty key": func(p *store.NewPlan) { p.Changes = []store.Change{set("", 1)} },
		"a key too long": func(p *store.NewPlan) {
			p.Changes = []store.Change{set(
				string(make([]byte, store.MaxKeyBytes+1)), 1)}
		},
		"a change of nothing":     func(p *store.NewPlan) { p.Changes = []store.Change{move("a", 1, 1)} },
		"a negative instance":     func(p *store.NewPlan) { p.Changes = []store.Change{set("x", -2)} },
		"an id that is no text":   func(p *store.NewPlan) { p.ID = "a\xffb" },
		"a strategy with NUL":     func(p *store.NewPlan) { p.Strategy = "a\x00b" },
		"a figure that is no one": func(p *store.NewPlan) { p.ThetaAfter = math.NaN() },
		"parameters not in JSON":  func(p *store.NewPlan) { p.Parameters = []byte("{") },
		"an id that exists":       func(p *store.NewPlan) { p.ID = "plan-clicks-1" },
		// These two are found in the middle of the transaction.
		"an entry that is there": func(p *store.NewPlan) {
			p.Status, p.Changes = store.StatusCommitted, []store.Change{set("0", 1), set("a", 1), set("b", 1)}
		},
		"an entry that is elsewhere": func(p *store.NewPlan) {
			p.Status, p.Changes = store.StatusCommitted, []store.Change{set("0", 1), unset("a", 2), set("b", 1)}
		},
		"a move from elsewhere": func(p *store.NewPlan) {
			p.Status, p.Changes = store.StatusCommitted, []store.Change{set("0", 1), move("a", 2, 3), set("b", 1)}
		},
	} {
		p := f.plan(t, "clicks", 8, store.StatusApproved, set("x", 1))
		spoil(&p)
		_, created, err := f.CreatePlan(t.Context(), p, f.by("x"))
		refused(t, what, err)
		holds(t, !created, "%s: created = true", what)
		same(t, "contents after "+what, before, read(t, f))
	}
	for _, status := range []store.Status{store.StatusAborted, store.StatusSuperseded, store.StatusApplying,
		store.StatusRejected, store.StatusExpired, "", "waiting"} {
		_, _, err := f.CreatePlan(t.Context(), f.plan(t, "clicks", 8, status), f.by("x"))
		fails(t, fmt.Sprintf("a plan born %q", status), err, store.ErrTransition)
	}
	refused(t, "a configuration not in JSON", errorOf2(f.PutOperator(t.Context(), "new", []byte("{"), f.now())))
	refused(t, "a name with NUL", errorOf2(f.PutOperator(t.Context(), "n\x00w", []byte("{}"), f.now())))
	same(t, "contents", before, read(t, f))
	if op := f.put(t, "new", `{}`); op.ConfigVersion != 1 || op.TableVersion != 0 {
		t.Errorf("a refused operator used numbers up: %+v", op)
	}
}

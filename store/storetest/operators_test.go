package storetest

import (
	"slices"
	"testing"

	"plannerd/store"
)

var operatorCases = []testCase{
	{name: "a new operator is as it was put", run: operatorIsAsPut, bare: true},
	{name: "a configuration is kept byte for byte and counted", run: configurationsAreCounted, bare: true},
	{name: "operators are listed in the order of their bytes", run: operatorsAreListed, bare: true},
	{name: "operators are listed with how they went lately", run: recentPlans, bare: true},
	{name: "operators are apart", run: operatorsAreApart, bare: true},
	{name: "deleting keeps the numbers", run: deletingKeepsNumbers, bare: true},
	{name: "names of instances are kept for ever", run: instanceNamesAreKept, bare: true},
	{name: "what does not exist is not found", run: missingIsNotFound},
}

func operatorIsAsPut(t *testing.T, f *fixture) {
	at := f.now()
	got, created := must2(f.PutOperator(t.Context(), "clicks", []byte(`{"instances": 8}`), at))(t)
	want := store.Operator{
		Name: "clicks", ConfigVersion: 1, Config: []byte(`{"instances": 8}`), TableConfigVersion: 1,
		CreatedAt: kept(at), UpdatedAt: kept(at),
	}
	is(t, "created", created, true)
	same(t, "operators", want, got)
	same(t, "operators read", want, f.operator(t, "clicks"))
	f.wantTable(t, "clicks", -1)
	f.wantTable(t, "clicks", 0)
}

func configurationsAreCounted(t *testing.T, f *fixture) {
	const first, second = "{ \"b\":1,\n\t\"a\" : 2.50, \"a\": \"\\u0000\" }", `{"b":1,"a":2.5}`
	born := f.put(t, "clicks", first)
	again := did(f.PutOperator(t.Context(), "clicks", []byte(first), f.now()))(t, "the same configuration again", false)
	same(t, "operators after the same configuration again", born, again)

	at := f.now()
	changed := did(f.PutOperator(t.Context(), "clicks", []byte(second), at))(t, "another configuration", false)
	want := born
	want.ConfigVersion, want.Config, want.UpdatedAt = 2, []byte(second), kept(at)
	same(t, "operators after another configuration", want, changed)

	for version, want := range map[int64]store.Configuration{
		1: {Version: 1, Config: []byte(first), CreatedAt: born.CreatedAt},
		2: {Version: 2, Config: []byte(second), CreatedAt: kept(at)},
	} {
		same(t, "configurations", want, must(f.Configuration(t.Context(), "clicks", version))(t))
	}
	for _, version := range []int64{-1, 0, 3} {
		fails(t, "a version that never was", errorOf(f.Configuration(t.Context(), "clicks", version)), store.ErrNotFound)
	}
	// Back to the first configuration is a third version, not the first again.
	is(t, "version", f.put(t, "clicks", first).ConfigVersion, 3)
}

func operatorsAreListed(t *testing.T, f *fixture) {
	order := []string{"0", "A", "B", "Z", "_", "a", "a ", "a-b", "a.b", "a_b", "aa", "b", "z", "À", "à", "😀"}
	for _, i := range []int{3, 11, 0, 15, 7, 4, 9, 1, 14, 6, 2, 13, 5, 12, 8, 10} {
		f.put(t, order[i], `{}`)
	}
	for _, limit := range []int{1, 3, len(order), 100} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page := must(f.Operators(t.Context(), after, limit))(t)
			if len(page) == 0 {
				break
			}
			need(t, len(page) <= limit, "a page of %d, at most %d were wanted", len(page), limit)
			for _, op := range page {
				got = append(got, op.Name)
			}
		}
		same(t, "names", order, got)
	}
	page := must(f.Operators(t.Context(), "a", 2))(t)
	same(t, "operators in a list", []store.Operator{f.operator(t, "a "), f.operator(t, "a-b")}, page)
}

// realised is the θ of the loads that came.
func realised(p store.Plan) float64 {
	if p.ThetaRealised != nil {
		return *p.ThetaRealised
	}
	return p.ThetaBefore
}

func recentPlans(t *testing.T, f *fixture) {
	for _, name := range []string{"b", "a", "none"} {
		f.put(t, name, `{}`)
	}
	brief := func(plans ...store.Plan) (out []store.BriefPlan) {
		for _, p := range plans {
			out = append(out, store.BriefPlan{
				ID: p.ID, CreatedAt: p.CreatedAt, Epoch: p.Epoch, Interval: p.Interval, Status: p.Status,
				ThetaRealised: realised(p), ThetaAfter: p.ThetaAfter,
				MigrationKeys: p.MigrationKeys, MigrationFraction: p.MigrationFraction,
				Returned: p.ReturnedState / p.MigrationState,
			})
			if p.Resources != nil {
				out[len(out)-1].Forecast = p.Forecast
			}
		}
		return out
	}
	var plans []store.Plan
	for i := range int64(3) {
		p := f.plan(t, "a", i, store.StatusNoAction)
		if i == 1 {
			p.ThetaRealised = nil
		}
		if i == 2 {
			p.Resources = nil
		}
		plans = append(plans, f.create(t, p))
	}
	plans = append(plans, f.commit(t, "a", set("k", 1)))
	later := f.plan(t, "a", 1, store.StatusNoAction)
	later.Epoch = 1
	plans = append(plans, f.create(t, later))
	waiting := f.create(t, f.proposal(t, "b", 1))
	newest := f.create(t, f.plan(t, "b", 2, store.StatusNoAction))
	want := func(name string, newest []store.Plan, plans ...string) {
		t.Helper()
		ops := must(f.Operators(t.Context(), "", 10))(t)
		i := slices.IndexFunc(ops, func(op store.Operator) bool { return op.Name == name })
		recent := must(f.RecentPlans(t.Context(), ops, 3))(t)[i]
		same(t, "plans in brief of "+name, brief(newest...), recent.Brief)
		page, _ := must2(f.Plans(t.Context(), store.PlanFilter{Operator: name, Limit: 10}))(t)
		page = slices.DeleteFunc(page, func(p store.Plan) bool { return !slices.Contains(plans, p.ID) })
		same(t, "plans of "+name, page, recent.Plans)
	}
	want("a", plans[2:], "plan-a-5")
	want("b", []store.Plan{waiting, newest}, newest.ID, waiting.ID)
	want("none", nil)
	f.ticks.Add(60) // what waits expires
	want("b", []store.Plan{waiting, newest}, newest.ID)
	same(t, "how no operators went", []store.Recent{}, must(f.RecentPlans(t.Context(), nil, 3))(t))
}

func operatorsAreApart(t *testing.T, f *fixture) {
	for _, name := range []string{"a", "A", "a "} {
		f.put(t, name, `{"of":"`+name+`"}`)
	}
	f.commit(t, "a", set("k", 1))
	f.commit(t, "A", set("k", 2))
	waiting := f.create(t, f.plan(t, "A", 7, store.StatusApproved, move("k", 2, 3)))
	f.commit(t, "a", move("k", 1, 5))

	f.wantTable(t, "a", -1, "k=5")
	f.wantTable(t, "A", -1, "k=2")
	f.wantTable(t, "a ", -1)
	f.wantStatuses(t, "A", store.StatusCommitted, store.StatusApproved)
	is(t, "current plan", f.operator(t, "A").CurrentPlan, waiting.ID)
	ok(t, f.DeleteOperator(t.Context(), "a", f.now()))
	f.wantTable(t, "A", -1, "k=2")
	f.wantTable(t, "A", 0)
	must2(f.CommitPlan(t.Context(), waiting.ID, f.by("x"), store.Retention{}))(t)
}

func deletingKeepsNumbers(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "clicks", `{"v":1}`)
	f.put(t, "clicks", `{"v":2}`)
	f.commit(t, "clicks", set("a", 1))
	old := f.commit(t, "clicks", set("b", 2))
	waiting := f.create(t, f.plan(t, "clicks", 90, store.StatusApproved, unset("a", 1)))
	ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
	fails(t, "a deleted operator", errorOf(f.Operator(ctx, "clicks")), store.ErrNotFound)
	fails(t, "its table", errorOf(f.Table(ctx, "clicks", nil)), store.ErrNotFound)
	fails(t, "deleting it again", f.DeleteOperator(ctx, "clicks", f.now()), store.ErrNotFound)
	wantPurged(t, f, old.ID)
	fails(t, "committing its plan", errorOf2(f.CommitPlan(ctx, waiting.ID, f.by("x"), store.Retention{})), store.ErrPurged)

	at := f.now()
	op := did(f.PutOperator(ctx, "clicks", []byte(`{"v":2}`), at))(t, "creating it again", true)
	same(t, "operators", store.Operator{
		Name: "clicks", ConfigVersion: 3, Config: []byte(`{"v":2}`), TableVersion: 3, TableConfigVersion: 3,
		CreatedAt: kept(at), UpdatedAt: kept(at),
	}, op)
	fails(t, "a configuration of its former life", errorOf(f.Configuration(ctx, "clicks", 2)), store.ErrNotFound)
	for version := range int64(3) {
		fails(t, "a table of its former life", errorOf(f.Table(ctx, "clicks", &version)), store.ErrPurged)
	}
	f.wantTable(t, "clicks", 3)
	f.wantStatuses(t, "clicks")
	if p := f.commit(t, "clicks", set("c", 3)); *p.Version != 4 || p.Interval != 0 {
		t.Errorf("version %d of interval %d, want 4 of 0", *p.Version, p.Interval)
	}
	f.wantTable(t, "clicks", 3)
	f.wantTable(t, "clicks", -1, "c=3")
	wantPurged(t, f, old.ID)
}

// wantPurged checks that everything about a plan is gone, and known to be.
func wantPurged(t *testing.T, f *fixture, id string) {
	t.Helper()
	for what, err := range planErrors(t, f, id) {
		fails(t, what+" of purged plan "+id, err, store.ErrPurged)
	}
}

// planErrors asks for everything about a plan.
func planErrors(t *testing.T, f *fixture, id string) map[string]error {
	ctx := t.Context()
	failures := map[string]error{}
	_, failures["the record"] = f.Plan(ctx, id)
	_, failures["the changes"] = f.Changes(ctx, id)
	_, failures["the migrations"] = f.Migrations(ctx, id)
	_, failures["the absences"] = f.Absences(ctx, id)
	_, failures["the state of a forecast"] = f.ForecastState(ctx, id)
	_, failures["the input"] = f.Input(ctx, id)
	_, failures["the transitions"] = f.Transitions(ctx, id)
	_, failures["the resolution"] = f.ResolvePlan(ctx, id, store.Resolution{}, f.by("x"))
	_, _, failures["the commit"] = f.CommitPlan(ctx, id, f.by("x"), store.Retention{})
	_, failures["the abort"] = f.AbortPlan(ctx, id, false, f.by("x"))
	_, failures["the approval"] = f.ApprovePlan(ctx, id, unchanged, f.by("x"))
	_, failures["the rejection"] = f.RejectPlan(ctx, id, f.by("x"))
	_, failures["the start"] = f.StartPlan(ctx, id, jobManager, f.by("x"))
	_, _, failures["the ack"] = f.AckPlan(ctx, id, 1, nil, f.by("x"), store.Retention{})
	return failures
}

func instanceNamesAreKept(t *testing.T, f *fixture) {
	ctx := t.Context()
	want := func(version, next int64, ids map[string]int32) {
		t.Helper()
		same(t, "names", store.InstanceNames{ConfigVersion: version, Next: next, IDs: ids},
			must(f.InstanceNames(ctx, "clicks"))(t))
	}
	f.put(t, "clicks", `{"instances":[{"id":0},{"id":8}]}`)
	f.put(t, "clicks", `{"instances":[{"id":0}]}`)
	want(2, 9, nil)
	f.wantOldestProgram(t, 8)
	// A database of before knows no more than what its configurations say.
	f.down(t, 21)
	must(f.Migrator().Up(ctx))(t)
	want(2, 9, nil)
	f.put(t, "clicks", `{"instances":[{"id":0,"name":"a"},{"id":9,"name":"b"}]}`)
	want(3, 10, map[string]int32{"a": 0, "b": 9})
	f.put(t, "clicks", `{"instances":[{"id":0,"name":"c \u00e9"}]}`)
	want(4, 10, map[string]int32{"a": 0, "b": 9, "c é": 0})
	for range store.KeptConfigurations {
		f.put(t, "clicks", `{"instances":[{"id":0}]}`)
		f.put(t, "clicks", `{"instances":[{"id":1}]}`)
	}
	want(4+2*store.KeptConfigurations, 10, map[string]int32{"a": 0, "b": 9, "c é": 0})
	f.wantOldestProgram(t, 22)
	ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
	fails(t, "names of an operator that is gone", errorOf(f.InstanceNames(ctx, "clicks")), store.ErrNotFound)
	f.put(t, "clicks", `{"instances":[{"id":3}]}`)
	want(5+2*store.KeptConfigurations, 4, nil)
}

func missingIsNotFound(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.plan(t, "clicks", 1, store.StatusApproved)
	f.create(t, p)
	zero := int64(0)
	// Some databases cannot hold the last ones: nothing can be called that.
	for _, name := range []string{"", "Clicks", "clicks ", "none", "cl\x00icks", "clicks\xff"} {
		failures := map[string]error{}
		_, failures["the operator"] = f.Operator(ctx, name)
		failures["the deletion"] = f.DeleteOperator(ctx, name, f.now())
		_, failures["the configuration"] = f.Configuration(ctx, name, 1)
		_, failures["the names of instances"] = f.InstanceNames(ctx, name)
		_, failures["the table"] = f.Table(ctx, name, nil)
		_, failures["the first table"] = f.Table(ctx, name, &zero)
		_, failures["the feed"] = f.TableChanges(ctx, name, 0)
		_, _, failures["the route"] = f.Route(ctx, name, []byte("k"))
		_, failures["the interval's plan"] = f.FindPlan(ctx, name, 0, 1, p.Fingerprint)
		failures["the interval"] = f.CheckInterval(ctx, name, 0, 2)
		_, _, failures["the list of plans"] = f.Plans(ctx, store.PlanFilter{Operator: name, Limit: 1})
		other := p
		other.Operator, other.ID = name, "other"
		_, _, failures["the new plan"] = f.CreatePlan(ctx, other, f.by("x"))
		for what, err := range failures {
			fails(t, what+" of operator "+name, err, store.ErrNotFound)
		}
	}
	for _, id := range []string{"", "none", "PLAN-clicks-1", "plan-clicks-1 ", "plan\x00", "plan\xff"} {
		for what, err := range planErrors(t, f, id) {
			fails(t, what+" of plan "+id, err, store.ErrNotFound)
		}
	}
	for _, version := range []int64{-1, 1} {
		fails(t, "a version that never was", errorOf(f.Table(ctx, "clicks", &version)), store.ErrNotFound)
	}
	fails(t, "a plan of other input", errorOf(f.FindPlan(ctx, "clicks", 0, 1, "another fingerprint")), store.ErrNotFound)
	fails(t, "a plan of another epoch", errorOf(f.FindPlan(ctx, "clicks", 1, 1, p.Fingerprint)), store.ErrNotFound)
}

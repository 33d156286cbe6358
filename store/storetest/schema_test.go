package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"plannerd/store"
)

var schemaCases = []testCase{
	{name: "up, down and up again", run: upDownUp, unmigrated: true},
	{name: "plans outlive a migration taken back and made again", run: plansOutliveMigrations},
	{name: "what identities told is written down by the migration", run: factsLeaveIdentities},
	{name: "what a migration taken back cannot hold is given up", run: unheldIsAborted},
	{name: "split keys become whole without the columns that tell of them", run: splitsBecomeWhole, bare: true},
	{name: "what is under way in batches is given up with the table of batches", run: batchesAreAborted},
	{name: "forms of reports that older programs do not know", run: formsAreRequired},
	{name: "named keys beside records, which older programs do not know", run: namedKeysAreRequired},
	{name: "amounts of resources, which older programs do not know", run: resourcesAreRequired},
	{name: "without the table of routers there are none", run: routersAreForgotten},
	{name: "what is under way is given up with the columns that tell of it", run: underWayIsAborted, bare: true},
	{name: "what there is can be counted at every version", run: countedAtEveryVersion},
	{name: "without a schema the store is unavailable", run: unmigratedIsUnavailable, unmigrated: true},
	{name: "reopening gives the same", run: reopeningGivesTheSame, bare: true},
	{name: "a context that ended leaves nothing behind", run: endedContext, bare: true},
	{name: "a closed store fails", run: closedStoreFails, bare: true},
}

func upDownUp(t *testing.T, f *fixture) {
	ctx := t.Context()
	status := func(want int64) (latest int64) {
		t.Helper()
		current, latest := must2(f.Migrator().Status(ctx))(t)
		holds(t, current == want && latest >= 1, "version %d of %d, want %d", current, latest, want)
		return latest
	}
	latest := status(0)
	for range 2 {
		for range 2 { // the second time there is nothing to do
			if version, err := f.Migrator().Up(ctx); err != nil || version != latest {
				t.Fatalf("up: version %d, error %v", version, err)
			}
		}
		status(latest)
		ok(t, f.Ready(ctx))
		is(t, "configuration version", f.put(t, "clicks", `{}`).ConfigVersion, 1)
		f.commit(t, "clicks", set("a", 1))
		for want := latest - 1; want >= 0; want-- {
			if version, err := f.Migrator().Down(ctx); err != nil || version != want {
				t.Fatalf("down: version %d, error %v, want %d", version, err, want)
			}
		}
		status(0)
	}
	is(t, "down from nothing: version", must(f.Migrator().Down(ctx))(t), 0)
}

// plansOutliveMigrations takes back what came after the first version of the
// schema. A plan then loses what that version does not know, and no more.
func plansOutliveMigrations(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.create(t, f.plan(t, "clicks", 1, store.StatusNoAction))
	f.commit(t, "clicks", set("a", 1))
	want := read(t, f)
	f.down(t, 1)
	must(f.Migrator().Up(ctx))(t)
	for i := range want.Plans {
		one := &want.Plans[i].Plan
		one.Certificate, one.Compaction, one.Pending, one.Reports, one.Awaited = nil, nil, nil, nil, nil
		one.Scheme, one.Source, one.Outdated, one.IdleEntries = "table", one.Fingerprint, false, 0
		one.ForcedKeys, one.ForcedState, one.ReturnedState, one.Splits, one.Merges = 0, 0, 0, nil, 0
		one.ThetaRealised, one.Forecast, one.Affinity, one.Resources = nil, nil, nil, nil
		want.Plans[i].Absences, want.Plans[i].ForecastState = nil, nil
	}
	same(t, "contents", want, read(t, f))
	f.create(t, f.plan(t, "clicks", 3, store.StatusNoAction))
}

// factsLeaveIdentities takes back the columns that say what the name of a strategy
// and the fingerprint said before: they are filled in again from these.
func factsLeaveIdentities(t *testing.T, f *fixture) {
	ctx := t.Context()
	var want []store.Plan
	for i, c := range []struct {
		strategy, fingerprint, scheme, source string
		outdated                              bool
	}{
		{"mixed", "1/config-1/table-0/outdated-false", "table", "1/config-1/table-0/outdated-false", false},
		{"llfd", "2/config-1/table-0/outdated-true/compact-8-0-0", "table",
			"2/config-1/table-0/outdated-true/compact-8-0-0", true},
		{"optimal", "3/config-1/table-0/outdated-true/replay-optimal-0a", "table", "3/config-1/table-0/outdated-true", true},
		{"halving", "4/config-1/table-0/outdated-false", "ring", "4/config-1/table-0/outdated-false", false},
		{"doubling", "5/config-1/table-0/outdated-true", "ring", "5/config-1/table-0/outdated-true", true},
		{"fitted", "6/config-1/table-0/outdated-false", "ring", "6/config-1/table-0/outdated-false", false},
		{"quantile", "7/config-1/table-0/outdated-false", "ranges", "7/config-1/table-0/outdated-false", false},
		{"min_movement", "8/config-1/table-0/outdated-false", "ranges", "8/config-1/table-0/outdated-false", false},
	} {
		p := f.plan(t, "clicks", int64(i), store.StatusNoAction)
		p.Strategy, p.Fingerprint = c.strategy, c.fingerprint
		p.Scheme, p.Source, p.Outdated, p.IdleEntries = c.scheme, c.source, c.outdated, 0
		p.ForcedKeys, p.ForcedState, p.ReturnedState, p.ThetaRealised, p.Forecast = 0, 0, 0, nil, nil
		p.Affinity, p.Resources = nil, nil
		p.Splits, p.Merges = nil, 0
		want = append(want, f.create(t, p))
	}
	f.down(t, 5)
	must(f.Migrator().Up(ctx))(t)
	for _, p := range want {
		same(t, p.Strategy, p, must(f.Plan(ctx, p.ID))(t))
	}
}

// unheldIsAborted takes back the columns that tell plans of classes and of the
// engine's table from others. What could be committed only with them no longer
// can be; what needs them no more lives on.
func unheldIsAborted(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", set("a", 1))
	open := f.create(t, f.classes(t, 1))
	engines := f.plan(t, "clicks", 2, store.StatusApproved, set("e", 1))
	engines.EngineTable = true
	f.beside(t, engines)
	resolved := f.beside(t, f.classes(t, 3))
	f.resolve(t, resolved.ID, 5, set("b", 2))
	f.beside(t, f.plan(t, "clicks", 4, store.StatusApproved))
	f.down(t, 2)
	must(f.Migrator().Up(ctx))(t)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusAborted, store.StatusAborted, store.StatusApproved,
		store.StatusApproved)
	steps, err := f.Transitions(ctx, open.ID)
	need(t, err == nil && len(steps) == 2, "transitions %v, error %v; want two", steps, err)
	last := steps[1]
	if last.From != store.StatusApproved || last.To != store.StatusAborted || last.Actor != "migration" ||
		time.Since(last.At).Abs() > time.Hour {
		t.Errorf("the last transition is %+v", last)
	}
	must2(f.CommitPlan(ctx, resolved.ID, f.by("x"), store.Retention{}))(t)
	f.wantTable(t, "clicks", -1, "a=1", "b=2")
}

// down takes migrations back until the schema has a version.
func (f *fixture) down(t *testing.T, to int64) {
	t.Helper()
	for version := int64(-1); version != to; {
		var err error
		if version, err = f.Migrator().Down(t.Context()); err != nil || version < to {
			t.Fatal(version, err)
		}
	}
}

// wantOldestProgram looks up which version of the schema programs must know.
func (f *fixture) wantOldestProgram(t *testing.T, want int64) {
	t.Helper()
	got := int64(-1)
	err := database(t, f).QueryRowContext(t.Context(), `SELECT version FROM oldest_program`).Scan(&got)
	ok(t, err)
	is(t, "the oldest program knows version", got, want)
}

// splitsBecomeWhole takes back the column that says in which parts a key goes to several
// instances. Until some do, programs that know nothing of it may serve.
func splitsBecomeWhole(t *testing.T, f *fixture) {
	ctx := t.Context()
	oldest := func(want int64) { t.Helper(); f.wantOldestProgram(t, want) }
	f.put(t, "clicks", `{}`)
	f.commit(t, "clicks", set("a", 1), set("c", 1))
	oldest(8)
	parted := store.Change{Key: []byte("a"), Old: 1, New: 1, NewParts: "1:2"}
	f.commit(t, "clicks", parted)
	oldest(13)
	f.commit(t, "clicks", set("b", 2))
	back := parted
	back.OldParts, back.NewParts = back.NewParts, ""
	waiting := f.create(t, f.plan(t, "clicks", 7, store.StatusApproved, back))
	f.beside(t, f.plan(t, "clicks", 8, store.StatusApproved, set("d", 2)))
	f.down(t, 12)
	oldest(8)
	must(f.Migrator().Up(ctx))(t)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusCommitted, store.StatusCommitted, store.StatusAborted,
		store.StatusApproved)
	f.wantTable(t, "clicks", -1, "a=1", "b=2", "c=1")
	f.wantTable(t, "clicks", 2, "a=1", "c=1")
	if _, err := f.Table(ctx, "clicks", new(int64(1))); !errors.Is(err, store.ErrPurged) {
		t.Errorf("a version before the key was split: error %v", err)
	}
	if steps := must(f.Transitions(ctx, waiting.ID))(t); steps[len(steps)-1].Actor != "migration" {
		t.Errorf("transitions %v", steps)
	}
	f.commit(t, "clicks", move("a", 1, 3))
	f.wantTable(t, "clicks", -1, "a=3", "b=2", "c=1")
}

// batchesAreAborted takes back the table of batches. Programs that know nothing of batches may
// serve before the first is made, and again when the table is gone.
func batchesAreAborted(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)}))
	f.wantOldestProgram(t, 15)
	f.start(t, p.ID)
	f.acks(t, p.ID, 0)
	f.down(t, 14)
	f.wantOldestProgram(t, 8)
	must(f.Migrator().Up(ctx))(t)
	f.wantStatuses(t, "clicks", store.StatusAborted)
	f.wantTable(t, "clicks", -1, "a=1")
	if p := must(f.Plan(ctx, p.ID))(t); p.BatchCount != 0 || p.Batches != nil {
		t.Errorf("batches %v", p.Batches)
	}
	f.register(t, "r")
	f.create(t, f.batched(t, 2, []store.Change{set("c", 1)}, []store.Change{set("d", 2)}))
	f.wantOldestProgram(t, 15)
	f.down(t, 14) // which keeps routers
	f.wantOldestProgram(t, 14)
}

// formsAreRequired has programs stop that know reports of keys alone, until the schema is that of
// one of them: then the reports that it would take for damaged are gone.
func formsAreRequired(t *testing.T, f *fixture) {
	ctx := t.Context()
	put := func(instance int32, data string) {
		t.Helper()
		r := store.Report{Interval: 1, Instance: instance, At: f.now()}
		must2(f.PutReport(ctx, "clicks", r, []byte(data), 0))(t)
	}
	put(0, "PLRP of keys")
	f.wantOldestProgram(t, 8)
	for range 2 {
		ok(t, f.RequireForms(ctx, store.FormReports))
		f.wantOldestProgram(t, 15)
	}
	put(1, "PLCS of records")
	put(2, "PLSK of a sketch")
	f.down(t, 14)
	f.wantOldestProgram(t, 8)
	must(f.Migrator().Up(ctx))(t)
	if left := must(f.Reports(ctx, "clicks", 0, 1))(t); len(left) != 1 || left[0].Instance != 0 {
		t.Errorf("reports %v are left", left)
	}
}

// namedKeysAreRequired has programs stop that know no keys that are named beside records, until the
// schema is that of one of them: then nothing is left that it cannot read.
func namedKeysAreRequired(t *testing.T, f *fixture) {
	ctx := t.Context()
	ok(t, f.RequireForms(ctx, store.FormNamedKeys))
	f.wantOldestProgram(t, 16)
	ok(t, f.RequireForms(ctx, store.FormReports))
	f.wantOldestProgram(t, 16)
	in := f.plan(t, "clicks", 1, store.StatusApproved)
	in.Classes, in.Migrations, in.Input = true, []byte("PLNM of classes and keys"), []byte("PLCN of records and keys")
	named := f.create(t, in)
	f.commit(t, "clicks", set("a", 1)) // which ends it
	in = f.plan(t, "clicks", 3, store.StatusApproved)
	in.Classes, in.Migrations, in.Input = true, []byte("PLNM of classes and keys"), []byte("PLCN of records and keys")
	waiting := f.create(t, in)
	for i, data := range []string{"PLCN of records and keys", "PLCS of records"} {
		r := store.Report{Interval: 4, Instance: int32(i), At: f.now()}
		must2(f.PutReport(ctx, "clicks", r, []byte(data), 0))(t)
	}
	f.down(t, 15)
	f.wantOldestProgram(t, 15)
	must(f.Migrator().Up(ctx))(t)
	is(t, "what was approved is", must(f.Plan(ctx, waiting.ID))(t).Status, store.StatusAborted)
	for _, id := range []string{named.ID, waiting.ID} {
		is(t, "migrations", string(must(f.Migrations(ctx, id))(t)[:4]), "PLCM")
		if _, err := f.Input(ctx, id); !errors.Is(err, store.ErrPurged) {
			t.Errorf("the input: error %v", err)
		}
	}
	if left := must(f.Reports(ctx, "clicks", 0, 4))(t); len(left) != 1 || left[0].Instance != 1 {
		t.Errorf("reports %v are left", left)
	}
}

// resourcesAreRequired has programs stop that know no resources, until the schema is that of one of them:
// then no statistics are left that it cannot read.
func resourcesAreRequired(t *testing.T, f *fixture) {
	ctx := t.Context()
	ok(t, f.RequireForms(ctx, store.FormResources))
	f.wantOldestProgram(t, 24)
	var plans []store.Plan
	for i, input := range []string{"PLIN\x01sums\x80\x04 amounts", "PLIN\x01sums\x80\x03 none", "PLIN\x01sums\x04 none"} {
		in := f.plan(t, "clicks", int64(i), store.StatusNoAction)
		in.Input = []byte(input)
		plans = append(plans, f.create(t, in))
	}
	for i, data := range []string{"PLRP\x01sums\x0a amounts", "PLRP\x01sums\x07 none"} {
		r := store.Report{Interval: 9, Instance: int32(i), At: f.now()}
		must2(f.PutReport(ctx, "clicks", r, []byte(data), 0))(t)
	}
	f.down(t, 23)
	f.wantOldestProgram(t, 23)
	must(f.Migrator().Up(ctx))(t)
	for i, p := range plans {
		if _, err := f.Input(ctx, p.ID); errors.Is(err, store.ErrPurged) != (i == 0) {
			t.Errorf("input %d: error %v", i, err)
		}
	}
	if left := must(f.Reports(ctx, "clicks", 0, 9))(t); len(left) != 1 || left[0].Instance != 1 {
		t.Errorf("reports %v are left", left)
	}
}

// routersAreForgotten takes back the table of routers. Programs that know nothing of routers
// may serve before the first is registered, and again when the table is gone.
func routersAreForgotten(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.wantOldestProgram(t, 8)
	f.register(t, "r")
	f.wantOldestProgram(t, 14)
	in := f.create(t, f.awaiting(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	f.start(t, in.ID)
	f.down(t, 13)
	f.wantOldestProgram(t, 8)
	must(f.Migrator().Up(ctx))(t)
	if p := must(f.Plan(ctx, in.ID))(t); p.Routers != nil || p.Status != store.StatusApplying {
		t.Errorf("the plan is %s and has routers %v", p.Status, p.Routers)
	}
	if all := must(f.Routers(ctx, "clicks"))(t); len(all) > 0 {
		t.Errorf("routers %v", all)
	}
	f.acks(t, in.ID, 0, 2)
	f.commit(t, "clicks", store.Change{Key: []byte("a"), Old: 1, New: 1, NewParts: "1:2"})
	f.register(t, "r")
	f.wantOldestProgram(t, 14)
	f.down(t, 13) // which keeps split keys
	f.wantOldestProgram(t, 13)
}

// underWayIsAborted takes back what plans under way need, and makes it again.
func underWayIsAborted(t *testing.T, f *fixture) {
	ctx := t.Context()
	var before []store.Plan
	for _, status := range allStatuses {
		before = append(before, f.inStatus(t, string(status), status))
	}
	must2(f.AckPlan(ctx, before[3].ID, 1, []int32{0}, f.by("x"), store.Retention{}))(t)
	f.begin(t, request("running"))
	f.down(t, 4)
	if _, err := database(t, f).
		ExecContext(ctx, `UPDATE plans SET status = 'proposed' WHERE status = 'approved'`); err == nil {
		t.Error("a former version of the schema lets plans be proposed")
	}
	must(f.Migrator().Up(ctx))(t)
	for i, status := range allStatuses {
		want := before[i]
		want.ExpiresAt, want.Executor, want.ExecutorSince, want.Pending = nil, store.Executor{}, nil, nil
		want.Awaited, want.Acked, want.IdleEntries = nil, nil, 0
		want.SupersededBy, want.ThetaRealised, want.Forecast, want.Affinity, want.Resources = "", nil, nil, nil, nil
		want.WaitsFor, want.ForcedKeys, want.ForcedState, want.ReturnedState = nil, 0, 0, 0
		want.Splits, want.Merges = nil, 0
		want.Scheme, want.Source, want.Outdated = "table", want.Fingerprint, false
		steps := must(f.Transitions(ctx, want.ID))(t)
		switch status {
		case store.StatusProposed, store.StatusApplying, store.StatusAborting, store.StatusRejected, store.StatusExpired:
			want.Status = store.StatusAborted
			if last := steps[len(steps)-1]; last.To != store.StatusAborted || last.Actor != "migration" {
				t.Errorf("a plan that was %s: the last transition is %+v", status, last)
			}
		}
		same(t, "plans that were "+string(status), want, must(f.Plan(ctx, want.ID))(t))
	}
	f.begin(t, request("running"))
	for _, status := range allStatuses { // everything goes on
		f.inStatus(t, "again "+string(status), status)
	}
}

func countedAtEveryVersion(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "other", `{}`)
	f.put(t, "gone", `{}`)
	f.create(t, f.plan(t, "gone", 1, store.StatusNoAction))
	ok(t, f.DeleteOperator(ctx, "gone", f.now()))
	for i := range int64(3) {
		f.create(t, f.plan(t, "clicks", i, store.StatusApproved))
	}
	for version := int64(1); version > 0; {
		operators, plans, err := f.Migrator().Count(ctx)
		holds(t, err == nil && operators == 2 && plans == 3,
			"%d operators, %d plans, error %v; want 2 and 3", operators, plans, err)
		version = must(f.Migrator().Down(ctx))(t)
	}
	if operators, plans, err := f.Migrator().Count(ctx); err != nil || operators != 0 || plans != 0 {
		t.Errorf("without a schema: %d operators, %d plans, error %v", operators, plans, err)
	}
}

func unmigratedIsUnavailable(t *testing.T, f *fixture) {
	for what, err := range callAll(t.Context(), f) {
		fails(t, what, err, store.ErrUnavailable)
	}
	fails(t, "readiness", f.Ready(t.Context()), store.ErrUnavailable)
}

// callAll calls every method that speaks with the database, in a way that is
// good if there is an operator "clicks" with the approved plans "plan" and, of
// classes, "classes", and the proposed plan "proposed".
func callAll(ctx context.Context, s store.Store) map[string]error {
	at := time.Unix(1_700_000_000, 0)
	by := store.Transition{Actor: "x", At: at}
	zero := int64(0)
	p := store.NewPlan{Plan: store.Plan{ID: "new", Operator: "clicks", Interval: 99, Status: store.StatusApproved,
		ConfigVersion: 1}}
	p.OnPending = store.PendingReplace
	failures := map[string]error{}
	_, _, failures["PutOperator"] = s.PutOperator(ctx, "new", []byte(`{}`), at)
	_, failures["Operator"] = s.Operator(ctx, "clicks")
	_, failures["Operators"] = s.Operators(ctx, "", 10)
	_, failures["RecentPlans"] = s.RecentPlans(ctx, []store.Operator{{Name: "clicks"}}, 1)
	_, failures["Configuration"] = s.Configuration(ctx, "clicks", 1)
	_, failures["Table"] = s.Table(ctx, "clicks", &zero)
	_, _, failures["Route"] = s.Route(ctx, "clicks", []byte("k"))
	report := store.Report{Interval: 99, Instance: 1, At: at}
	_, _, failures["PutReport"] = s.PutReport(ctx, "clicks", report, []byte("data"), 1)
	_, failures["Reports"] = s.Reports(ctx, "clicks", 0, 99)
	_, failures["ReportData"] = s.ReportData(ctx, "clicks", 1)
	_, failures["FindPlan"] = s.FindPlan(ctx, "clicks", 0, 1, "fingerprint")
	failures["CheckInterval"] = s.CheckInterval(ctx, "clicks", 0, 99)
	_, _, failures["CreatePlan"] = s.CreatePlan(ctx, p, by)
	_, failures["Plan"] = s.Plan(ctx, "plan")
	_, _, failures["Plans"] = s.Plans(ctx, store.PlanFilter{Operator: "clicks", Limit: 1})
	_, failures["Changes"] = s.Changes(ctx, "plan")
	_, failures["Migrations"] = s.Migrations(ctx, "plan")
	_, failures["Absences"] = s.Absences(ctx, "plan")
	_, failures["ForecastState"] = s.ForecastState(ctx, "plan")
	_, failures["Input"] = s.Input(ctx, "plan")
	_, failures["Transitions"] = s.Transitions(ctx, "plan")
	_, failures["ResolvePlan"] = s.ResolvePlan(ctx, "classes", store.Resolution{}, by)
	_, _, failures["CommitPlan"] = s.CommitPlan(ctx, "plan", by, store.Retention{})
	_, failures["AbortPlan"] = s.AbortPlan(ctx, "plan", false, by)
	_, failures["ApprovePlan"] = s.ApprovePlan(ctx, "plan", unchanged, by)
	_, failures["RejectPlan"] = s.RejectPlan(ctx, "proposed", by)
	_, failures["CommentPlan"] = s.CommentPlan(ctx, "plan", by)
	_, failures["Configurations"] = s.Configurations(ctx, "clicks", 0, 1)
	_, failures["OperatorChanges"] = s.OperatorChanges(ctx, "clicks", at, 1)
	_, failures["StartPlan"] = s.StartPlan(ctx, "plan", jobManager, by)
	_, _, failures["AckPlan"] = s.AckPlan(ctx, "plan", 1, nil, by, store.Retention{})
	_, failures["Expire"] = s.Expire(ctx, at)
	_, failures["TableChanges"] = s.TableChanges(ctx, "clicks", 0)
	failures["RequireForms"] = s.RequireForms(ctx, store.FormReports)
	i := store.Idempotency{Key: "key"}
	_, failures["BeginIdempotent"] = s.BeginIdempotent(ctx, i, lease, at)
	failures["ExtendIdempotent"] = s.ExtendIdempotent(ctx, i, "token", lease, at)
	failures["FinishIdempotent"] = s.FinishIdempotent(ctx, i, "token", 200, nil)
	failures["ReleaseIdempotent"] = s.ReleaseIdempotent(ctx, i, "token")
	failures["Tidy"] = s.Tidy(ctx, at, store.Keep{})
	failures["DeleteOperator"] = s.DeleteOperator(ctx, "clicks", at)
	return failures
}

// story fills a store with some of everything.
func story(t *testing.T, f *fixture) {
	t.Helper()
	f.put(t, "clicks", `{"v":1}`)
	f.keeping(t, store.Retention{Inputs: 2, Versions: 3}, 5)
	f.put(t, "clicks", `{"v":2}`)
	f.create(t, f.plan(t, "clicks", 20, store.StatusNoAction))
	aborted := f.create(t, f.plan(t, "clicks", 21, store.StatusApproved))
	must(f.AbortPlan(t.Context(), aborted.ID, false, f.by("someone")))(t)
	classes := f.classes(t, 22)
	classes.ID = "classes"
	f.create(t, classes)
	f.resolve(t, f.create(t, f.classes(t, 23)).ID, 1, set(oddKeys[0], 1))
	p := f.plan(t, "clicks", 24, store.StatusApproved, set("waiting", 1))
	p.ID, p.Fingerprint = "plan", "fingerprint"
	f.create(t, p)
	proposed := f.proposal(t, "clicks", 25, set("proposed", 1))
	proposed.ID = "proposed"
	f.create(t, proposed)
	f.report(t, 30, 0)
	f.report(t, 31, 1)
	f.put(t, "Other", `{}`)
	engines := f.plan(t, "Other", 1, store.StatusCommitted, set("elsewhere", 1))
	engines.EngineTable = true
	f.create(t, engines)
	running := f.create(t, f.awaiting(t, "Other", 2, store.StatusApproved, set("b", 1)))
	f.start(t, running.ID)
	must2(f.AckPlan(t.Context(), running.ID, 1, []int32{2}, f.by("two"), store.Retention{}))(t)
}

func reopeningGivesTheSame(t *testing.T, f *fixture) {
	story(t, f)
	want := read(t, f)
	again := openStore(t, f.open)
	same(t, "contents", want, read(t, again))
	// It can go on, and the first one sees it.
	must2(again.CommitPlan(t.Context(), "plan", f.by("x"), store.Retention{}))(t)
	is(t, "status", must(f.Plan(t.Context(), "plan"))(t).Status, store.StatusCommitted)
}

func endedContext(t *testing.T, f *fixture) {
	story(t, f)
	before := read(t, f)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range callAll(cancelled, f) {
		fails(t, what, err, context.Canceled)
	}
	fails(t, "readiness", f.Ready(cancelled), context.Canceled)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for what, err := range callAll(late, f) {
		fails(t, what, err, context.DeadlineExceeded)
	}
	same(t, "contents", before, read(t, f))
	interrupted(t, f, before)
}

// interrupted ends the context while the plan's changes are being made: the
// context itself ends when it was looked at often enough.
func interrupted(t *testing.T, f *fixture, before contents) {
	t.Helper()
	var changes []store.Change
	for _, key := range manyKeys(5_000) {
		changes = append(changes, set(key, 1))
	}
	p := f.plan(t, "clicks", 50, store.StatusCommitted, changes...)
	p.OnPending = store.PendingReplace
	for looks := 1; ; looks *= 2 {
		ctx, cancel := context.WithCancel(t.Context())
		counted := &countedContext{Context: ctx, left: looks, end: cancel}
		_, _, err := f.CreatePlan(counted, p, f.by("x"))
		cancel()
		if err == nil {
			break
		}
		fails(t, "an interrupted plan", err, context.Canceled)
		same(t, "contents", before, read(t, f))
	}
	is(t, "the size of the table", f.operator(t, "clicks").TableSize, int64(5+len(changes)))
}

// countedContext ends after it was asked some number of times whether it ended.
type countedContext struct {
	context.Context
	lock sync.Mutex
	left int
	end  context.CancelFunc
}

func (c *countedContext) count() {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.left--; c.left == 0 {
		c.end()
	}
}

// Err implements [context.Context].
func (c *countedContext) Err() error {
	c.count()
	return c.Context.Err()
}

// Done implements [context.Context].
func (c *countedContext) Done() <-chan struct{} {
	c.count()
	return c.Context.Done()
}

func closedStoreFails(t *testing.T, f *fixture) {
	s := f.open(t)
	ok(t, s.Close())
	for what, err := range callAll(t.Context(), s) {
		holds(t, err != nil, "%s: a closed store answers", what)
	}
}

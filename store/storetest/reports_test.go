package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"plannerd/store"
)

var reportCases = []testCase{
	{name: "a report is kept until another one replaces it", run: reportIsReplaced, bare: true},
	{name: "the last reports up to an interval are found", run: lastReportsAreFound},
	{name: "a plan closes the reports of its interval", run: planClosesReports},
	{name: "a plan is made of the reports that are there", run: planOfItsReports},
	{name: "of planned intervals only last reports are kept", run: lastReportsAreKept},
	{name: "reports of state on its way stay when a plan is taken back", run: reportsOnTheWay},
	{name: "an instance keeps so many reports", run: newestReportsAreKept},
	{name: "reports go with their operator", run: reportsGoWithTheirOperator},
	{name: "large and empty reports come back byte for byte", run: reportsByteForByte},
	{name: "reports and a plan that arrive together", run: reportsAndPlanTogether},
	{name: "a migration taken back takes the reports", run: reportsAndMigrations},
}

// report puts a report of the operator clicks and returns it as it is listed.
func (f *fixture) report(t testing.TB, interval int64, instance int32) store.Report {
	t.Helper()
	return f.reportAgain(t, store.Report{Interval: interval, Instance: instance, TableVersion: 3, Rows: 7, At: f.now()},
		true)
}

func (f *fixture) reportAgain(t testing.TB, r store.Report, isNew bool) store.Report {
	t.Helper()
	last, created := must2(f.PutReport(t.Context(), "clicks", r, dataOf(r), 0))(t)
	is(t, "created", created, isNew)
	i := slices.IndexFunc(last, func(o store.Report) bool { return o.Instance == r.Instance })
	need(t, i >= 0, "the report is not among %v", last)
	r.At, r.Revision = kept(r.At), last[i].Revision
	same(t, "report", r, last[i])
	return r
}

// dataOf is what a report consists of.
func dataOf(r store.Report) []byte {
	return fmt.Appendf(nil, "rows %d of instance %d, interval %d", r.Rows, r.Instance, r.Interval)
}

// wantReports checks the last reports up to an interval, and that they can be read.
func (f *fixture) wantReports(t testing.TB, epoch, interval int64, want ...store.Report) {
	t.Helper()
	got := must(f.Reports(t.Context(), "clicks", epoch, interval))(t)
	same(t, fmt.Sprintf("reports up to %d", interval), want, got)
	for _, r := range got {
		if data, err := f.ReportData(t.Context(), "clicks", r.Revision); err != nil || !bytes.Equal(data, dataOf(r)) {
			t.Errorf("report %d: %q, error %v", r.Revision, data, err)
		}
	}
}

func reportIsReplaced(t *testing.T, f *fixture) {
	_, _, err := f.PutReport(t.Context(), "clicks", store.Report{At: f.now()}, nil, 0)
	fails(t, "a report of no operator", err, store.ErrNotFound)
	fails(t, "reports of no operator", errorOf(f.Reports(t.Context(), "clicks", 0, 0)), store.ErrNotFound)
	f.put(t, "clicks", `{}`)
	f.wantReports(t, 0, 1)
	first := f.report(t, 1, 4)
	other := f.report(t, 1, 2)
	f.wantReports(t, 0, 1, other, first)
	next := first
	next.Rows, next.TableVersion, next.At = 8, 0, f.now()
	second := f.reportAgain(t, next, false)
	same(t, "kept reports", []store.Report{other, second}, must(f.KeptReports(t.Context(), "clicks"))(t))
	fails(t, "kept reports of no operator", errorOf(f.KeptReports(t.Context(), "none")), store.ErrNotFound)
	if second.Revision == first.Revision {
		t.Error("a report that replaces another has its revision")
	}
	f.wantReports(t, 0, 1, other, second)
	fails(t, "a report that was replaced", errorOf(f.ReportData(t.Context(), "clicks", first.Revision)), store.ErrNotFound)
	f.put(t, "another", `{}`)
	_, err = f.ReportData(t.Context(), "another", second.Revision)
	fails(t, "a report of another operator", err, store.ErrNotFound)
}

func lastReportsAreFound(t *testing.T, f *fixture) {
	r := map[int64]map[int32]store.Report{}
	for interval, instances := range [][]int32{{0, 1, 2}, {0}, {}, {1, 0}} {
		r[int64(interval)] = map[int32]store.Report{}
		for _, d := range instances {
			r[int64(interval)][d] = f.report(t, int64(interval), d)
		}
	}
	f.wantReports(t, 0, -1)
	f.wantReports(t, 0, 0, r[0][0], r[0][1], r[0][2])
	f.wantReports(t, 0, 2, r[1][0], r[0][1], r[0][2])
	f.wantReports(t, 0, 1<<53-1, r[3][0], r[3][1], r[0][2])
	later := f.reportAgain(t, store.Report{Epoch: 5, Interval: 1, Instance: 2, At: f.now()}, true)
	f.wantReports(t, 5, 9, later)
	f.wantReports(t, 0, 3, r[3][0], r[3][1], r[0][2])
}

func planClosesReports(t *testing.T, f *fixture) {
	ctx := t.Context()
	first := f.report(t, 2, 0)
	p := f.plan(t, "clicks", 2, store.StatusApproved)
	p.LastReports = []store.Report{first}
	made := f.create(t, p)
	put := func(interval int64) error {
		_, _, err := f.PutReport(ctx, "clicks", store.Report{Interval: interval, Instance: 0, At: f.now()}, []byte("x"), 0)
		return err
	}
	fails(t, "a report after the plan", put(2), store.ErrIntervalPlanned)
	fails(t, "a report of an older interval", put(1), store.ErrIntervalOutdated)
	f.wantReports(t, 0, 2, first)
	must(f.AbortPlan(ctx, made.ID, false, f.by("x")))(t)
	again := f.reportAgain(t, store.Report{Interval: 2, Instance: 0, At: f.now()}, false)
	fails(t, "an older interval still", put(1), store.ErrIntervalOutdated)
	p = f.plan(t, "clicks", 2, store.StatusNoAction)
	p.LastReports = []store.Report{again}
	f.create(t, p)
	f.reportAgain(t, store.Report{Epoch: 1, Interval: 1, Instance: 0, At: f.now()}, true)
	next := f.plan(t, "clicks", 1, store.StatusNoAction)
	next.Epoch = 1
	f.create(t, next)
	fails(t, "a report of a lower epoch", put(3), store.ErrFenced)
	f.wantReports(t, 0, 9)
}

func planOfItsReports(t *testing.T, f *fixture) {
	old := f.report(t, 4, 1)
	fresh := f.report(t, 5, 0)
	list := []store.Report{fresh, old}
	p := f.plan(t, "clicks", 5, store.StatusApproved)
	p.LastReports = list
	try := func(what string) {
		t.Helper()
		before := read(t, f)
		fails(t, what, errorOf2(f.CreatePlan(t.Context(), p, f.by("x"))), store.ErrReportsChanged)
		same(t, "contents", before, read(t, f))
	}
	late := f.report(t, 5, 1)
	try("a report that came late")
	p.LastReports = []store.Report{fresh, late}
	replaced := f.reportAgain(t, store.Report{Interval: 5, Instance: 0, At: f.now()}, false)
	try("a report that was replaced")
	p.LastReports = []store.Report{replaced}
	try("a report that was left out")
	p.LastReports = []store.Report{replaced, late}
	f.report(t, 6, 0) // it is of no concern
	f.create(t, p)
	// It is the same plan, whatever comes after.
	if _, created, err := f.CreatePlan(t.Context(), p, f.by("x")); created || err != nil {
		t.Errorf("created %t, error %v", created, err)
	}
}

func lastReportsAreKept(t *testing.T, f *fixture) {
	f.report(t, 1, 0)
	f.report(t, 1, 1)
	last2 := f.report(t, 2, 1)
	now := f.report(t, 3, 0)
	gone := f.report(t, 1, 2)
	next := f.report(t, 4, 0)
	f.create(t, f.plan(t, "clicks", 3, store.StatusNoAction))
	f.wantReports(t, 0, 1, gone)
	f.wantReports(t, 0, 3, now, last2, gone)
	f.wantReports(t, 0, 4, next, last2, gone)
	p := f.plan(t, "clicks", 4, store.StatusNoAction)
	p.Retention.ReportAge = 2
	f.create(t, p)
	f.wantReports(t, 0, 3, last2)
	f.wantReports(t, 0, 4, next, last2)
	p = f.plan(t, "clicks", 7, store.StatusNoAction)
	p.Retention.ReportAge = 2
	f.create(t, p)
	f.wantReports(t, 0, 7)
}

func reportsOnTheWay(t *testing.T, f *fixture) {
	before := f.report(t, 8, 0)
	p := f.create(t, f.plan(t, "clicks", 7, store.StatusApproved))
	f.start(t, p.ID)
	during, later := f.report(t, 8, 1), f.report(t, 9, 0)
	f.abort(t, p.ID)
	f.wantReports(t, 0, 8, before, during)
	f.wantReports(t, 0, 9, later, during)
	is(t, "table version", f.operator(t, "clicks").TableVersion, p.BaseVersion+1)
}

func newestReportsAreKept(t *testing.T, f *fixture) {
	other := f.report(t, 0, 1)
	var last store.Report
	for interval := range int64(6) {
		last = store.Report{Interval: interval, Instance: 0, At: f.now()}
		must2(f.PutReport(t.Context(), "clicks", last, dataOf(last), 3))(t)
	}
	for interval := range int64(6) {
		got := must(f.Reports(t.Context(), "clicks", 0, interval))(t)
		is(t, "two reports", len(got) == 2, interval >= 3)
		is(t, "reports up to", got[len(got)-1], other)
	}
	for epoch := range int64(4) {
		r := store.Report{Epoch: epoch, Interval: 0, Instance: 0, At: f.now()}
		if epoch == 0 {
			r.Interval = 5
		}
		must2(f.PutReport(t.Context(), "clicks", r, dataOf(r), 3))(t)
	}
	f.wantReports(t, 0, 9, other)
	for epoch := range int64(3) {
		is(t, "reports of epoch", len(must(f.Reports(t.Context(), "clicks", epoch+1, 9))(t)), 1)
	}
}

func reportsGoWithTheirOperator(t *testing.T, f *fixture) {
	r := f.report(t, 1, 0)
	ok(t, f.DeleteOperator(t.Context(), "clicks", f.now()))
	_, err := f.ReportData(t.Context(), "clicks", r.Revision)
	fails(t, "a report of an operator that was deleted", err, store.ErrNotFound)
	_, _, err = f.PutReport(t.Context(), "clicks", r, nil, 0)
	fails(t, "a report to an operator that was deleted", err, store.ErrNotFound)
	f.put(t, "clicks", `{}`)
	f.wantReports(t, 0, 9)
	if again := f.report(t, 1, 0); again.Revision == r.Revision {
		t.Error("a revision was used twice")
	}
}

func reportsByteForByte(t *testing.T, f *fixture) {
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = byte(i * i >> 3)
	}
	for instance, data := range [][]byte{large, {}, nil, {0, 0xff, 0}} {
		in := store.Report{Instance: int32(instance), At: f.now()}
		last, _ := must2(f.PutReport(t.Context(), "clicks", in, data, 0))(t)
		got, err := f.ReportData(t.Context(), "clicks", last[instance].Revision)
		holds(t, err == nil && bytes.Equal(got, data), "%d bytes came back as %d, error %v", len(data), len(got), err)
	}
}

// reportsAndPlanTogether lets instances report again and again while a plan is
// made of what is there. The plan is of what then stays.
func reportsAndPlanTogether(t *testing.T, f *fixture) {
	const n, times = 6, 8
	ctx := t.Context()
	p := f.plan(t, "clicks", 1, store.StatusNoAction)
	by := f.by("x")
	for instance := range int32(n - 1) {
		f.report(t, 1, instance)
	}
	var planned []store.Report
	f.together(t, n, func(i int, s store.Store) {
		for range times {
			if i < n-1 {
				_, _, err := s.PutReport(ctx, "clicks", store.Report{Interval: 1, Instance: int32(i), At: by.At},
					[]byte("again"), 0)
				if err != nil {
					fails(t, "a report", err, store.ErrIntervalPlanned)
					return
				}
				continue
			}
			mine := p
			var err error
			if mine.LastReports, err = s.Reports(ctx, "clicks", 0, 1); err != nil {
				t.Error(err)
				return
			}
			if _, _, err = s.CreatePlan(ctx, mine, by); err == nil {
				planned = mine.LastReports
				return
			} else if !errors.Is(err, store.ErrReportsChanged) {
				t.Error(err)
			}
		}
	})
	last := must(f.Reports(ctx, "clicks", 0, 1))(t)
	if planned == nil { // the reports were always faster
		p.LastReports = last
		f.create(t, p)
		return
	}
	same(t, "reports", planned, last)
}

func reportsAndMigrations(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.report(t, 1, 0)
	for version := int64(0); version != 3; {
		var err error
		if version, err = f.Migrator().Down(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, "reports without their table", errorOf(f.Reports(ctx, "clicks", 0, 1)), store.ErrUnavailable)
	must(f.Migrator().Up(ctx))(t)
	f.wantReports(t, 0, 1)
	f.report(t, 1, 0)
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/pgtest"
	"plannerd/store"
	"plannerd/store/postgres"
	"plannerd/store/sqlite"
)

// Store is what is tested.
type Store interface {
	store.Store
	Migrator() store.Migrator
}

// Open opens a store on one database, which may be open several times at once.
// The test closes it.
type Open func(t testing.TB, options ...store.Option) Store

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	run(t, func(t testing.TB) Open {
		path := filepath.Join(t.TempDir(), "plannerd.db")
		return func(t testing.TB, options ...store.Option) Store {
			t.Helper()
			return must(sqlite.Open(t.Context(), path, options...))(t)
		}
	})
}

func TestPostgres(t *testing.T) {
	run(t, func(t testing.TB) Open { return opener(pgtest.NewDatabase(t)) })
}

// TestPooled does what TestPostgres does through a connection pooler, where there is time: in transaction mode with a
// URL past the pooler to listen by, without which a store hears only now and then of what others commit.
func TestPooled(t *testing.T) {
	if !deep.On() {
		return
	}
	run(t, func(t testing.TB) Open { return opener(pgtest.Pooler(t, "session", pgtest.NewDatabase(t))) })
	run(t, func(t testing.TB) Open {
		direct := pgtest.NewDatabase(t)
		open := opener(pgtest.Pooler(t, "transaction", direct))
		return func(t testing.TB, options ...store.Option) Store {
			return open(t, append(options, store.WithListenURL(direct))...)
		}
	})
}

func opener(url string) Open {
	return func(t testing.TB, options ...store.Option) Store {
		t.Helper()
		return must(postgres.Open(t.Context(), url, options...))(t)
	}
}

// run tests the stores of one kind. fresh is called for each case; it makes an
// empty database without any schema and returns what opens it. Cases in which several goroutines
// use a store are in the group "together", which the race detector watches; the others are in "alone".
func run(t *testing.T, fresh func(t testing.TB) Open) {
	alone := slices.Concat(operatorCases, planCases, freezeCases, reviewCases,
		lifecycleCases, verbCases, pendingCases, tableCases, classCases,
		batchCases, retentionCases, webhookCases, damageCases, schemaCases)
	together := slices.Concat(feedCases, reportCases, routerCases, idempotencyCases, concurrencyCases)
	t.Run("alone", func(t *testing.T) { runAll(t, alone, fresh, true) })
	t.Run("together", func(t *testing.T) { runAll(t, together, fresh, false) })
}

// runAll runs cases, side by side if they are parallel.
func runAll(t *testing.T, cases []testCase, fresh func(t testing.TB) Open, parallel bool) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			f := newFixture(t, fresh(t), !c.unmigrated)
			if !c.unmigrated && !c.bare {
				f.put(t, "clicks", `{}`)
			}
			c.run(t, f)
			if !c.unmigrated && !c.damages {
				f.verify(t)
			}
		})
	}
}

type testCase struct {
	name       string
	run        func(t *testing.T, f *fixture)
	bare       bool // the case begins without the operator clicks
	unmigrated bool // the case begins without a schema
	damages    bool // the case leaves a damaged database
}

// fixture is a store with what the cases say over and over again.
type fixture struct {
	Store
	open  Open
	ticks atomic.Int64 // seconds that the clock has gone
	plans int
}

func newFixture(t testing.TB, open Open, migrated bool) *fixture {
	t.Helper()
	f := &fixture{}
	f.open = func(t testing.TB, options ...store.Option) Store {
		return open(t, append(options, store.WithClock(f.clock))...)
	}
	f.Store = openStore(t, f.open)
	if migrated {
		must(f.Migrator().Up(t.Context()))(t)
	}
	return f
}

// verify checks that each version of each table has the entries that its changes say.
func (f *fixture) verify(t *testing.T) {
	t.Helper()
	all, _ := f.Operators(t.Context(), "", 1000) // none where the case took migrations back
	for _, op := range all {
		if err := f.VerifyTable(t.Context(), op.Name); errors.Is(err, store.ErrDamaged) {
			t.Errorf("after the case: %v", err)
		}
	}
}

// openStore opens a store that is closed when the test ends.
func openStore(t testing.TB, open Open) Store {
	t.Helper()
	s := open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// now is another instant each time, in no UTC and finer than stores keep it.
func (f *fixture) now() time.Time {
	f.ticks.Add(1)
	return f.clock()
}

// clock is the clock of the stores: it stands still between calls of now.
func (f *fixture) clock() time.Time {
	zone := time.FixedZone("somewhere", 7*3600)
	return time.Date(2024, 2, 29, 23, 59, 58, 123_456_789, zone).Add(time.Duration(f.ticks.Load()) * time.Second)
}

// kept is how a store returns an instant.
func kept(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }

func (f *fixture) by(actor string) store.Transition {
	return store.Transition{Actor: actor, Reason: "because", At: f.now()}
}

// put creates an operator or gives it a new configuration.
func (f *fixture) put(t testing.TB, name, config string) store.Operator {
	t.Helper()
	op, _ := must2(f.PutOperator(t.Context(), name, []byte(config), f.now()))(t)
	return op
}

// operator returns the operator as it stands.
func (f *fixture) operator(t testing.TB, name string) store.Operator {
	t.Helper()
	return must(f.Operator(t.Context(), name))(t)
}

// plan returns a plan for the operator as it stands, with an id of its own and a
// fingerprint to match, and figures that are all different.
func (f *fixture) plan(t testing.TB, operator string, interval int64, status store.Status,
	changes ...store.Change) store.NewPlan {
	t.Helper()
	op := f.operator(t, operator)
	f.plans++
	var p store.NewPlan
	number := f.plans * 100
	fill(reflect.ValueOf(&p.Plan).Elem(), &number)
	p.ID = fmt.Sprintf("plan-%s-%d", operator, f.plans)
	p.Operator, p.Epoch, p.Interval, p.Status = operator, 0, interval, status
	p.BaseVersion, p.Version, p.ConfigVersion = op.TableVersion, nil, op.ConfigVersion
	p.Classes, p.EngineTable, p.Executor, p.ExecutorSince, p.Acked = false, false, store.Executor{}, nil, nil
	p.LeavesOpen, p.Undo, p.SupersededBy, p.Latest, p.LimitsChanged, p.Routers = false, nil, "", nil, false, nil
	p.BatchCount, p.BatchesDone, p.Stopping = 0, 0, false
	p.Approvers, p.ApprovedBy = 1, nil
	if status != store.StatusProposed {
		p.WaitsFor = nil
	}
	p.CreatedAt = f.now()
	p.Changes = changes
	p.Migrations = fmt.Appendf(nil, "migrations of %s", p.ID)
	p.Absences = fmt.Appendf(nil, "absences of %s", p.ID)
	p.ForecastState = fmt.Appendf(nil, "forecast of %s", p.ID)
	p.Input = fmt.Appendf(nil, "input of %s", p.ID)
	return p
}

// fill gives every field another value, those that will be added one day too.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d “ä€😀”", *n))
	case reflect.Int64:
		v.SetInt(1<<52 + int64(*n))
	case reflect.Float64:
		v.SetFloat(1 / float64(*n))
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[[]byte]():
			v.SetBytes(fmt.Appendf(nil, `{ "number":%d,  "text": "\u0000 ü" }`, *n))
		case reflect.TypeFor[[]string]():
			v.Set(reflect.ValueOf([]string{fmt.Sprintf("cause %d", *n), `"quoted", 'twice' <&>`}))
		case reflect.TypeFor[[]int32]():
			v.Set(reflect.ValueOf([]int32{0, 7, 1<<31 - 1}))
		case reflect.TypeFor[[]store.Ack](), reflect.TypeFor[[]store.Batch](): // the store's
		default:
			panic("storetest: no value for a field of type " + v.Type().String())
		}
	case reflect.Map: // the store's
	case reflect.Pointer: // of others, a version, a number of resolved keys: none yet
		if v.Type() == reflect.TypeFor[*float64]() {
			v.Set(reflect.ValueOf(new(1 / float64(*n))))
		}
	default:
		panic("storetest: no value for a field of kind " + v.Kind().String())
	}
}

// create stores a plan that must be new.
func (f *fixture) create(t testing.TB, p store.NewPlan) store.Plan {
	t.Helper()
	got, created := must2(f.CreatePlan(t.Context(), p, f.by("creator")))(t)
	need(t, created, "plan %s was there already", p.ID)
	return got
}

// commit makes a plan with these changes the operator's table, as the plan of
// the interval after the last.
func (f *fixture) commit(t testing.TB, operator string, changes ...store.Change) store.Plan {
	t.Helper()
	return f.create(t, f.plan(t, operator, f.next(t, operator), store.StatusCommitted, changes...))
}

// beside creates an approved plan and leaves other approved ones as they are, as programs before
// this one did.
func (f *fixture) beside(t testing.TB, in store.NewPlan) store.Plan {
	t.Helper()
	before, _ := must2(f.Plans(t.Context(), store.PlanFilter{Operator: in.Operator, Status: store.StatusApproved,
		Limit: 100}))(t)
	p := f.create(t, in)
	for _, other := range before {
		for _, statement := range []string{
			`UPDATE plans SET status = 'approved', superseded_by = '' WHERE id = '%s'`,
			`DELETE FROM transitions WHERE to_status = 'superseded' AND plan_seq = (SELECT seq FROM plans WHERE id = '%s')`,
		} {
			must(database(t, f).ExecContext(t.Context(), fmt.Sprintf(statement, other.ID)))(t)
		}
	}
	return p
}

// next is the interval after the operator's last.
func (f *fixture) next(t testing.TB, operator string) int64 {
	t.Helper()
	if last := f.operator(t, operator).LastInterval; last != nil {
		return *last + 1
	}
	return 0
}

// wantLast checks the last of so many transitions of a plan.
func (f *fixture) wantLast(t testing.TB, id string, n int, want store.Transition) {
	t.Helper()
	same(t, "the last transition", want, f.wantSteps(t, id, n)[n-1])
}

// wantSteps checks how many transitions a plan has, and returns them.
func (f *fixture) wantSteps(t testing.TB, id string, n int) []store.Transition {
	t.Helper()
	steps := must(f.Transitions(t.Context(), id))(t)
	need(t, len(steps) == n, "transitions %v, want %d", steps, n)
	return steps
}

func set(key string, instance int32) store.Change {
	return store.Change{Key: []byte(key), Old: store.NoInstance, New: instance}
}

func move(key string, from, to int32) store.Change {
	return store.Change{Key: []byte(key), Old: from, New: to}
}

func unset(key string, instance int32) store.Change {
	return store.Change{Key: []byte(key), Old: instance, New: store.NoInstance}
}

// entries returns a table as key=instance, which reads well in a test.
func entries(table store.Table) []string {
	var out []string
	for _, e := range table.Entries {
		out = append(out, fmt.Sprintf("%s=%d", e.Key, e.Instance))
	}
	return out
}

// wantTable checks one version of a table, the committed one when version < 0.
func (f *fixture) wantTable(t testing.TB, operator string, version int64, want ...string) {
	t.Helper()
	asked := &version
	if version < 0 {
		asked = nil
	}
	got, err := f.Table(t.Context(), operator, asked)
	if err != nil {
		t.Errorf("version %d: %v", version, err)
		return
	}
	holds(t, version < 0 || got.Version == version, "asked for version %d, got %d", version, got.Version)
	same(t, fmt.Sprintf("version %d", version), want, entries(got))
}

// wantStatuses checks the statuses of all plans of an operator, oldest first.
func (f *fixture) wantStatuses(t testing.TB, operator string, want ...store.Status) {
	t.Helper()
	plans, _ := must2(f.Plans(t.Context(), store.PlanFilter{Operator: operator, Limit: 1000}))(t)
	var got []store.Status
	for _, p := range slices.Backward(plans) {
		got = append(got, p.Status)
	}
	same(t, "statuses", want, got)
}

// same compares deeply; nil and empty lists are the same.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	// Origins are those that the store gave; versionsHaveOrigins is about them. When something was read
	// is no part of it.
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(store.Origin{}),
		cmpopts.IgnoreFields(store.Operator{}, "ReadAt")); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

// is checks a value.
func is[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	holds(t, got == want, "%s: %v, want %v", what, got, want)
}

// holds fails a test unless something is so.
func holds(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Errorf(format, args...)
	}
}

// need is holds, and ends the test.
func need(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if !so {
		t.Fatalf(format, args...)
	}
}

// ok ends the test if there is an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is the result of a call. It ends the test if the call failed.
func must[T any](result T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return result
	}
}

// must2 is must for two results.
func must2[T, U any](first T, second U, err error) func(testing.TB) (T, U) {
	return func(t testing.TB) (T, U) {
		t.Helper()
		ok(t, err)
		return first, second
	}
}

// did is the result of a call that succeeds, and says whether it changed something.
func did[T any](result T, done bool, err error) func(t testing.TB, what string, want bool) T {
	return func(t testing.TB, what string, want bool) T {
		t.Helper()
		holds(t, err == nil && done == want, "%s: done = %v, error %v", what, done, err)
		return result
	}
}

// notDone is the error of a call that must not say that it changed something.
func notDone[T any](_ T, done bool, err error) error {
	if done && err != nil {
		return errors.New("it is refused, and done all the same")
	}
	return err
}

// errorOf is the error of a call, whatever else it returns.
func errorOf[T any](_ T, err error) error { return err }

// errorOf2 is errorOf for two results.
func errorOf2[T, U any](_ T, _ U, err error) error { return err }

// fails checks that err is the expected one.
func fails(t testing.TB, what string, err, want error) {
	t.Helper()
	holds(t, errors.Is(err, want), "%s: error %v, want %v", what, err, want)
}

// refused checks that err is an error, but none of the contract's: something
// impossible was asked for.
func refused(t testing.TB, what string, err error) {
	t.Helper()
	holds(t, err != nil, "%s was accepted", what)
	for _, sentinel := range sentinels {
		holds(t, !errors.Is(err, sentinel), "%s: error %v, which is %q", what, err, sentinel)
	}
}

var sentinels = []error{
	store.ErrNotFound, store.ErrPurged, store.ErrConfigurationChanged, store.ErrBaseChanged, store.ErrIntervalPlanned,
	store.ErrIntervalOutdated, store.ErrFenced, store.ErrTransition, store.ErrPlanPending, store.ErrPlanInFlight,
	store.ErrNotAwaited,
	store.ErrAcksMissing, store.ErrReportsChanged, store.ErrUnresolved, store.ErrIdempotencyRunning,
	store.ErrIdempotencyMismatch,
	store.ErrIdempotencyLost, store.ErrUnavailable, context.Canceled, context.DeadlineExceeded,
}

// contents is all that can be read of a store, to see that nothing changed.
type contents struct {
	Operators []store.Operator
	Tables    []store.Table
	Plans     []planContents
	Reports   []reportContents
}

type reportContents struct {
	Operator string
	Report   store.Report
	Data     string
}

type planContents struct {
	Plan              store.Plan
	Changes           []store.Change
	Migrations, Input []byte
	Absences          []byte
	ForecastState     []byte
	InputError        string
	Transitions       []store.Transition
}

// read returns the contents of a store.
func read(t testing.TB, s store.Store) contents {
	t.Helper()
	var c contents
	var err error
	if c.Operators, err = s.Operators(t.Context(), "", 1000); err != nil {
		t.Fatal(err)
	}
	for _, op := range c.Operators {
		c.add(t, s, op)
	}
	return c
}

// readOperator is read for a single operator.
func readOperator(t testing.TB, s store.Store, name string) contents {
	t.Helper()
	op := must(s.Operator(t.Context(), name))(t)
	c := contents{Operators: []store.Operator{op}}
	c.add(t, s, op)
	return c
}

// add reads what belongs to an operator.
func (c *contents) add(t testing.TB, s store.Store, op store.Operator) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for version := range op.TableVersion + 1 {
		table, err := s.Table(ctx, op.Name, &version)
		if errors.Is(err, store.ErrPurged) {
			continue
		}
		must(err)
		c.Tables = append(c.Tables, table)
	}
	plans, _, err := s.Plans(ctx, store.PlanFilter{Operator: op.Name, Limit: 1000})
	must(err)
	for _, p := range plans {
		whole, err := s.Plan(ctx, p.ID)
		must(err)
		one := planContents{Plan: whole}
		one.Changes, err = s.Changes(ctx, p.ID)
		must(err)
		one.Migrations, err = s.Migrations(ctx, p.ID)
		must(err)
		if one.Input, err = s.Input(ctx, p.ID); err != nil {
			one.InputError = err.Error()
		}
		one.Absences, err = s.Absences(ctx, p.ID)
		must(err)
		one.ForecastState, err = s.ForecastState(ctx, p.ID)
		must(err)
		one.Transitions, err = s.Transitions(ctx, p.ID)
		must(err)
		c.Plans = append(c.Plans, one)
	}
	reports, err := s.Reports(ctx, op.Name, 0, math.MaxInt64)
	must(err)
	for _, r := range reports {
		data, err := s.ReportData(ctx, op.Name, r.Revision)
		must(err)
		c.Reports = append(c.Reports, reportContents{op.Name, r, string(data)})
	}
}

// unchanged agrees to a plan as it is.
func unchanged(p store.Plan) (store.Approval, error) {
	return store.Approval{ExpiresAt: p.ExpiresAt, Latest: p.Latest}, nil
}

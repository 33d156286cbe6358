package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"plannerd/store"
)

var idempotencyCases = []testCase{
	{name: "a request is answered once under its key", run: answeredOnce},
	{name: "a key is another one in another scope, whatever its bytes", run: keysAreApart, bare: true},
	{name: "a lease that ran out lets the next one try", run: leaseRunsOut, bare: true},
	{name: "a lease that is extended keeps the key", run: leaseIsExtended, bare: true},
	{name: "a request that changes nothing is answered once, too", run: nothingToChange, bare: true},
	{name: "a key whose request failed is given back", run: keyIsGivenBack, bare: true},
	{name: "old keys are forgotten", run: oldKeysAreForgotten, bare: true},
	{name: "keys have a quota", run: keysHaveAQuota, bare: true},
	{name: "every change finishes its request", run: everyChangeFinishes},
	{name: "an answer that fails takes the effect back", run: failingAnswer},
	{name: "one of the requests under a key is made", run: oneRequestIsMade},
	{name: "effect and answer are there together or not at all", run: effectAndAnswer},
}

// lease is how long keys are held in these cases.
const lease = time.Minute

// request is a key with a body.
func request(key string) store.Idempotency {
	return store.Idempotency{Scope: "POST /plans", Key: key, Body: sha256.Sum256([]byte(key))}
}

// begin holds a key.
func (f *fixture) begin(t testing.TB, i store.Idempotency) store.Claim {
	t.Helper()
	c := must(f.BeginIdempotent(t.Context(), i, lease, f.clock()))(t)
	need(t, !c.Done && c.Token != "", "key %q: %+v, want it to be held", i.Key, c)
	return c
}

// finishing is a context under which a change finishes the request of a key.
func finishing(ctx context.Context, i store.Idempotency, c store.Claim) context.Context {
	return store.WithCompletion(ctx, store.Completion{Idempotency: i, Token: c.Token,
		Answer: func(out store.Outcome) (int, []byte, error) {
			return 200, answer(out), nil
		}})
}

// answer tells of an outcome.
func answer(out store.Outcome) []byte {
	return fmt.Appendf(nil, "plan %q %s, operator %q, %d reports, created %v",
		out.Plan.ID, out.Plan.Status, out.Operator.Name, len(out.Reports), out.Created)
}

func nothingToChange(t *testing.T, f *fixture) {
	ctx, i := t.Context(), request("nothing")
	c := f.begin(t, i)
	fails(t, "who does not hold the key", f.FinishIdempotent(ctx, i, "another", 200, nil), store.ErrIdempotencyLost)
	ok(t, f.FinishIdempotent(ctx, i, c.Token, 200, []byte("nothing")))
	ok(t, f.ReleaseIdempotent(ctx, i, c.Token))
	again, err := f.BeginIdempotent(ctx, i, lease, f.clock())
	holds(t, err == nil && again.Done && again.Status == 200 && string(again.Answer) == "nothing",
		"%+v %v", again, err)
	other := request("free")
	fails(t, "a key that nobody holds", f.FinishIdempotent(ctx, other, c.Token, 200, nil), store.ErrIdempotencyLost)
}

func answeredOnce(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	i := request("once")
	c := f.begin(t, i)
	fails(t, "a second request", errorOf(f.BeginIdempotent(ctx, i, lease, f.clock())), store.ErrIdempotencyRunning)
	other := i
	other.Body[31]++
	_, err := f.BeginIdempotent(ctx, other, lease, f.clock())
	fails(t, "another request while it is running", err, store.ErrIdempotencyMismatch)
	must2(f.CommitPlan(finishing(ctx, i, c), p.ID, f.by("x"), store.Retention{}))(t)
	want := store.Claim{Done: true, Status: 200,
		Answer: []byte(`plan "` + p.ID + `" committed, operator "", 0 reports, created true`)}
	for _, later := range []time.Duration{0, lease, 1000 * lease} {
		same(t, "answers", want, must(f.BeginIdempotent(ctx, i, lease, f.clock().Add(later)))(t))
	}
	_, err = f.BeginIdempotent(ctx, other, lease, f.clock().Add(2*lease))
	fails(t, "another request", err, store.ErrIdempotencyMismatch)
	// What is done cannot be given back, and not be done again.
	ok(t, f.ReleaseIdempotent(ctx, i, c.Token))
	before := read(t, f)
	_, _, err = f.PutOperator(finishing(ctx, i, c), "other", []byte(`{}`), f.now())
	fails(t, "a second effect", err, store.ErrIdempotencyLost)
	same(t, "contents", before, read(t, f))
	same(t, "answers", want, must(f.BeginIdempotent(ctx, i, lease, f.clock()))(t))
}

func keysAreApart(t *testing.T, f *fixture) {
	long := string(make([]byte, 100_000))
	tokens := map[string]bool{}
	for _, i := range []store.Idempotency{
		{}, {Scope: "a"}, {Key: "a"}, {Scope: "a", Key: "b"}, {Scope: "ab"}, {Key: "ab"}, {Scope: "A", Key: "b"},
		{Scope: "\xff\x00", Key: "\x00"}, {Scope: "\xff", Key: "\x00\x00"}, {Scope: long}, {Key: long},
	} {
		tokens[f.begin(t, i).Token] = true
		fails(t, "the same key", errorOf(f.BeginIdempotent(t.Context(), i, lease, f.clock())), store.ErrIdempotencyRunning)
	}
	holds(t, len(tokens) == 11, "%d tokens for 11 keys", len(tokens))
	listed := 0
	for after := []byte(nil); ; {
		all := must(f.Answers(t.Context(), after, 4))(t)
		if len(all) == 0 {
			break
		}
		for _, one := range all {
			if listed++; bytes.Compare(one.Name, after) <= 0 || one.Answer != nil {
				t.Errorf("%x with %q comes after %x", one.Name, one.Answer, after)
			}
			after = one.Name
		}
	}
	holds(t, listed == 11, "%d keys listed of 11", listed)
}

func leaseRunsOut(t *testing.T, f *fixture) {
	ctx := t.Context()
	i := request("slow")
	first := f.begin(t, i)
	_, err := f.BeginIdempotent(ctx, i, lease, f.clock().Add(lease-time.Microsecond))
	fails(t, "a request within the lease", err, store.ErrIdempotencyRunning)
	at := f.clock().Add(lease)
	second, err := f.BeginIdempotent(ctx, i, lease, at)
	need(t, err == nil && !second.Done && second.Token != first.Token,
		"claim %+v after %+v, error %v", second, first, err)
	_, err = f.BeginIdempotent(ctx, i, lease, at.Add(lease/2))
	fails(t, "a request within the second lease", err, store.ErrIdempotencyRunning)
	// The first one comes back. It must leave nothing behind, nor give back what it
	// does not hold.
	_, _, err = f.PutOperator(finishing(ctx, i, first), "first", []byte(`{}`), f.now())
	fails(t, "the late first one", err, store.ErrIdempotencyLost)
	ok(t, f.ReleaseIdempotent(ctx, i, first.Token))
	if ops, err := f.Operators(ctx, "", 10); err != nil || len(ops) > 0 {
		t.Errorf("operators %v, error %v", ops, err)
	}
	must2(f.PutOperator(finishing(ctx, i, second), "second", []byte(`{}`), f.now()))(t)
	// A lease that ran out and that nobody took over is good enough to finish with.
	j := request("slower")
	c := f.begin(t, j)
	must2(f.PutOperator(finishing(ctx, j, c), "third", []byte(`{}`), f.clock().Add(5*lease)))(t)
}

func leaseIsExtended(t *testing.T, f *fixture) {
	ctx := t.Context()
	i := request("long")
	c := f.begin(t, i)
	begin := f.clock()
	extend := func(token string, at time.Time) error { return f.ExtendIdempotent(ctx, i, token, lease, at) }
	claim := func(at time.Time) (store.Claim, error) { return f.BeginIdempotent(ctx, i, lease, at) }
	// Again and again: the key is held for a lease from then, and no longer.
	for _, late := range []time.Duration{lease / 3, lease, 10 * lease} {
		ok(t, extend(c.Token, begin.Add(late)))
		_, err := claim(begin.Add(late + lease - time.Microsecond))
		fails(t, "a request within the extended lease", err, store.ErrIdempotencyRunning)
	}
	// Who does not hold the key extends nothing.
	fails(t, "another token", extend("another", begin.Add(1000*lease)), store.ErrIdempotencyLost)
	fails(t, "a key that nobody holds", f.ExtendIdempotent(ctx, request("free"), c.Token, lease, begin),
		store.ErrIdempotencyLost)
	at := begin.Add(11 * lease)
	second, err := claim(at)
	need(t, err == nil && !second.Done && second.Token != c.Token, "claim %+v after %+v, error %v", second, c, err)
	fails(t, "the token of the former holder", extend(c.Token, at.Add(1000*lease)), store.ErrIdempotencyLost)
	must2(f.PutOperator(finishing(ctx, i, second), "clicks", []byte(`{}`), f.now()))(t)
	// What is done is left as it is.
	fails(t, "a request that is done", extend(second.Token, at), store.ErrIdempotencyLost)
	is(t, "the request is done", must(claim(at))(t).Done, true)
}

func keyIsGivenBack(t *testing.T, f *fixture) {
	ctx := t.Context()
	i := request("fails")
	first := f.begin(t, i)
	_, err := f.ApprovePlan(finishing(ctx, i, first), "none", unchanged, f.by("x"))
	fails(t, "approving nothing", err, store.ErrNotFound)
	_, err = f.BeginIdempotent(ctx, i, lease, f.clock())
	fails(t, "a request that was not given back", err, store.ErrIdempotencyRunning)
	for range 2 {
		ok(t, f.ReleaseIdempotent(ctx, i, first.Token))
	}
	i.Body[0]++ // another request may have the key now
	second := f.begin(t, i)
	_, _, err = f.PutOperator(finishing(ctx, i, first), "first", []byte(`{}`), f.now())
	fails(t, "the token of the former life", err, store.ErrIdempotencyLost)
	must2(f.PutOperator(finishing(ctx, i, second), "second", []byte(`{}`), f.now()))(t)
}

func oldKeysAreForgotten(t *testing.T, f *fixture) {
	ctx := t.Context()
	old, running, recent := request("old"), request("running"), request("recent")
	c := f.begin(t, old)
	must2(f.PutOperator(finishing(ctx, old, c), "clicks", []byte(`{}`), f.now()))(t)
	f.begin(t, running)
	at := f.now()
	must(f.BeginIdempotent(ctx, recent, lease, at))(t)
	later := at.Add(time.Hour)
	ok(t, f.Tidy(ctx, later, store.Keep{Keys: time.Hour, MostKeys: 100}))
	f.begin(t, old)
	f.begin(t, running)
	fails(t, "the recent key", errorOf(f.BeginIdempotent(ctx, recent, lease, at)), store.ErrIdempotencyRunning)
}

// keysHaveAQuota: of requests that are done the newest keys are kept, of others all.
func keysHaveAQuota(t *testing.T, f *fixture) {
	ctx := t.Context()
	running, done := request("running"), []store.Idempotency{request("1"), request("2"), request("3"), request("4")}
	f.begin(t, running)
	for _, i := range done {
		c := must(f.BeginIdempotent(ctx, i, lease, f.now()))(t)
		ok(t, f.FinishIdempotent(ctx, i, c.Token, 200, nil))
	}
	at := f.now()
	ok(t, f.Tidy(ctx, at, store.Keep{Keys: time.Hour, MostKeys: 2}))
	for n, i := range done {
		c := must(f.BeginIdempotent(ctx, i, lease, at))(t)
		if want := n >= 2; c.Done != want {
			t.Errorf("request %s is done: %t, want %t", i.Key, c.Done, want)
		}
	}
	fails(t, "a running request", errorOf(f.BeginIdempotent(ctx, running, lease, at)), store.ErrIdempotencyRunning)
}

// everyChangeFinishes goes through all methods that change something. What they
// find done already is finished too.
func everyChangeFinishes(t *testing.T, f *fixture) {
	f.put(t, "gone", `{}`)
	keep := store.Retention{}
	classes := f.create(t, f.classes(t, 1)).ID
	in := f.plan(t, "clicks", 2, store.StatusApproved, set("a", 1))
	proposed := f.proposal(t, "clicks", 3)
	later := f.plan(t, "clicks", 20, store.StatusApproved)
	later.BaseVersion++ // the abort before it makes a version
	operator := func(created bool) string {
		return fmt.Sprintf(`plan "" , operator "new", 0 reports, created %v`, created)
	}
	plan := func(id string, status store.Status, created bool) string {
		return fmt.Sprintf(`plan %q %s, operator "", 0 reports, created %v`, id, status, created)
	}
	put := func(ctx context.Context) error { return errorOf2(f.PutOperator(ctx, "new", []byte(`{}`), f.now())) }
	create := func(p store.NewPlan) func(context.Context) error {
		return func(ctx context.Context) error { return errorOf2(f.CreatePlan(ctx, p, f.by("x"))) }
	}
	abort := func(rolledBack bool) func(context.Context) error {
		return func(ctx context.Context) error { return errorOf(f.AbortPlan(ctx, proposed.ID, rolledBack, f.by("x"))) }
	}
	steps := []struct {
		name string
		run  func(ctx context.Context) error
		want string
	}{
		{"put", put, operator(true)},
		{"put again", put, operator(false)},
		{"delete", func(ctx context.Context) error { return f.DeleteOperator(ctx, "gone", f.now()) },
			`plan "" , operator "", 0 reports, created false`},
		{"report", func(ctx context.Context) error {
			return errorOf2(f.PutReport(ctx, "clicks", store.Report{Interval: 9, At: f.now()}, []byte("x"), 0))
		}, `plan "" , operator "", 1 reports, created true`},
		{"resolve", func(ctx context.Context) error {
			return errorOf(f.ResolvePlan(ctx, classes, store.Resolution{Keys: 1}, f.by("x")))
		}, plan(classes, store.StatusApproved, true)},
		{"create", create(in), plan(in.ID, store.StatusApproved, true)},
		{"create again", create(in), plan(in.ID, store.StatusApproved, false)},
		{"propose", create(proposed), plan(proposed.ID, store.StatusProposed, true)},
		{"approve", func(ctx context.Context) error {
			return errorOf(f.ApprovePlan(ctx, proposed.ID, unchanged, f.by("x")))
		}, plan(proposed.ID, store.StatusApproved, true)},
		{"start", func(ctx context.Context) error {
			return errorOf(f.StartPlan(ctx, proposed.ID, jobManager, f.by("x")))
		}, plan(proposed.ID, store.StatusApplying, true)},
		{"ack", func(ctx context.Context) error {
			return errorOf2(f.AckPlan(ctx, proposed.ID, 1, []int32{0}, f.by("x"), keep))
		}, plan(proposed.ID, store.StatusApplying, false)},
		{"abort", abort(false), plan(proposed.ID, store.StatusAborting, true)},
		{"roll back", abort(true), plan(proposed.ID, store.StatusAborted, true)},
		{"commit", func(ctx context.Context) error {
			if err := create(later)(t.Context()); err != nil {
				return err
			}
			return errorOf2(f.CommitPlan(ctx, later.ID, f.by("x"), keep))
		}, plan(later.ID, store.StatusCommitted, true)},
	}
	for _, step := range steps {
		i := request(step.name)
		c := f.begin(t, i)
		if err := step.run(finishing(t.Context(), i, c)); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		got, err := f.BeginIdempotent(t.Context(), i, lease, f.clock())
		holds(t, err == nil, "%s: %v", step.name, err)
		same(t, step.name+": answers", store.Claim{Done: true, Status: 200, Answer: []byte(step.want)}, got)
	}
}

func failingAnswer(t *testing.T, f *fixture) {
	p := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	before := read(t, f)
	i := request("answer")
	ctx := store.WithCompletion(t.Context(), store.Completion{Idempotency: i, Token: f.begin(t, i).Token,
		Answer: func(store.Outcome) (int, []byte, error) { return 0, nil, errGuard }})
	fails(t, "the commit", notDone(f.CommitPlan(ctx, p.ID, f.by("x"), store.Retention{})), errGuard)
	fails(t, "the plan", notDone(f.CreatePlan(ctx, f.plan(t, "clicks", 2, store.StatusApproved), f.by("x"))), errGuard)
	same(t, "contents", before, read(t, f))
	fails(t, "its key", errorOf(f.BeginIdempotent(t.Context(), i, lease, f.clock())), store.ErrIdempotencyRunning)
}

// oneRequestIsMade sends a request to all replicas, again and again until it is
// answered.
func oneRequestIsMade(t *testing.T, f *fixture) {
	const n = 9
	i := request("everywhere")
	in := f.plan(t, "clicks", 1, store.StatusCommitted, set("a", 1))
	by, at := f.by("x"), f.clock()
	var made, failed atomic.Int32
	answers := make([]string, n)
	f.together(t, n, func(k int, s store.Store) {
		for answers[k] == "" {
			c, err := s.BeginIdempotent(t.Context(), i, lease, at)
			switch {
			case errors.Is(err, store.ErrIdempotencyRunning):
			case err != nil:
				t.Error(err)
				return
			case c.Done:
				answers[k] = string(c.Answer)
			case failed.Add(1) <= 2: // it is given back twice before it is made
				err = s.ReleaseIdempotent(t.Context(), i, c.Token)
			default:
				mine := in
				mine.ID, mine.Fingerprint = fmt.Sprint("by ", k), fmt.Sprint("by ", k)
				_, _, err = s.CreatePlan(finishing(t.Context(), i, c), mine, by)
				made.Add(1)
			}
			if err != nil && !errors.Is(err, store.ErrIdempotencyRunning) {
				t.Error(err)
				return
			}
		}
	})
	is(t, "how often it was made", made.Load(), 1)
	if slices.Sort(answers); answers[0] != answers[n-1] {
		t.Errorf("answers %q", answers)
	}
	f.wantStatuses(t, "clicks", store.StatusCommitted)
}

// effectAndAnswer ends the context at each point of the last ack. Whoever hears of
// the end while the database commits does not know which of the two it is.
func effectAndAnswer(t *testing.T, f *fixture) {
	p := f.create(t, f.awaiting(t, "clicks", 1, store.StatusApproved, set("a", 1), set("b", 1)))
	f.start(t, p.ID)
	i := request("interrupted")
	c := f.begin(t, i)
	before := read(t, f)
	for looks := 1; ; looks += 1 + looks/5 {
		ctx, cancel := context.WithCancel(t.Context())
		counted := &countedContext{Context: ctx, left: looks, end: cancel}
		_, committed, err := f.AckPlan(finishing(counted, i, c), p.ID, 1, []int32{0, 2}, f.by("x"), store.Retention{})
		cancel()
		if err == nil && committed {
			break
		}
		fails(t, "an interrupted ack", err, context.Canceled)
		if f.operator(t, "clicks").TableVersion == 1 {
			break
		}
		same(t, "contents", before, read(t, f))
		_, err = f.BeginIdempotent(t.Context(), i, lease, f.clock().Add(-time.Hour))
		fails(t, "its key", err, store.ErrIdempotencyRunning)
	}
	f.wantTable(t, "clicks", 1, "a=1", "b=1")
	is(t, "the request is done", must(f.BeginIdempotent(t.Context(), i, lease, f.clock()))(t).Done, true)
}

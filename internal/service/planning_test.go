package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/feed"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/life"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/store"
)

// text is a list as NDJSON.
func text(t *testing.T, parts ...listing.Part) string {
	t.Helper()
	var out bytes.Buffer
	for _, p := range parts {
		out.WriteString(p.Name + "\n")
		if err := p.List.WriteNDJSON(&out, false); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestLifeOfAPlan: from statistics to a committed table that the next plan starts from.
func TestLifeOfAPlan(t *testing.T) {
	e := newEnv(t)
	if op := e.configure("clicks", configuration(2)); !op.Created || op.ConfigVersion != 1 {
		t.Fatalf("%+v", op)
	}
	p := e.propose("clicks", skewed(1))
	if p.Status != "approved" || !p.Created || p.Scheme != "table" || p.Strategy != "mixed" || p.Persist == nil {
		t.Fatalf("%+v", p)
	}
	if p.MigrationKeys < 8 || !p.Balanced || !slices.Equal(p.Awaited, []int32{0, 1}) {
		t.Errorf("%d keys of %v are moved", p.MigrationKeys, p.Awaited)
	}
	set := text(t, p.Lists.Change...)
	if n := int64(strings.Count(set, `"instance":1`)); n != p.MigrationKeys || !strings.HasSuffix(set, "unset\n") {
		t.Errorf("the plan sets %s", set)
	}
	// The same statistics make the same plan, with its lists; others of the interval none.
	again := e.propose("clicks", skewed(1))
	if again.ID != p.ID || again.Created || text(t, again.Lists.Change...) != set {
		t.Errorf("%s is another plan than %s", again.ID, p.ID)
	}
	other := skewed(1)
	other.Cost[0] = 2
	_, err := e.tryPropose("clicks", other)
	e.refused(err, refusal.IntervalPlanned)

	applying := e.want("applying")(e.Start(e.Context(), step(p), store.Executor{Name: "engine"}))
	if applying.Executor.Name != "engine" {
		t.Errorf("%v carries it out", applying.Executor)
	}
	_, err = e.Start(e.Context(), step(p), store.Executor{Name: "another"})
	e.refused(err, refusal.OtherExecutor)
	// Another plan now leaves all as it is, and tells what would come of the first.
	stands := e.propose("clicks", skewed(2))
	var blocking struct {
		Plan    string
		Figures struct{ Balanced bool }
	}
	if err := json.Unmarshal(stands.Pending, &blocking); err != nil || blocking.Plan != p.ID ||
		!blocking.Figures.Balanced {
		t.Errorf("%s stands in the way, error %v", stands.Pending, err)
	}
	if stands.Status != "no_action" || !slices.Equal(stands.Causes, []string{"plan_in_flight"}) {
		t.Errorf("%s because of %v", stands.Status, stands.Causes)
	}
	e.want("applying")(e.Acknowledge(e.Context(), step(p), 0, 0, []int32{1}))
	_, err = e.Acknowledge(e.Context(), step(p), 0, 0, []int32{7})
	e.refused(err, refusal.NotAwaited)
	done := e.want("committed")(e.Acknowledge(e.Context(), step(p), 0, 0, []int32{0}))
	if done.Version == nil || *done.Version != 1 || e.observed.sizes["clicks"] != p.MigrationKeys {
		t.Errorf("version %v with %d entries", done.Version, e.observed.sizes["clicks"])
	}
	if want := []string{"→approved", "approved→applying", "→no_action", "applying→committed"}; !slices.Equal(
		e.observed.moved, want) {
		t.Errorf("%q was told, want %q", e.observed.moved, want)
	}
	// Committed once more it stays as it is.
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	steps, err := e.Transitions(e.Context(), p.ID)
	if err != nil || len(steps) != 3 {
		t.Errorf("%v, %v", steps, err)
	}
	// Keys are routed by the new table, and the same load is balanced under it.
	moved, _, _ := strings.Cut(strings.SplitN(set, `"key":"`, 2)[1], `"`)
	if r, err := e.Route(e.Context(), "clicks", []byte(moved), nil); err != nil ||
		!reflect.DeepEqual(r, scheme.Route{Instance: 1, Source: "table", Version: 1}) {
		t.Errorf("%q goes to %+v, %v", moved, r, err)
	}
	if r, err := e.Route(e.Context(), "clicks", []byte("none of them"), nil); err != nil || r.Source != "hash" {
		t.Errorf("%+v, %v", r, err)
	}
	if next := e.propose("clicks", skewed(3)); next.Status != "no_action" || next.BaseVersion != 1 {
		t.Errorf("%s on version %d", next.Status, next.BaseVersion)
	}
}

// TestApproval: plans wait for approval, are rejected, expire and are aborted.
func TestApproval(t *testing.T) {
	e := newEnv(t)
	c := configuration(2)
	c.Approval.Auto = operator.AutoNever
	e.configure("clicks", c)
	p := e.propose("clicks", skewed(1))
	if p.Status != "proposed" || p.ExpiresAt == nil || !p.ExpiresAt.Equal(e.clock().Add(10*time.Minute)) {
		t.Fatalf("%s until %v", p.Status, p.ExpiresAt)
	}
	_, err := e.Commit(e.Context(), step(p), true)
	e.refused(err, refusal.TransitionNotAllowed)
	e.want("rejected")(e.Reject(e.Context(), step(p)))
	p = e.propose("clicks", skewed(1)) // a plan that ended makes room for another
	e.want("approved")(e.Approve(e.Context(), step(p)))
	e.want("applying")(e.Start(e.Context(), step(p), store.Executor{Name: "engine"}))
	_, err = e.Abort(e.Context(), step(p), 0, true)
	e.refused(err, refusal.TransitionNotAllowed)
	e.want("aborting")(e.Abort(e.Context(), step(p), 0, false))
	e.want("aborted")(e.Abort(e.Context(), step(p), 0, true))

	p = e.propose("clicks", skewed(2))
	e.pass(10 * time.Minute)
	_, err = e.Approve(e.Context(), step(p))
	e.refused(err, refusal.TransitionNotAllowed)
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	e.Service.Run(ctx) // it sweeps once before it looks whether to end
	if expired, err := e.Plan(e.Context(), p.ID); err != nil || expired.Status != "expired" {
		t.Errorf("%s, %v", expired.Status, err)
	}
}

// TestNotStarted: an approved plan expires as well, and an approval gives it its time anew.
func TestNotStarted(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	born := e.propose("clicks", skewed(1))
	if born.Status != "approved" || born.ExpiresAt == nil || !born.ExpiresAt.Equal(e.clock().Add(10*time.Minute)) {
		t.Fatalf("%s until %v", born.Status, born.ExpiresAt)
	}
	e.pass(10 * time.Minute)
	_, err := e.Start(e.Context(), step(born), store.Executor{Name: "engine"})
	if refused := e.refused(err, refusal.TransitionNotAllowed); !strings.Contains(refused.Detail, "expired") {
		t.Error(refused)
	}
	if again := e.propose("clicks", skewed(1)); again.ID == born.ID || again.Status != "approved" {
		t.Errorf("%s is %s", again.ID, again.Status)
	}
	c := configuration(2)
	c.Approval.Auto = operator.AutoNever
	e.configure("views", c)
	p := e.propose("views", skewed(1))
	e.pass(9 * time.Minute)
	e.want("approved")(e.Approve(e.Context(), step(p)))
	e.pass(9 * time.Minute)
	e.want("applying")(e.Start(e.Context(), step(p), store.Executor{Name: "engine"}))
	e.pass(9 * time.Minute)
	e.want("aborting")(e.Abort(e.Context(), step(p), 0, false))
}

// TestSkewedClock: a replica whose clock is wrong lets nothing expire too early or too
// late, and takes no idempotency key from another one: the store's clock counts.
func TestSkewedClock(t *testing.T) {
	for _, skew := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		var now func() time.Time
		e := newEnv(t, func(c *service.Config) {
			now = c.Now
			c.Now = func() time.Time { return now().Add(skew) }
		})
		c := configuration(2)
		c.Approval.Auto = operator.AutoNever
		e.configure("clicks", c)
		p := e.propose("clicks", skewed(1))
		if !p.CreatedAt.Equal(now()) || !p.ExpiresAt.Equal(now().Add(10*time.Minute)) {
			t.Errorf("made at %v, expires at %v", p.CreatedAt, p.ExpiresAt)
		}
		request := claim.Request{Key: "key"}
		at := now()
		if _, err := e.store.BeginIdempotent(e.Context(), request, time.Minute, at); err != nil {
			t.Fatal(err)
		}
		answer := func(store.Plan) (int, []byte, error) { return 0, nil, nil }
		_, err := claim.Begin(e.Context(), e.Service.Claims, request, answer)
		e.refused(err, refusal.IdempotencyKeyRunning)
		done, cancel := context.WithCancel(e.Context())
		swept := make(chan struct{})
		go func() {
			e.Service.Run(done)
			close(swept)
		}()
		e.want("approved")(e.Approve(e.Context(), step(p)))
		cancel()
		<-swept
		_, err = e.store.BeginIdempotent(e.Context(), request, time.Minute, at)
		if !errors.Is(err, store.ErrIdempotencyRunning) {
			t.Errorf("the key was swept: %v", err)
		}
	}
}

// TestGuards: who guards a step is asked, but where it would bring the plan nowhere.
func TestGuards(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	p := e.propose("clicks", skewed(1))
	no := errors.New("not this one")
	guarded := life.Step{Plan: p.ID, Guard: func(store.Plan) error { return no }}
	if _, err := e.Commit(e.Context(), guarded, true); !errors.Is(err, no) {
		t.Fatal(err)
	}
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	e.want("committed")(e.Commit(e.Context(), guarded, true))

	refuse := func(*reading.Operator) error { return no }
	complete, err := operator.NewConfiguration(configuration(3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Configure(e.Context(), "clicks", complete, refuse, true, nil); !errors.Is(err, no) {
		t.Errorf("configured: %v", err)
	}
	if err := e.Delete(e.Context(), "clicks", refuse, nil); !errors.Is(err, no) {
		t.Errorf("deleted: %v", err)
	}
}

// TestRecordLeavesPlanAlone: what is stored of a plan is what it says, before and after.
func TestRecordLeavesPlanAlone(t *testing.T) {
	e := newEnv(t)
	c := configuration(2)
	e.configure("clicks", c)
	e.want("committed")(e.Commit(e.Context(), step(e.propose("clicks", skewed(1))), true))
	// Without the keys that have entries a plan would drop these and do nothing else.
	few := skewed(2)
	st := &planner.Statistics{Keys: planner.NewKeys(1), Cost: []float64{0}, State: []float64{0}}
	st.Keys.Append([]byte("of no cost"))
	few.Statistics = st
	p := e.propose("clicks", few)
	if p.Status != "no_action" || p.IdleEntries != p.TableBefore || p.TableAfter != p.TableBefore || p.TableBefore == 0 {
		t.Errorf("%s: from %d to %d entries, %d idle", p.Status, p.TableBefore, p.TableAfter, p.IdleEntries)
	}
	stored, err := e.Lists(e.Context(), p.Plan, true, true, e.lease())
	if err != nil || text(t, stored.Change...) != text(t, p.Lists.Change...) {
		t.Errorf("stored %s, told %s: %v", text(t, stored.Change...), text(t, p.Lists.Change...), err)
	}
}

// TestReplay: a stored plan is planned again, also as a plan of its own.
func TestReplay(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	p := e.propose("clicks", skewed(1))
	r, err := e.Replay(e.Context(), p.ID, e.lease())
	if err != nil {
		t.Fatal(err)
	}
	under, err := r.Parameters()
	if err != nil {
		t.Fatal(err)
	}
	trials := []propose.Trial{{Strategy: "mixed", Parameters: under}, {Strategy: "optimal", Parameters: under}}
	results, front, err := r.Try(e.Context(), trials, true)
	if err != nil || len(results) != 2 || len(front) != 2 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	same := results[0].Lists()
	if text(t, same.Change...) != text(t, p.Lists.Change...) {
		t.Errorf("%s instead of %s", text(t, same.Change...), text(t, p.Lists.Change...))
	}
	_, err = r.Propose(e.Context(), propose.ReplayProposal{Trial: trials[1]})
	e.refused(err, refusal.IntervalPlanned)
	e.want("aborted")(e.Abort(e.Context(), step(p), 0, false))
	q, err := r.Propose(e.Context(), propose.ReplayProposal{Trial: trials[1], By: store.Transition{Actor: "somebody"}})
	if err != nil || q.Strategy != "optimal" || q.InputHash != p.InputHash || q.Source != p.Source ||
		q.Fingerprint == p.Fingerprint {
		t.Fatalf("%+v, %v", q, err)
	}
	if again, err := r.Propose(e.Context(), propose.ReplayProposal{Trial: trials[1]}); err != nil || again.ID != q.ID {
		t.Errorf("%v, %v", again, err)
	}
	// A replay of a replay has the same source.
	r, err = e.Replay(e.Context(), q.ID, e.lease())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Propose(e.Context(), propose.ReplayProposal{Trial: trials[1]}); err != nil || again.ID != q.ID {
		t.Errorf("%v, %v", again, err)
	}
}

// TestReplayOfOutdatedStatistics: that instances were those of an older table is known
// of a plan whatever its fingerprint looks like.
func TestReplayOfOutdatedStatistics(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	e.want("committed")(e.Commit(e.Context(), step(e.propose("clicks", skewed(1))), true))
	old, version := skewed(2), int64(0)
	old.TableVersion = &version
	old.Instance = make([]int32, old.Len()) // all on instance 0, as they were
	old.Cost[0] = 30
	p := e.propose("clicks", old)
	if !p.Outdated || p.DriftedKeys != 0 {
		t.Fatalf("outdated %t, %d drifted", p.Outdated, p.DriftedKeys)
	}
	r, err := e.Replay(e.Context(), p.ID, e.lease())
	if err != nil {
		t.Fatal(err)
	}
	under, err := r.Parameters()
	if err != nil {
		t.Fatal(err)
	}
	results, _, err := r.Try(e.Context(), []propose.Trial{{Strategy: p.Strategy, Parameters: under}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0]; got.Theta.Before != p.ThetaBefore || got.Migration.Keys != p.MigrationKeys {
		t.Errorf("θ %g and %d keys, the plan has %g and %d", got.Theta.Before, got.Migration.Keys, p.ThetaBefore,
			p.MigrationKeys)
	}
}

// TestReports: a plan is made of what instances report for themselves.
func TestReports(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	all := skewed(1)
	report := func(instance int32, interval int64) (intake.ReportReceipt, error) {
		st := &planner.Statistics{Keys: planner.NewKeys(0)}
		for i := range all.Len() {
			if key := all.Keys.At(i); int32(planner.KeyHash(key)%2) == instance {
				st.Keys.Append(key)
				st.Cost, st.State = append(st.Cost, 1), append(st.State, 1)
			}
		}
		return e.PutReport(e.Context(), "clicks", instance, &scheme.Statistics{Statistics: st, Interval: interval}, nil)
	}
	ask := func(interval int64, missing operator.MissingReports) (*intake.StoredPlan, error) {
		return e.Propose(e.Context(), "clicks", intake.Proposal{
			Statistics: &scheme.Statistics{Statistics: &planner.Statistics{}, Interval: interval},
			Reports:    &intake.ReportsQuery{Missing: missing}, Memory: e.lease(),
		})
	}
	e.invalid(e.CheckReporter(e.Context(), "clicks", 9), "instance")
	r, err := report(0, 1)
	if err != nil || !r.Created || r.Rows != 20 || !slices.Equal(r.Received, []int32{0}) ||
		!slices.Equal(r.Missing, []int32{1}) {
		t.Fatalf("%+v, %v", r, err)
	}
	_, err = ask(1, "")
	if refused := e.refused(err, refusal.ReportsMissing); !slices.Equal(refused.Missing, []int32{1}) {
		t.Errorf("%v are missing", refused.Missing)
	}
	frozen, err := ask(1, operator.MissingFreeze)
	if err != nil || !slices.Contains(frozen.Causes, "frozen") {
		t.Fatalf("%+v, %v", frozen, err)
	}
	_, err = report(1, 1)
	e.refused(err, refusal.ReportClosed)
	for instance := range int32(2) {
		if _, err := report(instance, 2); err != nil {
			t.Fatal(err)
		}
	}
	p, err := ask(2, "")
	if err != nil || p.MigrationKeys < 8 || string(p.Plan.Reports) != `{"carried":[],"frozen":[],"received":[0,1]}` {
		t.Fatalf("%+v, %v", p, err)
	}
	if whole := e.propose("clicks", skewed(3)); whole.ThetaBefore != p.ThetaBefore ||
		whole.MigrationKeys != p.MigrationKeys {
		t.Errorf("θ %g and %d keys, whole it is %g and %d", p.ThetaBefore, p.MigrationKeys, whole.ThetaBefore,
			whole.MigrationKeys)
	}
	found, err := e.Service.Reports(e.Context(), "clicks", 0, 3)
	if err != nil || len(found.Received) != 0 || len(found.Last) != 2 || len(found.Missing) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestLayouts: under the schemes ring and ranges a plan changes tokens or owners.
func TestLayouts(t *testing.T) {
	tau := ring.DefaultTau
	for name, c := range map[operator.SchemeName]func(*operator.Configuration){
		operator.SchemeRing: func(c *operator.Configuration) {
			c.Scheme, c.Hash = operator.SchemeRing, operator.Hash{Function: "ring", TokensPerInstance: 4}
			c.Ring = &operator.RingParameters{Method: ring.Doubling, Tau: &tau, MaxRounds: ring.DefaultMaxRounds}
		},
		operator.SchemeRanges: func(c *operator.Configuration) {
			c.Scheme, c.Hash = operator.SchemeRanges, operator.Hash{}
			c.Ranges = &operator.RangesParameters{Method: ranges.Quantile}
		},
	} {
		t.Run(string(name), func(t *testing.T) {
			e := newEnv(t)
			config := configuration(2)
			c(&config)
			op := e.configure("clicks", config)
			if op.Configuration.Strategy != "" || op.Configuration.Beta != nil {
				t.Errorf("%+v has what the scheme does not know", op.Configuration)
			}
			st := skewed(1)
			st.Cost[0] = 5
			p := e.propose("clicks", st)
			if p.Scheme != string(name) || schemes.MigratesOf(p.Plan) == scheme.MigratesKeys {
				t.Fatalf("%+v", p)
			}
			if p.Status == "approved" {
				e.want("committed")(e.Commit(e.Context(), step(p), true))
			}
			stored, err := e.Lists(e.Context(), p.Plan, true, true, e.lease())
			if err != nil || text(t, stored.Change...) != text(t, p.Lists.Change...) {
				t.Errorf("stored %v, told %v: %v", stored, p.Lists, err)
			}
			view, err := e.Table(e.Context(), feed.TableQuery{Operator: "clicks", Version: feed.NotAsked,
				Since: feed.NotAsked}, e.lease())
			if err != nil || !view.Full || view.Hash != nil || len(view.Parts) != 1 || view.Parts[0].Name == "entries" {
				t.Fatalf("%+v, %v", view, err)
			}
			r, err := e.Route(e.Context(), "clicks", st.Keys.At(0), nil)
			if err != nil || r.Source == "table" || r.Source == "hash" {
				t.Errorf("%+v, %v", r, err)
			}
			_, err = e.Replay(e.Context(), p.ID, e.lease())
			e.refused(err, refusal.NoRoutingTable)
			_, err = e.TableChanges(e.Context(), p.Plan, listing.KeyFilter{}, e.lease())
			e.refused(err, refusal.NoRoutingTable)
			partial := skewed(2)
			partial.Partial = true
			_, err = e.tryPropose("clicks", partial)
			e.refused(err, refusal.CompleteCoverageRequired)
			compacted := skewed(2)
			compacted.Compact = &parameters.Compact{Degree: 8}
			_, err = e.tryPropose("clicks", compacted)
			e.invalid(err, "compact")
			complete, err := operator.NewConfiguration(configuration(2))
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Configure(e.Context(), "clicks", complete, anyway, true, nil)
			e.refused(err, refusal.SchemeFixed)
		})
	}
}

// TestFollow: who waits for a table sees a commit, and what all wait for is read once.
func TestFollow(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	p := e.propose("clicks", skewed(1))
	q := feed.TableQuery{Operator: "clicks", Version: feed.NotAsked, Since: 0}
	changed := func(s feed.TableState) bool { return s.Version != 0 || s.Pending != "" }
	state, answered, err := e.Follow(e.Context(), q, time.Millisecond, changed, nil)
	if err != nil || answered || state.Version != 0 {
		t.Fatalf("%+v %t %v", state, answered, err)
	}
	seen := make(chan string, 2)
	follow := func() {
		_, answered, err := e.Follow(e.Context(), q, time.Minute, changed, func(v *feed.TableView) error {
			seen <- text(t, v.Parts...)
			return nil
		})
		if !answered || err != nil {
			seen <- "no answer"
		}
	}
	for range 2 {
		go follow()
	}
	for e.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	want := text(t, p.Lists.Change...)
	for range 2 {
		if got := <-seen; got != want {
			t.Errorf("%s was seen, want %s", got, want)
		}
	}
	_, _, err = e.Follow(e.Context(), feed.TableQuery{Operator: "none"}, time.Second, changed, nil)
	e.refused(err, refusal.OperatorNotFound)
}

// TestClaims: what is done under an idempotency key and its answer happen together.
func TestClaims(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	request := claim.Request{Scope: "somebody", Key: "key", Body: [32]byte{1}}
	broken := errors.New("it cannot be written")
	answer := func(p *intake.StoredPlan) (int, []byte, error) { return 201, []byte(p.ID), broken }
	propose := func() (*intake.StoredPlan, error) {
		held, err := claim.Begin(e.Context(), e.Service.Claims, request,
			func(p *intake.StoredPlan) (int, []byte, error) { return answer(p) })
		if err != nil {
			return nil, err
		}
		defer held.Release(e.Context(), false)
		return e.Propose(e.Context(), "clicks", intake.Proposal{Statistics: skewed(1), Memory: e.lease(), Claim: held})
	}
	if _, err := propose(); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if found, _, err := e.Plans(e.Context(), store.PlanFilter{Operator: "clicks", Limit: 1}); err != nil ||
		len(found) > 0 {
		t.Fatalf("there is a plan without an answer: %v", err)
	}
	answer = func(p *intake.StoredPlan) (int, []byte, error) {
		if !p.Created || p.Lists.Migrations == nil {
			t.Errorf("%+v is answered", p)
		}
		return 201, []byte(p.ID), nil
	}
	p, err := propose()
	if err != nil {
		t.Fatal(err)
	}
	_, err = propose()
	var earlier *claim.EarlierAnswer
	if !errors.As(err, &earlier) || earlier.Status != 201 || string(earlier.Answer) != p.ID {
		t.Fatalf("%+v, %v", earlier, err)
	}
	request.Body[0]++
	_, err = propose()
	e.refused(err, refusal.IdempotencyKeyReused)
}

// TestWhatIf: trials are planned in their order and change nothing.
func TestWhatIf(t *testing.T) {
	e := newEnv(t)
	complete, err := operator.NewConfiguration(configuration(2))
	if err != nil {
		t.Fatal(err)
	}
	var trials []propose.Trial
	for _, strategy := range []string{"llfd", "mixed"} {
		for _, degree := range []int{8, 0} {
			p := complete.Parameters
			p.Compact.Degree = degree
			trials = append(trials, propose.Trial{Strategy: strategy, Parameters: p})
		}
	}
	results, front, err := e.WhatIf(e.Context(), propose.WhatIf{Statistics: skewed(1), Configuration: complete,
		Trials: trials, Lists: true, Memory: e.lease()})
	if err != nil || len(results) != len(trials) || !slices.Contains(front, true) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		f, err := r.Figures()
		if err != nil || r.Strategy != trials[i].Strategy || (f.Compaction != nil) != (trials[i].Compact.Degree > 0) ||
			!r.Balanced {
			t.Errorf("%+v of %+v: %v", f, trials[i], err)
		}
	}
	// Input that does not fit is named by its row.
	st := skewed(1)
	st.Cost[3] = -1
	_, _, err = e.WhatIf(e.Context(), propose.WhatIf{Statistics: st, Configuration: complete, Trials: trials,
		Memory: e.lease()})
	var input *planner.InputError
	if !errors.As(err, &input) || input.Row != 3 || input.Field != "Cost" {
		t.Error(err)
	}
}

// TestRefusals: what does not exist, or is no more, is refused for the right reason.
func TestRefusals(t *testing.T) {
	e := newEnv(t)
	_, err := e.Operator(e.Context(), "none")
	e.refused(err, refusal.OperatorNotFound)
	_, err = e.Plan(e.Context(), "none")
	e.refused(err, refusal.PlanNotFound)
	e.configure("clicks", configuration(2))
	_, err = e.Table(e.Context(), feed.TableQuery{Operator: "clicks", Version: 7, Since: feed.NotAsked}, e.lease())
	e.refused(err, refusal.VersionNotFound)
	ahead, version := skewed(1), int64(3)
	ahead.TableVersion = &version
	_, err = e.tryPropose("clicks", ahead)
	e.refused(err, refusal.TableVersionAhead)
	c := configuration(2)
	c.Strategy = "none"
	_, err = operator.NewConfiguration(c)
	e.invalid(err, "strategy")
	p := e.propose("clicks", skewed(5))
	_, err = e.tryPropose("clicks", skewed(4))
	e.refused(err, refusal.IntervalOutdated)
	e.refused(e.CheckResolvable(e.Context(), p.ID, func(store.Plan) error { return nil }), refusal.ResolutionNotNeeded)
	if err := e.Delete(e.Context(), "clicks", anyway, nil); err != nil {
		t.Fatal(err)
	}
	_, err = e.Plan(e.Context(), p.ID)
	e.refused(err, refusal.Purged)
	if !slices.Equal(e.observed.deleted, []string{"clicks"}) {
		t.Errorf("%q were deleted", e.observed.deleted)
	}
}

// gone is a store that cannot be reached.
type gone struct{ store.Store }

func (gone) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (gone) Operators(context.Context, string, int) ([]store.Operator, error) {
	return nil, store.ErrUnavailable
}

// TestUnknownScheme: what a newer version stored under a scheme of its own is an error,
// whoever reads it.
func TestUnknownScheme(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	p := e.propose("clicks", skewed(1))
	strange := p.Plan
	strange.ID, strange.Interval, strange.Fingerprint, strange.Source, strange.Scheme = "strange", 2, "f", "f", "spiral"
	if _, _, err := e.store.CreatePlan(e.Context(), store.NewPlan{Plan: strange},
		store.Transition{At: e.clock()}); err != nil {
		t.Fatal(err)
	}
	read := map[string]func() error{
		"Plan": func() error { _, err := e.Plan(e.Context(), "strange"); return err },
		"Plans": func() error {
			_, _, err := e.Plans(e.Context(), store.PlanFilter{Operator: "clicks", Limit: 10})
			return err
		},
		"Replay": func() error { _, err := e.Replay(e.Context(), "strange", e.lease()); return err },
		"Commit": func() error {
			_, err := e.Commit(e.Context(), life.Step{Plan: "strange", Guard: func(store.Plan) error { return nil }},
				true)
			return err
		},
		"Approve": func() error {
			_, err := e.Approve(e.Context(), life.Step{Plan: "strange", Guard: func(store.Plan) error { return nil }})
			return err
		},
		"Operator": func() error {
			nobody := func(*store.Operator) error { return nil }
			_, _, err := e.store.PutOperator(e.Context(), "spiral", []byte(`{"scheme":"spiral"}`), e.clock(), nobody)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Operator(e.Context(), "spiral")
			return err
		},
	}
	for name, call := range read {
		var refused *refusal.Error
		if err := call(); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), `scheme "spiral"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoreIsGone: a store that cannot be reached, or does not say anything for too long,
// is told from one that refuses.
func TestStoreIsGone(t *testing.T) {
	e := newEnv(t, func(c *service.Config) { c.Store = gone{Store: c.Store} })
	e.refused(e.Ready(e.Context(), time.Millisecond), refusal.Unavailable)
	for _, err := range e.Operators(e.Context(), "", nil) {
		e.refused(err, refusal.Unavailable)
	}
}

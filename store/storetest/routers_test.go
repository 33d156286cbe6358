package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/store"
)

var routerCases = []testCase{
	{name: "a router has another epoch each time that it is registered", run: routerEpochs, bare: true},
	{name: "a router extends the lease of its registration", run: routerLeases},
	{name: "routers whose leases ran out long ago are removed", run: lostRoutersAreRemoved},
	{name: "a plan is started with the routers that there are", run: routersOfPlans},
	{name: "routers that are registered, deleted and named in any order", run: routersInAnyOrder},
	{name: "routers that are registered together have different epochs", run: routersTogether},
}

// register registers a router of the operator clicks, which gets another epoch.
func (f *fixture) register(t testing.TB, name string) store.Router {
	t.Helper()
	r, _, err := f.RegisterRouter(t.Context(), "clicks", name, nil, lease, f.now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// acks says that instances have finished with a plan.
func (f *fixture) acks(t testing.TB, id string, instances ...int32) store.Plan {
	t.Helper()
	p, _, err := f.AckPlan(t.Context(), id, 1, instances, f.by("engine"), store.Retention{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func routerEpochs(t *testing.T, f *fixture) {
	ctx := t.Context()
	fails(t, "without an operator", errorOf2(f.RegisterRouter(ctx, "clicks", "r", nil, lease, f.now())), store.ErrNotFound)
	fails(t, "a list without an operator", errorOf(f.Routers(ctx, "clicks")), store.ErrNotFound)
	f.put(t, "clicks", `{}`)
	is(t, "routers", len(must(f.Routers(ctx, "clicks"))(t)), 0)
	for _, name := range []string{"", "a\x00b", "\xff"} {
		if _, _, err := f.RegisterRouter(ctx, "clicks", name, nil, lease, f.now()); err == nil {
			t.Errorf("a router has the name %q", name)
		}
	}
	at := f.now()
	first, created, err := f.RegisterRouter(ctx, "clicks", "r", nil, lease, at)
	want := store.Router{Name: "r", Epoch: first.Epoch, RegisteredAt: kept(at), ExpiresAt: kept(at.Add(lease))}
	holds(t, err == nil && created && first == want && first.Epoch >= 1,
		"%+v, created %t, error %v; want %+v", first, created, err, want)
	capital := f.register(t, "R") // another one
	again, created, err := f.RegisterRouter(ctx, "clicks", "r", nil, lease, f.now())
	holds(t, err == nil && !created && again.Epoch > first.Epoch && again.Epoch != capital.Epoch,
		"%+v, created %t, error %v; before it was %+v, and R is %+v", again, created, err, first, capital)
	same(t, "routers", []store.Router{capital, again}, must(f.Routers(ctx, "clicks"))(t))
	f.put(t, "other", `{}`)
	is(t, "routers of another operator", len(must(f.Routers(ctx, "other"))(t)), 0)

	fails(t, "deleting an unknown one", f.DeleteRouter(ctx, "clicks", "s"), store.ErrNotFound)
	fails(t, "deleting one of no operator", f.DeleteRouter(ctx, "nothing", "r"), store.ErrNotFound)
	ok(t, f.DeleteRouter(ctx, "clicks", "r"))
	fails(t, "deleting it again", f.DeleteRouter(ctx, "clicks", "r"), store.ErrNotFound)
	same(t, "routers", []store.Router{capital}, must(f.Routers(ctx, "clicks"))(t))
	if back := f.register(t, "r"); back.Epoch <= again.Epoch {
		t.Errorf("epoch %d after %d was deleted", back.Epoch, again.Epoch)
	}
	newest := f.register(t, "R").Epoch
	ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
	f.put(t, "clicks", `{}`)
	is(t, "routers of an operator that was deleted", len(must(f.Routers(ctx, "clicks"))(t)), 0)
	if r := f.register(t, "r"); r.Epoch <= newest {
		t.Errorf("epoch %d after %d was given to a router of the operator that was deleted", r.Epoch, newest)
	}
}

func routerLeases(t *testing.T, f *fixture) {
	ctx := t.Context()
	extend := func(epoch int64) (store.Router, error) {
		r, created, err := f.RegisterRouter(ctx, "clicks", "r", &epoch, 2*lease, f.now())
		is(t, "created", created, false)
		return r, err
	}
	fails(t, "a router that is not registered", errorOf(extend(1)), store.ErrRouterFenced)
	first := f.register(t, "r")
	f.ticks.Add(int64(2 * lease / time.Second)) // nobody took it for lost
	want := first
	got, err := extend(first.Epoch)
	want.ExpiresAt = kept(f.clock().Add(2 * lease))
	holds(t, err == nil && got == want, "%+v, error %v, want %+v", got, err, want)
	second := f.register(t, "r")
	for _, epoch := range []int64{first.Epoch, second.Epoch + 1} {
		fails(t, fmt.Sprintf("epoch %d", epoch), errorOf(extend(epoch)), store.ErrRouterFenced)
	}
	same(t, "routers", []store.Router{second}, must(f.Routers(ctx, "clicks"))(t))
	ok(t, f.DeleteRouter(ctx, "clicks", "r"))
	fails(t, "a router that was deleted", errorOf(extend(second.Epoch)), store.ErrRouterFenced)
}

func routersOfPlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	without := f.create(t, f.awaiting(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	if p := f.start(t, without.ID); p.Routers != nil {
		t.Errorf("an engine without routers: the plan has %v", p.Routers)
	}
	f.acks(t, without.ID, 0, 2)

	lost, kept := f.register(t, "lost"), f.register(t, "kept")
	f.ticks.Add(int64(2 * lease / time.Second)) // the leases of both have run out
	in := f.awaiting(t, "clicks", 2, store.StatusApproved, set("b", 1))
	in.Routers = map[string]int64{"nobody": 7}
	p := f.create(t, in)
	holds(t, p.Routers == nil, "a plan that was not started has routers %v", p.Routers)
	want := map[string]int64{"lost": lost.Epoch, "kept": kept.Epoch}
	check := func(what string) {
		t.Helper()
		same(t, what+": routers", want, must(f.Plan(ctx, p.ID))(t).Routers)
	}
	same(t, "routers at the start", want, f.start(t, p.ID).Routers)
	feed := must(f.TableChanges(ctx, "clicks", 0))(t)
	same(t, "routers of what is pending", want, feed.Pending.Plan.Routers)
	f.register(t, "lost")
	f.register(t, "new")
	check("registered again")
	must(f.StartPlan(ctx, p.ID, store.Executor{Name: "successor", Epoch: 1}, f.by("x")))(t)
	check("taken over")
	for range 2 {
		fails(t, "deleting one that is named", f.DeleteRouter(ctx, "clicks", "lost"), store.ErrRouterAwaited)
		must(f.AbortPlan(ctx, p.ID, false, f.by("x")))(t) // the second time it is aborting
	}
	ok(t, f.DeleteRouter(ctx, "clicks", "new"))
	must(f.AbortPlan(ctx, p.ID, true, f.by("x")))(t)
	ok(t, f.DeleteRouter(ctx, "clicks", "lost"))
	check("aborted, and a router deleted")
	plans, _ := must2(f.Plans(ctx, store.PlanFilter{Operator: "clicks", Limit: 1}))(t)
	holds(t, plans[0].Routers == nil, "a list of plans has routers %v", plans[0].Routers)
}

// routersInAnyOrder compares random histories with what a map remembers.
func routersInAnyOrder(t *testing.T, f *fixture) {
	h := &routerHistory{fixture: f, T: t, random: rand.New(rand.NewPCG(14, 1)), epochs: map[string]int64{}}
	for range 300 {
		name := fmt.Sprintf("r%d", h.random.IntN(4))
		switch h.random.IntN(6) {
		case 0, 1:
			h.registers(name)
		case 2:
			h.extends(name)
		case 3:
			h.deletes(name)
		case 4:
			h.starts()
		case 5:
			h.ends()
		}
		h.check()
	}
}

// routerHistory is what should be known of the routers of an operator.
type routerHistory struct {
	*fixture
	*testing.T
	random *rand.Rand
	epochs map[string]int64
	newest int64
	plan   string           // in flight
	frozen map[string]int64 // its routers
}

func (h *routerHistory) registers(name string) {
	_, known := h.epochs[name]
	r, created, err := h.RegisterRouter(h.Context(), "clicks", name, nil, lease, h.now())
	need(h, err == nil && created != known && r.Epoch > h.newest,
		"%+v, created %t, error %v; the newest epoch was %d", r, created, err, h.newest)
	h.newest, h.epochs[name] = r.Epoch, r.Epoch
}

func (h *routerHistory) extends(name string) {
	epoch, known := h.epochs[name]
	said := epoch - int64(h.random.IntN(2))
	_, _, err := h.RegisterRouter(h.Context(), "clicks", name, &said, lease, h.now())
	var want error
	if !known || said != epoch {
		want = store.ErrRouterFenced
	}
	need(h, errors.Is(err, want), "extending %s of epoch %d with %d: %v, want %v", name, epoch, said, err, want)
}

func (h *routerHistory) deletes(name string) {
	var want error
	if _, known := h.epochs[name]; !known {
		want = store.ErrNotFound
	} else if _, named := h.frozen[name]; named {
		want = store.ErrRouterAwaited
	} else {
		delete(h.epochs, name)
	}
	if err := h.DeleteRouter(h.Context(), "clicks", name); !errors.Is(err, want) {
		h.Fatalf("deleting %s: %v, want %v", name, err, want)
	}
}

func (h *routerHistory) starts() {
	if h.plan != "" {
		return
	}
	h.plan = h.create(h, h.awaiting(h, "clicks", h.next(h, "clicks"), store.StatusApproved)).ID
	h.frozen = h.start(h, h.plan).Routers
	need(h, maps.Equal(h.frozen, h.epochs), "the plan was started with %v, and there are %v", h.frozen, h.epochs)
}

func (h *routerHistory) ends() {
	if h.plan == "" {
		return
	}
	if p := h.acks(h, h.plan, 0, 2); !maps.Equal(p.Routers, h.frozen) {
		h.Fatalf("the plan has %v, and was started with %v", p.Routers, h.frozen)
	}
	h.plan, h.frozen = "", nil
}

// check compares what the store has with what it should have.
func (h *routerHistory) check() {
	all := must(h.Routers(h.Context(), "clicks"))(h.T)
	got := map[string]int64{}
	for _, r := range all {
		got[r.Name] = r.Epoch
	}
	sorted := slices.IsSortedFunc(all, func(a, b store.Router) int { return strings.Compare(a.Name, b.Name) })
	need(h, maps.Equal(got, h.epochs) && len(all) == len(got) && sorted, "routers %v, want %v", all, h.epochs)
}

func routersTogether(t *testing.T, f *fixture) {
	const n = 12
	got := make([]store.Router, n)
	f.together(t, n, func(i int, s store.Store) {
		var err error
		if got[i], _, err = s.RegisterRouter(t.Context(), "clicks", "r", nil, lease, f.clock()); err != nil {
			t.Error(err)
		}
	})
	slices.SortFunc(got, func(a, b store.Router) int { return int(a.Epoch - b.Epoch) })
	for i, r := range got[1:] {
		holds(t, r.Epoch != got[i].Epoch, "epoch %d was given twice", r.Epoch)
	}
	all := must(f.Routers(t.Context(), "clicks"))(t)
	same(t, "routers", got[n-1:], all)
}

func lostRoutersAreRemoved(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.register(t, "lost")
	p := f.create(t, f.awaiting(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	f.start(t, p.ID)
	expired := f.now().Add(lease)
	tidy := func(at time.Time, keep time.Duration, want int) {
		t.Helper()
		ok(t, f.Tidy(ctx, at, store.Keep{Routers: keep}))
		is(t, "routers", len(must(f.Routers(ctx, "clicks"))(t)), want)
	}
	tidy(expired.Add(2*time.Hour), time.Hour, 1) // the plan may name it
	f.abort(t, p.ID)
	tidy(expired.Add(30*time.Minute), time.Hour, 1)
	tidy(expired.Add(2*time.Hour), 0, 1) // for ever
	tidy(expired.Add(2*time.Hour), time.Hour, 0)
}

package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/store"
)

var batchCases = []testCase{
	{name: "batches are committed one after the other", run: batchesInOrder},
	{name: "acks are of a batch", run: acksOfBatches},
	{name: "a plan is stopped after its batch", run: stoppedAfterABatch},
	{name: "what is aborted keeps the batches that were committed", run: abortedInABatch},
	{name: "an engine that has stopped commits all batches at once", run: batchesAtOnce},
	{name: "each batch names the routers that there are when it begins", run: routersOfBatches},
	{name: "batches in any order of events", run: batchesInAnyOrder},
}

// batched is an approved plan in batches with these changes. The first awaits instance 0,
// the second 0 and 1, and so on.
func (f *fixture) batched(t testing.TB, interval int64, changes ...[]store.Change) store.NewPlan {
	t.Helper()
	p := f.plan(t, "clicks", interval, store.StatusApproved, slices.Concat(changes...)...)
	p.Awaited = []int32{99}
	for i, c := range changes {
		b := store.NewBatch{Changes: c, Held: []store.Change{{Key: fmt.Appendf(nil, "held %d", i), Old: -1, New: 3}}}
		b.Keys, b.State, b.Busiest = int64(i+1), float64(i)+0.5, float64(i)/3
		if i > 0 {
			b.Seconds = new(float64(i) / 7)
		}
		b.ThetaAfter, b.TableAfter = 1/float64(i+1), int64(len(c))
		for id := range i + 1 {
			b.Awaited = append(b.Awaited, int32(id))
		}
		p.NewBatches = append(p.NewBatches, b)
	}
	return p
}

// ackBatch says that instances have finished a batch.
func (f *fixture) ackBatch(t testing.TB, id string, batch int64, instances ...int32) (p store.Plan, committed bool) {
	t.Helper()
	p, committed, err := f.AckPlan(t.Context(), id, batch, instances, f.by("engine"), store.Retention{})
	if err != nil {
		t.Fatal(err)
	}
	return p, committed
}

func batchesInOrder(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", set("a", 1), set("z", 9))
	waiting := f.create(t, f.plan(t, "clicks", 5, store.StatusApproved, set("w", 1)))
	in := f.batched(t, 6, []store.Change{move("a", 1, 2), set("b", 1)}, []store.Change{unset("z", 9)},
		[]store.Change{set("c", 3)})
	p := f.create(t, in)
	want := make([]store.Batch, 3)
	for i := range want {
		want[i] = in.NewBatches[i].Batch
	}
	check := func(what string, p store.Plan, done int64, awaited ...int32) {
		t.Helper()
		same(t, what+": batches", want, p.Batches)
		same(t, what+": plans", p, must(f.Plan(ctx, p.ID))(t))
		holds(t, p.BatchCount == 3 && p.BatchesDone == done && slices.Equal(p.Awaited, awaited) && !p.Stopping,
			"%s: %d of %d batches are done, %v are awaited", what, p.BatchesDone, p.BatchCount, p.Awaited)
	}
	check("created", p, 0, 0)
	check("found", must(f.FindPlan(ctx, "clicks", p.Epoch, p.Interval, p.Fingerprint))(t), 0, 0)
	check("started", f.start(t, p.ID), 0, 0)
	feed := must(f.TableChanges(ctx, "clicks", 1))(t)
	same(t, "what is pending first", in.NewBatches[0].Changes, feed.Pending.Changes)
	same(t, "what is held first", in.NewBatches[0].Held, feed.Pending.Held)
	p, committed := f.ackBatch(t, p.ID, 1, 0)
	want[0].Version = new(int64(2))
	check("one batch", p, 1, 0, 1)
	holds(t, committed && p.Status == store.StatusApplying && p.Version == nil && len(p.Acked) == 0,
		"committed %t, %s, version %v, acks %v", committed, p.Status, p.Version, p.Acked)
	is(t, "a plan on another table is", must(f.Plan(ctx, waiting.ID))(t).Status, store.StatusSuperseded)
	feed = must(f.TableChanges(ctx, "clicks", 1))(t)
	same(t, "what has changed", in.NewBatches[0].Changes, feed.Changes)
	same(t, "what is pending then", in.NewBatches[1].Changes, feed.Pending.Changes)
	same(t, "what is held then", in.NewBatches[1].Held, feed.Pending.Held)
	if p, committed = f.ackBatch(t, p.ID, 2, 1); committed || len(p.Acked) != 1 {
		t.Errorf("one of two acks: committed %t, acks %v", committed, p.Acked)
	}
	fails(t, "committing without an ack", errorOf2(f.CommitPlan(ctx, p.ID, f.by("x"), store.Retention{})),
		store.ErrAcksMissing)
	f.ackBatch(t, p.ID, 2, 0)
	p, committed = f.ackBatch(t, p.ID, 3, 0, 1, 2)
	want[1].Version, want[2].Version = new(int64(3)), new(int64(4))
	check("all batches", p, 3, 0, 1, 2)
	if !committed || p.Status != store.StatusCommitted || p.Version == nil || *p.Version != 4 || len(p.Acked) != 3 {
		t.Errorf("committed %t, %s, version %v, acks %v", committed, p.Status, p.Version, p.Acked)
	}
	f.wantTable(t, "clicks", 1, "a=1", "z=9")
	f.wantTable(t, "clicks", 2, "a=2", "b=1", "z=9")
	f.wantTable(t, "clicks", 3, "a=2", "b=1")
	f.wantTable(t, "clicks", -1, "a=2", "b=1", "c=3")
	same(t, "changes of the whole", sortedChanges(in.Changes), must(f.Changes(ctx, p.ID))(t))
	if steps := must(f.Transitions(ctx, p.ID))(t); len(steps) != 5 || steps[2].To != store.StatusApplying {
		t.Errorf("transitions %v", steps)
	}
	f.commit(t, "clicks", move("c", 3, 4)) // all goes on
}

func sortedChanges(changes []store.Change) []store.Change {
	return slices.SortedFunc(slices.Values(changes),
		func(a, b store.Change) int { return slices.Compare(a.Key, b.Key) })
}

func acksOfBatches(t *testing.T, f *fixture) {
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)}))
	f.start(t, p.ID)
	ack := func(batch int64, instance int32) error {
		return errorOf2(f.AckPlan(t.Context(), p.ID, batch, []int32{instance}, f.by("x"), store.Retention{}))
	}
	fails(t, "a batch that has not begun", ack(2, 0), store.ErrTransition)
	fails(t, "another instance", ack(1, 1), store.ErrNotAwaited)
	f.ackBatch(t, p.ID, 1, 0)
	before := readOperator(t, f, "clicks")
	ok(t, ack(1, 0)) // its answer was lost
	fails(t, "another instance of the batch before", ack(1, 1), store.ErrNotAwaited)
	same(t, "acks of the batch before: contents", before, readOperator(t, f, "clicks"))
	f.ackBatch(t, p.ID, 2, 0, 1)
	before = readOperator(t, f, "clicks")
	ok(t, ack(1, 0))
	ok(t, ack(2, 1))
	fails(t, "a batch that there is none of", ack(3, 0), store.ErrTransition)
	same(t, "acks after the end: contents", before, readOperator(t, f, "clicks"))
}

func stoppedAfterABatch(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)},
		[]store.Change{set("c", 3)}))
	fails(t, "stopping what was not started", errorOf(f.StopPlan(ctx, p.ID, f.by("x"))), store.ErrTransition)
	f.start(t, p.ID)
	f.ackBatch(t, p.ID, 1, 0)
	no := fmt.Errorf("no")
	fails(t, "a guard", errorOf(f.StopPlan(ctx, p.ID, f.by("x"), func(store.Plan) error { return no })), no)
	stopping := must(f.StopPlan(ctx, p.ID, f.by("ann")))(t)
	holds(t, stopping.Stopping && stopping.Status == store.StatusApplying && stopping.BatchesDone == 1,
		"%+v", stopping)
	before := readOperator(t, f, "clicks")
	must(f.StopPlan(ctx, p.ID, f.by("bob")))(t)
	same(t, "stopping again: contents", before, readOperator(t, f, "clicks"))
	p, _ = f.ackBatch(t, p.ID, 2, 0, 1)
	if p.Status != store.StatusCommitted || p.BatchesDone != 2 || *p.Version != 2 || p.Batches[2].Version != nil {
		t.Errorf("%+v", p)
	}
	before = readOperator(t, f, "clicks")
	must(f.StopPlan(ctx, p.ID, f.by("bob")))(t)
	same(t, "stopping what is committed: contents", before, readOperator(t, f, "clicks"))
	f.wantTable(t, "clicks", -1, "a=1", "b=2")
	f.commit(t, "clicks", set("c", 3))
}

func abortedInABatch(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)}))
	f.start(t, p.ID)
	f.ackBatch(t, p.ID, 1, 0)
	must(f.AbortPlan(ctx, p.ID, false, f.by("x")))(t)
	fails(t, "an ack", errorOf2(f.AckPlan(ctx, p.ID, 2, []int32{0}, f.by("x"), store.Retention{})), store.ErrTransition)
	fails(t, "stopping", errorOf(f.StopPlan(ctx, p.ID, f.by("x"))), store.ErrTransition)
	p = must(f.AbortPlan(ctx, p.ID, true, f.by("x")))(t)
	holds(t, p.Status == store.StatusAborted && p.Version == nil && p.BatchesDone == 1, "%+v", p)
	f.wantTable(t, "clicks", 1, "a=1")
	if op := f.operator(t, "clicks"); op.TableVersion != 2 || op.TableSize != 1 {
		t.Errorf("version %d of %d entries", op.TableVersion, op.TableSize)
	}
	f.commit(t, "clicks", set("b", 2))
}

func batchesAtOnce(t *testing.T, f *fixture) {
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)}))
	p, committed := must2(f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{}))(t)
	if !committed || p.BatchesDone != 2 || *p.Version != 1 || *p.Batches[0].Version != 1 || *p.Batches[1].Version != 1 {
		t.Errorf("%+v", p)
	}
	f.wantTable(t, "clicks", -1, "a=1", "b=2")
}

func routersOfBatches(t *testing.T, f *fixture) {
	first := f.register(t, "r")
	p := f.create(t, f.batched(t, 1, []store.Change{set("a", 1)}, []store.Change{set("b", 2)},
		[]store.Change{set("c", 3)}))
	want := map[string]int64{"r": first.Epoch}
	same(t, "the first batch", want, f.start(t, p.ID).Routers)
	again, other := f.register(t, "r"), f.register(t, "s")
	same(t, "during the first batch", want, must(f.Plan(t.Context(), p.ID))(t).Routers)
	p, _ = f.ackBatch(t, p.ID, 1, 0)
	same(t, "the second batch", map[string]int64{"r": again.Epoch, "s": other.Epoch}, p.Routers)
	fails(t, "deleting one of the batch", f.DeleteRouter(t.Context(), "clicks", "s"), store.ErrRouterAwaited)
}

// batchesInAnyOrder compares random plans in batches with what a map remembers.
func batchesInAnyOrder(t *testing.T, f *fixture) {
	h := &batchHistory{fixture: f, T: t, random: rand.New(rand.NewPCG(15, 1)), table: map[string]int32{},
		versions: []map[string]int32{{}}}
	for range 25 {
		h.plan()
	}
	for version, want := range h.versions {
		got := map[string]int32{}
		for _, e := range must(f.Table(t.Context(), "clicks", new(int64(version))))(t).Entries {
			got[string(e.Key)] = e.Instance
		}
		holds(t, maps.Equal(got, want), "version %d is %v, want %v", version, got, want)
	}
	if op := f.operator(t, "clicks"); op.TableVersion != int64(len(h.versions)-1) ||
		op.TableSize != int64(len(h.table)) {
		t.Errorf("version %d of %d entries, want %d of %d", op.TableVersion, op.TableSize, len(h.versions)-1, len(h.table))
	}
}

// batchHistory is what should be known of the table of an operator.
type batchHistory struct {
	*fixture
	*testing.T
	random   *rand.Rand
	table    map[string]int32
	versions []map[string]int32
}

// plan carries a plan out, which may be stopped or aborted in any batch.
func (h *batchHistory) plan() {
	batches := randomBatches(h.random, h.table)
	p := h.create(h, h.batched(h, h.next(h, "clicks"), batches...))
	h.start(h, p.ID)
	for n := 0; p.Status != store.StatusCommitted && p.Status != store.StatusAborted; n++ {
		need(h, n != len(batches), "the plan is %s after all of its batches", p.Status)
		switch h.random.IntN(8) {
		case 0:
			must(h.AbortPlan(h.Context(), p.ID, false, h.by("x")))(h.T)
			p = must(h.AbortPlan(h.Context(), p.ID, true, h.by("x")))(h.T)
		case 1:
			must(h.StopPlan(h.Context(), p.ID, h.by("x")))(h.T)
			p = h.batch(p, n, batches[n])
		default:
			p = h.batch(p, n, batches[n])
		}
		h.versions = append(h.versions, maps.Clone(h.table))
	}
}

// batch has all instances acknowledge a batch.
func (h *batchHistory) batch(p store.Plan, n int, changes []store.Change) store.Plan {
	for _, id := range h.random.Perm(n + 1) {
		p, _ = h.ackBatch(h, p.ID, int64(n+1), int32(id))
	}
	for _, c := range changes {
		if delete(h.table, string(c.Key)); c.New != store.NoInstance {
			h.table[string(c.Key)] = c.New
		}
	}
	return p
}

// randomBatches change some entries, each key in one batch.
func randomBatches(rng *rand.Rand, table map[string]int32) [][]store.Change {
	out := make([][]store.Change, 1+rng.IntN(4))
	for n := range 12 {
		key := fmt.Sprintf("k%02d", n)
		old, has := table[key]
		if !has {
			old = store.NoInstance
		}
		to := int32(rng.IntN(4)) - 1
		if i := rng.IntN(2 * len(out)); i < len(out) && to != old {
			out[i] = append(out[i], store.Change{Key: []byte(key), Old: old, New: to})
		}
	}
	return out
}

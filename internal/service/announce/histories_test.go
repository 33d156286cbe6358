package announce

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/lab/deep"
	"plannerd/internal/operator"
	"plannerd/store"
)

// history is an operator whose plans need approval, by one person or two, its approvers, who are early, late
// or absent, who freeze it or undo what was committed, and its engine, which asks for its next plan or does
// not. Some start plans in windows alone.
type history struct {
	*fixture
	random   *rand.Rand
	name     string
	approver int // decides on one plan of so many minutes; 0: never
	engine   int // asks in one of so many minutes; 0: never
	made     []string

	approvers int64
	windows   operator.ApprovalRule
	frozen    bool               // it ever was
	tables    []map[string]int32 // by versions: where keys go
	changes   map[string][]store.Change
}

// TestApprovers: every plan that was approved was started, superseded or given up, or somebody was told
// that nobody came and that its time was over; no plan was started while its operator was frozen or outside
// of its windows; every key goes where the last plan that was committed put it, or the last undo; and the
// receiver got all steps in their order.
func TestApprovers(t *testing.T) {
	t.Parallel()
	seed := deep.Seed(t, 1)
	ends, happened := map[store.Status]int{}, map[string]int{}
	for i := range max(2, deep.Cases(2000)/25) {
		f := newFixture(t)
		a, c := f.announcer()
		f.want(c)
		var all []*history
		for n := range 25 {
			r := rand.New(rand.NewPCG(seed, uint64(25*i+n)))
			h := &history{
				fixture: f, random: r, name: fmt.Sprint("operator ", n), approver: []int{0, 1, 1, 7, 30}[r.IntN(5)],
				engine: []int{0, 1, 4, 40}[r.IntN(4)], approvers: 1 + int64(r.IntN(2)), tables: []map[string]int32{{}},
				changes: map[string][]store.Change{},
			}
			h.begin(happened)
			all = append(all, h)
		}
		for range 60 {
			f.now = f.now.Add(time.Minute)
			for _, h := range all {
				h.minute(happened)
			}
			f.look(a)
		}
		for range 26 { // until whatever waits for a window has expired
			f.now = f.now.Add(5 * time.Minute)
			f.look(a)
		}
		if _, err := f.Expire(t.Context(), f.now); err != nil {
			t.Fatal(err)
		}
		f.got = nil
		for more := true; more; {
			var err error
			if more, err = c.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range all {
			h.check(ends)
			h.checkTable()
		}
	}
	t.Logf("what became of approved plans: %v; and there were %v", ends, happened)
	for _, what := range []string{"undos", "freezes", "windows", "second approvals", "refused starts"} {
		if happened[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
	for _, end := range store.Next(store.StatusApproved) {
		if ends[end] == 0 {
			t.Errorf("no approved plan was ever %s", end)
		}
	}
}

// happens is whether something does that does so once in so many minutes.
func (h *history) happens(minutes int) bool { return minutes > 0 && h.random.IntN(minutes) == 0 }

// begin configures the operator.
func (h *history) begin(happened map[string]int) {
	h.put(h.name)
	if !h.happens(3) {
		return
	}
	happened["windows"]++
	for at := h.now; at.Before(h.now.Add(4 * time.Hour)); at = at.Add(30 * time.Minute) {
		w := operator.StartWindow{From: at.Format("15:04"), To: at.Add(10 * time.Minute).Format("15:04")}
		h.windows.Approval.StartWindows = append(h.windows.Approval.StartWindows, w)
	}
	config, err := json.Marshal(map[string]any{"theta_max": 0.1, "approval": h.windows.Approval})
	if err == nil {
		_, _, err = h.PutOperator(h.Context(), h.name, config, h.now)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// freezes freezes the operator, or all, or lets them go.
func (h *history) freezes(all []string, happened map[string]int) {
	name := all[h.random.IntN(len(all))]
	var f *store.Freeze
	if !h.happens(3) {
		until := h.now.Add(time.Duration(1+h.random.IntN(15)) * time.Minute)
		f = &store.Freeze{Until: until, Since: h.now, All: name == ""}
		happened["freezes"]++
	}
	if err := h.Freeze(h.Context(), name, f); err != nil {
		h.Fatal(err)
	}
}

// try fails on anything but a refusal.
func (h *history) try(_ store.Plan, err error) {
	h.Helper()
	var frozen *store.FrozenError
	if err != nil && !errors.As(err, &frozen) && !errors.Is(err, store.ErrTransition) &&
		!errors.Is(err, store.ErrPlanInFlight) &&
		!errors.Is(err, store.ErrBaseChanged) {
		h.Fatal(err)
	}
}

func (h *history) minute(happened map[string]int) {
	ctx, by := h.Context(), store.Transition{At: h.now, Actor: []string{"ada", "bob"}[h.random.IntN(2)]}
	if h.happens(30) {
		h.freezes([]string{h.name, h.name, h.name, ""}, happened)
	}
	op, err := h.Operator(ctx, h.name)
	if err != nil {
		h.Fatal(err)
	}
	h.frozen = h.frozen || op.Freeze != nil
	if h.happens(3) && !op.CurrentStatus.InFlight() && op.Freeze == nil {
		h.made = append(h.made, h.planOn(op, happened))
	}
	if n := len(h.made); n > 0 && h.happens(h.approver) {
		id := h.made[n-1-h.random.IntN(min(n, 3))]
		p, err := h.ApprovePlan(ctx, id, func(store.Plan) (store.Approval, error) {
			return store.Approval{ExpiresAt: new(h.windows.StartsFrom(h.now).Add(40 * time.Minute))}, nil
		}, by)
		h.try(p, err)
		if err == nil && len(p.ApprovedBy) == 2 {
			happened["second approvals"]++
		}
		if h.happens(5) {
			h.try(h.CommentPlan(ctx, id, store.Transition{At: h.now, Actor: by.Actor, Reason: "why?"}))
		}
	}
	if !h.happens(h.engine) {
		return
	}
	if op, err = h.Operator(ctx, h.name); err != nil {
		h.Fatal(err)
	}
	switch id := op.CurrentPlan; op.CurrentStatus {
	case store.StatusApproved:
		if from, err := operator.StartsAt(op, h.now); !from.IsZero() || err != nil {
			if _, err := h.StartPlan(ctx, id, store.Executor{Name: "engine"}, by, h.inWindow); err == nil {
				h.Errorf("plan %s was started before %v", id, from)
			}
			happened["refused starts"]++
			return
		}
		switch h.random.IntN(8) {
		case 0:
			h.try(h.AbortPlan(ctx, id, true, by))
		case 1: // it stands still meanwhile
			p, _, err := h.CommitPlan(ctx, id, by, store.Retention{})
			h.committed(p, err)
		default:
			h.try(h.StartPlan(ctx, id, store.Executor{Name: "engine"}, by))
		}
	case store.StatusApplying:
		if h.happens(3) {
			h.try(h.AbortPlan(ctx, id, false, by))
			h.try(h.AbortPlan(ctx, id, true, by))
			h.tables = append(h.tables, h.tables[len(h.tables)-1]) // a version with the same entries
		} else {
			p, _, err := h.CommitPlan(ctx, id, by, store.Retention{})
			h.committed(p, err)
		}
	}
}

// inWindow is what the service asks of a plan that is started.
func (h *history) inWindow(store.Plan) error {
	if h.windows.StartsFrom(h.now).After(h.now) {
		return store.ErrTransition
	}
	return nil
}

// committed notes where keys go since a plan was committed, unless that was refused.
func (h *history) committed(p store.Plan, err error) {
	h.Helper()
	if h.try(p, err); err != nil {
		return
	}
	table := maps.Clone(h.tables[len(h.tables)-1])
	for _, c := range h.changes[p.ID] {
		if c.New == store.NoInstance {
			delete(table, string(c.Key))
		} else {
			table[string(c.Key)] = c.New
		}
	}
	h.tables = append(h.tables, table)
}

// change is what leads from one table to another, for the keys that they have.
func change(from, to map[string]int32) (all []store.Change) {
	at := func(table map[string]int32, key string) int32 {
		if instance, ok := table[key]; ok {
			return instance
		}
		return store.NoInstance
	}
	keys := maps.Clone(from)
	maps.Copy(keys, to)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if c := (store.Change{Key: []byte(key), Old: at(from, key), New: at(to, key)}); c.Old != c.New {
			all = append(all, c)
		}
	}
	return all
}

// checkTable holds the committed table against what plans did to it.
func (h *history) checkTable() {
	h.Helper()
	table, err := h.Table(h.Context(), h.name, nil)
	if err != nil {
		h.Fatal(err)
	}
	got := map[string]int32{}
	for _, e := range table.Entries {
		got[string(e.Key)] = e.Instance
	}
	if diff := cmp.Diff(h.tables[len(h.tables)-1], got); diff != "" || int(table.Version) != len(h.tables)-1 {
		h.Errorf("table %d of %s (-want +got):\n%s", table.Version, h.name, diff)
	}
}

// planOn proposes a plan of the next interval, or an undo.
func (h *history) planOn(op store.Operator, happened map[string]int) string {
	h.intervals++
	in := store.NewPlan{Plan: store.Plan{
		ID: fmt.Sprint("p", h.intervals), Operator: op.Name, Interval: h.intervals, Status: store.StatusProposed,
		ConfigVersion: op.ConfigVersion, BaseVersion: op.TableVersion, CreatedAt: h.now,
		ExpiresAt: new(h.now.Add(40 * time.Minute)), Fingerprint: fmt.Sprint(h.intervals), Approvers: h.approvers,
	}, OnPending: store.PendingReplace}
	newest := h.tables[len(h.tables)-1]
	if n := len(h.tables); n > 1 && h.happens(5) {
		to := h.random.IntN(n - 1)
		in.Undo, in.Changes = fmt.Appendf(nil, `{"to_version":%d}`, to), change(newest, h.tables[to])
		happened["undos"]++
	} else {
		to := maps.Clone(newest)
		to[fmt.Sprint("key ", h.random.IntN(6))] = int32(h.random.IntN(4))
		in.Changes = change(newest, to)
	}
	h.changes[in.ID] = in.Changes
	p, _, err := h.CreatePlan(h.Context(), in, store.Transition{At: h.now})
	if err != nil {
		h.Fatal(err)
	}
	return p.ID
}

func (h *history) check(ends map[store.Status]int) {
	h.Helper()
	told := map[string][]string{} // of each plan
	for _, e := range h.got {
		told[e.Plan] = append(told[e.Plan], e.Type)
	}
	for _, id := range h.made {
		steps, err := h.Transitions(h.Context(), id)
		if err != nil {
			h.Fatal(err)
		}
		var want []string
		for _, s := range steps {
			if s.Kind != store.StepPlain {
				want = append(want, "plannerd.plan."+string(s.Kind))
				continue
			}
			if s.From == s.To {
				continue
			}
			want = append(want, "plannerd.plan."+string(s.To))
			if s.From != store.StatusApproved {
				continue
			}
			ends[s.To]++
			if s.To == store.StatusExpired && !h.frozen && !slices.Contains(told[id], NotStarted) {
				h.Errorf("nobody was told that plan %s of %s was approved and not started: %q", id, h.name, told[id])
			}
		}
		if last := steps[len(steps)-1].To; last == store.StatusApproved {
			h.Errorf("plan %s of %s is approved for ever", id, h.name)
		}
		got := slices.DeleteFunc(told[id], func(kind string) bool { return kind == NotStarted || kind == Expiring })
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("steps of %s that were told (-want +got):\n%s", id, diff)
		}
	}
}

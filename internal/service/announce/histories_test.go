package announce

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/lab/deep"
	"plannerd/store"
)

// history is an operator whose plans need approval, its approver, who is early, late or absent, and its
// engine, which asks for its next plan or does not.
type history struct {
	*fixture
	random   *rand.Rand
	name     string
	approver int // decides on one plan of so many minutes; 0: never
	engine   int // asks in one of so many minutes; 0: never
	made     []string
}

// TestApprovers: every plan that was approved was started, superseded or given up, or somebody was told
// that nobody came and that its time was over; and the receiver got all steps in their order.
func TestApprovers(t *testing.T) {
	t.Parallel()
	seed := deep.Seed(t, 1)
	ends := map[store.Status]int{}
	for i := range max(2, deep.Cases(2000)/25) {
		f := newFixture(t)
		a, c := f.announcer()
		f.want(c)
		var all []*history
		for n := range 25 {
			r := rand.New(rand.NewPCG(seed, uint64(25*i+n)))
			h := &history{f, r, fmt.Sprint("operator ", n), []int{0, 1, 1, 7, 30}[r.IntN(5)], []int{0, 1, 4, 40}[r.IntN(4)], nil}
			f.put(h.name)
			all = append(all, h)
		}
		for range 60 {
			f.now = f.now.Add(time.Minute)
			for _, h := range all {
				h.minute()
			}
			f.look(a)
		}
		f.now = f.now.Add(10 * time.Minute)
		f.look(a)
		f.now = f.now.Add(time.Hour)
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
		}
	}
	t.Logf("what became of approved plans: %v", ends)
	for _, end := range store.Next(store.StatusApproved) {
		if ends[end] == 0 {
			t.Errorf("no approved plan was ever %s", end)
		}
	}
}

// happens is whether something does that does so once in so many minutes.
func (h *history) happens(minutes int) bool { return minutes > 0 && h.random.IntN(minutes) == 0 }

// try fails on anything but a refusal.
func (h *history) try(_ store.Plan, err error) {
	h.Helper()
	if err != nil && !errors.Is(err, store.ErrTransition) && !errors.Is(err, store.ErrPlanInFlight) &&
		!errors.Is(err, store.ErrBaseChanged) {
		h.Fatal(err)
	}
}

func (h *history) minute() {
	ctx, by := h.Context(), store.Transition{At: h.now}
	op, err := h.Operator(ctx, h.name)
	if err != nil {
		h.Fatal(err)
	}
	if h.happens(3) && !op.CurrentStatus.InFlight() {
		h.made = append(h.made, h.planOn(op))
	}
	if n := len(h.made); n > 0 && h.happens(h.approver) {
		id := h.made[n-1-h.random.IntN(min(n, 3))]
		h.try(h.ApprovePlan(ctx, id, func(store.Plan) (store.Approval, error) {
			return store.Approval{ExpiresAt: new(h.now.Add(40 * time.Minute))}, nil
		}, by))
	}
	if !h.happens(h.engine) {
		return
	}
	if op, err = h.Operator(ctx, h.name); err != nil {
		h.Fatal(err)
	}
	switch id := op.CurrentPlan; op.CurrentStatus {
	case store.StatusApproved:
		switch h.random.IntN(8) {
		case 0:
			h.try(h.AbortPlan(ctx, id, true, by))
		case 1: // it stands still meanwhile
			p, _, err := h.CommitPlan(ctx, id, by, store.Retention{})
			h.try(p, err)
		default:
			h.try(h.StartPlan(ctx, id, store.Executor{Name: "engine"}, by))
		}
	case store.StatusApplying:
		if h.happens(3) {
			h.try(h.AbortPlan(ctx, id, false, by))
			h.try(h.AbortPlan(ctx, id, true, by))
		} else {
			p, _, err := h.CommitPlan(ctx, id, by, store.Retention{})
			h.try(p, err)
		}
	}
}

// planOn proposes a plan of the next interval.
func (h *history) planOn(op store.Operator) string {
	h.intervals++
	p, _, err := h.CreatePlan(h.Context(), store.NewPlan{Plan: store.Plan{
		ID: fmt.Sprint("p", h.intervals), Operator: op.Name, Interval: h.intervals, Status: store.StatusProposed,
		ConfigVersion: 1, BaseVersion: op.TableVersion, CreatedAt: h.now, ExpiresAt: new(h.now.Add(40 * time.Minute)),
		Fingerprint: fmt.Sprint(h.intervals),
	}, OnPending: store.PendingReplace}, store.Transition{At: h.now})
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
			if s.From == s.To {
				continue
			}
			want = append(want, "plannerd.plan."+string(s.To))
			if s.From != store.StatusApproved {
				continue
			}
			ends[s.To]++
			if s.To == store.StatusExpired && !slices.Contains(told[id], NotStarted) {
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

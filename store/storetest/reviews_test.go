package storetest

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"plannerd/store"
)

var reviewCases = []testCase{
	{name: "two people approve a plan", run: twoApprove},
	{name: "comments leave a plan as it is", run: commentsLeavePlans},
	{name: "what happened to an operator after a time", run: operatorChanges},
	{name: "an operator for two approvers needs programs that know them", run: approversAreRequired},
}

func twoApprove(t *testing.T, f *fixture) {
	ctx := t.Context()
	in := f.plan(t, "clicks", 1, store.StatusProposed, set("a", 1))
	in.Approvers = 2
	p := f.create(t, in)
	approve := func(actor string, want store.Status, by ...string) {
		t.Helper()
		got := must(f.ApprovePlan(ctx, p.ID, unchanged, f.by(actor)))(t)
		holds(t, got.Status == want && slices.Equal(got.ApprovedBy, by),
			"%s, approved by %v; want %s by %v", got.Status, got.ApprovedBy, want, by)
	}
	if _, err := f.ApprovePlan(ctx, p.ID, unchanged, f.by("")); !errors.Is(err, store.ErrUnnamed) {
		t.Errorf("nobody approves: error %v", err)
	}
	approve("ada", store.StatusProposed, "ada")
	approve("ada", store.StatusProposed, "ada") // changes nothing
	approve("bob", store.StatusApproved, "ada", "bob")
	approve("bob", store.StatusApproved, "ada", "bob")
	var kinds []store.StepKind
	for _, s := range must(f.Transitions(ctx, p.ID))(t) {
		kinds = append(kinds, s.Kind)
	}
	holds(t, slices.Equal(kinds, []store.StepKind{"", store.StepApproval, ""}), "steps %q", kinds)
	// Limits that have changed since take two people again.
	next := f.plan(t, "clicks", 2, store.StatusNoAction)
	next.Evaluated = &store.Evaluation{Plan: p.ID, Latest: []byte(`{}`), LimitsChanged: true}
	f.create(t, next)
	approve("bob", store.StatusApproved, "bob")
	is(t, "limits are changed after one person agreed", must(f.Plan(ctx, p.ID))(t).LimitsChanged, true)
	approve("cyd", store.StatusApproved, "bob", "cyd")
	is(t, "limits are changed after two people agreed", must(f.Plan(ctx, p.ID))(t).LimitsChanged, false)
}

func commentsLeavePlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.plan(t, "clicks", 1, store.StatusProposed, set("a", 1)))
	got := must(f.CommentPlan(ctx, p.ID, f.by("ada")))(t)
	same(t, "the plan", p, got)
	steps := must(f.Transitions(ctx, p.ID))(t)
	if last := steps[len(steps)-1]; last.Kind != store.StepComment || last.Actor != "ada" || last.From != last.To {
		t.Errorf("%+v", last)
	}
	must(f.CommentPlan(ctx, p.ID, f.by("ada")))(t) // the same again changes nothing
	for i := range store.MaxComments - 1 {
		must(f.CommentPlan(ctx, p.ID, f.by(strconv.Itoa(i))))(t)
	}
	if _, err := f.CommentPlan(ctx, p.ID, f.by("eve")); !errors.Is(err, store.ErrCommented) {
		t.Errorf("one too many: error %v", err)
	}
	if _, err := f.CommentPlan(ctx, "none", f.by("ada")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such plan: error %v", err)
	}
}

func operatorChanges(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "clicks", `{"v": 1}`)
	f.create(t, f.plan(t, "clicks", 1, store.StatusProposed, set("a", 1)))
	since := f.now()
	must2(f.PutOperator(store.WithActor(ctx, "bob"), "clicks", []byte(`{"v": 2}`), f.now()))(t)
	f.put(t, "clicks", `{"v": 3}`)
	p := f.create(t, f.beyond(t, "clicks", 2))
	must(f.CommentPlan(ctx, p.ID, f.by("ada")))(t)
	must2(f.CommitPlan(ctx, p.ID, f.by("eve"), store.Retention{}))(t)
	f.create(t, f.plan(t, "clicks", 3, store.StatusNoAction))
	for _, name := range []string{"", "clicks"} {
		ok(t, f.Freeze(ctx, name, &store.Freeze{Until: f.now().Add(1e12), Since: f.now(), Actor: "ada", All: name == ""}))
		for range 2 { // the second time there is nothing to end
			ok(t, f.Freeze(store.WithActor(ctx, "cyd"), name, nil))
		}
	}
	f.put(t, "other", `{}`)
	f.commit(t, "other", set("x", 1))

	c := must(f.OperatorChanges(ctx, "clicks", since, 3))(t)
	if c.Counts[store.StatusApproved] != 1 || c.Counts[store.StatusCommitted] != 1 ||
		c.Counts[store.StatusSuperseded] != 1 ||
		len(c.Counts) != 3 || c.Comments != 1 {
		t.Errorf("%v, %d comments", c.Counts, c.Comments)
	}
	holds(t, len(c.Steps) == 3 && c.Steps[1].Kind == store.StepComment && c.Steps[1].Plan == p.ID,
		"steps %+v", c.Steps)
	if c.Before == nil || string(c.Before.Config) != `{"v": 1}` || len(c.Configured) != 2 || c.Configured[0].Actor != "bob" {
		t.Errorf("from %v: %v", c.Before, c.Configured)
	}
	var told []string
	for _, e := range c.Freezes {
		told = append(told, e.Actor)
		holds(t, !e.At.IsZero() && e.Ended == (e.Actor == "cyd"), "%+v", e)
	}
	holds(t, slices.Equal(told, []string{"ada", "cyd", "ada", "cyd"}), "freezes by %v", told)
	all := must(f.Configurations(ctx, "clicks", 0, 2))(t)
	holds(t, len(all) == 2 && string(all[1].Config) == `{"v": 2}`, "%+v", all)
	if rest := must(f.Configurations(ctx, "clicks", all[1].Version, 9))(t); len(rest) != 2 {
		t.Errorf("%+v", rest)
	}
	for _, none := range []error{
		second(f.OperatorChanges(ctx, "none", since, 1)), second(f.Configurations(ctx, "none", 0, 1)),
	} {
		holds(t, errors.Is(none, store.ErrNotFound), "no such operator: error %v", none)
	}
}

func second[T any](_ T, err error) error { return err }

// beyond is an approved plan that replaces what waits.
func (f *fixture) beyond(t *testing.T, operator string, interval int64) store.NewPlan {
	p := f.plan(t, operator, interval, store.StatusApproved, set("b", 1))
	p.OnPending = store.PendingReplace
	return p
}

func approversAreRequired(t *testing.T, f *fixture) {
	ok(t, f.RequireForms(t.Context(), store.FormReviews))
	f.wantOldestProgram(t, int64(store.FormReviews))
	in := f.plan(t, "clicks", 1, store.StatusProposed, set("a", 1))
	in.Approvers = 2
	f.create(t, in)
	f.down(t, int64(store.FormReviews)-1)
	f.wantOldestProgram(t, 16)
	must(f.Migrator().Up(t.Context()))(t)
	f.wantStatuses(t, "clicks", store.StatusAborted)
}

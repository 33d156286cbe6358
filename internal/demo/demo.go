// Package demo puts into a running server what a dashboard may have to show:
// operators of every kind, fed over HTTP with the key streams of this project, and
// plans in every state.
package demo

import (
	"context"
	"fmt"

	"plannerd/internal/lab/streams"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// The operators. What each is for is told with the plans of [Filled], and by [Filled.Sights].
const (
	Clicks    = "clicks"    // a history of 26 intervals, and a plan that waits for approval
	Functions = "functions" // instances of different capacities, hot keys
	Pages     = "pages"     // rescaled: one instance removed, three added
	Volume    = "volume"    // a plan that is being carried out
	Products  = "products"  // scheme ring
	Files     = "files"     // scheme ranges
	Names     = "names"     // compact statistics: plans of classes
	Edits     = "edits"     // a key hotter than any instance may carry
	Channels  = "channels"  // the same stream, whose hottest keys are split; plans go in batches
	Big       = "big"       // a plan of more than 100 000 migrations
	Idle      = "idle"      // no plan yet
)

// Filled names the plans by what they are good for: each is an id.
type Filled struct {
	// Of Clicks, oldest first but for the first two. Committed migrated keys,
	// NoAction found nothing to do. Expired, Rejected and
	// Superseded have ended, Proposed waits for approval, and Pending is of newer
	// statistics that came meanwhile.
	Committed, NoAction, Expired, Rejected, Superseded, Proposed, Pending string

	HotKeys    string // of Functions, committed
	Rescaled   string // of Pages, approved: it drains one instance and fills three
	Applying   string // of Volume: half of the awaited instances have acknowledged
	Ring       string // of Products, approved
	Ranges     string // of Files, approved
	Classes    string // of Names, approved, not resolved yet
	Unbalanced string // of Edits
	Split      string // of Channels: its first batch is committed, its second is under way
	Big        string // of Big, proposed
}

// Sight is a page of the dashboard.
type Sight struct {
	Operator string
	Shows    string // in a few words
	Path     string // behind the # of the dashboard's address
}

// Sights are the pages worth a look, the most telling first.
func (f Filled) Sights() []Sight {
	plan := func(operator, shows, id string) Sight { return Sight{operator, shows, "/plans/" + id} }
	return []Sight{
		plan(Clicks, "a plan that waits for approval: approve or reject it", f.Proposed),
		{Clicks, "a day of three regions: θ, migrations and table of each interval", "/operators/" + Clicks},
		plan(Volume, "a hand-over under way: half of the instances have acknowledged", f.Applying),
		plan(Pages, "a rescale: one instance is drained, three are filled", f.Rescaled),
		plan(Functions, "instances of two capacities, keys too hot for any", f.HotKeys),
		plan(Products, "scheme ring: tokens move, not keys", f.Ring),
		plan(Files, "scheme ranges: the history of plannerd's own repository, by path", f.Ranges),
		plan(Names, "compact statistics: classes of keys instead of keys", f.Classes),
		plan(Edits, "no balance to be had: the proof, and the key in the way", f.Unbalanced),
		plan(Channels, "the same stream with that key split; plans are handed over in batches", f.Split),
		plan(Big, "more than 100,000 migrations in one list", f.Big),
	}
}

// filler fills one server. After its first error it does nothing more.
type filler struct {
	ctx   context.Context //nolint:containedctx // of the one call that fills
	api   *client.Client
	plans Filled
	err   error
}

// Fill fills the empty server at a URL. The token is that of an admin, or empty where
// the server asks for none.
func Fill(ctx context.Context, url, token string) (Filled, error) {
	var config client.Config
	if token != "" {
		config.Token = client.StaticToken(token)
	}
	api, err := client.New(url, config)
	if err != nil {
		return Filled{}, err
	}
	f := &filler{ctx: ctx, api: api}
	season := f.first(streams.Generated(streams.Season), clicksIntervals)
	for _, step := range []func(*filler){
		func(f *filler) { clicks(f, season[:clicksDriven+1]) },
		functions, pages, volume, products, files, names, edits, channels, big, idle,
		// The plan that the first step left to itself has expired by now, or soon will have.
		func(f *filler) { approvals(f, season[clicksDriven+1:]) },
	} {
		if f.err == nil {
			step(f)
		}
	}
	return f.plans, f.err
}

// fail notes what went wrong, unless something did before.
func (f *filler) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// ask makes one request; its answer is empty, but not nil, where anything went wrong.
func (f *filler) ask(request func() (*wire.Plan, error)) *wire.Plan {
	if f.err != nil {
		return &wire.Plan{}
	}
	p, err := request()
	if err != nil {
		f.err = err
		return &wire.Plan{}
	}
	return p
}

// put configures an operator.
func (f *filler) put(operator string, c wire.OperatorConfiguration) {
	if f.err == nil {
		_, f.err = f.api.PutOperator(f.ctx, operator, c)
	}
}

// plan has an interval planned.
func (f *filler) plan(operator string, in wire.PlanRequest) *wire.Plan {
	return f.ask(func() (*wire.Plan, error) { return f.api.CreatePlan(f.ctx, operator, in) })
}

// planAs has an interval planned, and the plan must be of the status.
func (f *filler) planAs(operator string, status wire.PlanStatus, in wire.PlanRequest) *wire.Plan {
	p := f.plan(operator, in)
	f.is(p, status)
	return p
}

// is fails unless the plan is of the status.
func (f *filler) is(p *wire.Plan, status wire.PlanStatus) {
	if p.Status != status {
		f.fail("%s: plan %s of interval %d is %s, not %s", p.Operator, p.Id, p.Interval, p.Status, status)
	}
}

// ack has instances acknowledge what they do in a plan.
func (f *filler) ack(id string, request wire.AckRequest) *wire.Plan {
	return f.ask(func() (*wire.Plan, error) { return f.api.AckPlan(f.ctx, id, request) })
}

// start has an engine carry a plan out.
func (f *filler) start(id string) *wire.Plan {
	return f.ask(func() (*wire.Plan, error) {
		return f.api.StartPlan(f.ctx, id, wire.StartRequest{Executor: "job-manager-1"})
	})
}

// drive has intervals planned, commits every plan that asks for it, and returns the
// last one.
func (f *filler) drive(operator string, intervals []wire.PlanRequest) *wire.Plan {
	last := &wire.Plan{}
	for _, in := range intervals {
		if last = f.plan(operator, in); last.Status == wire.PlanStatusApproved {
			last = f.ask(func() (*wire.Plan, error) {
				return f.api.CommitPlan(f.ctx, last.Id, wire.CommitRequest{Stopped: new(true)})
			})
		}
	}
	return last
}

// lastOf drives all intervals but the last, whose plan it leaves to be carried out.
func (f *filler) lastOf(operator string, intervals []wire.PlanRequest) *wire.Plan {
	last := len(intervals) - 1
	f.drive(operator, intervals[:last])
	return f.planAs(operator, wire.PlanStatusApproved, intervals[last])
}

// first makes requests of the first n intervals of a stream.
func (f *filler) first(s streams.Stream, n int) []wire.PlanRequest {
	out := make([]wire.PlanRequest, n)
	intervals, err := s.First(n)
	if err != nil {
		f.fail("%w", err)
		return out
	}
	for i, in := range intervals {
		columns := &wire.Columns{Key: make([]string, in.Statistics.Len()), Cost: &in.Statistics.Cost}
		if in.Statistics.State != nil {
			columns.State = &in.Statistics.State
		}
		for k := range columns.Key {
			columns.Key[k] = string(in.Statistics.Keys.At(k))
		}
		out[i] = wire.PlanRequest{Interval: in.Number, Columns: columns}
	}
	return out
}

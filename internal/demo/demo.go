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

// filler fills one server.
type filler struct {
	api   *client.Client
	plans Filled
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
	f := &filler{api: api}
	clicks, err := first(streams.Generated(streams.Season), clicksIntervals)
	if err != nil {
		return Filled{}, err
	}
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return f.clicks(ctx, clicks[:clicksDriven+1]) },
		f.functions, f.pages, f.volume, f.products, f.files, f.names, f.edits, f.channels, f.big, f.idle,
		// The plan that the first step left to itself has expired by now, or soon will have.
		func(ctx context.Context) error { return f.approvals(ctx, clicks[clicksDriven+1:]) },
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return Filled{}, err
		}
	}
	return f.plans, nil
}

// put configures an operator.
func (f *filler) put(ctx context.Context, operator string, c wire.OperatorConfiguration) error {
	_, err := f.api.PutOperator(ctx, operator, c)
	return err
}

// planAs has an interval planned, and the plan must be of the status.
func (f *filler) planAs(
	ctx context.Context, operator string, status wire.PlanStatus, in wire.PlanRequest,
) (*wire.Plan, error) {
	p, err := f.api.CreatePlan(ctx, operator, in)
	if err == nil {
		err = is(p, status)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operator, err)
	}
	return p, nil
}

// is returns an error unless the plan is of the status.
func is(p *wire.Plan, status wire.PlanStatus) error {
	if p.Status != status {
		return fmt.Errorf("plan %s of interval %d is %s, not %s", p.Id, p.Interval, p.Status, status)
	}
	return nil
}

// drive has intervals planned, commits every plan that asks for it, and returns the
// last one.
func (f *filler) drive(
	ctx context.Context, operator string, intervals []wire.PlanRequest,
) (last *wire.Plan, err error) {
	for _, in := range intervals {
		if last, err = f.api.CreatePlan(ctx, operator, in); err != nil {
			return nil, err
		}
		if last.Status == wire.PlanStatusApproved {
			if last, err = f.api.CommitPlan(ctx, last.Id, wire.CommitRequest{Stopped: new(true)}); err != nil {
				return nil, err
			}
		}
	}
	return last, nil
}

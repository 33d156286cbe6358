// Package fill puts into a running server what a dashboard may have to show:
// operators of every kind, fed with recorded key streams over HTTP, and plans in
// every state.
package fill

import (
	"context"
)

// Options say with what.
type Options struct {
	// Data is the folder of the recorded key streams.
	Data string
	// Token is that of an admin. Empty: the server asks for none.
	Token string
}

// The operators. What each is for is told with the plans of [Filled].
const (
	Clicks    = "clicks"    // a history of 26 intervals, and a plan that waits for approval
	Functions = "functions" // instances of different capacities, hot keys
	Pages     = "pages"     // rescaled: one instance removed, three added
	Volume    = "volume"    // a plan that is being carried out
	Products  = "products"  // scheme ring
	Files     = "files"     // scheme ranges
	Names     = "names"     // compact statistics: plans of classes
	Edits     = "edits"     // a key hotter than any instance may carry
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
	Big        string // of Big, proposed
}

// The status of plans.
const (
	proposed   = "proposed"
	approved   = "approved"
	applying   = "applying"
	committed  = "committed"
	rejected   = "rejected"
	superseded = "superseded"
	expired    = "expired"
	noAction   = "no_action"
)

// filler fills one server.
type filler struct {
	client
	data  string
	plans Filled
}

// Fill fills the empty server at a URL. The error is [ErrNoStreams] where there
// are no recorded streams.
func Fill(ctx context.Context, url string, o Options) (Filled, error) {
	f := &filler{client: client{base: url, token: o.Token}, data: o.Data}
	clicks, err := f.read("nasa_day/intervals", clicksIntervals)
	if err != nil {
		return Filled{}, err
	}
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return f.clicks(ctx, clicks[:clicksDriven+1]) },
		f.functions, f.pages, f.volume, f.products, f.files, f.names, f.edits, f.big, f.idle,
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

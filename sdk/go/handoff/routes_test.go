package handoff

import (
	"errors"
	"testing"

	"plannerd/sdk/go/route"
)

// TestRoutes asks a table of package route, on which a key moves, one is split, and one
// loses a part.
func TestRoutes(t *testing.T) {
	t.Parallel()
	parts := func(at ...int32) []route.Part {
		out := make([]route.Part, len(at))
		for i, d := range at {
			out[i] = route.Part{Instance: d, Weight: route.PartUnits / int32(len(at))}
		}
		return out
	}
	now, err := route.NewTable(3, nil, []route.Entry{
		{Key: []byte("moves"), Instance: 0}, {Key: []byte("stays"), Instance: 0}, {Key: []byte("splits"), Instance: 1},
		{Key: []byte("shrinks"), Parts: parts(0, 1, 2, 3)},
	}, "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Routes{now}).Pending([]byte("moves")); !errors.Is(err, ErrNothingPending) {
		t.Errorf("without anything pending: %v", err)
	}
	both, err := now.WithPending(&route.Pending{Version: 4, Set: []route.Entry{
		{Key: []byte("moves"), Instance: 2}, {Key: []byte("splits"), Instance: 1, Parts: parts(1, 2)},
		{Key: []byte("shrinks"), Instance: 2, Parts: parts(2, 3)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	table := Routes{both}
	for _, x := range []struct {
		key    string
		moves  bool
		at, to int32
	}{
		{"moves", true, 0, 2},
		{"stays", false, 0, 0},
		{"splits", true, 1, 1},
		{"shrinks", true, 3, 3},
		{"shrinks", true, 0, 2},
	} {
		_, moves, err := table.Route([]byte(x.key))
		goal, otherwise := table.Goal([]byte(x.key), x.at)
		if err != nil || otherwise != nil || moves != x.moves || goal != x.to {
			t.Errorf("%s at %d: moves %v, belongs to %d (%v, %v); want %v and %d", x.key, x.at, moves, goal, err, otherwise,
				x.moves, x.to)
		}
	}
	if to, err := table.Pending([]byte("moves")); to != 2 || err != nil {
		t.Errorf("moves goes to %d then, %v; want 2", to, err)
	}
	if _, _, err := table.Route([]byte("unknown")); !errors.Is(err, route.ErrNoRoute) {
		t.Errorf("a key without a route: %v", err)
	}
}

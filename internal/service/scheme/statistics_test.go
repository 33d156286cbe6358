package scheme

import (
	"errors"
	"testing"

	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/store"
)

// TestStatisticsOfATable: statistics are of a table that was never committed, of the committed one, or
// older.
func TestStatisticsOfATable(t *testing.T) {
	op := store.Operator{TableVersion: 5, TableOrigin: store.Origin{Plan: "p"}}
	for name, c := range map[string]struct {
		version           *int64
		origin            string
		older             bool
		refused, outdated bool
	}{
		"of the committed one":         {},
		"of the same version":          {version: new(int64(5))},
		"of it, by its origin":         {version: new(int64(5)), origin: op.TableOrigin.String()},
		"of one that was lost":         {version: new(int64(5)), origin: "0123456789ab", refused: true},
		"of an older one":              {version: new(int64(4)), outdated: true},
		"of an older one, by whatever": {version: new(int64(4)), origin: "0123456789ab", outdated: true},
		"of a newer one":               {version: new(int64(6)), refused: true},
		"stored as an older one":       {older: true, outdated: true},
	} {
		st := Statistics{
			Statistics: &planner.Statistics{}, TableVersion: c.version, TableOrigin: c.origin, Older: c.older,
		}
		if err := st.OfCommitted(op); (err != nil) != c.refused || st.Outdated(5) != c.outdated {
			t.Errorf("%s: %v, outdated %t", name, err, st.Outdated(5))
		}
	}
}

// TestIdentity: what may lead to another plan makes another identity, and nothing else does.
func TestIdentity(t *testing.T) {
	st := Statistics{Statistics: &planner.Statistics{}}
	same := st.Identity("h", 1, 2)
	current := Statistics{Statistics: &planner.Statistics{}, TableVersion: new(int64(2))}
	if again := current.Identity("h", 1, 2); again != same {
		t.Errorf("%s and %s", again, same)
	}
	for _, other := range []string{
		st.Identity("i", 1, 2), st.Identity("h", 2, 2), st.Identity("h", 1, 3),
		(&Statistics{Statistics: &planner.Statistics{}, Older: true}).Identity("h", 1, 2),
	} {
		if other == same {
			t.Errorf("%s is the identity of two", other)
		}
	}
}

// TestByConfiguration: hash instances by an older configuration are refused.
func TestByConfiguration(t *testing.T) {
	st := Statistics{Statistics: &planner.Statistics{}}
	if err := st.ByConfiguration(3); err != nil {
		t.Error(err)
	}
	st.ConfigVersion = new(int64(2))
	var refused *refusal.Error
	if err := st.ByConfiguration(3); !errors.As(err, &refused) || refused.Reason != refusal.ConfigurationChanged {
		t.Errorf("%v, want configuration_changed", err)
	}
}

// TestSize counts the keys that residuals stand for, too.
func TestSize(t *testing.T) {
	st := Statistics{Statistics: &planner.Statistics{
		Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2.5},
		Residual: []planner.Residual{{Instance: 0, Cost: 4, Keys: 7}},
	}}
	if got := st.Size(); got.Keys != 9 || got.Cost != 7.5 {
		t.Errorf("%+v", got)
	}
}

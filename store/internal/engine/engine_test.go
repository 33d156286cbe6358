package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

func TestStep(t *testing.T) {
	for _, from := range append(store.Next(""), store.StatusApplying, store.StatusAborted, store.StatusExpired) {
		for _, to := range []store.Status{store.StatusApproved, store.StatusApplying, store.StatusCommitted,
			store.StatusAborted} {
			done, err := step(from, to)
			if done != (from == to) {
				t.Errorf("from %s to %s: done = %v", from, to, done)
			}
			if allowed := from == to || store.Allowed(from, to); (err == nil) != allowed {
				t.Errorf("from %s to %s: error %v", from, to, err)
			} else if err != nil && !errors.Is(err, store.ErrTransition) {
				t.Errorf("from %s to %s: error %v, want %v", from, to, err, store.ErrTransition)
			}
		}
	}
}

func TestAdmit(t *testing.T) {
	r := statements.Row{ConfigVersion: 3, TableVersion: 7, Epoch: new(int64(2)), Interval: new(int64(10))}
	for _, c := range []struct {
		epoch, interval, config, base int64
		want                          error
	}{
		{2, 10, 3, 7, nil}, // its plan may have been aborted
		{2, 11, 3, 7, nil},
		{3, 0, 3, 7, nil},
		{2, 9, 3, 7, store.ErrIntervalOutdated},
		{1, 11, 3, 7, store.ErrFenced},
		{1, 9, 2, 6, store.ErrFenced},
		{2, 11, 2, 7, store.ErrConfigurationChanged},
		{2, 11, 4, 6, store.ErrConfigurationChanged},
		{2, 11, 3, 6, store.ErrBaseChanged},
		{2, 11, 3, 8, store.ErrBaseChanged},
	} {
		err := admit(r, store.Plan{Epoch: c.epoch, Interval: c.interval, ConfigVersion: c.config, BaseVersion: c.base}, false)
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	if err := checkInterval(statements.Row{}, -5, -5, false); err != nil {
		t.Errorf("the first interval: %v", err)
	}
}

func TestResolvable(t *testing.T) {
	good := store.Plan{Status: store.StatusApproved, Classes: true, BaseVersion: 7}
	for what, c := range map[string]struct {
		spoil func(*store.Plan)
		want  error
	}{
		"nothing wrong":   {func(*store.Plan) {}, nil},
		"resolved before": {func(p *store.Plan) { p.ResolvedKeys = new(int64(3)) }, nil},
		"not approved any more": {func(p *store.Plan) { p.Status, p.BaseVersion = store.StatusAborted, 6 },
			store.ErrTransition},
		"a plan of keys":         {func(p *store.Plan) { p.Classes, p.BaseVersion = false, 6 }, store.ErrTransition},
		"of the engine's table":  {func(p *store.Plan) { p.EngineTable, p.BaseVersion = true, 6 }, store.ErrTransition},
		"made for another table": {func(p *store.Plan) { p.BaseVersion = 6 }, store.ErrBaseChanged},
	} {
		p := good
		c.spoil(&p)
		if err := resolvable(statements.Row{TableVersion: 7}, p); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", what, err, c.want)
		}
	}
}

func TestHistoryGoesBack(t *testing.T) {
	h := history{}
	for _, changes := range [][]store.Change{ // newest first
		{{Key: []byte("a"), Old: 1, New: 2}, {Key: []byte("b"), Old: 5, New: store.NoInstance}},
		{{Key: []byte("a"), Old: store.NoInstance, New: 1}, {Key: []byte("c"), Old: 3, New: 4}},
		{{Key: []byte("b"), Old: 6, New: 5}, {Key: []byte("d"), Old: store.NoInstance, New: 1}},
	} {
		if err := h.undo(changes); err != nil {
			t.Fatal(err)
		}
	}
	got, err := h.table([]store.Entry{{Key: []byte("a"), Instance: 2}, {Key: []byte("c"), Instance: 4},
		{Key: []byte("d"), Instance: 1}, {Key: []byte("e"), Instance: 9}})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Entry{{Key: []byte("b"), Instance: 6}, {Key: []byte("c"), Instance: 3},
		{Key: []byte("e"), Instance: 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables differ (-want +got):\n%s", diff)
	}
}

func TestHistoryNoticesWhatCannotBe(t *testing.T) {
	a := func(from, to int32) store.Change { return store.Change{Key: []byte("a"), Old: from, New: to} }
	current := []store.Entry{{Key: []byte("a"), Instance: 2}}
	for i, c := range []struct {
		newer, older store.Change
		current      []store.Entry
	}{
		{a(1, 2), a(0, 3), current},                // the older one went elsewhere
		{a(1, 3), a(0, 1), current},                // so did the newer one
		{a(1, 2), a(0, 1), nil},                    // the entry is missing
		{a(1, store.NoInstance), a(0, 1), current}, // the entry is too many
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			h := history{}
			err := h.undo([]store.Change{c.newer})
			if err == nil {
				err = h.undo([]store.Change{c.older})
			}
			if err == nil {
				_, err = h.table(append([]store.Entry(nil), c.current...))
			}
			if !errors.Is(err, errHistory) {
				t.Errorf("error %v, want %v", err, errHistory)
			}
		})
	}
}

func TestMailboxMerges(t *testing.T) {
	for _, c := range []struct {
		puts []string
		want map[string]bool
	}{
		{[]string{"a", "b", "a"}, map[string]bool{"a": true, "b": true}},
		{[]string{"a", "", "b"}, map[string]bool{"": true}},
		{manyNames(maxEvents), nil},
		{manyNames(maxEvents + 1), map[string]bool{"": true}},
	} {
		m := NewMailbox()
		for _, name := range c.puts {
			m.Put(name)
		}
		got := m.take()
		if c.want == nil {
			c.want = map[string]bool{}
			for _, name := range c.puts {
				c.want[name] = true
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("after %d puts the mailbox differs (-want +got):\n%s", len(c.puts), diff)
		}
		if again := m.take(); len(again) > 0 {
			t.Errorf("taken twice: %v", again)
		}
	}
}

func manyNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("operator ", i))
	}
	return names
}

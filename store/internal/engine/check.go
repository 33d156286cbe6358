package engine

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// storable tells whether a text can be in the database. Postgres knows neither
// NUL nor text that is no UTF-8, so no store may: looking such a name up finds
// nothing, and writing it is refused.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// repair makes free text storable. A transition is not refused for what someone
// gave as its reason.
func repair(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func repairTransition(t store.Transition) store.Transition {
	t.Actor, t.Reason = repair(t.Actor), repair(t.Reason)
	return t
}

// checkPlan refuses what not every database can hold, and what no plan is born
// with.
func checkPlan(p *store.NewPlan) error {
	if !store.Allowed("", p.Status) {
		return fmt.Errorf("a plan born %q: %w", p.Status, store.ErrTransition)
	}
	switch p.OnPending {
	case "", store.PendingKeep, store.PendingReplace:
	default:
		return fmt.Errorf("store: plan %q: no policy %q", p.ID, p.OnPending)
	}
	if p.Classes && len(p.Changes) > 0 {
		return fmt.Errorf("store: plan %q: it moves classes and changes %d keys", p.ID, len(p.Changes))
	}
	if p.Status == store.StatusCommitted && unresolved(p.Plan) {
		return fmt.Errorf("a plan born %q: %w", p.Status, store.ErrUnresolved)
	}
	for _, f := range statements.PlanFields(&p.Plan, statements.NoTime) {
		switch v := f.Value.(type) {
		case *string:
			if !storable(*v) {
				return fmt.Errorf("store: plan %q: %s: text must be UTF-8 without NUL", p.ID, f.Column)
			}
		case *float64:
			if math.IsNaN(*v) {
				return fmt.Errorf("store: plan %q: %s: not a number", p.ID, f.Column)
			}
		}
	}
	return nil
}

// sorted returns changes in ascending bytes of their keys, itself if they are.
func sorted(changes []store.Change) []store.Change {
	byKey := func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) }
	if slices.IsSortedFunc(changes, byKey) {
		return changes
	}
	changes = slices.Clone(changes)
	slices.SortFunc(changes, byKey)
	return changes
}

// split parts changes by what they do to an entry: set it, move it to another
// instance, or unset it.
func split(changes []store.Change) (sets, moves, unsets []store.Change) {
	for _, c := range changes {
		switch {
		case c.Old == store.NoInstance:
			sets = append(sets, c)
		case c.New == store.NoInstance:
			unsets = append(unsets, c)
		default:
			moves = append(moves, c)
		}
	}
	return sets, moves, unsets
}

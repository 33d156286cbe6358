package api

import (
	"bufio"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/store"
)

// lists are the long parts of a plan. A nil part is left out of the answer.
type lists struct {
	changes    []store.Change
	migrations migrationList
	shift      shift // in place of changes, under the schemes ring and ranges
}

// migrationList is a list of migrations, of keys or of classes.
type migrationList interface {
	// writeJSON has no other errors than those of the writer.
	writeJSON(out *bufio.Writer, base64 bool) error
	needsBase64() bool
}

// migrations is the list of one kind.
type migrations[R statsio.Record] iter.Seq[R]

func (m migrations[R]) writeJSON(out *bufio.Writer, base64 bool) error {
	return statsio.WriteJSON(out, iter.Seq[R](m), base64)
}

func (m migrations[R]) needsBase64() bool { return statsio.NeedsBase64(iter.Seq[R](m)) }

// keyMigrations are the migrations of a plan of keys, as the store has them.
type keyMigrations struct{ *statsio.Migrations }

func (m keyMigrations) writeJSON(out *bufio.Writer, base64 bool) error {
	return statsio.WriteJSON(out, m.All(), base64)
}

func (m keyMigrations) needsBase64() bool { return statsio.NeedsBase64(m.All()) }

// planText is a plan that is ready to be written: all that may fail has been done.
type planText struct {
	head, sizes []byte // two objects, the second a member of the first; both open
	lists
	keys keyCoder
}

// newPlanText renders a plan with the lists that are given. keys starts as the
// request asks and turns to base64 when some key needs it.
func newPlanText(p store.Plan, l lists, keys keyCoder, persist *time.Duration) (t planText, err error) {
	var hot []hotKey
	if p.HotKeys != nil {
		if err := json.Unmarshal(p.HotKeys, &hot); err != nil {
			return t, fmt.Errorf("reading stored hot keys: %w", err)
		}
	}
	for _, h := range hot {
		keys.see(h.Key)
	}
	l.see(&keys)
	t = planText{lists: l, keys: keys}
	if t.head, err = openPlan(p, hot, keys, persist); err != nil {
		return t, err
	}
	t.sizes, err = openSizes(schemeOf(p.Strategy), p.TableBefore, p.TableAfter)
	return t, err
}

// planBody is a plan without its lists.
func planBody(p store.Plan, keys keyCoder) ([]byte, error) {
	t, err := newPlanText(p, lists{}, keys, nil)
	return append(append(t.head, t.sizes...), "}}"...), err
}

// openSizes renders the member that says what a plan does to the table, or to what
// there is in its place, up to its lists.
func openSizes(scheme wire.Scheme, before, after int64) ([]byte, error) {
	name := "routing_table"
	if scheme != wire.SchemeTable {
		name = string(scheme)
	}
	sizes, err := openObject(struct {
		Before int64 `json:"size_before"`
		After  int64 `json:"size_after"`
	}{before, after})
	return append([]byte(`,"`+name+`":`), sizes...), err
}

func (t planText) write(out *bufio.Writer) error {
	if err := writeAll(out, t.head, t.sizes); err != nil {
		return err
	}
	if err := t.writeChange(out, t.keys); err != nil {
		return err
	}
	if err := t.writeMigrations(out, t.keys); err != nil {
		return err
	}
	return out.WriteByte('}')
}

// see lets keys see every key of the lists.
func (l lists) see(keys *keyCoder) {
	for _, c := range l.changes {
		keys.see(c.Key)
	}
	if l.migrations != nil {
		keys.base64 = keys.base64 || l.migrations.needsBase64()
	}
	if l.shift != nil {
		keys.base64 = keys.base64 || l.shift.needsBase64()
	}
}

// writeChange writes the lists of what openSizes has opened, and closes it.
func (l lists) writeChange(out *bufio.Writer, keys keyCoder) error {
	var err error
	switch {
	case l.shift != nil:
		err = l.shift.writeJSON(out, keys.base64)
	case l.changes != nil:
		err = writeEntries(out, l.changes, keys)
	}
	if err != nil {
		return err
	}
	return out.WriteByte('}')
}

func (l lists) writeMigrations(out *bufio.Writer, keys keyCoder) error {
	if l.migrations == nil {
		return nil
	}
	if _, err := out.WriteString(`,"migrations":`); err != nil {
		return err
	}
	return l.migrations.writeJSON(out, keys.base64)
}

// writeEntries writes the entries that changes set, and the keys of those that they
// unset.
func writeEntries(out *bufio.Writer, changes []store.Change, keys keyCoder) error {
	if _, err := out.WriteString(`,"set":`); err != nil {
		return err
	}
	if err := statsio.WriteJSON(out, entriesSet(changes), keys.base64); err != nil {
		return err
	}
	opening := `,"unset":[`
	for _, c := range changes {
		if c.New != store.NoInstance {
			continue
		}
		if _, err := out.Write(keys.append(append(out.AvailableBuffer(), opening...), c.Key)); err != nil {
			return err
		}
		opening = ","
	}
	if opening == "," {
		opening = ""
	}
	_, err := out.WriteString(opening + "]")
	return err
}

// entriesSet yields the entries that changes add or alter.
func entriesSet(changes []store.Change) iter.Seq[statsio.Entry] {
	return func(yield func(statsio.Entry) bool) {
		for _, c := range changes {
			if c.New != store.NoInstance && !yield(statsio.Entry{Key: c.Key, Instance: c.New}) {
				return
			}
		}
	}
}

package api

import (
	"bufio"
	"bytes"
	"cmp"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
)

const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

// keyFilter is what the long lists have in common.
type keyFilter struct {
	prefix   []byte
	instance *int32
	keys     keyCoder
}

func readKeyFilter(query url.Values) (keyFilter, error) {
	f := keyFilter{keys: askedKeys(query)}
	prefix, ok := f.keys.decodeKey(query.Get("key_prefix"))
	if !ok {
		return f, invalid().withParameter("key_prefix", "must be in the encoding that key_encoding names")
	}
	f.prefix = prefix
	if text := query.Get("instance"); text != "" {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return f, invalid().withParameter("instance", outOfRange)
		}
		id32 := int32(id)
		f.instance = &id32
	}
	return f, nil
}

// takes reports whether a record of this key that names these instances is wanted.
func (f keyFilter) takes(key []byte, instances ...int32) bool {
	return bytes.HasPrefix(key, f.prefix) && (f.instance == nil || slices.Contains(instances, *f.instance))
}

// wholeOnly refuses the parameters of pages where a list is answered whole.
func wholeOnly(query url.Values) error {
	p := invalid()
	for _, name := range []string{"page_size", "page_token"} {
		if query.Has(name) {
			p.atParameter(name, "belongs to application/json; NDJSON and CSV come whole")
		}
	}
	return p.orNil()
}

func (s *server) listMigrations(w http.ResponseWriter, c *call) error {
	filter, err := readKeyFilter(c.query)
	if err != nil {
		return err
	}
	id := c.param("id")
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	if err := c.list(listLength(p)); err != nil {
		return err
	}
	if schemeOf(p.Strategy) != wire.SchemeTable {
		all, err := s.shift(c.Context(), p)
		if err != nil {
			return err
		}
		return listShift(w, c, all, filter)
	}
	list, err := s.migrations(c.Context(), id)
	if err != nil {
		return err
	}
	if classes, ok := list.(classMigrations); ok {
		return listClassMoves(w, c, classes, filter)
	}
	if c.query.Get("sort") == "count" {
		return invalid().withParameter("sort", "by count is for plans of classes")
	}
	return listKeyMoves(w, c, list.(keyMigrations), filter)
}

// listKeyMoves answers with migrations of keys.
func listKeyMoves(w http.ResponseWriter, c *call, all keyMigrations, filter keyFilter) error {
	reason, anyReason := planner.ParseReason(c.query.Get("reason"))
	return selection[statsio.Migration]{
		n: all.Len(), at: all.At,
		takes: func(m statsio.Migration) bool {
			return filter.takes(m.Key, m.From, m.To) && (!anyReason || m.Reason == reason)
		},
		order: all.order(c.query.Get("sort")),
	}.answer(w, c, "migrations", filter.keys)
}

// order is that by "cost" or "state", greatest first and ties by key, or by ascending
// key.
func (m keyMigrations) order(by string) func(i, j int) int {
	keys := func(i, j int) int { return bytes.Compare(m.Key(i), m.Key(j)) }
	of := m.Cost
	switch by {
	case "cost":
	case "state":
		of = m.State
	default:
		return keys
	}
	return func(i, j int) int {
		if order := cmp.Compare(of(j), of(i)); order != 0 {
			return order
		}
		return keys(i, j)
	}
}

// streamList answers with all records as NDJSON or CSV. Everything that may
// fail has happened before; when the connection does, the answer is cut.
func streamList[R statsio.Record](w http.ResponseWriter, c *call, records iter.Seq[R], keys keyCoder) error {
	if err := wholeOnly(c.query); err != nil {
		return err
	}
	keys.base64 = keys.base64 || statsio.NeedsBase64(records)
	return writeStream(w, c.Request, http.StatusOK, streamType(w, c.media, keys), func(out *bufio.Writer) error {
		if c.media == mediaCSV {
			return statsio.WriteCSV(out, records, keys.base64)
		}
		return statsio.WriteNDJSON(out, records, keys.base64)
	})
}

// streamType returns the Content-Type of a list that is answered whole, and sets
// the header that tells how its keys are written.
func streamType(w http.ResponseWriter, media string, keys keyCoder) string {
	if keys.base64 {
		w.Header().Set("Plannerd-Key-Encoding", keys.member())
	}
	if media == mediaCSV {
		media += "; charset=utf-8; header=present"
	}
	return media
}

// writeList answers with one page of a list.
func writeList(w http.ResponseWriter, name string, items []byte, keys keyCoder, next *string) error {
	b := []byte{'{'}
	if keys.base64 {
		b = append(b, `"key_encoding":"base64",`...)
	}
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":`...)
	b = append(b, items...)
	b, err := appendMember(b, "next_page_token", next)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", append(b, '}'))
	return nil
}

func (s *server) listTableChanges(w http.ResponseWriter, c *call) error {
	filter, err := readKeyFilter(c.query)
	if err != nil {
		return err
	}
	id := c.param("id")
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	if scheme := schemeOf(p.Strategy); scheme != wire.SchemeTable {
		return conflict(wire.CodeNoRoutingTable, "Under the scheme "+string(scheme)+" a plan changes no routing table; GET the plan with include=routing_table.")
	}
	if err := refuseUnresolved(p); err != nil {
		return err
	}
	if err := c.list(listLength(p)); err != nil {
		return err
	}
	changes, err := s.changes(c.Context(), p)
	if err != nil {
		return err
	}
	at := func(i int) statsio.TableChange {
		x := changes[i]
		return statsio.TableChange{Key: x.Key, Instance: x.New, Previous: x.Old}
	}
	return selection[statsio.TableChange]{
		n: len(changes), at: at,
		takes: func(x statsio.TableChange) bool { return filter.takes(x.Key, x.Instance, x.Previous) },
	}.answer(w, c, "changes", filter.keys)
}

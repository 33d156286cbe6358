package api

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

const (
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

// page cuts one page out of n items; next is nil after the last.
func page(c *call, n int) (from, to int, next *string, err error) {
	token := pageToken{list: c.URL.Path}
	if err := token.read(c.query); err != nil {
		return 0, 0, nil, err
	}
	from = min(token.Offset, n)
	to = min(from+pageSize(c.query), n)
	if to < n {
		token.Offset = to
		next = token.text()
	}
	return from, to, next, nil
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
	return listKeyMoves(w, c, list.(migrations[statsio.Migration]), filter)
}

// listKeyMoves answers with migrations of keys.
func listKeyMoves(w http.ResponseWriter, c *call, all migrations[statsio.Migration], filter keyFilter) error {
	var found []statsio.Migration
	reason, anyReason := planner.ParseReason(c.query.Get("reason"))
	for m := range all {
		if filter.takes(m.Key, m.From, m.To) && (!anyReason || m.Reason == reason) {
			found = append(found, m)
		}
	}
	sortMigrations(found, c.query.Get("sort"))
	return answerMigrations(w, c, found, filter.keys)
}

// answerMigrations answers with a page of the list, or with all of it as NDJSON
// or CSV.
func answerMigrations[R statsio.Record](w http.ResponseWriter, c *call, found []R, keys keyCoder) error {
	if c.media == mediaNDJSON || c.media == mediaCSV {
		return streamList(w, c, slices.Values(found), keys)
	}
	from, to, next, err := page(c, len(found))
	if err != nil {
		return err
	}
	records := slices.Values(found[from:to])
	keys.base64 = keys.base64 || statsio.NeedsBase64(records)
	return writeList(w, "migrations", statsio.AppendJSON(nil, records, keys.base64), keys, next)
}

// sortMigrations orders by "cost" or "state", greatest first and ties by key, or
// by ascending key.
func sortMigrations(list []statsio.Migration, by string) {
	slices.SortFunc(list, func(a, b statsio.Migration) int {
		order := 0
		switch by {
		case "cost":
			order = cmp.Compare(b.Cost, a.Cost)
		case "state":
			order = cmp.Compare(b.State, a.State)
		}
		return cmp.Or(order, bytes.Compare(a.Key, b.Key))
	})
}

// streamList answers with all records as NDJSON or CSV. Everything that may
// fail has happened before; when the connection does, the answer is cut.
func streamList[R statsio.Record](w http.ResponseWriter, c *call, records iter.Seq[R], keys keyCoder) error {
	if err := wholeOnly(c.query); err != nil {
		return err
	}
	keys.base64 = keys.base64 || statsio.NeedsBase64(records)
	startStream(w, c.media, keys)
	if c.media == mediaCSV {
		return statsio.WriteCSV(w, records, keys.base64)
	}
	return statsio.WriteNDJSON(w, records, keys.base64)
}

func startStream(w http.ResponseWriter, media string, keys keyCoder) {
	h := w.Header()
	if keys.base64 {
		h.Set("Plannerd-Key-Encoding", keys.member())
	}
	if media == mediaCSV {
		media += "; charset=utf-8; header=present"
	}
	h.Set("Content-Type", media)
	w.WriteHeader(http.StatusOK)
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

// tableChange is what a plan does to one table entry.
type tableChange struct {
	Key      string `json:"key"`
	Instance *int32 `json:"instance"`
	Previous *int32 `json:"previous"`
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
	changes = slices.DeleteFunc(changes, func(x store.Change) bool { return !filter.takes(x.Key, x.Old, x.New) })
	whole := c.media == mediaNDJSON || c.media == mediaCSV
	var next *string
	if whole {
		err = wholeOnly(c.query)
	} else {
		var from, to int
		from, to, next, err = page(c, len(changes))
		changes = changes[from:to]
	}
	if err != nil {
		return err
	}
	for _, x := range changes {
		filter.keys.see(x.Key)
	}
	if whole {
		startStream(w, c.media, filter.keys)
		return writeChanges(w, c.media, changes, filter.keys)
	}
	out := make([]tableChange, len(changes))
	for i, x := range changes {
		out[i] = tableChange{filter.keys.text(x.Key), entryInstance(x.New), entryInstance(x.Old)}
	}
	items, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return writeList(w, "changes", items, filter.keys, next)
}

// entryInstance is nil where there is no entry.
func entryInstance(id int32) *int32 {
	if id == store.NoInstance {
		return nil
	}
	return &id
}

// writeChanges writes changes as NDJSON or CSV.
func writeChanges(w http.ResponseWriter, media string, changes []store.Change, keys keyCoder) error {
	if media == mediaNDJSON {
		var line []byte
		for _, x := range changes {
			text, err := json.Marshal(tableChange{keys.text(x.Key), entryInstance(x.New), entryInstance(x.Old)})
			if err != nil {
				return err
			}
			line = append(append(line[:0], text...), '\n')
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}
	out := csv.NewWriter(w)
	cell := func(id int32) string {
		if id == store.NoInstance {
			return ""
		}
		return strconv.Itoa(int(id))
	}
	if err := out.Write([]string{"key", "instance", "previous"}); err != nil {
		return err
	}
	for _, x := range changes {
		if err := out.Write([]string{keys.text(x.Key), cell(x.New), cell(x.Old)}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

package api

import (
	"bufio"
	"bytes"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
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

func readKeyFilter(query url.Values) (f keyFilter, err error) {
	f.keys = askedKeys(query)
	if f.prefix, err = f.keys.parameter(query, "key_prefix"); err != nil {
		return f, err
	}
	f.instance, err = instanceParameter(query, "instance")
	return f, err
}

// parameter returns bytes of keys that a query names; none if it does not.
func (c keyCoder) parameter(query url.Values, name string) ([]byte, error) {
	text, ok := c.decodeKey(query.Get(name))
	if !ok {
		return nil, invalid().withParameter(name, "must be in the encoding that key_encoding names")
	}
	return text, nil
}

// instanceParameter returns the instance that a query names; nil if it does not.
func instanceParameter(query url.Values, name string) (*int32, error) {
	text := query.Get(name)
	if text == "" {
		return nil, nil
	}
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, invalid().withParameter(name, outOfRange)
	}
	id32 := int32(id)
	return &id32, nil
}

// takesAll reports whether nothing is filtered out.
func (f keyFilter) takesAll() bool { return len(f.prefix) == 0 && f.instance == nil }

// takes reports whether a record of this key that names these instances is wanted.
func (f keyFilter) takes(key []byte, instances ...int32) bool {
	return bytes.HasPrefix(key, f.prefix) && (f.instance == nil || slices.Contains(instances, *f.instance))
}

// wholeOnly refuses the parameters of pages where a list is answered whole.
func wholeOnly(query url.Values) error {
	p := invalid()
	for _, name := range []string{"page_size", "page_token", "skip"} {
		if query.Has(name) {
			p.atParameter(name, "belongs to application/json; NDJSON and CSV come whole")
		}
	}
	return p.orNil()
}

func (s *server) listMigrations(w http.ResponseWriter, c *call) error {
	filter, err := readMoveFilter(c.query)
	if err != nil {
		return err
	}
	id := c.param("id")
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	if err := refuseMeaningless(c.query, migratesOf(p)); err != nil {
		return err
	}
	all, err := s.moves(c, p)
	if err != nil {
		return err
	}
	return all.answer(w, c, filter, sortingOf(c.query))
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

// writeList answers with one page of a list of total items.
func writeList(w http.ResponseWriter, name string, items []byte, keys keyCoder, total int, next *string) error {
	b := []byte{'{'}
	if keys.base64 {
		b = append(b, `"key_encoding":"base64",`...)
	}
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":`...)
	b = append(b, items...)
	b = strconv.AppendInt(append(b, `,"total_size":`...), int64(total), 10)
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
	list := selection[statsio.TableChange]{n: len(changes), at: func(i int) statsio.TableChange {
		x := changes[i]
		return statsio.TableChange{Key: x.Key, Instance: x.New, Previous: x.Old}
	}}
	if !filter.takesAll() {
		list.takes = func(i int) bool { return filter.takes(changes[i].Key, changes[i].New, changes[i].Old) }
	}
	return list.answer(w, c, "changes", filter.keys)
}

package api

import (
	"bufio"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/internal/statsio"
	"plannerd/planner"
)

// askedKeys returns the key encoding that a request asks for.
func askedKeys(query url.Values) keyCoder {
	return keyCoder{base64: query.Get("key_encoding") == "base64"}
}

// readKeyFilter reads what the long lists have in common.
func readKeyFilter(query url.Values) (f planning.KeyFilter, err error) {
	if f.Prefix, err = keyParameter(query, "key_prefix"); err != nil {
		return f, err
	}
	f.Instance, err = instanceParameter(query, "instance")
	return f, err
}

// keyParameter returns bytes of keys that a query names; none if it does not.
func keyParameter(query url.Values, name string) ([]byte, error) {
	text, ok := askedKeys(query).decodeKey(query.Get(name))
	if !ok {
		return nil, invalid().WithParameter(name, "must be in the encoding that key_encoding names")
	}
	return text, nil
}

// instanceParameter returns the instance that a query names; nil if it does not.
func instanceParameter(query url.Values, name string) (*int32, error) {
	text := query.Get(name)
	if text == "" {
		return nil, nil
	}
	id := new(int32)
	if !parseScalar(text, id) {
		return nil, invalid().WithParameter(name, outOfRange)
	}
	return id, nil
}

func readMoveFilter(query url.Values) (f planning.MoveFilter, err error) {
	if f.KeyFilter, err = readKeyFilter(query); err != nil {
		return f, err
	}
	if f.Contains, err = keyParameter(query, "key_contains"); err != nil {
		return f, err
	}
	if f.From, err = instanceParameter(query, "from"); err != nil {
		return f, err
	}
	if f.To, err = instanceParameter(query, "to"); err != nil {
		return f, err
	}
	if reason, ok := planner.ParseReason(query.Get("reason")); ok {
		f.Reason = &reason
	}
	for name, least := range map[string]*float64{"min_cost": &f.MinCost, "min_state": &f.MinState} {
		if text := query.Get(name); text != "" {
			if *least, err = strconv.ParseFloat(text, 64); err != nil {
				return f, invalid().WithParameter(name, outOfRange)
			}
		}
	}
	return f, nil
}

// readSorting returns the order that a query asks for: greatest first by what counts.
func readSorting(query url.Values) planning.Sorting {
	s := planning.Sorting{By: query.Get("sort")}
	if s.By == "key" {
		s.By = ""
	}
	switch query.Get("order") {
	case "":
		s.Descending = s.By == "cost" || s.By == "state" || s.By == "count"
	case "desc":
		s.Descending = true
	}
	return s
}

// meaningless is a parameter of lists of migrations, or one value of it, that says
// nothing about some of their kinds.
type meaningless struct {
	name, value string // "": whatever the value
	detail      string
	of          []planning.Migrates
}

var (
	keyless   = []planning.Migrates{planning.MigratesClasses, planning.MigratesArcs, planning.MigratesRanges}
	senseless = []meaningless{
		{"key_prefix", "", "is for plans of keys", keyless},
		{"key_contains", "", "is for plans of keys", keyless},
		{"key_encoding", "", "is for plans with keys", []planning.Migrates{planning.MigratesClasses, planning.MigratesArcs}},
		{"reason", "", "is not known of classes", []planning.Migrates{planning.MigratesClasses}},
		{"sort", "key", "by key is for plans of keys", keyless},
		{"sort", "reason", "by reason is not for plans of classes", []planning.Migrates{planning.MigratesClasses}},
		{"sort", "count", "by count is for plans of classes, arcs and ranges", []planning.Migrates{planning.MigratesKeys}},
	}
)

// refuseMeaningless refuses what says nothing about migrations of a kind.
func refuseMeaningless(query url.Values, kind planning.Migrates) error {
	bad := invalid()
	for _, m := range senseless {
		if query.Has(m.name) && (m.value == "" || m.value == query.Get(m.name)) && slices.Contains(m.of, kind) {
			bad.AtParameter(m.name, m.detail)
		}
	}
	return bad.OrNil()
}

// wholeOnly refuses the parameters of pages where a list is answered whole.
func wholeOnly(query url.Values) error {
	p := invalid()
	for _, name := range []string{"page_size", "page_token", "skip"} {
		if query.Has(name) {
			p.AtParameter(name, "belongs to application/json; NDJSON and CSV come whole")
		}
	}
	return p.OrNil()
}

// writeListing answers with a page of a listing, as the member of that name, or with
// all of it as NDJSON or CSV.
func writeListing(w http.ResponseWriter, c *call, name string, listing planning.Listing, keys keyCoder) error {
	if c.media == mediaNDJSON || c.media == mediaCSV {
		return streamList(w, c, listing.All(), keys)
	}
	token, err := httpkit.ReadPageToken(c.URL.Path, c.query)
	if err != nil {
		return err
	}
	offset := token.Offset + min(httpkit.Skip(c.query), math.MaxInt-token.Offset)
	list, n, total := listing.Page(offset, httpkit.PageSize(c.query))
	var next *string
	if offset+n < total {
		token.Offset = offset + n
		next = token.Text()
	}
	keys.base64 = keys.base64 || list.NeedsBase64()
	b := []byte{'{'}
	if keys.base64 {
		b = append(b, `"key_encoding":"base64",`...)
	}
	b = append(append(append(b, '"'), name...), `":`...)
	b = list.AppendJSON(b, keys.base64)
	b = strconv.AppendInt(append(b, `,"total_size":`...), int64(total), 10)
	if b, err = appendMember(b, "next_page_token", next); err != nil {
		return err
	}
	httpkit.WriteBody(w, http.StatusOK, mediaJSON, append(b, '}'))
	return nil
}

// streamList answers with all records as NDJSON or CSV. Everything that may
// fail has happened before; when the connection does, the answer is cut.
func streamList(w http.ResponseWriter, c *call, list statsio.List, keys keyCoder) error {
	if err := wholeOnly(c.query); err != nil {
		return err
	}
	keys.base64 = keys.base64 || list.NeedsBase64()
	return httpkit.WriteStream(w, c.Request, http.StatusOK, streamType(w, c.media, keys), func(out *bufio.Writer) error {
		if c.media == mediaCSV {
			return list.WriteCSV(out, keys.base64)
		}
		return list.WriteNDJSON(out, keys.base64)
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

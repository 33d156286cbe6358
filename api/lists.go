package api

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"plannerd/internal/input/lists"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
)

// readKeyFilter reads what the long lists have in common.
func readKeyFilter(c *call) (f listing.KeyFilter, err error) {
	c.Decode(&f)
	f.Prefix, err = c.key("key_prefix")
	return f, err
}

// readMoveFilter reads which migrations are asked for, and in which order: greatest
// first by what counts.
func readMoveFilter(c *call) (f listing.MoveFilter, s listing.Sorting, err error) {
	var q struct {
		From, To            *int32
		MinCost, MinState   float64
		Reason, Sort, Order string
	}
	c.Decode(&q)
	f.From, f.To, f.MinCost, f.MinState = q.From, q.To, q.MinCost, q.MinState
	if f.KeyFilter, err = readKeyFilter(c); err != nil {
		return f, s, err
	}
	if reason, ok := planner.ParseReason(q.Reason); ok {
		f.Reason = &reason
	}
	if q.Sort != "key" {
		s.By = q.Sort
	}
	s.Descending = q.Order == "desc" || q.Order == "" && slices.Contains([]string{"cost", "state", "count"}, s.By)
	f.Contains, err = c.key("key_contains")
	return f, s, err
}

// meaningless is a parameter of lists of migrations, or one value of it, that says
// nothing about some of their kinds.
type meaningless struct {
	name, value string // "": whatever the value
	detail      string
	of          []scheme.Migrates
}

var (
	keyless   = []scheme.Migrates{scheme.MigratesClasses, scheme.MigratesArcs, scheme.MigratesRanges}
	senseless = []meaningless{
		{"key_prefix", "", "is for plans of keys", keyless},
		{"key_contains", "", "is for plans of keys", keyless},
		{"key_encoding", "", "is for plans with keys", []scheme.Migrates{scheme.MigratesClasses, scheme.MigratesArcs}},
		{"reason", "", "is not known of classes", []scheme.Migrates{scheme.MigratesClasses}},
		{"sort", "key", "by key is for plans of keys", keyless},
		{"sort", "reason", "by reason is not for plans of classes", []scheme.Migrates{scheme.MigratesClasses}},
		{"sort", "count", "by count is for plans of classes, arcs and ranges", []scheme.Migrates{scheme.MigratesKeys}},
	}
)

// refuseMeaningless refuses what says nothing about migrations of a kind.
func refuseMeaningless(query url.Values, kind scheme.Migrates) error {
	bad := httpkit.Invalid()
	for _, m := range senseless {
		if query.Has(m.name) && (m.value == "" || m.value == query.Get(m.name)) && slices.Contains(m.of, kind) {
			bad.AtParameter(m.name, m.detail)
		}
	}
	return bad.OrNil()
}

// wholeOnly refuses the parameters of pages where a list is answered whole.
func wholeOnly(query url.Values) error {
	p := httpkit.Invalid()
	for _, name := range []string{"page_size", "page_token", "skip"} {
		if query.Has(name) {
			p.AtParameter(name, "belongs to application/json; NDJSON and CSV come whole")
		}
	}
	return p.OrNil()
}

// writeListing answers with a page of a listing, as the member of that name, or with
// all of it as NDJSON or CSV.
func writeListing(w http.ResponseWriter, c *call, name string, listed listing.Listing, names lists.Names) error {
	return writeListingAfter(w, c, "", name, listed, names)
}

// writeListingAfter is writeListing with other members before; each ends with a comma.
func writeListingAfter(
	w http.ResponseWriter, c *call, head, name string, listed listing.Listing, names lists.Names,
) error {
	keys := c.keys()
	if c.media == mediaNDJSON || c.media == mediaCSV {
		return streamList(w, c, listed.All(), keys, names)
	}
	token, err := httpkit.ReadPageToken(c.URL.Path, c.Query)
	if err != nil {
		return err
	}
	offset := token.Offset + min(httpkit.Skip(c.Query), math.MaxInt-token.Offset)
	list, n, total := listed.Page(offset, httpkit.PageSize(c.Query))
	keys.base64 = keys.base64 || list.NeedsBase64()
	encoding, next := "", "null"
	if keys.base64 {
		encoding = `"key_encoding":"base64",`
	}
	if offset+n < total {
		token.Offset = offset + n
		next = strconv.Quote(*token.Text())
	}
	httpkit.WriteBody(w, http.StatusOK, mediaJSON, fmt.Appendf(nil, `{%s%s%q:%s,"total_size":%d,"next_page_token":%s}`,
		encoding, head, name, list.AppendJSON(nil, keys.base64), total, next))
	return nil
}

// streamList answers with all records as NDJSON or CSV, in which names stand for instances. Everything that may
// fail has happened before; when the connection does, the answer is cut.
func streamList(w http.ResponseWriter, c *call, list lists.List, keys keyCoder, names lists.Names) error {
	if err := wholeOnly(c.Query); err != nil {
		return err
	}
	keys.base64 = keys.base64 || list.NeedsBase64()
	return httpkit.WriteStream(w, c.Request, http.StatusOK, streamType(w, c.media, keys), func(out *bufio.Writer) error {
		switch {
		case c.media != mediaCSV:
		case c.Query.Get("formulas") == "escape":
			return list.WriteCSV(&formulaEscaper{Writer: out}, keys.base64, names)
		default:
			return list.WriteCSV(out, keys.base64, names)
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

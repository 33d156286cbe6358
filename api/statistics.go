package api

import (
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd/compact"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/planner"
)

const (
	mediaArrow = "application/vnd.apache.arrow.stream"
	howToSend  = "This operation takes application/json, application/x-ndjson, text/csv and " + mediaArrow + ": " +
		"curl -H 'Content-Type: text/csv' --data-binary @statistics.csv."
	howToEncode = "This operation takes the Content-Encoding gzip and zstd: " +
		"gzip -c statistics.csv | curl -H 'Content-Type: text/csv' -H 'Content-Encoding: gzip' --data-binary @-."
)

// statistics is what a request says about one interval.
type statistics struct {
	*planner.Statistics                     // of keys; with records it has only what they have in common
	records             *compact.Statistics // nil: they are of keys
	compact             *compactParameters  // in place of the operator's; nil: not said
	interval            *int64
	epoch               int64
	tableVersion        *int64
	keys                keyCoder      // how the request writes keys
	decode              time.Duration // receiving and decoding
	document            *statsio.Document
	query               bool      // members came as query parameters
	bare                bool      // there are neither keys nor records
	reports             *reported // what they are made of; nil: they came whole
	memory              *admission.Lease
	kept                *lists // those of the plan that is about to be stored; nil: nobody asks
}

// members are the parts of a request beside its rows: members of a JSON body,
// or query parameters.
type members struct {
	schema *openapi3.Schema // of the JSON body
	raw    map[string][]byte
	query  map[string][]string // nil for a JSON body
	bad    *problem            // what was found wrong so far
	// records: the rows are compact records.
	records bool
}

// readStatistics reads the rows of a request and returns what else it has.
// Members that are not in the contract are refused.
func (s *server) readStatistics(w http.ResponseWriter, c *call) (*statistics, *members, error) {
	begin := s.now()
	media, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || !isUTF8(params) {
		return nil, nil, unsupported(howToSend)
	}
	decode, isJSON := statsio.DecodeJSON, media == "application/json"
	switch media {
	case "application/json":
		if err := inBodyOnly(c.query); err != nil {
			return nil, nil, err
		}
	case "application/x-ndjson":
		decode = statsio.DecodeNDJSON
	case "text/csv":
		decode = statsio.DecodeCSV
	case mediaArrow:
		decode = statsio.DecodeArrow
	default:
		return nil, nil, unsupported(howToSend)
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	_, end := s.tracing.start(c.Context(), "decode", "plannerd.media_type", media)
	doc, err := decode(body, options)
	end(err)
	if err != nil {
		return nil, nil, readProblem(c.Context(), err)
	}
	if err := c.decoded(doc.Bytes(), doc.Members); err != nil {
		return nil, nil, err
	}
	m := &members{schema: c.bodySchema(), raw: doc.Members, bad: invalid()}
	if !isJSON {
		m.query = c.query
	}
	st := &statistics{Statistics: doc.Stats, document: doc, keys: keyCoder{base64: doc.Base64Keys()}, query: !isJSON, memory: c.memory}
	if st.Statistics == nil {
		st.Statistics, st.bare = &planner.Statistics{}, doc.Records == nil
	}
	m.refuseUnknown()
	st.readMembers(m)
	st.readCompact(m)
	st.decode = s.now().Sub(begin)
	return st, m, nil
}

// needRows refuses a request without rows.
func (st *statistics) needRows(m *members) {
	if st.bare {
		m.bad.at("/keys", "is needed, or columns, or the records of compact")
	}
}

// bodySchema is that of a request's JSON body.
func (c *call) bodySchema() *openapi3.Schema {
	return c.route.Operation.RequestBody.Value.Content["application/json"].Schema.Value
}

// inBodyOnly refuses query parameters beside a JSON body.
func inBodyOnly(query url.Values) error {
	p := invalid()
	for name := range query {
		p.atParameter(name, "belongs into the body when that is application/json")
	}
	return p.orNil()
}

// bulkBody returns the body of a request with many rows, and how to decode them,
// once there is memory for what it probably takes: until then nothing of it is
// read.
func (s *server) bulkBody(w http.ResponseWriter, c *call, media string) (io.ReadCloser, statsio.Options, error) {
	options := statsio.Options{
		Limits:     s.limits.Statistics,
		Base64Keys: c.query.Get("key_encoding") == "base64",
		RowHint:    rowHint(c.Header.Get("Plannerd-Row-Count")),
		Reserve:    c.memory.Reserve,
	}
	if c.Header.Get("Content-Encoding") == "" {
		options.Size = max(0, c.ContentLength)
	}
	if err := c.expect(media, c.contentEncoding()); err != nil {
		return nil, options, err
	}
	body, err := s.decompressed(w, c)
	return body, options, err
}

// decompressed returns the body of a request without its Content-Encoding.
func (s *server) decompressed(w http.ResponseWriter, c *call) (io.ReadCloser, error) {
	limit := s.limits.Statistics.Bytes
	if limit <= 0 {
		limit = statsio.DefaultBytes
	}
	if c.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body := http.MaxBytesReader(w, c.Body, limit)
	switch encoding := c.contentEncoding(); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "zstd":
		r, err := statsio.NewDecompressor(body, encoding)
		if err != nil {
			return nil, readProblem(c.Context(), err)
		}
		return r, nil
	default:
		return nil, unsupported(howToEncode)
	}
}

// readProblem is what to answer when a body cannot be read: what is wrong with
// it, or that it broke off.
func readProblem(ctx context.Context, err error) error {
	var (
		refused  *statsio.Error
		length   *http.MaxBytesError
		known    *problem
		exceeded *admission.ExceededError
	)
	if errors.As(err, &refused) || errors.As(err, &length) || errors.As(err, &known) || errors.As(err, &exceeded) || errors.Is(err, admission.ErrFull) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return malformed("The body broke off or is not in the encoding that Content-Encoding names.")
}

func rowHint(header string) int {
	n, err := strconv.Atoi(header)
	if err != nil {
		return 0
	}
	return n
}

// readMembers reads what accompanies the rows of every request of statistics.
func (st *statistics) readMembers(m *members) {
	st.interval = member[int64](m, "interval")
	st.epoch = or(member[int64](m, "epoch"), 0)
	st.tableVersion = member[int64](m, "table_version")
	coverage := or(member[string](m, "coverage"), "complete")
	st.Partial = coverage == "partial"
	_ = member[string](m, "key_encoding") // the decoder of the rows has acted on it
	if st.Residual = m.residual(); st.Residual != nil && !st.Partial {
		m.refuse("residual", "belongs to partial coverage only")
	}
}

// refuseUnknown refuses members of a JSON body that the contract does not know.
func (m *members) refuseUnknown() {
	for name := range m.raw {
		if m.schema.Properties[name] == nil {
			m.bad.at("/"+escapePointer(name), "is not a known field")
		}
	}
}

// refuse adds a problem with one member.
func (m *members) refuse(name, detail string) {
	if m.query != nil {
		m.bad.atParameter(name, detail)
		return
	}
	m.bad.at("/"+name, detail)
}

// add merges the problems of err, if it is one.
func (m *members) add(err error) {
	var p *problem
	switch {
	case err == nil:
	case errors.As(err, &p) && p.status == m.bad.status:
		m.bad.errors = append(m.bad.errors, p.errors...)
	default:
		m.refuse("", "cannot be read")
	}
}

// problem returns everything that was found wrong.
func (m *members) problem() error { return m.bad.orNil() }

// has reports whether the request has the member.
func (m *members) has(name string) bool {
	if m.query != nil {
		return len(m.query[name]) > 0
	}
	_, ok := m.raw[name]
	return ok
}

// member reads one small member, or returns nil where there is none.
func member[T any](m *members, name string) *T {
	schema := m.schema.Properties[name]
	if !m.has(name) || schema == nil {
		return nil
	}
	out := new(T)
	if m.query != nil {
		if !parseScalar(m.query[name][0], out) {
			m.refuse(name, outOfRange)
			return nil
		}
		return out
	}
	raw := m.raw[name]
	if len(raw) > maxSmallBody {
		m.refuse(name, "is longer than "+strconv.Itoa(maxSmallBody)+" bytes")
		return nil
	}
	if err := decodeStrict(raw, out, "/"+name, schema.Value); err != nil {
		m.add(err)
		return nil
	}
	return out
}

// parseScalar reads a query parameter that is within the contract.
func parseScalar(text string, into any) bool {
	var err error
	switch v := into.(type) {
	case *string:
		*v = text
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
	case *int32:
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		*v = int32(n)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
		return err == nil && !math.IsNaN(*v) && !math.IsInf(*v, 0)
	default:
		return false
	}
	return err == nil
}

// list reads a comma-separated query parameter.
func list[T any](m *members, name string) []T {
	if len(m.query[name]) == 0 {
		return nil
	}
	var out []T
	for part := range strings.SplitSeq(m.query[name][0], ",") {
		var v T
		if !parseScalar(part, &v) {
			m.refuse(name, outOfRange)
			return nil
		}
		out = append(out, v)
	}
	return out
}

// residual is one instance's keys without rows, as the contract spells it.
type residual struct {
	Instance *int32  `json:"instance"`
	Cost     float64 `json:"cost"`
	State    float64 `json:"state"`
	Keys     int64   `json:"keys"`
}

// residual reads the member of that name; the planner checks its values.
func (m *members) residual() []planner.Residual {
	if !m.has("residual") {
		return nil
	}
	if m.query != nil {
		return m.queriedResidual()
	}
	var in []residual
	if err := decodeStrict(m.raw["residual"], &in, "/residual", nil); err != nil {
		m.add(err)
		return nil
	}
	out := make([]planner.Residual, len(in))
	for i, r := range in {
		if r.Instance == nil {
			m.bad.at("/residual/"+strconv.Itoa(i)+"/instance", "is needed")
			continue
		}
		out[i] = planner.Residual{Instance: *r.Instance, Cost: r.Cost, State: r.State, Keys: r.Keys}
	}
	return out
}

// queriedResidual reads instance:cost:state:keys, comma-separated.
func (m *members) queriedResidual() []planner.Residual {
	out := []planner.Residual{}
	for _, text := range list[string](m, "residual") {
		var r planner.Residual
		parts := strings.Split(text, ":")
		if len(parts) != 4 || !parseScalar(parts[0], &r.Instance) || !parseScalar(parts[1], &r.Cost) ||
			!parseScalar(parts[2], &r.State) || !parseScalar(parts[3], &r.Keys) {
			m.refuse("residual", "must be instance:cost:state:keys, comma-separated")
			return nil
		}
		out = append(out, r)
	}
	return out
}

// inputProblem points an error of the planner at the row or member of the
// request that it is about.
func (st *statistics) inputProblem(err error) error {
	var input *planner.InputError
	if !errors.As(err, &input) {
		return err
	}
	if st.reports != nil {
		return st.mergedProblem(input)
	}
	if input.Row < 0 && st.query {
		if strings.HasPrefix(input.Field, "compact/") {
			return invalid().withParameter(compactParameter(input.Field), input.Detail)
		}
		name, _, _ := strings.Cut(input.Field, "/")
		return invalid().withParameter(name, input.Field+": "+input.Detail)
	}
	return invalid().with(st.document.Pointer(input.Row, input.Field), input.Detail)
}

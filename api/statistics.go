package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"plannerd/internal/planning"
	"plannerd/internal/statsio"
	"plannerd/planner"
)

const (
	howToSend = "This operation takes application/json, application/x-ndjson, text/csv and " + mediaArrow + ": " +
		"curl -H 'Content-Type: text/csv' --data-binary @statistics.csv."
	howToEncode = "This operation takes the Content-Encoding gzip and zstd: " +
		"gzip -c statistics.csv | curl -H 'Content-Type: text/csv' -H 'Content-Encoding: gzip' --data-binary @-."
)

// statisticsRequest is what a request says about one interval.
type statisticsRequest struct {
	planning.Statistics
	interval *int64   // nil: not said
	keys     keyCoder // how the request writes keys
	document *statsio.Document
	query    bool // members came as query parameters
	bare     bool // there are neither keys nor records
}

// readStatistics reads the rows of a request and returns what else it has.
// Members that are not in the contract are refused.
func (s *shared) readStatistics(w http.ResponseWriter, c *call) (*statisticsRequest, *members, error) {
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
	_, end := s.observer.Start(c.Context(), "decode", "plannerd.media_type", media)
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
	st := &statisticsRequest{document: doc, keys: keyCoder{base64: doc.Base64Keys()}, query: !isJSON}
	if st.Statistics.Statistics = doc.Stats; doc.Stats == nil {
		st.Statistics.Statistics, st.bare = &planner.Statistics{}, doc.Records == nil
	}
	m.refuseUnknown()
	st.readMembers(m)
	st.readCompact(m)
	st.Decode = s.now().Sub(begin)
	return st, m, nil
}

// needRows refuses a request without rows.
func (st *statisticsRequest) needRows(m *members) {
	if st.bare {
		m.bad.At("/keys", "is needed, or columns, or the records of compact")
	}
}

// inBodyOnly refuses query parameters beside a JSON body.
func inBodyOnly(query url.Values) error {
	p := invalid()
	for name := range query {
		p.AtParameter(name, "belongs into the body when that is application/json")
	}
	return p.OrNil()
}

// bulkBody returns the body of a request with many rows, and how to decode them,
// once there is memory for what it probably takes: until then nothing of it is
// read.
func (s *shared) bulkBody(w http.ResponseWriter, c *call, media string) (io.ReadCloser, statsio.Options, error) {
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
func (s *shared) decompressed(w http.ResponseWriter, c *call) (io.ReadCloser, error) {
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

func rowHint(header string) int {
	n, err := strconv.Atoi(header)
	if err != nil {
		return 0
	}
	return n
}

// readMembers reads what accompanies the rows of every request of statistics.
func (st *statisticsRequest) readMembers(m *members) {
	st.interval = member[int64](m, "interval")
	st.Interval, st.Epoch = or(st.interval, 0), or(member[int64](m, "epoch"), 0)
	st.TableVersion = member[int64](m, "table_version")
	coverage := or(member[string](m, "coverage"), "complete")
	st.Partial = coverage == "partial"
	_ = member[string](m, "key_encoding") // the decoder of the rows has acted on it
	if st.Residual = m.residual(); st.Residual != nil && !st.Partial {
		m.refuse("residual", "belongs to partial coverage only")
	}
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
			m.bad.At("/residual/"+strconv.Itoa(i)+"/instance", "is needed")
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

// problemOf points an error of the planner at the row or member of the request that it
// is about.
func (st *statisticsRequest) problemOf(err error) error {
	var input *planner.InputError
	if !errors.As(err, &input) {
		return err
	}
	if name := st.parameterOf(input); name != "" {
		detail := input.Detail
		if name != "compact_degree" && !strings.HasPrefix(input.Field, "compact/") {
			detail = input.Field + ": " + detail
		}
		return invalid().WithParameter(name, detail)
	}
	return invalid().With(st.document.Pointer(input.Row, input.Field), input.Detail)
}

// parameterOf is the query parameter that an input error is about; "": none is.
func (st *statisticsRequest) parameterOf(input *planner.InputError) string {
	switch {
	case input.Row >= 0 || !st.query:
		return ""
	case input.Field == "compact": // the records themselves are in the body
		if st.Compact == nil {
			return ""
		}
		return "compact_degree"
	case strings.HasPrefix(input.Field, "compact/"):
		return compactParameter(input.Field)
	}
	name, _, _ := strings.Cut(input.Field, "/")
	return name
}

// pointed points the problems of a refusal at the rows of the request.
func pointed(err error, pointer func(row int, field string) string) error {
	var refused *planning.Error
	if !errors.As(err, &refused) || len(refused.Problems) == 0 {
		return err
	}
	p := refusalProblem(refused)
	for i, one := range refused.Problems {
		if one.Field != "" {
			at := pointer(one.Row, one.Field)
			p.Errors[i].Pointer = &at
		}
	}
	return p
}

// parameterOf points an input error at a parameter.
func parameterOf(err error, name string) error {
	var input *planner.InputError
	if !errors.As(err, &input) {
		return err
	}
	return invalid().WithParameter(name, input.Detail)
}

// proposalRequest is what a plan is asked of.
type proposalRequest struct {
	*statisticsRequest
	proposal planning.Proposal
}

// readProposal reads statistics, or what is asked of reports.
func (s *shared) readProposal(w http.ResponseWriter, c *call) (proposalRequest, *members, error) {
	in, m, err := s.readStatisticsOrNone(w, c)
	if err != nil {
		return proposalRequest{}, nil, err
	}
	out := proposalRequest{statisticsRequest: in}
	if !in.bare {
		if m.has("missing") {
			m.refuse("missing", "is for plans made of reports: here are statistics")
		}
		return out, m, nil
	}
	for _, name := range []string{"table_version", "coverage", "residual"} {
		if m.has(name) {
			m.refuse(name, "is for statistics: reports say it for themselves")
		}
	}
	out.proposal.Reports = &planning.ReportsQuery{Missing: planning.MissingReports(or(member[string](m, "missing"), ""))}
	return out, m, nil
}

// readStatisticsOrNone is readStatistics, but the request may have no body: then
// everything is in the query.
func (s *shared) readStatisticsOrNone(w http.ResponseWriter, c *call) (*statisticsRequest, *members, error) {
	if c.ContentLength != 0 || c.Header.Get("Content-Type") != "" || !c.query.Has("interval") {
		return s.readStatistics(w, c)
	}
	m := &members{schema: c.bodySchema(), query: c.query, bad: invalid()}
	st := &statisticsRequest{document: &statsio.Document{}, query: true, bare: true}
	st.Statistics.Statistics = &planner.Statistics{}
	st.readMembers(m)
	st.readCompact(m)
	return st, m, nil
}

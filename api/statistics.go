package api

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"plannerd/compact"
	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

const howToSend = "This operation takes application/json, application/x-ndjson, text/csv and " + mediaArrow + ": " +
	"curl -H 'Content-Type: text/csv' --data-binary @statistics.csv."

// statisticsRequest is what a request says about one interval.
type statisticsRequest struct {
	scheme.Statistics
	*members
	document *input.Document
	names    *input.Names // of instances, that rows and the residual have
	bare     bool         // there are neither keys nor records
}

// formats are those of rows by their media types.
var formats = map[string]input.Format{
	mediaJSON: input.JSON, mediaNDJSON: input.NDJSON, mediaCSV: input.CSV, mediaArrow: input.Arrow,
}

// readStatistics reads the rows of a request and what it says besides. What else is
// wrong with it is left in its members. names are those of instances; nil: [statisticsRequest.identify]
// is told later.
func (s *shared) readStatistics(w http.ResponseWriter, c *call, names *instanceNames) (*statisticsRequest, error) {
	begin := s.now()
	st := &statisticsRequest{document: &input.Document{}, names: &input.Names{}}
	media, ok := contract.MediaType(c.Request)
	optional := !c.op.RequestBody.Value.Required && c.Query.Has("interval")
	var err error
	switch {
	case optional && c.ContentLength == 0 && c.Header.Get("Content-Type") == "": // everything is in the query
	case !ok || formats[media] == 0:
		return nil, httpkit.Unsupported(howToSend)
	default:
		if st.document, err = s.readRows(w, c, media, st.names); err != nil {
			return nil, err
		}
	}
	if !c.rowsAlone(media) {
		st.members = newMembers(c, st.document.Members)
	} else if st.members, err = queriedMembers(c, c.op.Body(), st.document.Records != nil); err != nil {
		return nil, err
	}
	if st.Statistics.Statistics = st.document.Stats; st.document.Stats == nil {
		st.Statistics.Statistics, st.bare = &planner.Statistics{}, st.document.Records == nil
	}
	if st.bare && media == mediaJSON {
		st.bad.Detail += c.otherNames(media, nil)
	}
	if err := st.readInterval(); err != nil {
		return nil, err
	}
	before := st.document.Bytes()
	st.readMembers()
	if err := c.memory.Reserve(st.document.Bytes() - before); err != nil { // resources that only the residual names
		return nil, err
	}
	st.readCompact()
	if names != nil {
		if err := st.identify(names); err != nil {
			return nil, err
		}
	}
	st.Decode = s.now().Sub(begin)
	return st, nil
}

// readRows reads the body of a request.
func (s *shared) readRows(w http.ResponseWriter, c *call, media string, names *input.Names) (*input.Document, error) {
	if !c.rowsAlone(media) {
		if err := c.inBodyOnly(); err != nil {
			return nil, err
		}
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	options.Instances = names
	_, end := s.observer.Start(c.Context(), "decode", "plannerd.media_type", media)
	doc, err := input.Decode(body, formats[media], options)
	end(err)
	if err != nil {
		return nil, c.rowsProblem(media, err)
	}
	return doc, c.decoded(doc.Bytes(), doc.Members)
}

// needRows refuses a request without rows.
func (st *statisticsRequest) needRows() {
	if st.bare {
		st.bad.At("/keys", "is needed, or columns, or the records of compact")
	}
}

// readInterval has the interval that rows name stand for the member, which must not say
// another one.
func (st *statisticsRequest) readInterval() error {
	named := st.document.Interval
	switch {
	case named == nil:
	case !st.has("interval"):
		st.raw["interval"] = strconv.AppendInt(nil, *named, 10)
	case string(st.raw["interval"]) != strconv.FormatInt(*named, 10):
		p := httpkit.Invalid()
		p.AtLine(st.document.Pointer(0, "interval"), st.document.Location(0, "").Line,
			"is "+strconv.FormatInt(*named, 10)+", but the request is about interval "+string(st.raw["interval"]))
		return p
	}
	return nil
}

// readMembers reads what accompanies the rows of every request of statistics.
func (st *statisticsRequest) readMembers() {
	st.Interval, st.Epoch = optional(st.members, "interval", int64(0)), optional(st.members, "epoch", int64(0))
	st.TableVersion = member[int64](st.members, "table_version")
	if st.TableOrigin = optional(st.members, "table_origin", ""); st.TableOrigin != "" && st.TableVersion == nil {
		st.refuse("table_origin", "belongs to a table_version, which is missing")
	}
	st.ConfigVersion = member[int64](st.members, "config_version")
	st.Partial = optional(st.members, "coverage", "complete") == "partial"
	_ = member[string](st.members, "key_encoding") // the decoder of the rows has acted on it
	if st.Residual = st.readResidual(); st.Residual != nil && !st.Partial {
		st.refuse("residual", "belongs to partial coverage only")
	}
}

// residual is one instance's keys without rows, as the contract spells it.
type residual struct {
	Instance *wire.InstanceRef  `json:"instance"`
	Cost     float64            `json:"cost"`
	State    float64            `json:"state"`
	Keys     int64              `json:"keys"`
	Costs    map[string]float64 `json:"costs"`
}

// readResidual reads the member of that name; the planner checks its values.
func (st *statisticsRequest) readResidual() []planner.Residual {
	if !st.has("residual") {
		return nil
	}
	var in []residual
	if err := contract.Decode(st.raw["residual"], &in, "/residual", nil); err != nil {
		st.add(err)
		return nil
	}
	out := make([]planner.Residual, len(in))
	for i, r := range in {
		if r.Instance == nil {
			st.refuse("residual/"+strconv.Itoa(i)+"/instance", "is needed")
			continue
		}
		id, detail := operator.IDOf(string(*r.Instance), operator.InstanceNames{})
		if code, ok := st.names.Code([]byte(*r.Instance)); ok && !operator.IsID(string(*r.Instance)) {
			id, detail = code, ""
		}
		if detail != "" {
			st.refuse("residual/"+strconv.Itoa(i)+"/instance", detail)
		}
		out[i] = planner.Residual{Instance: id, Cost: r.Cost, State: r.State, Keys: r.Keys}
	}
	st.readResidualCosts(in)
	return out
}

// readResidualCosts reads what the keys without rows take of resources.
func (st *statisticsRequest) readResidualCosts(in []residual) {
	for i, r := range in {
		for _, name := range slices.Sorted(maps.Keys(r.Costs)) {
			detail := "cannot be used beside compact records"
			if st.document.Records == nil {
				st.Costs, detail = input.WithResidual(st.Costs, st.Len(), len(in), i, name, r.Costs[name])
			}
			if detail != "" {
				st.refuse("residual/"+strconv.Itoa(i)+"/costs/"+name, detail)
			}
		}
	}
}

// compactForm is the member "compact", without its records.
type compactForm struct {
	Degree     *int     `json:"degree"`
	CostScale  *float64 `json:"cost_scale"`
	StateScale *float64 `json:"state_scale"`
}

// readCompact reads what the request says about the compact form: that of its
// records, or that to bring its keys into.
func (st *statisticsRequest) readCompact() {
	in := member[compactForm](st.members, "compact")
	var err error
	switch {
	case st.document.Records != nil:
		form := or(in, compactForm{})
		st.Records = &compact.Statistics{
			Records: st.document.Records, Scales: compact.Scales{Cost: or(form.CostScale, 1), State: or(form.StateScale, 1)},
			Degree: or(form.Degree, 0), Partial: st.Partial, Residual: st.Residual,
		}
		if st.Len() > 0 {
			st.Records.Named = st.Statistics.Statistics
		}
		if form.Degree != nil {
			err = parameters.CheckDegree(*form.Degree)
		}
	case in == nil:
	case in.Degree == nil:
		st.refuse("compact/degree", "is needed")
	default:
		st.Compact = &parameters.Compact{Degree: *in.Degree, CostScale: in.CostScale, StateScale: in.StateScale}
		err = st.Compact.Check()
	}
	if given := parameters.InputError(err); given != nil {
		st.refuse(given.Field, given.Detail)
	}
}

// instanceIn is the instance that a row names in a field, "" where it names none.
func (st *statisticsRequest) instanceIn(row int, field string) string {
	ids := map[string][]int32{"instance": st.Instance, "hash_instance": st.HashInstance}[field]
	if row -= st.Rows() - st.Len(); row < 0 || row >= len(ids) || ids[row] == planner.NoInstance {
		return ""
	}
	return strconv.Itoa(int(ids[row]))
}

// problemOf points an error of the planner at the row or member of the request that it
// is about.
func (st *statisticsRequest) problemOf(err error) error {
	given := parameters.InputError(err)
	switch {
	case given == nil:
		return err
	case given.Row >= 0:
		at := input.Problem{Detail: given.Detail, Location: st.document.Location(given.Row, given.Field)}
		at.Value = st.instanceIn(given.Row, given.Field)
		p := httpkit.Invalid()
		p.AtLine(st.document.Pointer(given.Row, given.Field), at.Line, at.Text())
		return p
	case !st.query, given.Field == "compact" && st.Compact == nil: // the records are in the body
		return httpkit.Invalid().With("/"+given.Field, given.Detail)
	}
	name, detail := parameterOf(given.Field), given.Detail
	if !strings.HasPrefix(given.Field, "compact") {
		detail = given.Field + ": " + detail
	}
	return httpkit.Invalid().WithParameter(name, detail)
}

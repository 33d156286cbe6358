package api

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"plannerd/api/wire"
	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/planner"
)

// whatIf answers what strategies and parameters would come to.
type whatIf struct{ *shared }

// whatIfResult is the result of one strategy and parameter set, without the
// sizes of the table and the lists, in the order of the contract.
type whatIfResult struct {
	Strategy   string              `json:"strategy"`
	Parameters planning.Parameters `json:"parameters"`
	Pareto     bool                `json:"pareto"`
	Migrates   planning.Migrates   `json:"migrates"`
	figures
	WorkUnits int64       `json:"work_units"`
	Timing    wire.Timing `json:"timing"`
}

func (s whatIf) post(w http.ResponseWriter, c *call) error {
	st, m, err := s.readStatistics(w, c)
	if err != nil {
		return err
	}
	st.needRows(m)
	in, err := readWhatIf(st, m, s.limits.PlanTime)
	if err != nil {
		return err
	}
	in.Memory = c.memory
	results, front, err := s.service.WhatIf(c.Context(), in)
	if err != nil {
		return st.problemOf(err)
	}
	answer, err := renderTrials(in, st.interval, results, front)
	if err != nil {
		return err
	}
	return httpkit.WriteStream(w, c.Request, http.StatusOK, mediaJSON, answer.write)
}

// readWhatIf reads what a what-if has beside its rows. longest is the greatest
// deadline.
func readWhatIf(st *statisticsRequest, m *members, longest time.Duration) (planning.WhatIf, error) {
	in := planning.WhatIf{Statistics: &st.Statistics, Lists: or(member[bool](m, "plans"), false)}
	operator, prefix := m.operator()
	if st.HashInstance != nil && (operator.Hash == nil || *operator.Hash == wire.Hash{}) {
		function := wire.HashFunctionReported
		operator.Hash = &wire.Hash{Function: &function}
	}
	if len(m.bad.Errors) == 0 {
		var err error
		if in.Configuration, err = readConfiguration(operator, prefix, longest); err != nil {
			m.addConfiguration(err)
		} else if in.Configuration.Scheme != planning.SchemeTable {
			m.bad.At(prefix+"/scheme", "must be table: a what-if plans routing tables")
		}
	}
	in.Table = m.routingTable(st, in.Configuration)
	in.Trials = m.trials(m.strategies(in.Configuration.Strategy), st.Over(in.Configuration.Parameters), longest)
	return in, m.problem()
}

// strategies reads the member of that name; the operator's own stands in for it.
func (m *members) strategies(fallback string) []string {
	if m.query != nil {
		return orOne(list[string](m, "strategies"), fallback)
	}
	return orOne(or(member[[]string](m, "strategies"), nil), fallback)
}

// operator reads the configuration, and tells where it stands in a JSON body.
func (m *members) operator() (operatorRequest, string) {
	if m.query == nil {
		if !m.has("operator") {
			m.refuse("operator", "is needed")
		}
		return or(member[operatorRequest](m, "operator"), operatorRequest{}), "/operator"
	}
	var out operatorRequest
	if n := queried[int32](m, "instances"); n != nil {
		out.Instances = wire.CountedInstances(int(*n))
	} else {
		m.refuse("instances", "is needed")
	}
	h := wire.Hash{
		TokensPerInstance: queried[int32](m, "tokens_per_instance"),
		MaxParallelism:    queried[int32](m, "max_parallelism"),
		Partitions:        queried[int32](m, "partitions"),
	}
	if f := queried[string](m, "hash_function"); f != nil {
		h.Function = (*wire.HashFunction)(f)
	}
	if t := queried[string](m, "key_type"); t != nil {
		h.KeyType = (*wire.KeyType)(t)
	}
	out.Hash = &h
	return out, ""
}

// queried reads a query parameter that is no member of a JSON body.
func queried[T any](m *members, name string) *T {
	if !m.has(name) {
		return nil
	}
	out := new(T)
	if !parseScalar(m.query[name][0], out) {
		m.refuse(name, outOfRange)
		return nil
	}
	return out
}

// addConfiguration adds what is wrong with the operator's configuration; in a
// query its fields are parameters.
func (m *members) addConfiguration(err error) {
	p := problemOf(err)
	for _, e := range p.Errors {
		if m.query == nil || e.Pointer == nil {
			m.bad.Errors = append(m.bad.Errors, e)
			continue
		}
		m.bad.AtParameter(queryName(*e.Pointer), e.Detail)
	}
}

// queryName is the query parameter that stands for a field of the configuration.
func queryName(pointer string) string {
	switch pointer {
	case "/hash/function":
		return "hash_function"
	case "/hash/assignment":
		return "partitions"
	}
	for _, prefix := range []string{"/hash/", "/"} {
		if len(pointer) > len(prefix) && pointer[:len(prefix)] == prefix {
			return pointer[len(prefix):]
		}
	}
	return pointer
}

// tableEntry is an entry of a routing table as the contract spells it.
type tableEntry struct {
	Key      *string `json:"key"`
	Instance *int32  `json:"instance"`
}

// routingTable reads the member of that name; nil when there is none.
func (m *members) routingTable(st *statisticsRequest, config planning.Configuration) *planner.RoutingTable {
	raw, ok := m.raw["routing_table"]
	if !ok {
		return nil
	}
	if len(config.Instances) == 0 { // refused already
		return nil
	}
	if st.Instance != nil || st.Records != nil {
		m.bad.At("/routing_table", "must not be given when rows carry instance, as compact records do")
		return nil
	}
	var in []tableEntry
	if err := decodeStrict(raw, &in, "/routing_table", nil); err != nil {
		m.add(err)
		return nil
	}
	entries := make([]planner.Entry, 0, len(in))
	for i, e := range in {
		at := "/routing_table/" + strconv.Itoa(i)
		if e.Key == nil || e.Instance == nil {
			m.bad.At(at, "needs key and instance")
			continue
		}
		key, ok := st.keys.decodeKey(*e.Key)
		switch {
		case !ok:
			m.bad.At(at+"/key", "must be in the encoding that key_encoding names")
		case len(key) == 0 || len(key) > planner.MaxKeyBytes:
			m.bad.At(at+"/key", fmt.Sprintf("must be 1 to %d bytes long", planner.MaxKeyBytes))
		case !config.Has(*e.Instance):
			m.bad.At(at+"/instance", "is not a known instance")
		default:
			entries = append(entries, planner.Entry{Key: key, Instance: *e.Instance})
		}
	}
	if len(entries) < len(in) {
		return nil
	}
	table, err := planner.NewRoutingTable(entries)
	var input *planner.InputError
	if errors.As(err, &input) { // the only error it has
		m.bad.At("/routing_table/"+strconv.Itoa(input.Row)+"/"+input.Field, input.Detail)
	}
	return table
}

// whatIfHead is an answer without its results, in the order of the contract.
type whatIfHead struct {
	Interval        *int64      `json:"interval,omitzero"`
	InputHash       string      `json:"input_hash"`
	PlannerRevision string      `json:"planner_revision"`
	KeyEncoding     string      `json:"key_encoding,omitzero"`
	Timing          wire.Timing `json:"timing"`
}

// whatIfText is the answer to a what-if, ready to be written: all that may fail has
// been done.
type whatIfText struct {
	head    []byte
	results []resultText
	keys    keyCoder
}

// resultText is one result; both objects are open.
type resultText struct {
	head, sizes []byte
	plan        *planning.PlanResult // nil: its lists are not asked for
}

// renderTrials renders the answer up to its lists; results are in the order of the
// trials.
func renderTrials(in planning.WhatIf, interval *int64, results []*planning.PlanResult, front []bool) (*whatIfText, error) {
	out, total := &whatIfText{results: make([]resultText, len(results))}, time.Duration(0)
	for i, p := range results {
		total += p.Took
		for _, h := range p.HotKeyList() {
			out.keys.see(h.Key)
		}
		if in.Lists {
			out.results[i].plan = p
			out.keys.base64 = out.keys.base64 || p.NeedsBase64()
		}
	}
	decode := planning.Milliseconds(in.Decode)
	var err error
	if out.head, err = openObject(whatIfHead{
		Interval: interval, InputHash: in.Hash(), PlannerRevision: planner.Revision, KeyEncoding: out.keys.member(),
		Timing: wire.Timing{DecodeMs: decode, PlanMs: planning.Milliseconds(total)},
	}); err != nil {
		return nil, err
	}
	for i, p := range results {
		r := &out.results[i]
		f, err := p.Figures()
		if err != nil {
			return nil, err
		}
		if r.head, err = openObject(whatIfResult{
			Strategy: p.Strategy, Parameters: in.Trials[i].Parameters, Pareto: front[i], Migrates: p.Migrates(),
			figures: figuresOut(f, p.HotKeyList(), out.keys), WorkUnits: p.WorkUnits,
			Timing: wire.Timing{DecodeMs: decode, PlanMs: planning.Milliseconds(p.Took)},
		}); err != nil {
			return nil, err
		}
		if r.sizes, err = openSizes(planning.SchemeTable, p.TableBefore, p.TableAfter); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *whatIfText) write(out *bufio.Writer) error {
	if err := httpkit.WriteAll(out, t.head, []byte(`,"results":[`)); err != nil {
		return err
	}
	for i, r := range t.results {
		if i > 0 {
			if err := out.WriteByte(','); err != nil {
				return err
			}
		}
		if err := r.write(out, t.keys); err != nil {
			return err
		}
	}
	_, err := out.WriteString("]}")
	return err
}

func (r resultText) write(out *bufio.Writer, keys keyCoder) error {
	if err := httpkit.WriteAll(out, r.head, r.sizes, []byte{'}'}); err != nil {
		return err
	}
	if r.plan == nil {
		return out.WriteByte('}')
	}
	if err := httpkit.WriteAll(out, []byte(`,"plan":{`), r.sizes[1:]); err != nil {
		return err
	}
	// The lists of one plan at a time are in memory.
	if err := writeLists(out, r.plan.Lists(), keys); err != nil {
		return err
	}
	_, err := out.WriteString("}}")
	return err
}

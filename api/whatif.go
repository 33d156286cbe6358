package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"plannerd/api/wire"
	"plannerd/planner"
)

// maxCombinations is the most plans of one what-if.
const maxCombinations = 256

// whatIfRequest is a what-if, ready to be planned.
type whatIfRequest struct {
	*statistics
	config configuration
	table  *planner.RoutingTable // nil: not given
	trials []trial
	plans  bool
	adjust func(*outcome) // done to each plan; nil: nothing
}

// whatIfResult is the outcome of one strategy and parameter set, without the
// sizes of the table and the lists, in the order of the contract.
type whatIfResult struct {
	Strategy   string        `json:"strategy"`
	Parameters parameters    `json:"parameters"`
	Pareto     bool          `json:"pareto"`
	Migrates   wire.Migrates `json:"migrates"`
	figures
	WorkUnits int64       `json:"work_units"`
	Timing    wire.Timing `json:"timing"`
}

func (s *server) whatIf(w http.ResponseWriter, c *call) error {
	st, m, err := s.readStatistics(w, c)
	if err != nil {
		return err
	}
	st.needRows(m)
	in, err := readWhatIf(st, m, s.limits.PlanTime)
	if err != nil {
		return err
	}
	answer, err := s.try(c, in, func() (*material, error) { return s.material(c.Context(), in) })
	if err != nil {
		return err
	}
	return writeStream(w, c.Request, http.StatusOK, "application/json", answer.write)
}

// try plans all that is to be tried, on what prepare makes of the statistics.
func (s *server) try(c *call, in *whatIfRequest, prepare func() (*material, error)) (*whatIfText, error) {
	loads := int64(len(in.trials)*len(in.config.Instances)) * loadBytes
	if err := c.memory.Settle(c.memory.Used() + in.planBytes() + loads); err != nil {
		return nil, err
	}
	trialled, err := prepare()
	switch {
	case c.Context().Err() != nil:
		return nil, c.Context().Err()
	case err != nil:
		return nil, in.inputProblem(err)
	}
	plans, took := make([]*outcome, len(in.trials)), make([]time.Duration, len(in.trials))
	for _, i := range in.byDegree() {
		begin := s.now()
		if plans[i], err = s.run(c.Context(), in.trials[i].strategy, trialled, in.trials[i].parameters); err != nil {
			return nil, in.inputProblem(err)
		}
		took[i] = s.now().Sub(begin)
		if in.adjust != nil {
			in.adjust(plans[i])
		}
		if err := c.memory.Reserve(plans[i].trialBytes(in.plans)); err != nil {
			return nil, err
		}
	}
	return in.render(plans, took)
}

// byDegree is an order of the trials in which those of one degree are together,
// so that no more than one compact form is in memory.
func (in *whatIfRequest) byDegree() []int {
	order := make([]int, len(in.trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in.trials[a].Compact.Degree, in.trials[b].Compact.Degree) })
	return order
}

// readWhatIf reads what a what-if has beside its rows. longest is the greatest
// deadline.
func readWhatIf(st *statistics, m *members, longest time.Duration) (*whatIfRequest, error) {
	in := &whatIfRequest{statistics: st, plans: or(member[bool](m, "plans"), false)}
	operator, prefix := m.operator()
	if st.HashInstance != nil && (operator.Hash == nil || *operator.Hash == wire.Hash{}) {
		function := wire.HashFunctionReported
		operator.Hash = &wire.Hash{Function: &function}
	}
	if len(m.bad.errors) == 0 {
		var err error
		if in.config, err = normalise(operator, prefix, longest); err != nil {
			m.addConfiguration(err)
		} else if in.config.Scheme != wire.SchemeTable {
			m.bad.at(prefix+"/scheme", "must be table: a what-if plans routing tables")
		}
	}
	in.table = m.routingTable(st, in.config)
	in.trials = m.trials(m.strategies(in.config.Strategy), st.over(in.config.parameters), longest)
	if err := m.problem(); err != nil {
		return nil, err
	}
	return in, nil
}

// strategies reads the member of that name; the operator's own stands in for it.
func (m *members) strategies(fallback string) []string {
	if m.query != nil {
		return orOne(list[string](m, "strategies"), fallback)
	}
	return orOne(or(member[[]string](m, "strategies"), nil), fallback)
}

// operator reads the configuration, and tells where it stands in a JSON body.
func (m *members) operator() (wire.OperatorConfiguration, string) {
	if m.query == nil {
		if !m.has("operator") {
			m.refuse("operator", "is needed")
		}
		return or(member[wire.OperatorConfiguration](m, "operator"), wire.OperatorConfiguration{}), "/operator"
	}
	var out wire.OperatorConfiguration
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
	for _, e := range p.errors {
		if m.query == nil || e.Pointer == nil {
			m.bad.errors = append(m.bad.errors, e)
			continue
		}
		m.bad.atParameter(queryName(*e.Pointer), e.Detail)
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
func (m *members) routingTable(st *statistics, config configuration) *planner.RoutingTable {
	raw, ok := m.raw["routing_table"]
	if !ok {
		return nil
	}
	if len(config.Instances) == 0 { // refused already
		return nil
	}
	if st.Instance != nil || st.records != nil {
		m.bad.at("/routing_table", "must not be given when rows carry instance, as compact records do")
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
			m.bad.at(at, "needs key and instance")
			continue
		}
		key, ok := st.keys.decodeKey(*e.Key)
		switch {
		case !ok:
			m.bad.at(at+"/key", "must be in the encoding that key_encoding names")
		case len(key) == 0 || len(key) > planner.MaxKeyBytes:
			m.bad.at(at+"/key", fmt.Sprintf("must be 1 to %d bytes long", planner.MaxKeyBytes))
		case !config.has(*e.Instance):
			m.bad.at(at+"/instance", "is not a known instance")
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
		m.bad.at("/routing_table/"+strconv.Itoa(input.Row)+"/"+input.Field, input.Detail)
	}
	return table
}

// material is what all trials plan on.
func (s *server) material(ctx context.Context, in *whatIfRequest) (*material, error) {
	text, err := in.config.encode()
	if err != nil {
		return nil, err
	}
	p, err := s.placement.get(ctx, text)
	if err != nil {
		return nil, err
	}
	return newMaterial(in.statistics, p.planner, planner.Base{Configuration: p.planner, Table: in.table, Stop: ended(ctx)})
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
	plan        *outcome // nil: its lists are not asked for
}

// render renders the answer up to its lists; plans are in the order of the trials.
func (in *whatIfRequest) render(plans []*outcome, took []time.Duration) (*whatIfText, error) {
	out, compared := &whatIfText{results: make([]resultText, len(plans))}, make([]*planner.Plan, len(plans))
	total := time.Duration(0)
	for i, p := range plans {
		total += took[i]
		compared[i] = p.Plan
		for _, h := range hotKeysOf(p) {
			out.keys.see(h.Key)
		}
		if in.plans {
			out.results[i].plan = p
			p.see(&out.keys)
		}
	}
	var err error
	if out.head, err = openObject(whatIfHead{
		Interval: in.interval, InputHash: inputHash(in.statistics), PlannerRevision: planner.Revision, KeyEncoding: out.keys.member(),
		Timing: wire.Timing{DecodeMs: milliseconds(in.decode), PlanMs: milliseconds(total)},
	}); err != nil {
		return nil, err
	}
	pareto := planner.ParetoFront(compared)
	for i, p := range plans {
		r := &out.results[i]
		if r.head, err = in.result(p, pareto[i], in.trials[i].parameters, took[i], out.keys); err != nil {
			return nil, err
		}
		if r.sizes, err = openSizes(wire.SchemeTable, p.TableBefore, p.TableAfter); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *whatIfText) write(out *bufio.Writer) error {
	if err := writeAll(out, t.head, []byte(`,"results":[`)); err != nil {
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
	if err := writeAll(out, r.head, r.sizes, []byte{'}'}); err != nil {
		return err
	}
	if r.plan == nil {
		return out.WriteByte('}')
	}
	// The lists of one plan at a time are in memory.
	l := lists{changes: r.plan.changes(), migrations: r.plan.migrations()}
	if err := writeAll(out, []byte(`,"plan":{`), r.sizes[1:]); err != nil {
		return err
	}
	if err := l.writeChange(out, keys); err != nil {
		return err
	}
	if err := l.writeMigrations(out, keys); err != nil {
		return err
	}
	_, err := out.WriteString("}}")
	return err
}

// result returns one result as an object that is still open.
func (in *whatIfRequest) result(p *outcome, pareto bool, values parameters, took time.Duration, keys keyCoder) ([]byte, error) {
	f, err := figuresOf(p)
	if err != nil {
		return nil, err
	}
	return openObject(whatIfResult{
		Strategy: p.Strategy, Parameters: values, Pareto: pareto, Migrates: migrates(p.classes != nil), figures: figuresOut(f, hotKeysOf(p), keys),
		WorkUnits: p.WorkUnits, Timing: wire.Timing{DecodeMs: milliseconds(in.decode), PlanMs: milliseconds(took)},
	})
}

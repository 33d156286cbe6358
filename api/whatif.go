package api

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
)

// whatIf answers what strategies and parameters would come to.
type whatIf struct{ *shared }

// whatIfResult is the result of one strategy and parameter set, without the
// sizes of the table and the lists, in the order of the contract.
type whatIfResult struct {
	Strategy   string              `json:"strategy"`
	Parameters operator.Parameters `json:"parameters"`
	Instances  int                 `json:"target_instances,omitzero"`
	Pareto     bool                `json:"pareto"`
	Migrates   scheme.Migrates     `json:"migrates"`
	planFigures
	WorkUnits int64       `json:"work_units"`
	Timing    wire.Timing `json:"timing"`
}

func (s whatIf) post(w http.ResponseWriter, c *call) error {
	c.memory.Open() // as of an analysis
	st, err := s.readStatistics(w, c, nil)
	if err != nil {
		return err
	}
	in, err := readWhatIf(st, s.limits.PlanTime)
	if err != nil {
		return err
	}
	if in.Lists && c.media == mediaCSV {
		st.refuse("plans", listsInCSV)
		return st.problem()
	}
	in.Memory = c.memory
	results, front, err := s.service.WhatIf(c.Context(), in)
	if err != nil {
		return st.problemOf(err)
	}
	return writeTrials(w, c, in, member[int64](st.members, "interval"), results, front)
}

const listsInCSV = "has lists, for which there is no place in CSV: ask for application/x-ndjson"

// readWhatIf reads what a what-if has beside its rows. longest is the greatest
// deadline.
func readWhatIf(st *statisticsRequest, longest time.Duration) (propose.WhatIf, error) {
	in := propose.WhatIf{Statistics: &st.Statistics, Lists: optional(st.members, "plans", false)}
	st.needRows()
	if !st.has("operator") {
		st.refuse("operator", "is needed")
	}
	if text := optional(st.members, "operator", jsontext.Value(nil)); len(st.bad.Errors) == 0 {
		var err error
		if in.Configuration, err = readConfiguration(text, "/operator", st.defaultHash(text), longest,
			operator.InstanceNames{}); err != nil {
			st.add(err)
		} else if in.Configuration.Scheme != operator.SchemeTable {
			st.refuse("operator/scheme", "must be table: a what-if plans routing tables")
		}
	}
	if err := st.identify(namesIn(in.Configuration)); err != nil && len(st.bad.Errors) == 0 {
		return in, err
	}
	in.Table = st.routingTable(in.Configuration)
	own := in.Configuration
	in.Trials = readTrials(st.members, st.Records != nil, own, own.Strategy, st.Over(own.Parameters), longest)
	st.checkTargets(in)
	st.checkInstances(in)
	return in, st.problem()
}

// checkInstances refuses rows that are of fewer instances than the configuration: where nothing
// is said of the number that keys are on now, they are placed by the wrong hash, and the
// answer is far off. Several instances without a key, those of the highest ids, of which
// there are enough rows, hardly come about otherwise.
func (st *statisticsRequest) checkInstances(in propose.WhatIf) {
	all := in.Configuration.Instances
	if st.Partial || st.Instance == nil || len(in.Targets()) > 0 || st.Len() < 10*len(all) {
		return
	}
	used := map[int32]bool{}
	for _, id := range st.Instance {
		used[id] = true
	}
	n := len(all)
	for n > 0 && !used[all[n-1].ID] {
		n--
	}
	if used[planner.NoInstance] || n < 2 || n == len(all) || len(used) != n {
		return
	}
	target := "parameters.instances"
	now, then := "operator.instances "+strconv.Itoa(n), target+" "+strconv.Itoa(len(all))
	if st.query {
		now, then, target = fmt.Sprintf("instances=%d", n), fmt.Sprintf("target_instances=%d", len(all)), "target_instances"
	}
	st.refuse("operator/instances", fmt.Sprintf("is %d, and the rows are on %d: to plan for %d instances in place of %d "+
		"ask %s and %s; if the others are there and have no key, say %s beside %[1]d",
		len(all), n, len(all), n, now, then, target))
}

// checkTargets refuses numbers of instances for which nothing can be planned.
func (m *members) checkTargets(in propose.WhatIf) {
	const field = "parameters/instances"
	for _, n := range in.Targets() {
		target := in.Trials[0].Target
		target.Instances = n
		_, err := operator.Retargeted(in.Configuration, target)
		input := parameters.InputError(err)
		switch {
		case in.Records != nil:
			m.refuse(field, "is for statistics of keys: compact records do not tell where other instances' keys are at home")
		case in.Partial:
			m.refuse(field, "needs complete statistics: partial ones do not tell what moves")
		case input != nil:
			m.refuse(field, fmt.Sprintf("of %d: %s %s", n, input.Field, input.Detail))
		default:
			continue
		}
		return
	}
}

// defaultHash is the hash function of a configuration that says nothing of it.
func (st *statisticsRequest) defaultHash(text jsontext.Value) string {
	var said struct {
		Hash map[string]jsontext.Value `json:"hash"`
	}
	if err := json.Unmarshal(text, &said); err == nil && len(said.Hash) == 0 && st.HashInstance != nil {
		return partitioner.Reported
	}
	return partitioner.Ring
}

// tableEntry is an entry of a routing table as the contract spells it.
type tableEntry struct {
	Key      *string           `json:"key"`
	Instance *wire.InstanceRef `json:"instance"`
	Parts    []part            `json:"parts"`
}

// part is one of the instances of a split key.
type part struct {
	Instance int32 `json:"instance"`
	Weight   int32 `json:"weight"`
}

// parts are those of the entry; known tells whether all their instances are.
func (e tableEntry) parts(config operator.Configuration) (parts []planner.Part, known bool) {
	for _, x := range e.Parts {
		if !config.Has(x.Instance) {
			return nil, false
		}
		parts = append(parts, planner.Part(x))
	}
	return parts, true
}

// routingTable reads the member of that name; nil when there is none.
func (st *statisticsRequest) routingTable(config operator.Configuration) *planner.RoutingTable {
	raw, ok := st.raw["routing_table"]
	if !ok {
		return nil
	}
	if len(config.Instances) == 0 { // refused already
		return nil
	}
	if st.Instance != nil || st.Records != nil && st.Len() == 0 {
		st.refuse("routing_table", "must not be given when rows carry instance, as compact records do")
		return nil
	}
	var in []tableEntry
	if err := contract.Decode(raw, &in, "/routing_table", nil); err != nil {
		st.add(err)
		return nil
	}
	names := namesIn(config)
	entries := make([]planner.Entry, 0, len(in))
	for i, e := range in {
		at := "routing_table/" + strconv.Itoa(i)
		if e.Key == nil || e.Instance == nil {
			st.refuse(at, "needs key and instance")
			continue
		}
		key, ok := keyCoder{st.document.Base64Keys}.decodeKey(*e.Key)
		parts, known := e.parts(config)
		id, _ := names.id(string(*e.Instance))
		switch {
		case !known:
			st.refuse(at+"/parts", "must name known instances")
		case !ok:
			st.refuse(at+"/key", "must be in the encoding that key_encoding names")
		case len(key) == 0 || len(key) > planner.MaxKeyBytes:
			st.refuse(at+"/key", fmt.Sprintf("must be 1 to %d bytes long", planner.MaxKeyBytes))
		case st.Records != nil && !st.Names(key):
			st.refuse(at+"/key", "must be one of keys: which keys compact records are of is not known")
		case !config.Has(id):
			st.refuse(at+"/instance", "is not a known instance")
		default:
			entries = append(entries, planner.Entry{Key: key, Instance: id, Parts: parts})
		}
	}
	if len(entries) < len(in) {
		return nil
	}
	table, err := planner.NewRoutingTable(entries)
	if input := parameters.InputError(err); input != nil { // the only error it has
		st.refuse("routing_table/"+strconv.Itoa(input.Row)+"/"+input.Field, input.Detail)
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

// resultText is one result.
type resultText struct {
	figures       whatIfResult
	before, after int64          // entries of the table
	head          []byte         // open
	sizes         []byte         // a member of the head, open
	plan          *scheme.Result // nil: its lists are not asked for
}

// writeTrials answers with results, which are in the order of the trials.
func writeTrials(
	w http.ResponseWriter, c *call, in propose.WhatIf, interval *int64, results []*scheme.Result, front []bool,
) error {
	answer, err := renderTrials(in, interval, results, front)
	if err != nil {
		return err
	}
	write, media := answer.write, mediaJSON
	switch c.media {
	case mediaNDJSON:
		write, media = answer.writeLines, streamType(w, mediaNDJSON, answer.keys)
	case mediaCSV:
		write, media = answer.writeCSV, streamType(w, mediaCSV, keyCoder{})
	}
	return httpkit.WriteStream(w, c.Request, http.StatusOK, media, write)
}

// renderTrials renders the answer up to its lists.
func renderTrials(
	in propose.WhatIf, interval *int64, results []*scheme.Result, front []bool,
) (*whatIfText, error) {
	out, total := &whatIfText{results: make([]resultText, len(results))}, time.Duration(0)
	for i, p := range results {
		total += p.Took
		seeNamed(figures.NamedKeys{Hot: p.HotKeyList(), Split: p.SplitKeys()}, &out.keys)
		if in.Lists {
			out.results[i].plan = p
			out.keys.base64 = out.keys.base64 || p.NeedsBase64()
		}
	}
	timing := func(took time.Duration) wire.Timing {
		return wire.Timing{DecodeMs: propose.Milliseconds(in.Decode), PlanMs: propose.Milliseconds(took)}
	}
	var err error
	if out.head, err = openObject(whatIfHead{
		Interval: interval, InputHash: in.Hash(), PlannerRevision: planner.Revision, KeyEncoding: out.keys.member(),
		Timing: timing(total),
	}); err != nil {
		return nil, err
	}
	for i, p := range results {
		f, err := p.Figures()
		if err != nil {
			return nil, err
		}
		balanced := &f.Balanced
		if in.Trials[i].Splitting.Expects(f.Merges) {
			balanced = nil
		}
		shown, err := figuresOut(f, balanced, figures.NamedKeys{Hot: p.HotKeyList(), Split: p.SplitKeys()}, out.keys)
		if err != nil {
			return nil, err
		}
		r := &out.results[i]
		r.before, r.after = p.TableBefore, p.TableAfter
		r.sizes = appendSizes(nil, operator.SchemeTable, p.TableBefore, p.TableAfter)
		r.figures = whatIfResult{
			Strategy: p.Strategy, Parameters: in.Trials[i].Parameters, Instances: in.Trials[i].Instances, Pareto: front[i],
			Migrates:    p.Migrates(),
			planFigures: shown, WorkUnits: p.WorkUnits, Timing: timing(p.Took),
		}
		if r.head, err = openObject(r.figures); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *whatIfText) write(out *bufio.Writer) error {
	a, separator := answer{out, t.keys}, `,"results":[`
	a.text(t.head)
	for _, r := range t.results {
		if err := a.end(separator); err != nil {
			return err
		}
		separator = ","
		a.result(&r)
	}
	return a.end("]}")
}

// result writes a result as an object.
func (a answer) result(r *resultText) {
	a.text(r.head)
	a.text(r.sizes)
	a.text([]byte("}"))
	if r.plan != nil {
		a.text([]byte(`,"plan":{`))
		a.text(r.sizes[1:])
		a.plan(r.plan.Lists()) // those of one plan at a time are in memory
		a.text([]byte("}"))
	}
	a.text([]byte("}"))
}

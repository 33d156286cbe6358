package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/foresight"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/planner/partitioner"
	"plannerd/planner/policy"
)

const howToBacktest = "This operation takes application/json, and application/x-ndjson, text/csv and " + mediaArrow +
	", whose rows name their interval: curl -H 'Content-Type: text/csv' --data-binary @intervals.csv."

// settings are where a configuration has what the query of a backtest says.
var settings = map[string]string{
	"hash_function": "hash/function", "tokens_per_instance": "hash/tokens_per_instance",
	"max_parallelism": "hash/max_parallelism", "key_type": "hash/key_type", "partitions": "hash/partitions",
	"affinity_tag": "hash/affinity/tag", "affinity_until": "hash/affinity/until", "affinity_count": "hash/affinity/count",
	"theta_max": "theta_max", "table_limit": "table_limit", "entry_grace": "entry_grace", "balance_worth": "balance_worth",
}

// intervalsRequest is a backtest of intervals that come in the body.
type intervalsRequest struct {
	operator.Configuration
	history  *backtest.History
	policies []policy.Policy
}

// backtestIntervals answers what policies would have come to over the intervals of the body.
func (s analysesOf) backtestIntervals(w http.ResponseWriter, c *call) error {
	read := s.readRowsOfIntervals
	media, ok := contract.MediaType(c.Request)
	if ok && !c.rowsAlone(media) {
		read = s.readIntervalsJSON
	} else if !ok || formats[media] == 0 {
		return httpkit.Unsupported(howToBacktest)
	}
	in, err := read(w, c, media)
	if err != nil {
		return err
	}
	a := &analysisAnswer{w: w, lines: c.media == mediaNDJSON, now: s.now}
	var report *backtest.Report
	err = s.service.Analyse(c.Context(), "backtest", func(ctx context.Context) (err error) {
		report, err = s.service.BacktestRows(ctx, in.Configuration, in.history, foresight.Backtest{
			Policies: in.policies, Memory: c.memory,
			Progress: func(done, total int64) { a.progress("planning", done, total) },
		})
		return err
	})
	if err != nil {
		return s.failed(c, a, aboutRows(err))
	}
	return a.result(report)
}

// readRowsOfIntervals reads a body of rows, and what the query says.
func (s analysesOf) readRowsOfIntervals(w http.ResponseWriter, c *call, media string) (*intervalsRequest, error) {
	config, err := s.backtestConfiguration(c)
	if err != nil {
		return nil, err
	}
	c.memory.Open() // as of an analysis
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	window, ok := c.Values()["window"].(int64)
	if !ok {
		window = drive.DefaultWindow
	}
	options.Instances = &input.Names{}
	identify := func(doc *input.Document) error {
		return cmp.Or(namesIn(config).document(doc, options.Instances, ""), group(doc, config, ""))
	}
	history, err := s.readIntervals(c, media, input.NewStream(body, formats[media], options), identify, int(window))
	return &intervalsRequest{Configuration: config, history: history}, err
}

// readIntervalsJSON reads a request that is all in its body.
func (s analysesOf) readIntervalsJSON(w http.ResponseWriter, c *call, media string) (*intervalsRequest, error) {
	if err := c.inBodyOnly(); err != nil {
		return nil, err
	}
	c.memory.Open() // as of an analysis
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var docs []*input.Document
	var numbers []int64
	bytes := int64(0)
	options.Instances = &input.Names{}
	raw, err := input.DecodeIntervals(body, options, func(interval int64, doc *input.Document) error {
		docs, numbers = append(docs, doc), append(numbers, interval)
		bytes += doc.Bytes()
		return c.memory.Settle(bytes)
	})
	if err != nil {
		return nil, readProblem(c.Context(), err)
	}
	if err := c.decoded(bytes, raw); err != nil {
		return nil, err
	}
	in, window, err := s.readBacktest(newMembers(c, raw), len(docs))
	if err != nil {
		return nil, err
	}
	in.history = backtest.NewHistory(window)
	in.history.Reserve = c.memory.Reserve
	for i, doc := range docs {
		at := "/intervals/" + strconv.Itoa(i)
		err := cmp.Or(namesIn(in.Configuration).document(doc, options.Instances, at), group(doc, in.Configuration, at))
		if err == nil {
			err = addInterval(in.history, numbers[i], doc, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// readBacktest reads what a JSON body has beside so many intervals.
func (s analysesOf) readBacktest(m *members, intervals int) (*intervalsRequest, int, error) {
	if !m.has("operator") {
		m.refuse("operator", "is needed")
	}
	if intervals == 0 {
		m.refuse("intervals", "is needed, with one document at least")
	}
	in := &intervalsRequest{policies: optional(m, "policies", []policy.Policy(nil))}
	m.add(checkPolicies(in.policies))
	if text := optional(m, "operator", jsontext.Value(nil)); len(m.bad.Errors) == 0 {
		var err error
		if in.Configuration, err = readConfiguration(text, "/operator", partitioner.Ring, s.limits.PlanTime,
			operator.InstanceNames{}); err != nil {
			m.add(err)
		} else if in.Scheme != operator.SchemeTable {
			m.refuse("operator/scheme", "must be table: a backtest plans routing tables")
		}
	}
	window := optional(m, "window", int64(drive.DefaultWindow))
	return in, int(window), m.problem()
}

// backtestConfiguration is what the query says of the operator.
func (s analysesOf) backtestConfiguration(c *call) (operator.Configuration, error) {
	m := &members{query: true, bad: httpkit.Invalid()}
	tree := map[string]any{}
	for name, value := range c.Values() {
		switch field, known := settings[name]; {
		case name == "instances":
			m.putInstances(tree, c.Query.Get(name))
		case known:
			put(tree, "operator/"+field, value)
		}
	}
	text, err := json.Marshal(tree["operator"])
	if err != nil {
		return operator.Configuration{}, err
	}
	var within jsontext.Value
	err = contract.Decode(text, &within, "/operator", c.op.Component("OperatorConfiguration"))
	if m.add(err); err != nil {
		return operator.Configuration{}, m.problem()
	}
	config, err := readConfiguration(within, "/operator", partitioner.Ring, s.limits.PlanTime,
		operator.InstanceNames{})
	m.add(err)
	return config, m.problem()
}

// readIntervals reads the intervals of a body. identify has ids stand for the names of instances.
func (s analysesOf) readIntervals(
	c *call, media string, in *input.Stream, identify func(*input.Document) error, window int,
) (*backtest.History, error) {
	h := backtest.NewHistory(window)
	h.Reserve = c.memory.Reserve
	for read := int64(0); ; {
		interval, doc, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return h, nil
		case err != nil:
			return nil, c.rowsProblem(media, err)
		}
		read += doc.Bytes()
		if err := c.memory.Settle(read + h.Bytes()); err != nil {
			return nil, err
		}
		if err := identify(doc); err != nil {
			return nil, err
		}
		if err := addInterval(h, interval, doc, ""); err != nil {
			return nil, err
		}
	}
}

// group adds up the rows of a document, which stands at a place of the body, that have the same routed key.
func group(doc *input.Document, c operator.Configuration, place string) error {
	if c.Hash.Affinity.IsZero() {
		return nil
	}
	err := doc.Group(c.Hash.Affinity, func(id int32) string { return strconv.Itoa(int(id)) })
	if wrong, ok := errors.AsType[*input.Error](err); ok {
		return httpkit.Invalid().With(place+wrong.Problems[0].Pointer, wrong.Problems[0].Detail)
	}
	return err
}

// addInterval adds a document, which stands at a place of the body, to a history.
func addInterval(h *backtest.History, interval int64, doc *input.Document, place string) error {
	if doc.Records != nil {
		return httpkit.Invalid().With(place, "has compact records; a backtest needs keys")
	}
	for name := range doc.Members {
		if name != "interval" && name != "key_encoding" {
			return httpkit.Invalid().With(place+string(jsontext.Pointer("").AppendToken(name)), "is not known")
		}
	}
	err := h.Add(interval, doc.Stats)
	if given := parameters.InputError(err); given != nil && given.Row >= 0 {
		return httpkit.Invalid().With(place+doc.Pointer(given.Row, given.Field), given.Detail)
	}
	return aboutRows(err)
}

// aboutRows refuses rows that do not fit each other or the operator.
func aboutRows(err error) error {
	if given := parameters.InputError(err); given != nil {
		return httpkit.Invalid().With("", given.Error())
	}
	return err
}

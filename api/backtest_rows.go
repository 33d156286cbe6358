package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/backtest"
	"plannerd/internal/contract"
	"plannerd/internal/httpkit"
	"plannerd/internal/parameters"
	"plannerd/internal/planning"
	"plannerd/internal/statsio"
	"plannerd/planner/partitioner"
)

const howToBacktest = "This operation takes application/x-ndjson, text/csv and " + mediaArrow +
	", whose rows name their interval: curl -H 'Content-Type: text/csv' --data-binary @intervals.csv."

// streamFormats are those of bodies with several intervals.
var streamFormats = map[string]statsio.Format{
	mediaNDJSON: statsio.NDJSON, mediaCSV: statsio.CSV, mediaArrow: statsio.Arrow,
}

// settings are where a configuration has what the query of a backtest says.
var settings = map[string]string{
	"hash_function": "hash/function", "tokens_per_instance": "hash/tokens_per_instance",
	"max_parallelism": "hash/max_parallelism", "key_type": "hash/key_type", "partitions": "hash/partitions",
	"theta_max": "theta_max", "table_limit": "table_limit", "entry_grace": "entry_grace",
}

// backtestRows answers what policies would have come to over the intervals of the body.
func (s analysesOf) backtestRows(w http.ResponseWriter, c *call) error {
	media, ok := contract.MediaType(c.Request)
	format, known := streamFormats[media]
	if !ok || !known {
		return httpkit.Unsupported(howToBacktest)
	}
	config, err := s.backtestConfiguration(c)
	if err != nil {
		return err
	}
	c.memory.Open() // as of an analysis
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return err
	}
	defer body.Close()
	window, ok := c.Values()["window"].(int64)
	if !ok {
		window = backtest.DefaultWindow
	}
	history, err := s.readIntervals(c, statsio.NewStream(body, format, options), int(window))
	if err != nil {
		return err
	}
	a := &analysisAnswer{w: w, lines: c.media == mediaNDJSON, now: s.now}
	var report *backtest.Report
	err = s.service.Analyse(c.Context(), "backtest", func(ctx context.Context) (err error) {
		report, err = s.service.BacktestRows(ctx, config, history, planning.Backtest{
			Memory: c.memory, Progress: func(done, total int64) { a.progress("planning", done, total) },
		})
		return err
	})
	if err != nil {
		return s.failed(c, a, aboutRows(err))
	}
	return a.result(report)
}

// backtestConfiguration is what the query says of the operator.
func (s analysesOf) backtestConfiguration(c *call) (planning.Configuration, error) {
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
		return planning.Configuration{}, err
	}
	var within jsontext.Value
	err = contract.Decode(text, &within, "/operator", c.op.Component("OperatorConfiguration"))
	if m.add(err); err != nil {
		return planning.Configuration{}, m.problem()
	}
	config, err := readConfiguration(within, "/operator", partitioner.Ring, s.limits.PlanTime)
	m.add(err)
	return config, m.problem()
}

// readIntervals reads the intervals of a body.
func (s analysesOf) readIntervals(c *call, in *statsio.Stream, window int) (*backtest.History, error) {
	h := backtest.NewHistory(window)
	h.Reserve = c.memory.Reserve
	for read := int64(0); ; {
		interval, doc, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return h, nil
		case err != nil:
			return nil, readProblem(c.Context(), err)
		case doc.Records != nil:
			return nil, httpkit.Invalid().With("", "has compact records; a backtest needs keys")
		}
		read += doc.Bytes()
		if err := c.memory.Settle(read + h.Bytes()); err != nil {
			return nil, err
		}
		err = h.Add(interval, doc.Stats)
		if input := parameters.InputError(err); input != nil && input.Row >= 0 {
			return nil, httpkit.Invalid().With(doc.Pointer(input.Row, input.Field), input.Detail)
		} else if err != nil {
			return nil, aboutRows(err)
		}
	}
}

// aboutRows refuses rows that do not fit each other or the operator.
func aboutRows(err error) error {
	if input := parameters.InputError(err); input != nil {
		return httpkit.Invalid().With("", input.Error())
	}
	return err
}

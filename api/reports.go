package api

import (
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/intake"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// reports answers what is asked about the reports of instances.
type reports struct{ *shared }

// reporter names who reports, and for which interval.
type reporter struct {
	Operator string
	Interval int64
	Instance int32
}

func (s reports) put(w http.ResponseWriter, c *call) error {
	names := s.namesOf(c.Context(), c.param("operator"))
	if err := names.parameters(c); err != nil {
		return err
	}
	var by reporter
	c.Decode(&by)
	check := func() error {
		return aboutParameter(s.service.CheckReporter(c.Context(), by.Operator, by.Instance), "instance")
	}
	if c.Header.Get("If-Match") != "" || c.Header.Get("If-None-Match") != "" {
		return &httpkit.PreconditionError{Detail: "A report has no ETag, as the last one that an instance sends counts: " +
			"send it without If-Match and If-None-Match."}
	}
	if c.idempotent == nil { // else an earlier answer comes first
		if err := check(); err != nil { // before a large body is read
			return err
		}
	}
	in, err := s.readReport(w, c, by, names)
	if err != nil {
		return err
	}
	answer := func(r intake.ReportReceipt) (*reply, error) { return reportReply(by.Operator, r) }
	type receipt = intake.ReportReceipt
	return once(s.shared, w, c, answer, func(held *claim.Claim[receipt]) (r receipt, err error) {
		if c.idempotent != nil {
			if err := check(); err != nil {
				return r, err
			}
		}
		r, err = s.service.PutReport(c.Context(), by.Operator, by.Instance, &in.Statistics, held)
		return r, in.problemOf(err)
	})
}

// reportReply is the answer once a report is stored.
func reportReply(operator string, r intake.ReportReceipt) (*reply, error) {
	status := http.StatusOK
	if r.Created {
		status = http.StatusCreated
	}
	body, err := json.Marshal(wire.Report{
		Operator: operator, Epoch: r.Epoch, Interval: r.Interval, Instance: r.Instance,
		TableVersion: r.TableVersion, Rows: r.Rows, Received: r.Received, Missing: r.Missing,
	})
	return &reply{status: status, Body: string(body)}, err
}

// readReport reads the report of an instance.
func (s reports) readReport(w http.ResponseWriter, c *call, by reporter, names *instanceNames) (
	*statisticsRequest, error) {
	in, err := s.readStatistics(w, c, names)
	if err != nil {
		return nil, err
	}
	in.readInPlace(by)
	if in.Compact != nil {
		in.refuse("compact/records", "is needed: a report has keys or records, and says nothing of how keys are compacted")
	}
	if in.has("interval") && in.Interval != by.Interval {
		in.refuse("interval", "must be that of the path, "+strconv.FormatInt(by.Interval, 10))
	}
	in.Interval = by.Interval
	other := "must be " + strconv.Itoa(int(by.Instance)) + ", the instance that reports"
	for i, d := range in.reporters() {
		if d != planner.NoInstance && d != by.Instance && len(in.bad.Errors) < httpkit.MaxFieldErrors {
			in.bad.AtLine(in.document.Pointer(i, "instance"), in.document.Location(i, "instance").Line, other)
		}
	}
	in.Instance = nil
	for i, r := range in.Residual {
		if r.Instance != by.Instance {
			in.refuse("residual/"+strconv.Itoa(i)+"/instance", other)
		}
	}
	err = in.problem()
	return in, err
}

// readInPlace reads what stands in place of keys, if anything does.
func (st *statisticsRequest) readInPlace(by reporter) {
	queue := member[float64](st.members, "queue")
	switch {
	case !st.has("queue"):
		st.readSketch(by.Interval)
	case !st.bare || st.has("sketch"):
		st.refuse("queue", "cannot be sent together with keys, columns, the records of compact or a sketch")
	case queue != nil:
		st.ofQueues([]planner.Residual{{Instance: by.Instance, Cost: *queue}})
	}
}

// readSketch reads a sketch, if there is one, else wants keys.
func (st *statisticsRequest) readSketch(interval int64) {
	text := member[[]byte](st.members, "sketch")
	st.Since = member[int64](st.members, "since")
	switch {
	case text == nil && st.Since != nil:
		st.refuse("since", "belongs to a sketch")
	case text == nil:
		st.needRows()
		return
	case !st.bare:
		st.refuse("sketch", "cannot be sent together with keys, columns or the records of compact")
	case st.Partial:
		st.refuse("coverage", "must be complete: a sketch is of all keys")
	case st.Since != nil && *st.Since >= interval:
		st.refuse("since", "must be an interval before")
	}
	if text != nil {
		st.Sketch = *text
	}
}

// reporters yields the instances that rows or records name.
func (st *statisticsRequest) reporters() iter.Seq2[int, int32] {
	if st.Records == nil {
		return slices.All(st.Instance)
	}
	return func(yield func(int, int32) bool) {
		for i, r := range st.Records.Records {
			if !yield(i, r.Current) {
				return
			}
		}
		for i, d := range st.Instance {
			if !yield(len(st.Records.Records)+i, d) {
				return
			}
		}
	}
}

func (s reports) list(w http.ResponseWriter, c *call) error {
	var of struct {
		Operator        string
		Epoch, Interval int64
	}
	c.Decode(&of)
	found, err := s.service.Reports(c.Context(), of.Operator, of.Epoch, of.Interval)
	if err != nil {
		return err
	}
	var lost *[]int32
	if found.Lost != nil {
		lost = &found.Lost
	}
	return httpkit.WriteJSON(w, http.StatusOK, wire.ReportList{
		Operator: of.Operator, Epoch: of.Epoch, Interval: of.Interval,
		Received: receivedReports(found.Received), Missing: found.Missing, Last: receivedReports(found.Last),
		Lost: lost,
	})
}

func receivedReports(reports []service.Report) []wire.ReceivedReport {
	out := make([]wire.ReceivedReport, len(reports))
	for i, r := range reports {
		out[i] = wire.ReceivedReport{
			Instance: r.Instance, Interval: r.Interval, Rows: r.Rows, TableVersion: r.TableVersion, At: r.At.UTC(),
		}
	}
	return out
}

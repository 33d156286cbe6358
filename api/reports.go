package api

import (
	"net/http"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/planner"
)

// reports answers what is asked about the reports of instances.
type reports struct{ *shared }

func (s reports) put(w http.ResponseWriter, c *call) error {
	instance, err := pathNumber[int32](c, "instance")
	if err != nil {
		return err
	}
	name := c.param("operator")
	reporter := func(err error) error { return parameterOf(err, "instance") }
	if c.idempotent == nil { // else an earlier answer comes first
		if err := s.service.CheckReporter(c.Context(), name, instance); err != nil { // before a large body is read
			return reporter(err)
		}
	}
	in, err := s.readReport(w, c, instance)
	if err != nil {
		return err
	}
	answer := func(r planning.ReportReceipt) (*reply, error) { return reportReply(name, r) }
	claim, err := begin(s.shared, c, answer)
	if err != nil {
		return err
	}
	if c.idempotent != nil {
		if err := s.service.CheckReporter(c.Context(), name, instance); err != nil {
			return reporter(err)
		}
	}
	receipt, err := s.service.PutReport(c.Context(), name, instance, &in.Statistics, claim)
	if err != nil {
		return in.problemOf(err)
	}
	return finish(w, c, receipt, answer)
}

// reportReply is the answer once a report is stored.
func reportReply(operator string, r planning.ReportReceipt) (*reply, error) {
	status := http.StatusOK
	if r.Created {
		status = http.StatusCreated
	}
	return jsonReply(status, "", wire.Report{
		Operator: operator, Epoch: r.Epoch, Interval: r.Interval, Instance: r.Instance, TableVersion: r.TableVersion, Rows: r.Rows,
		Received: r.Received, Missing: r.Missing,
	})
}

// readReport reads the report of an instance.
func (s reports) readReport(w http.ResponseWriter, c *call, instance int32) (*statisticsRequest, error) {
	in, m, err := s.readStatistics(w, c)
	if err != nil {
		return nil, err
	}
	if in.Records != nil {
		where := "/compact"
		if in.query {
			where = "/0/count"
		}
		return nil, invalid().With(where, "a report names keys: compact records are for statistics that come whole")
	}
	in.needRows(m)
	interval, err := pathNumber[int64](c, "interval")
	if err != nil {
		return nil, err
	}
	if in.interval != nil && *in.interval != interval {
		m.refuse("interval", "must be that of the path, "+strconv.FormatInt(interval, 10))
	}
	in.Interval = interval
	other := "must be " + strconv.Itoa(int(instance)) + ", the instance that reports"
	for i, d := range in.Instance {
		if d != planner.NoInstance && d != instance && len(m.bad.Errors) < httpkit.MaxFieldErrors {
			m.bad.At(in.document.Pointer(i, "instance"), other)
		}
	}
	in.Instance = nil
	if err := m.problem(); err != nil {
		return nil, err
	}
	for i, r := range in.Residual {
		if r.Instance != instance {
			return nil, in.problemOf(&planner.InputError{Row: -1, Field: "residual/" + strconv.Itoa(i) + "/instance", Detail: other})
		}
	}
	return in, nil
}

func (s reports) list(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	interval, err := pathNumber[int64](c, "interval")
	if err != nil {
		return err
	}
	epoch := int64(0)
	if text := c.query.Get("epoch"); text != "" && !parseScalar(text, &epoch) {
		return invalid().WithParameter("epoch", outOfRange)
	}
	found, err := s.service.Reports(c.Context(), name, epoch, interval)
	if err != nil {
		return err
	}
	return httpkit.WriteJSON(w, http.StatusOK, wire.ReportList{
		Operator: name, Epoch: epoch, Interval: interval,
		Received: receivedReports(found.Received), Missing: found.Missing, Last: receivedReports(found.Last),
	})
}

func receivedReports(reports []planning.Report) []wire.ReceivedReport {
	out := make([]wire.ReceivedReport, len(reports))
	for i, r := range reports {
		out[i] = wire.ReceivedReport{
			Instance: r.Instance, Interval: r.Interval, Rows: r.Rows, TableVersion: r.TableVersion, At: r.At.UTC(),
		}
	}
	return out
}

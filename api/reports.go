package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// Defaults of an operator's reports.
const (
	defaultMissing   = wire.Fail
	defaultReportAge = 3
)

// reportOptions say what a plan made of reports does about missing ones.
type reportOptions struct {
	Missing wire.MissingReports `json:"missing"`
	MaxAge  int64               `json:"max_age"`
}

func reportOptionsOf(in wire.ReportOptions) reportOptions {
	return reportOptions{Missing: or(in.Missing, defaultMissing), MaxAge: or(in.MaxAge, defaultReportAge)}
}

// keepReports is how many reports of each instance are kept; 0: all.
func (c configuration) keepReports() int {
	if c.Retention.Inputs == 0 {
		return 0
	}
	return max(c.Retention.Inputs, int(min(c.Reports.MaxAge, math.MaxInt32-1))+1)
}

// reporters tell which instances report for themselves.
type reporters struct{ newest, pinned *placement }

func (s *server) reporters(ctx context.Context, op store.Operator) (r reporters, err error) {
	if r.newest, err = s.placement.get(ctx, op.Config); err != nil {
		return r, err
	}
	r.pinned, err = s.pinned(ctx, op)
	return r, err
}

// known reports whether an instance may report.
func (r reporters) known(id int32) bool { return r.pinned.has(id) || r.newest.has(id) }

// standing splits the last reports up to an interval into those of the interval
// itself and the last ones of instances that are missing. Those that have to
// report are the instances that the committed table pins: no others hold keys.
// Reports of instances that are known no more say nothing.
func (r reporters) standing(last []store.Report, interval int64) (received, late []store.Report, missing []int32) {
	has := make(map[int32]bool, len(last))
	for _, one := range last {
		switch {
		case one.Interval == interval && r.known(one.Instance):
			received = append(received, one)
			has[one.Instance] = true
		case r.pinned.has(one.Instance):
			late = append(late, one)
		}
	}
	missing = []int32{}
	for _, d := range r.pinned.Instances {
		if !has[d.ID] {
			missing = append(missing, d.ID)
		}
	}
	return received, late, missing
}

func instancesOf(reports []store.Report) []int32 {
	out := make([]int32, len(reports))
	for i, r := range reports {
		out[i] = r.Instance
	}
	return out
}

// pathNumber reads a number of the path, which is within the contract.
func pathNumber[T int32 | int64](c *call, name string) (T, error) {
	var v T
	if !parseScalar(c.param(name), &v) {
		return 0, invalid().withParameter(name, outOfRange)
	}
	return v, nil
}

func (s *server) putReport(w http.ResponseWriter, c *call) error {
	instance, err := pathNumber[int32](c, "instance")
	if err != nil {
		return err
	}
	var told reportTold
	if c.once == nil { // else an earlier answer comes first
		if told, err = s.reporting(c, instance); err != nil { // before a large body is read
			return err
		}
	}
	in, err := s.readReport(w, c, instance)
	if err != nil {
		return err
	}
	if err := s.begin(c, func(out store.Outcome) (*reply, error) { return told.reply(out) }); err != nil {
		return err
	}
	if c.once != nil {
		if told, err = s.reporting(c, instance); err != nil {
			return err
		}
	}
	return s.takeReport(w, c, &told, in)
}

// reportTold is the answer to a report, and what it goes by.
type reportTold struct {
	wire.Report
	reporters
	op store.Operator
}

// reporting finds out whether an instance may report.
func (s *server) reporting(c *call, instance int32) (t reportTold, err error) {
	name := c.param("operator")
	t.Operator, t.Instance = name, instance
	if t.op, err = s.store.Operator(c.Context(), name); err != nil {
		return t, aboutOperator(name, err)
	}
	if t.reporters, err = s.reporters(c.Context(), t.op); err != nil {
		return t, err
	}
	if !t.known(instance) {
		return t, invalid().withParameter("instance", "is not a known instance")
	}
	return t, nil
}

// reply is the answer once the store has the report.
func (t reportTold) reply(out store.Outcome) (*reply, error) {
	received, _, missing := t.standing(out.Reports, t.Interval)
	t.Received, t.Missing = instancesOf(received), missing
	status := http.StatusOK
	if out.Created {
		status = http.StatusCreated
	}
	return jsonReply(status, "", t.Report)
}

// takeReport stores a report.
func (s *server) takeReport(w http.ResponseWriter, c *call, told *reportTold, in *statistics) error {
	name := told.Operator
	if err := s.store.CheckInterval(c.Context(), name, in.epoch, *in.interval); err != nil {
		return aboutOperator(name, closed(err))
	}
	if err := told.admit(in, told.op.TableVersion); err != nil {
		return err
	}
	data, err := s.encodeReport(c.Context(), told.reporters, in)
	if err != nil {
		return err
	}
	told.Epoch, told.Interval, told.Rows, told.TableVersion = in.epoch, *in.interval, int64(in.Len()), or(in.tableVersion, told.op.TableVersion)
	last, created, err := s.store.PutReport(c.Context(), name, store.Report{
		Epoch: told.Epoch, Interval: told.Interval, Instance: told.Instance, TableVersion: told.TableVersion, Rows: told.Rows, At: s.now(),
	}, data, told.newest.keepReports())
	if err != nil {
		return aboutOperator(name, closed(err))
	}
	return s.finish(w, c, func() (*reply, error) { return told.reply(store.Outcome{Reports: last, Created: created}) })
}

// closed tells that an interval takes no more reports, if that is what err says.
func closed(err error) error {
	switch {
	case errors.Is(err, store.ErrIntervalPlanned):
		return conflict(wire.CodeReportClosed, "The interval has a plan: its reports are no longer taken.")
	case errors.Is(err, store.ErrIntervalOutdated):
		return conflict(wire.CodeReportClosed, "A newer interval was planned already: reports of this one are no longer taken.")
	}
	return err
}

// readReport reads the report of an instance.
func (s *server) readReport(w http.ResponseWriter, c *call, instance int32) (*statistics, error) {
	in, m, err := s.readStatistics(w, c)
	if err != nil {
		return nil, err
	}
	if in.records != nil {
		where := "/compact"
		if in.query {
			where = "/0/count"
		}
		return nil, invalid().with(where, "a report names keys: compact records are for statistics that come whole")
	}
	in.needRows(m)
	interval, err := pathNumber[int64](c, "interval")
	if err != nil {
		return nil, err
	}
	if in.interval != nil && *in.interval != interval {
		m.refuse("interval", "must be that of the path, "+strconv.FormatInt(interval, 10))
	}
	in.interval = &interval
	other := "must be " + strconv.Itoa(int(instance)) + ", the instance that reports"
	for i, d := range in.Instance {
		if d != planner.NoInstance && d != instance && len(m.bad.errors) < maxFieldErrors {
			m.bad.at(in.document.Pointer(i, "instance"), other)
		}
	}
	in.Instance = nil
	if err := m.problem(); err != nil {
		return nil, err
	}
	for i, r := range in.Residual {
		if r.Instance != instance {
			return nil, in.inputProblem(&planner.InputError{Row: -1, Field: "residual/" + strconv.Itoa(i) + "/instance", Detail: other})
		}
	}
	return in, nil
}

// admit refuses reports that no plan can be made of.
func (r reporters) admit(in *statistics, committed int64) error {
	if in.ahead(committed) {
		return tableAhead(*in.tableVersion, committed)
	}
	if in.Partial && r.newest.Scheme != wire.SchemeTable {
		return incompleteForScheme(r.newest.Scheme)
	}
	return nil
}

// smallReport is how many rows a report may have that waits for no slot.
const smallReport = 1 << 14

// encodeReport checks the rows of a report and returns it as the store keeps it.
func (s *server) encodeReport(ctx context.Context, r reporters, in *statistics) ([]byte, error) {
	if in.Len() > smallReport { // hashing and sorting many keys keeps a processor busy
		release, err := take(ctx, s.slots)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	target := r.newest.planner
	if r.newest.Scheme == wire.SchemeRanges { // there is no hash, and keys may be anything
		target.Hash = owners{{Low: []byte{}, Follower: target.Instances[0].ID}}.placed()
	}
	if _, err := planner.NewSnapshot(in.Statistics, target, planner.Base{Configuration: r.pinned.planner, IgnoreInstances: true}); err != nil {
		return nil, in.inputProblem(err)
	}
	return statsio.EncodeReport(in.Statistics), nil
}

func (s *server) listReports(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	interval, err := pathNumber[int64](c, "interval")
	if err != nil {
		return err
	}
	epoch := int64(0)
	if text := c.query.Get("epoch"); text != "" && !parseScalar(text, &epoch) {
		return invalid().withParameter("epoch", outOfRange)
	}
	op, err := s.store.Operator(c.Context(), name)
	if err != nil {
		return aboutOperator(name, err)
	}
	r, err := s.reporters(c.Context(), op)
	if err != nil {
		return err
	}
	last, err := s.store.Reports(c.Context(), name, epoch, interval)
	if err != nil {
		return aboutOperator(name, err)
	}
	received, late, missing := r.standing(last, interval)
	return writeStatus(w, http.StatusOK, wire.ReportList{
		Operator: name, Epoch: epoch, Interval: interval, Received: receivedReports(received), Missing: missing, Last: receivedReports(late),
	})
}

func receivedReports(reports []store.Report) []wire.ReceivedReport {
	out := make([]wire.ReceivedReport, len(reports))
	for i, r := range reports {
		out[i] = wire.ReceivedReport{
			Instance: r.Instance, Interval: r.Interval, Rows: r.Rows, TableVersion: r.TableVersion, At: r.At.UTC(),
		}
	}
	return out
}

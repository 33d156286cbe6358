package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/compact"
	"plannerd/internal/input/merging"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/table"
	"plannerd/internal/service/schemes"
	"plannerd/planner"
	"plannerd/store"
)

// reporters tell which instances report for themselves.
type reporters struct{ newest, pinned *reading.Placement }

// reporters reads an operator, and which instances report for it.
func (s *Intake) reporters(ctx context.Context, name string) (op store.Operator, of reporters, err error) {
	if op, err = s.StoredOperator(ctx, name); err != nil {
		return op, of, err
	}
	if of.newest, err = s.Newest(ctx, op); err != nil {
		return op, of, err
	}
	if of.pinned, err = s.Pinned(ctx, op); err != nil || of.pinned.Batches == nil {
		return op, of, err
	}
	if last, err := table.LastInForce(ctx, s.Reader, op); err != nil || last == nil || !figures.CutShort(*last) {
		return op, of, err
	}
	entries, err := s.RoutingTable(ctx, op)
	if err == nil {
		of.pinned = of.pinned.Knowing(entries)
	}
	return op, of, err
}

// known reports whether an instance may report.
func (r reporters) known(id int32) bool { return r.pinned.Has(id) || r.newest.Has(id) }

// split splits the last reports up to an interval into those of the interval itself and
// the last ones of instances that are missing. Those that have to report are the
// instances that the committed table pins or names: no others hold keys. Reports of instances
// that are known no more say nothing.
func (r reporters) split(last []store.Report, interval int64) (received, late []store.Report, missing []int32) {
	has := make(map[int32]bool, len(last))
	for _, one := range last {
		switch {
		case one.Interval == interval && r.known(one.Instance):
			received = append(received, one)
			has[one.Instance] = true
		case r.pinned.Has(one.Instance):
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

// lost returns which of the missing instances are gone: whose last report is older than
// the lease. One without any report of the epoch has none.
func (r reporters) lost(late []store.Report, missing []int32, now time.Time) []int32 {
	if r.newest.Reports.Lease == nil {
		return nil
	}
	since := now.Add(-time.Duration(*r.newest.Reports.Lease))
	var out []int32
	for _, one := range late {
		if slices.Contains(missing, one.Instance) && !one.At.After(since) {
			out = append(out, one.Instance)
		}
	}
	return out
}

func instancesOf(reports []store.Report) []int32 {
	out := make([]int32, len(reports))
	for i, r := range reports {
		out[i] = r.Instance
	}
	return out
}

// ReportReceipt says that a report is stored, and how its interval stands.
type ReportReceipt struct {
	store.Report
	Received, Missing []int32 // instances
	Created           bool    // it does not replace another
}

// CheckReporter refuses instances that may not report.
func (s *Intake) CheckReporter(ctx context.Context, name string, instance int32) error {
	_, _, err := s.reporter(ctx, name, instance)
	return err
}

func (s *Intake) reporter(ctx context.Context, name string, instance int32) (store.Operator, reporters, error) {
	op, r, err := s.reporters(ctx, name)
	if err == nil && !r.known(instance) {
		err = planner.Invalid("instance", "is not a known instance")
	}
	return op, r, err
}

// PutReport stores the report of an instance.
func (s *Intake) PutReport(
	ctx context.Context, name string, instance int32, st *scheme.Statistics, held *claim.Claim[ReportReceipt],
) (ReportReceipt, error) {
	op, r, err := s.reporter(ctx, name, instance)
	if err != nil {
		return ReportReceipt{}, err
	}
	if err := s.Store.CheckInterval(ctx, name, st.Epoch, st.Interval); err != nil {
		return ReportReceipt{}, refusal.AboutOperator(name, closed(err))
	}
	if err := st.OfCommitted(op); err != nil {
		return ReportReceipt{}, err
	}
	if err := st.ByConfiguration(op.ConfigVersion); err != nil {
		return ReportReceipt{}, err
	}
	if st.Partial && !st.Queues {
		if err := schemes.Named(r.newest.Scheme).AdmitPartial(); err != nil {
			return ReportReceipt{}, err
		}
	}
	data, rows, err := s.encodeReport(ctx, name, r, instance, st)
	if err != nil {
		return ReportReceipt{}, err
	}
	if st.Rows() > 0 && st.Records != nil {
		if err := s.checkForm(ctx, op, r, instance, st); err != nil {
			return ReportReceipt{}, err
		}
	}
	if st.Records != nil || st.Sketch != nil || len(st.Costs) > 0 {
		form := store.FormReports
		switch {
		case len(st.Costs) > 0:
			form = store.FormResources
		case stored.NamesKeys(data):
			form = store.FormNamedKeys
		}
		if err := s.RequireForms(ctx, form); err != nil {
			return ReportReceipt{}, err
		}
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return ReportReceipt{}, refusal.AboutStore(err)
	}
	report := store.Report{
		Epoch: st.Epoch, Interval: st.Interval, Instance: instance, TableVersion: op.TableVersion,
		Rows: int64(rows), At: now,
	}
	if st.TableVersion != nil {
		report.TableVersion = *st.TableVersion
	}
	receipt := func(last []store.Report, created bool) ReportReceipt {
		received, _, missing := r.split(last, st.Interval)
		return ReportReceipt{Report: report, Received: instancesOf(received), Missing: missing, Created: created}
	}
	ctx = held.Completing(ctx, func(out store.Outcome) (ReportReceipt,
		error) {
		return receipt(out.Reports, out.Created), nil
	})
	last, created, err := s.Store.PutReport(ctx, name, report, data, r.newest.KeptReports())
	if err != nil {
		return ReportReceipt{}, refusal.AboutOperator(name, closed(err))
	}
	return receipt(last, created), nil
}

// closed tells that an interval takes no more reports, if that is what err says.
func closed(err error) error {
	switch {
	case errors.Is(err, store.ErrIntervalPlanned):
		return refusal.New(refusal.ReportClosed, "The interval has a plan: its reports are no longer accepted.")
	case errors.Is(err, store.ErrIntervalOutdated):
		return refusal.New(refusal.ReportClosed,
			"A newer interval was planned already: reports of this one are no longer accepted.")
	}
	return err
}

// smallReport is how many rows a report may have that waits for no slot.
const smallReport = 1 << 14

// encodeReport checks the rows of a report and returns it as the store keeps it.
func (s *Intake) encodeReport(
	ctx context.Context, name string, r reporters, instance int32, st *scheme.Statistics,
) (blob []byte, rows int, err error) {
	switch {
	case st.Sketch != nil:
		return s.encodeSketch(ctx, name, r, instance, st)
	case st.Queues:
		return merging.EncodeReport(st.Statistics), 0, r.newest.TakesQueues("queue")
	}
	blob, err = s.encodeRows(ctx, r, st)
	return blob, st.Rows(), err
}

func (s *Intake) encodeRows(ctx context.Context, r reporters, st *scheme.Statistics) ([]byte, error) {
	if st.Rows() > smallReport { // hashing and sorting many keys keeps a processor busy
		release, err := s.Turn(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if st.Records != nil && r.newest.Hash.Affinity.IsZero() {
		return encodeRecords(r, st)
	}
	all, err := st.Grouped(r.newest.Hash.Affinity, false)
	if err != nil {
		return nil, err
	}
	target := r.newest.Model
	target.Hash = schemes.Named(r.newest.Scheme).RowHash(r.newest)
	if _, err := planner.NewSnapshot(all.Statistics, target,
		planner.Base{Configuration: r.pinned.Model, IgnoreInstances: true}); err != nil {
		return nil, all.InRows(err)
	}
	return merging.EncodeReport(all.Statistics), nil
}

// encodeRecords checks the records of a report and returns them as the store keeps them.
func encodeRecords(r reporters, st *scheme.Statistics) ([]byte, error) {
	if r.newest.Scheme != operator.SchemeTable {
		return nil, planner.Invalid("compact", operator.MeansNothing(r.newest.Scheme)+", where statistics are of keys")
	}
	if r.newest.Resources != nil {
		return nil, planner.Invalid("compact", operator.OneCost)
	}
	_, err := compact.NewClasses(st.Records, r.newest.Model, planner.Base{Configuration: r.pinned.Model})
	if err != nil {
		return nil, err
	}
	return merging.EncodeCompactReport(st.Records), nil
}

// checkForm refuses records of another form than those that another instance has reported
// for the interval: records are planned on together. It looks at one report, as that one
// was held against the others.
func (s *Intake) checkForm(ctx context.Context, op store.Operator, r reporters, instance int32,
	st *scheme.Statistics) error {
	last, err := s.Store.Reports(ctx, op.Name, st.Epoch, st.Interval)
	if err != nil {
		return refusal.AboutOperator(op.Name, err)
	}
	received, _, _ := r.split(last, st.Interval)
	received = slices.DeleteFunc(received, func(o store.Report) bool { return o.Instance == instance || o.Rows == 0 })
	if len(received) == 0 {
		return nil
	}
	other := slices.MinFunc(received, func(a, b store.Report) int { return cmp.Compare(a.Rows, b.Rows) })
	data, err := s.Store.ReportData(ctx, op.Name, other.Revision)
	if errors.Is(err, store.ErrNotFound) { // it was replaced meanwhile; the plan holds them against each other
		return nil
	}
	if err != nil {
		return refusal.AboutOperator(op.Name, err)
	}
	if !stored.IsCompact(data) {
		return planner.Invalid("compact", fmt.Sprintf(
			"is of records, but instance %d has reported keys for the interval", other.Instance))
	}
	of, _, err := stored.DecodeCompactBeside(data)
	if err != nil {
		return fmt.Errorf("reading the report of instance %d: %w", other.Instance, err)
	}
	said := func(field string, same bool, value any) error {
		return planner.Require(same, "compact/"+field,
			fmt.Sprintf("must be %v, as instance %d has reported for the interval", value, other.Instance))
	}
	return cmp.Or(said("degree", of.Degree == st.Records.Degree, of.Degree),
		said("cost_scale", of.Scales.Cost == st.Records.Scales.Cost, of.Scales.Cost),
		said("state_scale", of.Scales.State == st.Records.Scales.State, of.Scales.State))
}

// IntervalReports are the reports that an interval has.
type IntervalReports struct {
	Received []store.Report // of the interval
	Last     []store.Report // of instances that are missing: the last ones
	Missing  []int32
	Lost     []int32 // those of the missing ones whose lease has run out
}

// Reports tells which instances have reported an interval.
func (s *Intake) Reports(ctx context.Context, name string, epoch, interval int64) (IntervalReports, error) {
	_, r, err := s.reporters(ctx, name)
	if err != nil {
		return IntervalReports{}, err
	}
	last, err := s.Store.Reports(ctx, name, epoch, interval)
	if err != nil {
		return IntervalReports{}, refusal.AboutOperator(name, err)
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return IntervalReports{}, refusal.AboutStore(err)
	}
	received, late, missing := r.split(last, interval)
	return IntervalReports{received, late, missing, r.lost(late, missing, now)}, nil
}

// Intake takes in what is known of intervals.
type Intake struct {
	*History
	// MaxRows is how many rows the reports of an interval may have together.
	MaxRows int
}

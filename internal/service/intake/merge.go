package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/internal/input/merging"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/layout"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// MergedReports are the statistics that the reports of an interval make. A nil one
// stands for statistics that came whole.
type MergedReports struct {
	*scheme.Statistics

	Last     []store.Report // as the store listed them
	received []store.Report
	carried  []store.Report
	frozen   []int32
	lost     []int32
	stale    bool  // only sketches and queues may be carried
	drifted  int64 // keys in several reports that nobody else counts
}

// Merge reads the reports that a plan is asked of, and merges them.
func (s *Intake) Merge(ctx context.Context, b *scheme.Base, in Proposal) (*MergedReports, error) {
	begin, m := s.Now(), &MergedReports{}
	var err error
	if m.Last, err = s.Store.Reports(ctx, b.Op.Name, in.Epoch, in.Interval); err != nil {
		return nil, refusal.AboutOperator(b.Op.Name, err)
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return nil, refusal.AboutStore(err)
	}
	if err := m.choose(b, in.Interval, cmp.Or(in.Reports.Missing, b.Newest.Reports.Missing), now); err != nil {
		return nil, err
	}
	reports, err := s.readReports(ctx, b, m, in.Memory)
	if err != nil {
		return nil, err
	}
	if ok, err := m.mergeSketches(in, reports); ok || err != nil { // these say nothing of where keys are
		return m, err
	}
	if b.Newest.Scheme == operator.SchemeRing {
		if ok, err := m.mergeQueues(in, reports); ok || err != nil {
			return m, err
		}
	}
	if m.stale {
		return nil, schemes.Named(b.Newest.Scheme).AdmitPartial()
	}
	if err := m.admit(b); err != nil {
		return nil, err
	}
	if err := s.refuseOlderHomes(ctx, b, m); err != nil {
		return nil, err
	}
	release, err := s.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if merging.AnyCompact(reports) {
		err = m.mergeCompact(ctx, b, in, reports)
		return m, err
	}
	merged, err := merging.MergeReports(ctx, reports, m.frozen, schemes.Named(b.Newest.Scheme).Place(b))
	if err != nil {
		return nil, reportsDiffer(err)
	}
	// How long the keys are, and what they take of resources, shows only now. Few reports are merged at a time.
	amounts := merged.Len() * reading.AmountBytes * len(merged.Costs)
	if err := in.Memory.Reserve(int64(merged.Keys.Bytes() + amounts)); err != nil {
		return nil, err
	}
	st := *in.Statistics
	if !b.Newest.Splitting.Expires() { // all that is elsewhere moves, idle or not
		for i := range merged.Shares {
			merged.Shares[i].Idle = false
		}
	}
	st.Statistics, st.Decode = merged.Statistics, st.Decode+s.Now().Sub(begin)
	if !b.Newest.Hash.Affinity.IsZero() {
		st.Affinity = &figures.Affinity{RoutedKeys: int64(st.Len())}
		for _, one := range slices.Concat(m.received, m.carried) {
			st.Affinity.Keys += one.Rows
		}
	}
	m.Statistics, m.drifted = &st, merged.Drifted
	if b.Newest.Pkg != nil { // keys are on several instances anyway
		m.drifted = 0
	}
	return m, nil
}

// reportsDiffer tells that reports do not go together, if that is what err says.
func reportsDiffer(err error) error {
	switch {
	case errors.Is(err, merging.ErrMixedState):
		return refusal.New(refusal.ReportsDiffer, "Some reports name the state of their keys and others do not.")
	case errors.Is(err, merging.ErrMixedForms):
		return refusal.New(refusal.ReportsDiffer,
			"Some reports name keys and others have compact records, or records of other degrees or scales.")
	}
	return err
}

// mergeCompact merges reports that count keys instead of naming them, but for some.
func (m *MergedReports) mergeCompact(ctx context.Context, b *scheme.Base, in Proposal, reports []merging.Report) error {
	records, drifted, err := merging.MergeCompact(ctx, reports, m.frozen, schemes.Named(b.Newest.Scheme).Place(b))
	if err != nil {
		return reportsDiffer(err)
	}
	st := *in.Statistics
	st.Statistics, st.Records = scheme.NamedOf(records), records
	m.Statistics, m.drifted = &st, drifted
	return in.Memory.Reserve(int64(st.Keys.Bytes()))
}

// choose finds out which reports a plan is made of, and what becomes of instances whose
// report is missing.
func (m *MergedReports) choose(b *scheme.Base, interval int64, mode operator.MissingReports, now time.Time) error {
	from := reporters{b.Newest, b.Pinned}
	received, late, missing := from.split(m.Last, interval)
	m.received = received
	if m.lost = from.lost(late, missing, now); len(m.lost) > 0 && len(received) > 0 {
		missing = slices.DeleteFunc(missing, func(id int32) bool { return slices.Contains(m.lost, id) })
		layout.Ranges.Without(b, m.lost) // no other scheme has leases
		if len(b.Newest.Instances) == 0 {
			return missingReports(m.lost, "The lease of every instance has run out.")
		}
	}
	switch {
	case len(received) == 0:
		return missingReports(missing, "No instance has reported the interval.")
	case len(missing) == 0:
		return nil
	case mode == operator.MissingFail:
		return missingReports(missing, "Reports of the interval are missing, of "+scheme.InstancesText(missing)+".")
	}
	if m.stale = (b.Newest.Scheme == operator.SchemeRanges || b.Newest.Scheme == operator.SchemeRing) &&
		mode == operator.MissingCarry; m.stale {
		return m.carry(late, missing, interval, b.Newest.Reports.MaxAge)
	}
	if err := schemes.Named(b.Newest.Scheme).AdmitPartial(); err != nil {
		return err
	}
	switch {
	case b.Changed:
		return refusal.New(refusal.CompleteCoverageRequired,
			"The instances or the hash function changed since the routing table was committed, and the reports of "+
				scheme.InstancesText(missing)+" are missing: without them it is not known what moves. "+
				"Put a removed instance that cannot report back first.")
	case mode == operator.MissingFreeze:
		m.frozen = missing
	default:
		return m.carry(late, missing, interval, b.Newest.Reports.MaxAge)
	}
	return nil
}

// admit refuses reports of an older table when the hash changed: keys may have come to
// their instances since that nobody names, and the hash would move them.
func (m *MergedReports) admit(b *scheme.Base) error {
	if !b.Changed {
		return nil
	}
	var outdated []int32
	for _, one := range m.received {
		if one.TableVersion < b.Op.TableVersion {
			outdated = append(outdated, one.Instance)
		}
	}
	if len(outdated) == 0 {
		return nil
	}
	return refusal.New(refusal.CompleteCoverageRequired,
		"The instances or the hash function changed since the routing table was committed, and the reports of "+
			scheme.InstancesText(outdated)+
			" are of an older table: they do not say which keys have come since.")
}

// refuseOlderHomes refuses reports that came before the newest configuration if it changed
// the affinity, or the hash and that is the engine's own: their routed keys, or their hash instances,
// are by the one before.
func (s *Intake) refuseOlderHomes(ctx context.Context, b *scheme.Base, m *MergedReports) error {
	if !b.Regrouped() && (!b.Changed || b.Newest.Model.Hash != nil) {
		return nil
	}
	newest, err := s.Store.Configuration(ctx, b.Op.Name, b.Op.ConfigVersion)
	if err != nil {
		return refusal.AboutOperator(b.Op.Name, err)
	}
	var older []int32
	for _, one := range m.received {
		if one.At.Before(newest.CreatedAt) {
			older = append(older, one.Instance)
		}
	}
	if len(older) == 0 {
		return nil
	}
	return refusal.New(refusal.ConfigurationChanged,
		"Reports came before the newest configuration, those of "+scheme.InstancesText(older)+
			": where the hash puts keys, or which keys belong together, they say by an older one. Send them again.")
}

// carry has last reports stand in for those that are missing.
func (m *MergedReports) carry(late []store.Report, missing []int32, interval, maxAge int64) error {
	var without []int32
	for _, id := range missing {
		i, found := slices.BinarySearchFunc(late, id,
			func(o store.Report, id int32) int { return cmp.Compare(o.Instance, id) })
		if found && interval-late[i].Interval <= maxAge {
			m.carried = append(m.carried, late[i])
		} else {
			without = append(without, id)
		}
	}
	if len(without) > 0 {
		return missingReports(without, fmt.Sprintf(
			"Reports of the interval are missing, of %s, and there is no report of the last %d intervals in their place.",
			scheme.InstancesText(without), maxAge))
	}
	return nil
}

// missingReports refuses a plan for the lack of reports.
func missingReports(ids []int32, detail string) error {
	return &refusal.Error{Reason: refusal.ReportsMissing, Detail: detail, Missing: ids}
}

// readReports reads what the chosen reports say, in ascending order of their instances.
func (s *Intake) readReports(ctx context.Context, b *scheme.Base, m *MergedReports,
	memory *admission.Lease) ([]merging.Report, error) {
	chosen := slices.Concat(m.received, m.carried)
	rows := int64(0)
	for _, one := range chosen {
		rows += one.Rows
		if b.EngineHolds() {
			if err := outdatedReport(b, one); err != nil {
				return nil, err
			}
		}
	}
	if rows > int64(s.MaxRows) {
		return nil, refusal.New(refusal.TooLarge, fmt.Sprintf("The reports have more than %d rows together.", s.MaxRows))
	}
	if err := memory.Reserve(rows * (reading.MergedRowBytes + reading.PlanRowBytes)); err != nil {
		return nil, err
	}
	out := make([]merging.Report, len(chosen))
	for i, one := range chosen {
		data, err := s.Store.ReportData(ctx, b.Op.Name, one.Revision)
		if errors.Is(err, store.ErrNotFound) {
			err = refusal.Overtaken(fmt.Errorf("instance %d: %w", one.Instance, store.ErrReportsChanged))
		}
		if err != nil {
			return nil, refusal.AboutOperator(b.Op.Name, err)
		}
		if err := memory.Reserve(int64(len(data))); err != nil {
			return nil, err
		}
		if stored.IsCompact(data) { // the table does not say where keys are that nobody names
			if err := outdatedReport(b, one); err != nil {
				return nil, err
			}
		}
		out[i] = merging.Report{
			Instance: one.Instance, Blob: data, Outdated: one.TableVersion < b.Op.TableVersion, Carried: i >= len(m.received),
		}
	}
	slices.SortFunc(out, func(a, b merging.Report) int { return cmp.Compare(a.Instance, b.Instance) })
	return out, nil
}

// outdatedReport refuses a report of an older table than the committed one.
func outdatedReport(b *scheme.Base, one store.Report) error {
	if one.TableVersion >= b.Op.TableVersion {
		return nil
	}
	return refusal.New(refusal.TableVersionOutdated, fmt.Sprintf(
		"The report of instance %d is of table version %d, but the committed one is %d, and nothing else says where "+
			"its keys are.",
		one.Instance, one.TableVersion, b.Op.TableVersion))
}

// Note has a plan say what it was made of.
func (m *MergedReports) Note(o *scheme.Result) {
	if m == nil {
		return
	}
	o.Snapshot.Drifted += max(0, m.drifted-figures.InItsParts(o.Snapshot))
	if len(m.carried) > 0 {
		o.Causes = append(o.Causes, figures.CauseCarried)
	}
	if len(m.frozen) > 0 && !slices.Contains(o.Causes, planner.CauseFrozen) {
		o.Causes = append(o.Causes, planner.CauseFrozen)
	}
}

// Encode returns what a plan was made of as JSON; nil for statistics that came whole.
func (m *MergedReports) Encode(o *scheme.Result) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	out := figures.PlanReports{Received: instancesOf(m.received), Carried: make([]figures.CarriedReport, len(m.carried)),
		Frozen: []int32{}, Lost: m.lost, Estimate: estimateAfter(m.Estimate, o.Layout)}
	for i, one := range m.carried {
		out.Carried[i] = figures.CarriedReport{Instance: one.Instance, Interval: one.Interval}
	}
	if m.frozen != nil {
		out.Frozen = m.frozen
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding the reports: %w", err)
	}
	return text, nil
}

// Refusal tells which key of merged reports the planner refuses: no input of the caller
// has it.
func (m *MergedReports) Refusal(err error) error {
	given := parameters.InputError(err)
	if m == nil || given == nil {
		return err
	}
	detail := given.Field + ": " + given.Detail
	if row := given.Row; row >= 0 {
		records := m.Rows() - m.Len()
		if row < records {
			detail = fmt.Sprintf("record of instance %d: %s", m.Records.Records[row].Current, detail)
		} else {
			detail = fmt.Sprintf("key %q: %s", m.Keys.At(row-records), detail)
		}
	}
	return &refusal.Error{
		Reason: refusal.Invalid, Detail: "The reports do not fit the operator as it is now; see errors.",
		Problems: []planner.InputError{{Row: -1, Detail: detail}},
	}
}

// mergeQueues merges reports that are queue lengths; false if none is one.
func (m *MergedReports) mergeQueues(in Proposal, reports []merging.Report) (bool, error) {
	var lengths []planner.Residual
	for _, r := range reports {
		q, ok, err := merging.DecodeQueue(r.Blob)
		if err != nil {
			return false, fmt.Errorf("reading the report of instance %d: %w", r.Instance, err)
		}
		if ok {
			lengths = append(lengths, q)
		}
	}
	switch len(lengths) {
	case 0:
		return false, nil
	case len(reports):
		st := *in.Statistics
		st.Statistics, st.Queues = scheme.OfQueues(lengths), true
		m.Statistics = &st
		return true, nil
	}
	return true, refusal.New(refusal.ReportsDiffer, "Some reports are queue lengths and others name keys.")
}

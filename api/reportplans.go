package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// causeCarried: last reports stood in for missing ones.
const causeCarried planner.Cause = "carried"

// reported asks for a plan made of reports; once they are merged it tells what
// they were.
type reported struct {
	missing wire.MissingReports // "": as the operator says
	memory  *admission.Lease

	last     []store.Report // as the store listed them
	received []store.Report
	carried  []store.Report
	frozen   []int32
	drifted  int64 // keys in several reports that nobody else counts
}

// readPlanRequest reads statistics, or what is asked of reports.
func (s *server) readPlanRequest(w http.ResponseWriter, c *call) (*statistics, *members, error) {
	in, m, err := s.readStatisticsOrNone(w, c)
	if err != nil {
		return nil, nil, err
	}
	if !in.bare {
		if m.has("missing") {
			m.refuse("missing", "is for plans made of reports: here are statistics")
		}
		return in, m, nil
	}
	for _, name := range []string{"table_version", "coverage", "residual"} {
		if m.has(name) {
			m.refuse(name, "is for statistics: reports say it for themselves")
		}
	}
	in.reports = &reported{missing: wire.MissingReports(or(member[string](m, "missing"), "")), memory: c.memory}
	return in, m, nil
}

// readStatisticsOrNone is readStatistics, but the request may have no body: then
// everything is in the query.
func (s *server) readStatisticsOrNone(w http.ResponseWriter, c *call) (*statistics, *members, error) {
	if c.ContentLength != 0 || c.Header.Get("Content-Type") != "" || !c.query.Has("interval") {
		return s.readStatistics(w, c)
	}
	m := &members{schema: c.bodySchema(), query: c.query, bad: invalid()}
	st := &statistics{Statistics: &planner.Statistics{}, document: &statsio.Document{}, query: true, bare: true, memory: c.memory}
	st.readMembers(m)
	st.readCompact(m)
	return st, m, nil
}

// merge reads the reports that a plan is asked of, and returns the statistics
// that they make.
func (s *server) merge(ctx context.Context, b *base, in *statistics) (*statistics, error) {
	begin, r := s.now(), *in.reports
	var err error
	if r.last, err = s.store.Reports(ctx, b.op.Name, in.epoch, *in.interval); err != nil {
		return nil, aboutOperator(b.op.Name, err)
	}
	if err := r.choose(b, *in.interval); err != nil {
		return nil, err
	}
	if err := r.admit(b); err != nil {
		return nil, err
	}
	reports, err := s.readReports(ctx, b, &r)
	if err != nil {
		return nil, err
	}
	release, err := take(ctx, s.slots)
	if err != nil {
		return nil, err
	}
	defer release()
	merged, err := statsio.MergeReports(ctx, reports, r.frozen, b.place())
	if errors.Is(err, statsio.ErrMixedState) {
		return nil, conflict(wire.CodeReportsDiffer, "Some reports name the state of their keys and others do not.")
	}
	if err != nil {
		return nil, err
	}
	// How long the keys are shows only now. Few reports are merged at a time.
	if err := r.memory.Reserve(int64(merged.Keys.Bytes())); err != nil {
		return nil, err
	}
	out := *in
	r.drifted = merged.Drifted
	out.Statistics, out.reports = merged.Statistics, &r
	out.decode += s.now().Sub(begin)
	return &out, nil
}

// choose finds out which reports a plan is made of, and what becomes of instances
// whose report is missing.
func (r *reported) choose(b *base, interval int64) error {
	received, late, missing := reporters{b.newest, b.pinned}.standing(r.last, interval)
	r.received = received
	mode := cmp.Or(r.missing, b.newest.Reports.Missing)
	switch {
	case len(received) == 0:
		return missingReports(missing, "No instance has reported the interval.")
	case len(missing) == 0:
	case mode == wire.Fail:
		return missingReports(missing, "Reports of the interval are missing, of "+idsText(missing)+".")
	case b.layout != nil:
		return incompleteForScheme(b.newest.Scheme)
	case b.changed:
		return conflict(wire.CodeCompleteCoverageRequired,
			"The instances or the hash function changed since the routing table was committed, and reports are missing, of "+idsText(missing)+": they alone tell what moves.")
	case mode == wire.Freeze:
		r.frozen = missing
	default:
		return r.carry(late, missing, interval, b.newest.Reports.MaxAge)
	}
	return nil
}

// admit refuses reports of an older table when the hash changed: keys may have
// come to their instances since that nobody names, and the hash would move them.
func (r *reported) admit(b *base) error {
	if !b.changed {
		return nil
	}
	var outdated []int32
	for _, one := range r.received {
		if one.TableVersion < b.op.TableVersion {
			outdated = append(outdated, one.Instance)
		}
	}
	if len(outdated) == 0 {
		return nil
	}
	return conflict(wire.CodeCompleteCoverageRequired,
		"The instances or the hash function changed since the routing table was committed, and reports are of an older one, of "+idsText(outdated)+": they do not tell what came since.")
}

// carry has last reports stand in for those that are missing.
func (r *reported) carry(late []store.Report, missing []int32, interval, maxAge int64) error {
	var without []int32
	for _, id := range missing {
		i, found := slices.BinarySearchFunc(late, id, func(o store.Report, id int32) int { return cmp.Compare(o.Instance, id) })
		if found && interval-late[i].Interval <= maxAge {
			r.carried = append(r.carried, late[i])
		} else {
			without = append(without, id)
		}
	}
	if len(without) > 0 {
		return missingReports(without, fmt.Sprintf("Reports of the interval are missing, of %s, and no report of the last %d intervals can stand in.", idsText(without), maxAge))
	}
	return nil
}

// missingReports refuses a plan for the lack of reports.
func missingReports(ids []int32, detail string) error {
	p := conflict(wire.CodeReportsMissing, detail)
	p.missing = ids
	return p
}

// idsText names instances, many of them by their number.
func idsText(ids []int32) string {
	const most = 20
	text := make([]string, min(len(ids), most))
	for i := range text {
		text[i] = strconv.Itoa(int(ids[i]))
	}
	out := strings.Join(text, ", ")
	if len(ids) == 1 {
		return "instance " + out
	}
	if len(ids) > most {
		out += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return "instances " + out
}

// readReports reads what the chosen reports say, in ascending order of their
// instances.
func (s *server) readReports(ctx context.Context, b *base, r *reported) ([]statsio.Report, error) {
	chosen := slices.Concat(r.received, r.carried)
	rows, most := int64(0), int64(cmp.Or(s.limits.Statistics.Rows, statsio.DefaultRows))
	for _, one := range chosen {
		rows += one.Rows
		if one.TableVersion < b.op.TableVersion && b.engineHolds() {
			return nil, conflict(wire.CodeTableVersionOutdated, fmt.Sprintf(
				"The report of instance %d is of table version %d, and nothing else tells where its keys are; the committed one is %d.",
				one.Instance, one.TableVersion, b.op.TableVersion))
		}
	}
	if rows > most {
		return nil, tooLarge(fmt.Sprintf("The reports have more than %d rows together.", most))
	}
	if err := r.memory.Reserve(rows * (mergedRowBytes + planRowBytes)); err != nil {
		return nil, err
	}
	out := make([]statsio.Report, len(chosen))
	for i, one := range chosen {
		data, err := s.store.ReportData(ctx, b.op.Name, one.Revision)
		if errors.Is(err, store.ErrNotFound) {
			err = overtaken(fmt.Errorf("instance %d: %w", one.Instance, store.ErrReportsChanged))
		}
		if err != nil {
			return nil, aboutOperator(b.op.Name, err)
		}
		if err := r.memory.Reserve(int64(len(data))); err != nil {
			return nil, err
		}
		out[i] = statsio.Report{
			Instance: one.Instance, Blob: data, Outdated: one.TableVersion < b.op.TableVersion, Carried: i >= len(r.received),
		}
	}
	slices.SortFunc(out, func(a, b statsio.Report) int { return cmp.Compare(a.Instance, b.Instance) })
	return out, nil
}

// place returns where the committed table, else the committed hash puts keys.
func (b *base) place() statsio.Place {
	if b.layout != nil {
		h, empty := b.layout.placed(), b.layout.size() == 0
		return func(key []byte, hash uint64, _ int32) int32 {
			if empty {
				return planner.NoInstance
			}
			return instanceBy(h, key, hash)
		}
	}
	return func(key []byte, hash uint64, home int32) int32 {
		if i := b.table.Find(key, hash); i >= 0 {
			return b.table.At(i).Instance
		}
		switch h := b.pinned.planner.Hash; {
		case b.engineHolds():
			return planner.NoInstance
		case h != nil:
			return instanceBy(h, key, hash)
		case !b.changed:
			return home
		}
		return planner.NoInstance
	}
}

// instanceBy is where a hash function puts a key, NoInstance if it cannot.
func instanceBy(h planner.HashFunction, key []byte, hash uint64) int32 {
	id, err := h.Instance(key, hash)
	if err != nil {
		return planner.NoInstance
	}
	return id
}

// mark notes on a plan what it was made of, if that is reports.
func (st *statistics) mark(o *outcome) {
	r := st.reports
	if r == nil {
		return
	}
	o.Snapshot.Drifted += r.drifted
	if len(r.carried) > 0 {
		o.Causes = append(o.Causes, causeCarried)
	}
	if len(r.frozen) > 0 && !slices.Contains(o.Causes, planner.CauseFrozen) {
		o.Causes = append(o.Causes, planner.CauseFrozen)
	}
}

// reportsText is what a plan was made of as JSON; nil for statistics that came
// whole.
func (st *statistics) reportsText() ([]byte, error) {
	r := st.reports
	if r == nil {
		return nil, nil
	}
	out := wire.PlanReports{Received: instancesOf(r.received), Carried: make([]wire.CarriedReport, len(r.carried)), Frozen: []int32{}}
	for i, one := range r.carried {
		out.Carried[i] = wire.CarriedReport{Instance: one.Instance, Interval: one.Interval}
	}
	if r.frozen != nil {
		out.Frozen = r.frozen
	}
	return json.Marshal(out)
}

// mergedProblem tells which key of merged reports the planner refuses: no body has
// it.
func (st *statistics) mergedProblem(err *planner.InputError) error {
	detail := err.Field + ": " + err.Detail
	if err.Row >= 0 {
		detail = fmt.Sprintf("key %q: %s", st.Keys.At(err.Row), detail)
	}
	p := invalid()
	p.detail = "The reports do not fit the operator as it is now; see errors."
	p.errors = append(p.errors, wire.FieldError{Detail: detail})
	return p
}

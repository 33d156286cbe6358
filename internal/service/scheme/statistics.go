package scheme

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plannerd/compact"
	"plannerd/internal/exact"
	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/partitioner"
	"plannerd/store"
)

// Statistics are what is known of one interval, and how it is to be planned on.
type Statistics struct {
	*planner.Statistics                     // of keys; with Records of those that are named
	Records             *compact.Statistics // of all others; nil: all are named
	Compact             *parameters.Compact // in place of the operator's; nil: as that says
	// Sketch is a report's in place of keys, in its binary form; nil: it names keys. With Since
	// it adds to the report of that interval.
	Sketch []byte
	Since  *int64
	// Queues: nothing is known but how long the queues of instances are, as [OfQueues] says.
	Queues   bool
	Interval int64
	Epoch    int64
	// TableVersion is the version of the routing table that the rows' instances are
	// of; nil: the committed one.
	TableVersion *int64
	// TableOrigin is that of this version, as [store.Origin] writes it; "": it is not known.
	TableOrigin string
	// ConfigVersion is the version of the configuration that the rows' hash instances are
	// by; nil: the newest.
	ConfigVersion *int64
	// Decode is how long receiving and decoding took.
	Decode time.Duration

	// Foreseen is what they and the intervals before let expect of the next one; nil: it is
	// planned on the statistics as they are.
	Foreseen *forecast.Forecast

	// Added is the state that the interval itself added to each row, where their states are
	// those of the operator's window; nil: they are not.
	Added []float64

	// Affinity is nil where rows are of keys, and not of routed keys that several may have.
	Affinity *figures.Affinity
	grouped  []int32 // the rows that were added up to others, their first ones; nil: none was

	// Estimate is nil where the figures are exact.
	Estimate *figures.Estimate

	// Older: the rows' instances are older than the table that is planned on. That is
	// all that is stored of TableVersion.
	Older bool
}

// Planned is the statistics that plans are made on.
func (st *Statistics) Planned() *planner.Statistics {
	if st.Foreseen == nil {
		return st.Statistics
	}
	return st.Foreseen.Statistics
}

// Grouped are the statistics by routed keys. gather: keys of one routed key may be on several instances, since
// it was another one before. The error is a refusal or an input error.
func (st *Statistics) Grouped(a partitioner.Affinity, gather bool) (*Statistics, error) {
	switch {
	case !a.IsZero() && st.Records != nil:
		return nil, planner.Invalid("compact", input.DetailGrouped)
	case a.IsZero() && !gather || st.Keys == nil:
		return st, nil
	case gather && (st.Instance == nil || slices.Contains(st.Instance, planner.NoInstance)):
		return nil, refusal.New(refusal.HashNotKnown,
			"The affinity differs from that of the committed table: every row has to name its instance.")
	}
	var wrong error
	all, out := st.Statistics, *st
	sum := input.Sum{Affinity: a, Gather: gather, Wrong: func(row, first int, field input.Field) bool {
		name := func(id int32) string { return strconv.Itoa(int(id)) }
		wrong = planner.InvalidRow(row, field.String(), input.AboutSum(all, row, first, field, name))
		return true
	}}
	out.Statistics, out.grouped = sum.Of(all)
	if !a.IsZero() {
		out.Affinity = &figures.Affinity{Keys: int64(all.Len()), RoutedKeys: int64(out.Len())}
	}
	return &out, wrong
}

// GroupBytes is what [Statistics.Grouped] takes.
func (st *Statistics) GroupBytes(a partitioner.Affinity) int64 {
	if a.IsZero() || st.Statistics == nil {
		return 0
	}
	return int64(input.SumBytes(st.Statistics) + st.Keys.Bytes())
}

// InRows has an input error point at the row of the request that a row of a routed key began with.
func (st *Statistics) InRows(err error) error {
	if given := parameters.InputError(err); given != nil && given.Row >= 0 && given.Row < len(st.grouped) {
		return planner.InvalidRow(int(st.grouped[given.Row]), given.Field, given.Detail)
	}
	return err
}

// Hash identifies the statistics.
func (st *Statistics) Hash() string {
	sum := st.Fingerprint()
	if st.Records != nil {
		sum = st.Records.Fingerprint()
	}
	return hex.EncodeToString(sum[:])
}

// Identity identifies the statistics of that hash together with the configuration
// (hence the parameters), the base version and the compact form of a request. The
// degree that records are said to have makes no difference to the plan, so it makes
// none here.
func (st *Statistics) Identity(hash string, config, version int64) string {
	text := fmt.Sprintf("%s/config-%d/table-%d/outdated-%t", hash, config, version, st.Outdated(version))
	switch {
	case st.Records != nil:
		text += fmt.Sprintf("/records-%g-%g", st.Records.Scales.Cost, st.Records.Scales.State)
	case st.Compact != nil:
		o := st.Compact.Options()
		text += fmt.Sprintf("/compact-%d-%g-%g", o.Degree, o.Scales.Cost, o.Scales.State)
	}
	return text
}

// OfCommitted refuses statistics of a table that op never committed: a newer one, or one of the same
// number and another origin, which a failover or a restored backup lost.
func (st *Statistics) OfCommitted(op store.Operator) error {
	switch {
	case st.TableVersion == nil || *st.TableVersion < op.TableVersion:
		return nil
	case *st.TableVersion > op.TableVersion:
		return refusal.New(refusal.TableVersionAhead, fmt.Sprintf(
			"The statistics are of table version %d; the committed one is %d.", *st.TableVersion, op.TableVersion))
	case st.TableOrigin != "" && st.TableOrigin != op.TableOrigin.String():
		return refusal.New(refusal.TableVersionAhead, fmt.Sprintf(
			"The statistics are of table version %d of origin %s, which the database lost; "+
				"the committed table of that version has the origin %s.",
			*st.TableVersion, st.TableOrigin, op.TableOrigin))
	}
	return nil
}

// ByConfiguration refuses statistics whose hash instances are by another configuration than
// the newest.
func (st *Statistics) ByConfiguration(newest int64) error {
	if st.ConfigVersion == nil || *st.ConfigVersion == newest {
		return nil
	}
	return refusal.New(refusal.ConfigurationChanged, fmt.Sprintf(
		"The statistics are of version %d of the configuration; the newest is %d.", *st.ConfigVersion, newest))
}

// Outdated reports whether the rows' instances are older than the table.
func (st *Statistics) Outdated(version int64) bool {
	return st.Older || st.TableVersion != nil && *st.TableVersion < version
}

// Rows is the number of keys and records.
func (st *Statistics) Rows() int {
	n := st.Len()
	if st.Records != nil {
		n += len(st.Records.Records)
	}
	return n
}

// Names reports whether a row is of the key. It looks at all.
func (st *Statistics) Names(key []byte) bool {
	for i := range st.Len() {
		if bytes.Equal(st.Keys.At(i), key) {
			return true
		}
	}
	return false
}

// NamedOf are the keys that are named beside records, with what is said of all.
func NamedOf(r *compact.Statistics) *planner.Statistics {
	out := planner.Statistics{}
	if r.Named != nil {
		out = *r.Named
	}
	out.Partial, out.Residual, out.Frozen = r.Partial, r.Residual, r.Frozen
	return &out
}

// Over returns the parameters of a plan of these statistics: p, but for what they say
// themselves.
func (st *Statistics) Over(p operator.Parameters) operator.Parameters {
	switch {
	case st.Records != nil:
		p.Compact = parameters.Compact{} // they are compact already
	case st.Compact != nil:
		p.Compact = *st.Compact
	}
	return p
}

// ResourceBytes is what planning on the statistics takes besides for an operator with these resources.
func (st *Statistics) ResourceBytes(of operator.Resources) int64 {
	if len(of) < 2 {
		return 0
	}
	return int64(st.Len()) * reading.ResourceRowBytes
}

// PlanBytes is what planning on the statistics takes.
func (st *Statistics) PlanBytes() int64 {
	n := int64(st.Len())*(reading.PlanRowBytes+reading.AmountBytes*int64(len(st.Costs))) + int64(st.Keys.Bytes())
	if st.Records != nil {
		return n + int64(st.Rows())*reading.CompactRowBytes + int64(len(st.Records.Records))*reading.PlanRowBytes
	}
	if st.Compact != nil && st.Compact.Degree > 0 {
		n += int64(st.Len()) * reading.CompactRowBytes
	}
	return n
}

// Size is how much statistics tell of.
type Size struct {
	Keys int64
	Cost float64
}

// Size counts the keys of the statistics, those that residuals stand for included, and
// sums up what they cost.
func (st *Statistics) Size() Size {
	costs, counts, residual := st.Cost, []int64(nil), st.Residual
	if r := st.Records; r != nil {
		costs, counts = slices.Clone(costs), slices.Repeat([]int64{1}, len(costs))
		for _, one := range r.Records {
			costs, counts = append(costs, one.Cost*r.Scales.Cost), append(counts, one.Count)
		}
	}
	out, scale, sum := Size{}, exact.ScaleOf(costs, counts), int64(0)
	for i, cost := range costs {
		n := int64(1)
		if counts != nil {
			n = counts[i]
		}
		out.Keys, sum = out.Keys+n, sum+scale.Fixed(cost)*n
	}
	out.Cost = scale.Float(sum)
	for _, r := range residual {
		out.Keys, out.Cost = out.Keys+r.Keys, out.Cost+r.Cost
	}
	return out
}

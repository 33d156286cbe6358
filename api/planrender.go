package api

import (
	"bufio"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/service"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// planFigures are what a plan reports about itself, in the order of the contract.
// Instances, HotKeys and Splits are nil, and left out, where plans are listed.
type planFigures struct {
	EndReason        string                     `json:"end_reason"`
	Causes           []string                   `json:"causes"`
	Balanced         *bool                      `json:"balanced"` // nil: loads are expectations
	TableWithinLimit bool                       `json:"table_within_limit"`
	Filled           *bool                      `json:"filled,omitzero"` // nil where no load has a lower bound
	Unfilled         []figures.UnfilledInstance `json:"unfilled,omitzero"`
	Theta            wire.Comparison            `json:"theta"`
	Underload        wire.Comparison            `json:"underload"`
	Skewness         wire.Comparison            `json:"skewness"`
	Migration        wire.MigrationFigures      `json:"migration"`
	Certificate      jsontext.Value             `json:"certificate"`
	Compaction       jsontext.Value             `json:"compaction"`
	Instances        jsontext.Value             `json:"instances,omitzero"`
	HotKeys          []wire.HotKey              `json:"hot_keys,omitzero"`
	resourceFigures
	Merges      int64           `json:"merges"`
	Splits      []wire.SplitKey `json:"splits,omitzero"`
	Affinity    jsontext.Value  `json:"affinity,omitzero"` // nil: it is of keys
	DriftedKeys int64           `json:"drifted_keys"`
	IdleEntries *int64          `json:"idle_entries,omitzero"` // nil in a what-if
}

// resourceFigures are what a plan does in each resource, as they are stored; nil: there are none.
type resourceFigures struct {
	Resources jsontext.Value `json:"resources,omitzero"`
	Decides   string         `json:"decides,omitzero"`
}

// planHead is a plan without its long lists, in the order of the contract.
type planHead struct {
	ID            string           `json:"id"`
	Operator      string           `json:"operator"`
	Epoch         int64            `json:"epoch"`
	Interval      int64            `json:"interval"`
	Status        service.Status   `json:"status"`
	Strategy      string           `json:"strategy"`
	Parameters    jsontext.Value   `json:"parameters"`
	BaseVersion   int64            `json:"base_version"`
	Version       *int64           `json:"version"`
	ConfigVersion int64            `json:"config_version"`
	Migrates      scheme.Migrates  `json:"migrates"`
	ResolvedKeys  *int64           `json:"resolved_keys"`
	Executor      *string          `json:"executor"`
	ExecutorEpoch *int64           `json:"executor_epoch"`
	ExecutorSince *time.Time       `json:"executor_since"`
	ExpiresAt     *time.Time       `json:"expires_at"`
	WaitsFor      []string         `json:"waits_for"`
	LimitsChanged bool             `json:"limits_changed"`
	Approvals     *approvals       `json:"approvals"`
	SupersededBy  *string          `json:"superseded_by"`
	Undo          jsontext.Value   `json:"undo"`
	StoppedAfter  *int64           `json:"stopped_after_batch"`
	Stopping      bool             `json:"stopping"`
	Batch         jsontext.Value   `json:"batch,omitzero"`   // like Reports
	Batches       []batch          `json:"batches,omitzero"` // like Reports
	TablePeak     jsontext.Value   `json:"table_peak,omitzero"`
	Routers       map[string]int64 `json:"routers,omitzero"` // like Reports
	Awaits        []int32          `json:"awaits,omitzero"`  // like Reports
	Acked         []ack            `json:"acked,omitzero"`   // like Reports
	planFigures
	Forecast        jsontext.Value     `json:"forecast"`
	Pending         jsontext.Value     `json:"pending"`
	Latest          jsontext.Value     `json:"latest"`
	Reports         jsontext.Value     `json:"reports,omitzero"` // left out where plans are listed
	Queues          *wire.QueueFigures `json:"queues,omitzero"`  // nil: the plan was made of keys
	InputHash       string             `json:"input_hash"`
	PlannerRevision string             `json:"planner_revision"`
	WorkUnits       int64              `json:"work_units"`
	Timing          wire.Timing        `json:"timing"`
	CreatedAt       time.Time          `json:"created_at"`
	KeyEncoding     string             `json:"key_encoding,omitzero"`
}

// approvals are who has approved a plan that several people have to approve.
type approvals struct {
	Needed int64    `json:"needed"`
	By     []string `json:"by"`
}

func approvalsOf(p service.Plan) *approvals {
	if p.Approvers <= 1 || len(p.WaitsFor) == 0 && len(p.ApprovedBy) == 0 && !p.LimitsChanged {
		return nil
	}
	return &approvals{p.Approvers, append([]string{}, p.ApprovedBy...)}
}

// batch is a part of a plan that is handed over on its own.
type batch struct {
	Keys      int64    `json:"keys"`
	State     float64  `json:"state"`
	Busiest   float64  `json:"busiest"`
	Seconds   *float64 `json:"seconds"`
	Theta     float64  `json:"theta"`
	TableSize int64    `json:"table_size"`
	Version   *int64   `json:"version"`
	Awaits    []int32  `json:"awaits"`
}

// tablePeakOf is the largest size of the table after any batch, and null without batches.
func tablePeakOf(batches []service.Batch) jsontext.Value {
	if len(batches) == 0 {
		return jsontext.Value("null")
	}
	peak := int64(0)
	for _, b := range batches {
		peak = max(peak, b.TableAfter)
	}
	return jsontext.Value(strconv.FormatInt(peak, 10))
}

func batchesOf(batches []service.Batch) []batch {
	out := make([]batch, len(batches))
	for i, b := range batches {
		out[i] = batch{b.Keys, b.State, b.Busiest, b.Seconds, b.ThetaAfter, b.TableAfter, b.Version, b.Awaited}
	}
	return out
}

// ack is an instance that has finished.
type ack struct {
	Instance int32     `json:"instance"`
	Actor    string    `json:"actor"`
	At       time.Time `json:"at"`
}

// figuresOut brings figures into an answer, with what is claimed of the balance.
func figuresOut(f service.Figures, balanced *bool, named figures.NamedKeys, keys keyCoder) (planFigures, error) {
	unfilled, err := figures.UnfilledOf(f)
	out := planFigures{
		EndReason: f.EndReason, Causes: f.Causes, Balanced: balanced, TableWithinLimit: f.TableWithinLimit,
		Theta:       wire.Comparison{Before: f.ThetaBefore, After: f.ThetaAfter},
		Underload:   wire.Comparison{Before: f.UnderloadBefore, After: f.UnderloadAfter},
		Skewness:    wire.Comparison{Before: f.SkewnessBefore, After: f.SkewnessAfter},
		Migration:   migrationOut(f),
		Certificate: f.Certificate, Compaction: f.Compaction, Instances: f.Instances, DriftedKeys: f.DriftedKeys,
		Merges: f.Merges, Affinity: f.Affinity,
	}
	if f.Resources != nil && err == nil {
		err = service.Unreadable("the stored figures of resources", json.Unmarshal(f.Resources, &out.resourceFigures))
	}
	if unfilled != nil {
		out.Filled, out.Unfilled = new(len(unfilled) == 0), unfilled
	}
	if f.Instances != nil {
		out.HotKeys, out.Splits = make([]wire.HotKey, len(named.Hot)), make([]wire.SplitKey, len(named.Split))
	}
	if out.Causes == nil {
		out.Causes = []string{}
	}
	for i, x := range named.Split {
		out.Splits[i] = wire.SplitKey{
			Key: keys.text(x.Key), Cost: x.Cost, Cause: wire.SplitKeyCause(x.Cause), Changed: x.Changed,
			Parts: partsOut(x.Parts),
		}
	}
	for i, h := range named.Hot {
		out.HotKeys[i] = wire.HotKey{Instance: h.Instance, Cost: h.Cost, Pieces: h.Pieces, ForcedTheta: h.ForcedTheta}
		if h.Resource != "" {
			out.HotKeys[i].Resource = &h.Resource
		}
		if h.Class != nil {
			out.HotKeys[i].Class = &h.Class
			continue
		}
		key := keys.text(h.Key)
		out.HotKeys[i].Key = &key
	}
	return out, err
}

func migrationOut(f service.Figures) wire.MigrationFigures {
	return wire.MigrationFigures{
		Keys: f.MigrationKeys, State: f.MigrationState, Fraction: f.MigrationFraction, Objective: f.Objective,
		Forced: &wire.ForcedMigration{Keys: f.ForcedKeys, State: f.ForcedState},
	}
}

func partsOut(parts []planner.Part) wire.Parts {
	out := make(wire.Parts, len(parts))
	for i, x := range parts {
		out[i] = wire.Part{Instance: x.Instance, Weight: x.Weight}
	}
	return out
}

// seeNamed has an answer name the keys that the figures of a plan name.
func seeNamed(k figures.NamedKeys, keys *keyCoder) {
	for _, h := range k.Hot {
		keys.see(h.Key)
	}
	for _, x := range k.Split {
		keys.see(x.Key)
	}
}

func utc(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	out := at.UTC()
	return &out
}

// queuesOut brings what the policy of a ring says to queue lengths into an answer.
func queuesOut(p service.Plan) (*wire.QueueFigures, error) {
	q, err := scheme.QueuesOf(p)
	if q == nil || err != nil {
		return nil, err
	}
	return &wire.QueueFigures{Skew: q.Skew, Verdict: wire.RingVerdict{
		Fires: q.Fires, Node: q.Longest, Longest: q.Max, Second: q.Second, Threshold: q.Threshold,
		Cause: wire.RingCause(q.Cause),
	}}, nil
}

// openPlan renders a plan up to its long parts, and leaves the object open. A plan
// as it is listed has neither instances nor hot keys.
func openPlan(p service.Plan, named figures.NamedKeys, keys keyCoder, persist *time.Duration) ([]byte, error) {
	balanced, err := reading.BalancedOf(p)
	if err != nil {
		return nil, err
	}
	f, err := figuresOut(p.Figures, balanced, named, keys)
	if err != nil {
		return nil, err
	}
	head := planHead{
		ID: p.ID, Operator: p.Operator, Epoch: p.Epoch, Interval: p.Interval, Status: p.Status, Strategy: p.Strategy,
		Parameters: p.Parameters, BaseVersion: p.BaseVersion, Version: p.Version, ConfigVersion: p.ConfigVersion,
		Migrates: schemes.MigratesOf(p), ResolvedKeys: p.ResolvedKeys, planFigures: f,
		WaitsFor: p.WaitsFor, Undo: p.Undo, Forecast: p.Forecast, Pending: p.Pending, Latest: p.Latest,
		InputHash: p.InputHash, PlannerRevision: p.PlannerRevision, WorkUnits: p.WorkUnits,
		Timing: wire.Timing{DecodeMs: p.DecodeMS, PlanMs: p.PlanMS}, CreatedAt: p.CreatedAt.UTC(), KeyEncoding: keys.member(),
	}
	if p.Executor.Name != "" {
		head.Executor, head.ExecutorEpoch, head.ExecutorSince = &p.Executor.Name, &p.Executor.Epoch, utc(p.ExecutorSince)
	}
	head.LimitsChanged, head.Approvals = propose.LimitsHaveChanged(p), approvalsOf(p)
	if p.SupersededBy != "" {
		head.SupersededBy = &p.SupersededBy
	}
	head.Stopping = p.Stopping
	if p.Status == service.Status(wire.PlanStatusCommitted) && p.BatchesDone < p.BatchCount {
		head.StoppedAfter = &p.BatchesDone
	}
	head.ExpiresAt, head.IdleEntries = utc(p.ExpiresAt), &p.IdleEntries
	if p.Instances != nil {
		if head.Reports = p.Reports; head.Reports == nil {
			head.Reports = jsontext.Value("null")
		}
		head.Batch, head.Batches = jsontext.Value("null"), batchesOf(p.Batches)
		if p.Status.InFlight() {
			head.Batch = jsontext.Value(strconv.FormatInt(p.BatchesDone+1, 10))
		}
		head.TablePeak = tablePeakOf(p.Batches)
		head.Routers = map[string]int64{}
		maps.Copy(head.Routers, p.Routers)
		head.Awaits, head.Acked = append([]int32{}, p.Awaited...), acksOf(p.Acked)
	}
	if head.Queues, err = queuesOut(p); err != nil {
		return nil, err
	}
	if persist != nil {
		ms := propose.Milliseconds(*persist)
		head.Timing.PersistMs = &ms
	}
	return openObject(head)
}

func acksOf(acked []service.Ack) []ack {
	out := make([]ack, len(acked))
	for i, a := range acked {
		out[i] = ack{a.Instance, a.Actor, a.At.UTC()}
	}
	return out
}

// planText is a plan that is ready to be written: all that may fail has been done.
type planText struct {
	head  []byte // up to the sizes of the table, both objects open
	lists listing.Lists
	keys  keyCoder
}

// newPlanText renders a plan with the lists that are given. keys starts as the
// request asks and turns to base64 when some key needs it.
func newPlanText(p service.Plan, l listing.Lists, keys keyCoder, persist *time.Duration) (t planText, err error) {
	named, err := figures.NamedKeysOf(p.Figures)
	if err != nil {
		return t, err
	}
	seeNamed(named, &keys)
	keys.base64 = keys.base64 || l.NeedsBase64()
	head, err := openPlan(p, named, keys, persist)
	return planText{appendSizes(head, reading.SchemeOf(p), p.TableBefore, p.TableAfter), l, keys}, err
}

// planBody is a plan without its lists.
func planBody(p service.Plan, keys keyCoder) ([]byte, error) {
	t, err := newPlanText(p, listing.Lists{}, keys, nil)
	return append(t.head, "}}"...), err
}

// appendSizes appends the member that says what a plan does to the table, or to what
// there is in its place, up to its lists.
func appendSizes(b []byte, chosen operator.SchemeName, before, after int64) []byte {
	name := "routing_table"
	if chosen != operator.SchemeTable {
		name = string(chosen)
	}
	return fmt.Appendf(b, `,%q:{"size_before":%d,"size_after":%d`, name, before, after)
}

func (t planText) write(out *bufio.Writer) error {
	a := answer{out, t.keys}
	a.text(t.head)
	a.plan(t.lists)
	return a.end("}")
}

// plan writes the lists of what appendSizes has opened, and closes it, and then the
// migrations.
func (a answer) plan(l listing.Lists) {
	a.lists(l.Change...)
	a.text([]byte{'}'})
	if l.Migrations != nil {
		a.lists(listing.Part{Name: "migrations", List: l.Migrations})
	}
}

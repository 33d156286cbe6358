package api

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api/wire"
	"plannerd/planner"
	"plannerd/store"
)

// figures are what a plan reports about itself, in the order of the contract.
// Instances and HotKeys are nil, and left out, where plans are listed.
type figures struct {
	EndReason        string                `json:"end_reason"`
	Causes           []string              `json:"causes"`
	Balanced         bool                  `json:"balanced"`
	TableWithinLimit bool                  `json:"table_within_limit"`
	Theta            wire.Comparison       `json:"theta"`
	Underload        wire.Comparison       `json:"underload"`
	Skewness         wire.Comparison       `json:"skewness"`
	Migration        wire.MigrationFigures `json:"migration"`
	Certificate      jsontext.Value        `json:"certificate"`
	Compaction       jsontext.Value        `json:"compaction"`
	Instances        jsontext.Value        `json:"instances,omitzero"`
	HotKeys          []wire.HotKey         `json:"hot_keys,omitzero"`
	DriftedKeys      int64                 `json:"drifted_keys"`
}

// planHead is a plan without its long lists, in the order of the contract.
type planHead struct {
	ID            string         `json:"id"`
	Operator      string         `json:"operator"`
	Epoch         int64          `json:"epoch"`
	Interval      int64          `json:"interval"`
	Status        store.Status   `json:"status"`
	Strategy      string         `json:"strategy"`
	Parameters    jsontext.Value `json:"parameters"`
	BaseVersion   int64          `json:"base_version"`
	Version       *int64         `json:"version"`
	ConfigVersion int64          `json:"config_version"`
	Migrates      wire.Migrates  `json:"migrates"`
	ResolvedKeys  *int64         `json:"resolved_keys"`
	Executor      *string        `json:"executor"`
	ExpiresAt     *time.Time     `json:"expires_at"`
	Awaited       []int32        `json:"awaited,omitzero"` // like Reports
	Acked         []ack          `json:"acked,omitzero"`   // like Reports
	figures
	Pending         jsontext.Value `json:"pending"`
	Reports         jsontext.Value `json:"reports,omitzero"` // left out where plans are listed
	InputHash       string         `json:"input_hash"`
	PlannerRevision string         `json:"planner_revision"`
	WorkUnits       int64          `json:"work_units"`
	Timing          wire.Timing    `json:"timing"`
	CreatedAt       time.Time      `json:"created_at"`
	KeyEncoding     string         `json:"key_encoding,omitzero"`
}

// ack is an instance that has finished.
type ack struct {
	Instance int32     `json:"instance"`
	Actor    string    `json:"actor"`
	At       time.Time `json:"at"`
}

// hotKey is a hot key as the store keeps it: its key is in base64.
type hotKey struct {
	Key         []byte    `json:"key,omitzero"`
	Class       []float64 `json:"class,omitzero"` // in place of the key
	Instance    int32     `json:"instance"`
	Cost        float64   `json:"cost"`
	Pieces      *int32    `json:"pieces"`
	ForcedTheta float64   `json:"forced_theta"`
}

// figuresOf brings the figures of a plan into the form that the store keeps.
func figuresOf(p *outcome) (store.Figures, error) {
	instances, err := json.Marshal(loadsOf(p))
	if err != nil {
		return store.Figures{}, fmt.Errorf("encoding the loads: %w", err)
	}
	hot, err := json.Marshal(hotKeysOf(p))
	if err != nil {
		return store.Figures{}, fmt.Errorf("encoding the hot keys: %w", err)
	}
	certificate, err := certificateOf(p)
	if err != nil {
		return store.Figures{}, fmt.Errorf("encoding the certificate: %w", err)
	}
	compaction, err := p.compactionText()
	if err != nil {
		return store.Figures{}, fmt.Errorf("encoding the compaction: %w", err)
	}
	pending, err := p.obstacleText()
	if err != nil {
		return store.Figures{}, fmt.Errorf("encoding the plan that waits: %w", err)
	}
	causes := make([]string, len(p.Causes))
	for i, c := range p.Causes {
		causes[i] = string(c)
	}
	return store.Figures{
		EndReason: string(p.EndReason), Causes: causes, Balanced: p.Balanced, TableWithinLimit: p.TableWithinLimit,
		ThetaBefore: p.Theta.Before, ThetaAfter: p.Theta.After, UnderloadBefore: p.Underload.Before, UnderloadAfter: p.Underload.After,
		SkewnessBefore: p.Skewness.Before, SkewnessAfter: p.Skewness.After, TableBefore: p.TableBefore, TableAfter: p.TableAfter,
		MigrationKeys: p.Migration.Keys, MigrationState: p.Migration.State, MigrationFraction: p.Migration.Fraction, Objective: p.Migration.Objective,
		Certificate: certificate, Compaction: compaction, Pending: pending, Instances: instances, HotKeys: hot, DriftedKeys: p.Snapshot.Drifted, PlannerRevision: planner.Revision, WorkUnits: p.WorkUnits,
	}, nil
}

// certificateOf returns the certificate of a plan as JSON; nil when there is none.
func certificateOf(p *outcome) ([]byte, error) {
	if p.certificate != nil {
		return json.Marshal(p.certificate)
	}
	c := p.Certificate
	if c == nil {
		return nil, nil
	}
	out := wire.Certificate{LowerBound: &c.LowerBound, Gap: c.Gap, Scope: wire.CertificateScopeKeys, Infeasible: c.Infeasible, Unmet: make([]wire.Unmet, len(c.Unmet))}
	if p.classes != nil {
		out.Scope = wire.CertificateScopeClasses
	}
	if c.Infeasible {
		out.LowerBound = nil
	}
	for i, u := range c.Unmet {
		out.Unmet[i] = wire.Unmet{Constraint: wire.UnmetConstraint(u.Constraint), Limit: u.Limit, AtLeast: u.AtLeast}
	}
	return json.Marshal(out)
}

func loadsOf(p *outcome) []wire.Load {
	out := make([]wire.Load, len(p.Instances))
	for i, l := range p.Instances {
		d := p.Snapshot.Instances[i]
		out[i] = wire.Load{
			Id: d.ID, Capacity: d.Capacity, LoadBefore: l.Before, LoadAfter: l.After,
			KeysBefore: l.KeysBefore, KeysAfter: l.KeysAfter, StateIn: l.StateIn, StateOut: l.StateOut,
		}
		if d.Drained {
			out[i].Drained = &d.Drained
		}
		if p.loadErrors != nil {
			out[i].LoadError = &wire.Comparison{Before: p.loadErrors[i].Before, After: p.loadErrors[i].After}
		}
	}
	return out
}

func hotKeysOf(p *outcome) []hotKey {
	out := make([]hotKey, len(p.HotKeys))
	for i, h := range p.HotKeys {
		out[i] = hotKey{Instance: p.Snapshot.Instances[h.Instance].ID, Cost: h.Cost, ForcedTheta: h.ForcedTheta}
		if p.classes == nil {
			out[i].Key = p.Snapshot.Keys.At(int(h.Item))
		} else {
			out[i].Class = classOf(p.classes.Records[h.Item])
		}
		if h.Pieces > 0 {
			pieces := int32(h.Pieces)
			out[i].Pieces = &pieces
		}
	}
	return out
}

// changesOf returns what a plan does to the table, in ascending bytes of the keys.
func changesOf(p *planner.Plan) []store.Change {
	out := slices.AppendSeq(make([]store.Change, 0, len(p.Set)+len(p.Unset)), unsortedChanges(p))
	slices.SortFunc(out, func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

// unsortedChanges yields what a plan does to the table.
func unsortedChanges(p *planner.Plan) iter.Seq[store.Change] {
	s := p.Snapshot
	old := func(item int32) int32 {
		switch {
		case s.Table == nil && s.Current[item] != s.Hash[item]:
			return s.Instances[s.Current[item]].ID
		case s.Entry != nil && s.Entry[item] >= 0:
			return s.Table.At(int(s.Entry[item])).Instance
		}
		return store.NoInstance
	}
	return func(yield func(store.Change) bool) {
		for _, x := range p.Set {
			if !yield(store.Change{Key: s.Keys.At(int(x.Item)), Old: old(x.Item), New: s.Instances[x.To].ID}) {
				return
			}
		}
		for i, u := range p.Unset {
			c := store.Change{Key: p.UnsetKey(i), New: store.NoInstance}
			if u.Entry >= 0 {
				c.Old = s.Table.At(int(u.Entry)).Instance
			} else {
				c.Old = old(u.Item)
			}
			if !yield(c) {
				return
			}
		}
	}
}

// figuresOut brings stored figures into an answer.
func figuresOut(f store.Figures, hot []hotKey, keys keyCoder) figures {
	out := figures{
		EndReason: f.EndReason, Causes: f.Causes, Balanced: f.Balanced, TableWithinLimit: f.TableWithinLimit,
		Theta:       wire.Comparison{Before: f.ThetaBefore, After: f.ThetaAfter},
		Underload:   wire.Comparison{Before: f.UnderloadBefore, After: f.UnderloadAfter},
		Skewness:    wire.Comparison{Before: f.SkewnessBefore, After: f.SkewnessAfter},
		Migration:   wire.MigrationFigures{Keys: f.MigrationKeys, State: f.MigrationState, Fraction: f.MigrationFraction, Objective: f.Objective},
		Certificate: f.Certificate, Compaction: f.Compaction, Instances: f.Instances, DriftedKeys: f.DriftedKeys,
	}
	if f.Instances != nil {
		out.HotKeys = make([]wire.HotKey, len(hot))
	}
	if out.Causes == nil {
		out.Causes = []string{}
	}
	for i, h := range hot {
		out.HotKeys[i] = wire.HotKey{Instance: h.Instance, Cost: h.Cost, Pieces: h.Pieces, ForcedTheta: h.ForcedTheta}
		if h.Class != nil {
			out.HotKeys[i].Class = &h.Class
			continue
		}
		key := keys.text(h.Key)
		out.HotKeys[i].Key = &key
	}
	return out
}

// openPlan renders a plan up to its long parts, and leaves the object open. A plan
// as the store lists it has neither instances nor hot keys.
func openPlan(p store.Plan, hot []hotKey, keys keyCoder, persist *time.Duration) ([]byte, error) {
	head := planHead{
		ID: p.ID, Operator: p.Operator, Epoch: p.Epoch, Interval: p.Interval, Status: p.Status, Strategy: p.Strategy,
		Parameters: p.Parameters, BaseVersion: p.BaseVersion, Version: p.Version, ConfigVersion: p.ConfigVersion,
		Migrates: migratesOf(p), ResolvedKeys: p.ResolvedKeys,
		figures: figuresOut(p.Figures, hot, keys), Pending: p.Pending, InputHash: p.InputHash, PlannerRevision: p.PlannerRevision, WorkUnits: p.WorkUnits,
		Timing: wire.Timing{DecodeMs: p.DecodeMS, PlanMs: p.PlanMS}, CreatedAt: p.CreatedAt.UTC(), KeyEncoding: keys.member(),
	}
	if p.Executor != "" {
		head.Executor = &p.Executor
	}
	if p.ExpiresAt != nil {
		at := p.ExpiresAt.UTC()
		head.ExpiresAt = &at
	}
	if p.Instances != nil {
		if head.Reports = p.Reports; head.Reports == nil {
			head.Reports = jsontext.Value("null")
		}
		head.Awaited, head.Acked = append([]int32{}, p.Awaited...), acksOf(p.Acked)
	}
	if persist != nil {
		ms := milliseconds(*persist)
		head.Timing.PersistMs = &ms
	}
	return openObject(head)
}

func acksOf(acked []store.Ack) []ack {
	out := make([]ack, len(acked))
	for i, a := range acked {
		out[i] = ack{a.Instance, a.Actor, a.At.UTC()}
	}
	return out
}

// migratesOf tells what the migrations of a stored plan are.
func migratesOf(p store.Plan) wire.Migrates {
	switch schemeOf(p.Strategy) {
	case wire.SchemeRing:
		return wire.MigratesArcs
	case wire.SchemeRanges:
		return wire.MigratesRanges
	}
	return migrates(p.Classes)
}

// migrates tells what the migrations of a plan of a routing table are.
func migrates(classes bool) wire.Migrates {
	if classes {
		return wire.MigratesClasses
	}
	return wire.MigratesKeys
}

package offline

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/resources"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// Result is what became of one interval: a result as a what-if of the HTTP API answers it.
type Result struct {
	Interval int64 `json:"interval"`
	Keys     int64 `json:"keys"`
	wire.WhatIfResult
	KeyEncoding string `json:"key_encoding,omitzero"`
	// Of the one plan that is reported with its lists:
	InputHash       string    `json:"input_hash,omitzero"`
	PlannerRevision string    `json:"planner_revision,omitzero"`
	Schedule        *Schedule `json:"schedule,omitzero"` // nil: the plan was not cut into batches
}

// endTimeout stands as end reason where time ran out before any plan.
const endTimeout = "timeout"

// intervalOf describes what became of an interval, without the lists of its plan.
func intervalOf(s step, d *driver, keys reading.KeyEncoder) Result {
	out := Result{Interval: s.Interval, WhatIfResult: wire.WhatIfResult{
		Strategy: wire.Strategy(d.Operator().Strategy), EndReason: endTimeout, Migrates: "keys", Balanced: new(bool),
		Parameters: recast[wire.Parameters](d.values()), Timing: wire.Timing{PlanMs: drive.Milliseconds(s.Elapsed)},
	}}
	if s.Snapshot != nil {
		out.Keys = int64(s.Snapshot.Len())
	}
	if s.grouped > 0 {
		out.Affinity = &wire.AffinityFigures{Keys: int64(s.grouped), RoutedKeys: out.Keys}
	}
	if c := s.Compaction; c != nil {
		out.Keys, out.Compaction = c.Keys, compactionOf(c)
	}
	if s.classes != nil {
		out.Migrates = "classes"
	}
	p := s.Plan
	if p == nil {
		return out
	}
	if keys = keys || encoderFor(s); keys {
		out.KeyEncoding = "base64"
	}
	for _, c := range p.Causes {
		out.Causes = append(out.Causes, string(c))
	}
	out.Pareto = true // it is the only one
	out.EndReason, out.Balanced, out.TableWithinLimit = wire.EndReason(p.EndReason), &p.Balanced, p.TableWithinLimit
	out.Theta, out.Underload, out.Skewness = comparison(p.Theta), comparison(p.Underload), comparison(p.Skewness)
	out.Migration = wire.MigrationFigures{
		Keys: p.Migration.Keys, State: p.Migration.State, Fraction: p.Migration.Fraction, Objective: p.Migration.Objective,
	}
	out.RoutingTable = wire.TableSizes{SizeBefore: p.TableBefore, SizeAfter: p.TableAfter}
	out.DriftedKeys, out.WorkUnits, out.Merges = p.Snapshot.Drifted, p.WorkUnits, p.Merges()
	if c := p.Certificate; c != nil {
		out.Certificate = &wire.Certificate{
			Gap: c.Gap, Infeasible: c.Infeasible, Scope: wire.CertificateScope(out.Migrates),
			Unmet: make([]wire.Unmet, len(c.Unmet)),
		}
		for i, u := range c.Unmet {
			u.AtLeast = resources.Finite(u.AtLeast)
			out.Certificate.Unmet[i] = recast[wire.Unmet](u)
		}
		if !c.Infeasible {
			out.Certificate.LowerBound = &c.LowerBound
		}
	}
	out.Instances, out.HotKeys, out.Splits = loadsOf(s), hotKeysOf(s, keys), splitKeysOf(p, keys)
	withResources(&out, p)
	if p.Options.ThetaMin != nil {
		out.Filled, out.Unfilled = new(len(p.Unfilled) == 0), &wire.Unfilled{}
	}
	for _, y := range p.Unfilled {
		shortage := wire.InstanceShortage{Proven: y.Proven}
		if y.Cause != "" {
			shortage.Cause = new(wire.Shortage(y.Cause))
		}
		out.Instances[y.Instance].Unfilled = &shortage
		if out.Unfilled != nil {
			*out.Unfilled = append(*out.Unfilled, wire.UnfilledInstance{
				Instance: out.Instances[y.Instance].Id, Cause: shortage.Cause, Proven: shortage.Proven,
			})
		}
	}
	return out
}

// recast brings what JSON has of a value into the type that the HTTP API has for it.
func recast[T any](value any) (out T) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // the types do not fit
	}
	return out
}

func comparison(c planner.Comparison) wire.Comparison {
	return wire.Comparison{Before: c.Before, After: c.After}
}

func compactionOf(c *drive.Compaction) *wire.Compaction {
	out := &wire.Compaction{CostScale: c.CostScale, StateScale: c.StateScale, Records: int64(c.Records), Keys: c.Keys}
	if c.Degree > 0 {
		out.Degree = new(wire.CompactDegree(c.Degree))
	}
	if c.Error != nil {
		out.Error = new(wire.CompactionError(comparison(*c.Error)))
	}
	return out
}

func loadsOf(s step) wire.Loads {
	out := make(wire.Loads, len(s.Plan.Instances))
	for i, l := range s.Plan.Instances {
		in := s.Snapshot.Instances[i]
		out[i] = wire.Load{
			Id: in.ID, Name: in.Name, Capacity: in.Capacity, LoadBefore: l.Before, LoadAfter: l.After, KeysBefore: l.KeysBefore,
			KeysAfter: l.KeysAfter, StateIn: l.StateIn, StateOut: l.StateOut,
		}
		if in.Drained {
			out[i].Drained = &in.Drained
		}
		if s.Plan.Options.ThetaMin != nil && in.Live() {
			out[i].LeastLoad = &l.Least
		}
		if s.loadErrors != nil {
			out[i].LoadError = new(comparison(s.loadErrors[i]))
		}
	}
	return out
}

func hotKeysOf(s step, keys reading.KeyEncoder) wire.HotKeys {
	out := make(wire.HotKeys, len(s.Plan.HotKeys))
	for i, h := range s.Plan.HotKeys {
		out[i] = wire.HotKey{Instance: s.Snapshot.Instances[h.Instance].ID, Cost: h.Cost,
			ForcedTheta: resources.Finite(h.ForcedTheta)}
		if h.Resource != "" {
			out[i].Resource = &h.Resource
		}
		if h.Pieces > 0 {
			out[i].Pieces = new(int32(h.Pieces))
		}
		if s.classes == nil || s.classes.IsNamed(h.Item) {
			out[i].Key = new(keys.Encode(s.Snapshot.Keys.At(int(h.Item))))
			continue
		}
		r := s.classes.Records[h.Item]
		out[i].Class = &[]float64{float64(r.Current), float64(r.Hash), r.Cost, r.State, float64(r.Count)}
	}
	return out
}

func splitKeysOf(p *planner.Plan, keys reading.KeyEncoder) (out wire.SplitKeys) {
	for _, x := range p.Splits {
		out = append(out, wire.SplitKey{
			Key: keys.Encode(p.Snapshot.Keys.At(int(x.Item))), Cost: p.Snapshot.Cost[x.Item], Cause: wire.SplitKeyCause(x.Cause),
			Changed: x.Changed, Parts: partsOf(p, x),
		})
	}
	return out
}

func partsOf(p *planner.Plan, x planner.PlannedSplit) (out wire.Parts) {
	for _, part := range x.OnIDs(p.Snapshot) {
		out = append(out, wire.Part(part))
	}
	return out
}

// listsOf are the lists of a plan: what moves, and, of keys, what becomes of the table.
func listsOf(p *planner.Plan, s step, keys reading.KeyEncoder) *wire.WhatIfPlan {
	out := &wire.WhatIfPlan{RoutingTable: wire.TableDiff{SizeBefore: p.TableBefore, SizeAfter: p.TableAfter}}
	if s.classes != nil {
		for _, r := range s.classes.Moves(p) {
			out.Migrations = append(out.Migrations, wire.PlanMigration{Class: [6]float64{
				float64(r.Planned), float64(r.Current), float64(r.Hash), r.Cost, r.State, float64(r.Count)}})
		}
		p = s.named()
	}
	text := func(item int32) string { return keys.Encode(p.Snapshot.Keys.At(int(item))) }
	id := func(instance int32) int32 { return p.Snapshot.Instances[instance].ID }
	for _, m := range p.Moves {
		out.Migrations = append(out.Migrations, wire.PlanMigration{Migration: wire.Migration{
			Key: text(m.Item), From: id(m.From), To: id(m.To), Cost: p.Snapshot.Cost[m.Item], State: p.Snapshot.StateOf(m),
			Reason: wire.MigrationReason(m.Reason.String()),
		}})
	}
	if s.classes != nil {
		return out
	}
	for _, x := range p.Set {
		out.RoutingTable.Set = append(out.RoutingTable.Set, wire.RoutingTableEntry{Key: text(x.Item), Instance: id(x.To)})
	}
	for _, x := range p.Splits {
		if x.Changed {
			out.RoutingTable.Set = append(out.RoutingTable.Set, wire.RoutingTableEntry{
				Key: text(x.Item), Instance: id(x.Heaviest().Instance), Parts: new(partsOf(p, x))})
		}
	}
	for i := range p.Unset {
		out.RoutingTable.Unset = append(out.RoutingTable.Unset, keys.Encode(p.UnsetKey(i)))
	}
	return out
}

// encoderFor looks at all keys that are named: where one is not text, all are in base64.
func encoderFor(s step) reading.KeyEncoder {
	p := s.named()
	var items []int32
	for _, m := range p.Moves {
		items = append(items, m.Item)
	}
	for _, s := range p.Set {
		items = append(items, s.Item)
	}
	for _, h := range p.HotKeys {
		items = append(items, h.Item)
	}
	for _, x := range p.Splits {
		items = append(items, x.Item)
	}
	binary := slices.ContainsFunc(items, func(item int32) bool { return !utf8.Valid(p.Snapshot.Keys.At(int(item))) })
	for i := range p.Unset {
		binary = binary || !utf8.Valid(p.UnsetKey(i))
	}
	return reading.KeyEncoder(binary)
}

// planOf describes the one plan that is reported, with its lists.
func planOf(s step, d *driver, keys reading.KeyEncoder, inputHash [16]byte) Result {
	out := intervalOf(s, d, keys)
	out.Plan = listsOf(s.Plan, s, out.KeyEncoding != "")
	out.InputHash, out.PlannerRevision = hex.EncodeToString(inputHash[:]), planner.Revision
	return out
}

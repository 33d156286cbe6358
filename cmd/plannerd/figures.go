package main

import (
	"encoding/base64"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"plannerd/internal/drive"
	"plannerd/planner"
)

// The JSON documents of plan and compare use the names of the HTTP API.

type beforeAfter struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

type migrationFigures struct {
	Keys      int64   `json:"keys"`
	State     float64 `json:"state"`
	Fraction  float64 `json:"fraction"`
	Objective float64 `json:"objective"`
}

type tableSizes struct {
	Before int64 `json:"size_before"`
	After  int64 `json:"size_after"`
}

// figures are what one plan reports about itself.
type figures struct {
	Interval         int64               `json:"interval"`
	Keys             int                 `json:"keys"`
	EndReason        string              `json:"end_reason"`
	Causes           []planner.Cause     `json:"causes"`
	Balanced         bool                `json:"balanced"`
	TableWithinLimit bool                `json:"table_within_limit"`
	Theta            beforeAfter         `json:"theta"`
	Underload        beforeAfter         `json:"underload"`
	Skewness         beforeAfter         `json:"skewness"`
	Migration        migrationFigures    `json:"migration"`
	Certificate      *certificateFigures `json:"certificate"`
	RoutingTable     tableSizes          `json:"routing_table"`
	WorkUnits        int64               `json:"work_units"`
	PlanMS           float64             `json:"plan_ms"`
}

// endTimeout stands as end reason where time ran out before any plan.
const endTimeout = "timeout"

func figuresOf(step drive.Step) figures {
	f := figures{Interval: step.Interval, EndReason: endTimeout, Causes: []planner.Cause{}, PlanMS: milliseconds(step.Elapsed)}
	if step.Snapshot != nil {
		f.Keys = step.Snapshot.Len()
	}
	p := step.Plan
	if p == nil {
		return f
	}
	f.EndReason = string(p.EndReason)
	f.Causes = append(f.Causes, p.Causes...)
	f.Balanced, f.TableWithinLimit = p.Balanced, p.TableWithinLimit
	f.Theta, f.Underload, f.Skewness = beforeAfter(p.Theta), beforeAfter(p.Underload), beforeAfter(p.Skewness)
	f.Migration = migrationFigures(p.Migration)
	f.Certificate = certificateOf(p)
	f.RoutingTable = tableSizes{p.TableBefore, p.TableAfter}
	f.WorkUnits = p.WorkUnits
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// parameters are the options of a plan.
type parameters struct {
	ThetaMax    float64  `json:"theta_max"`
	TableLimit  *int64   `json:"table_limit"`
	Beta        float64  `json:"beta"`
	KeyOverhead float64  `json:"key_overhead"`
	Sigma       *float64 `json:"sigma"` // null: auto
	WorkBudget  int64    `json:"work_budget"`

	Certificate    planner.CertificateLevel `json:"certificate"`
	Objective      planner.Objective        `json:"objective"`
	MigrationLimit *limitFigures            `json:"migration_limit"`
}

func parametersOf(o planner.Options) parameters {
	return parameters{o.ThetaMax, o.TableLimit, *o.Beta, o.KeyOverhead, o.Sigma, o.WorkBudget, o.Certificate, o.Objective, limitOf(o.MigrationLimit)}
}

type instanceFigures struct {
	ID         int32   `json:"id"`
	Capacity   float64 `json:"capacity"`
	Drained    bool    `json:"drained,omitempty"`
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
	KeysBefore int64   `json:"keys_before"`
	KeysAfter  int64   `json:"keys_after"`
	StateIn    float64 `json:"state_in"`
	StateOut   float64 `json:"state_out"`
}

type hotKey struct {
	Key         string  `json:"key"`
	Instance    int32   `json:"instance"`
	Cost        float64 `json:"cost"`
	Pieces      int     `json:"pieces"`
	ForcedTheta float64 `json:"forced_theta"`
}

type tableEntry struct {
	Key      string `json:"key"`
	Instance int32  `json:"instance"`
}

type migration struct {
	Key    string  `json:"key"`
	From   int32   `json:"from"`
	To     int32   `json:"to"`
	Cost   float64 `json:"cost"`
	State  float64 `json:"state"`
	Reason string  `json:"reason"`
}

// planDocument is one plan with its lists.
type planDocument struct {
	Strategy   string     `json:"strategy"`
	Parameters parameters `json:"parameters"`
	figures
	KeyEncoding     string            `json:"key_encoding,omitempty"`
	Instances       []instanceFigures `json:"instances"`
	HotKeys         []hotKey          `json:"hot_keys"`
	DriftedKeys     int64             `json:"drifted_keys"`
	InputHash       string            `json:"input_hash"`
	PlannerRevision string            `json:"planner_revision"`
	Table           struct {
		tableSizes
		Set   []tableEntry `json:"set"`
		Unset []string     `json:"unset"`
	} `json:"routing_table"`
	Migrations []migration `json:"migrations"`
}

// keyEncoder writes keys as they are, or all in base64 when one is not UTF-8.
type keyEncoder bool

func (base64Keys keyEncoder) encode(key []byte) string {
	if base64Keys {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}

// encoderFor looks at all keys that the plan's lists name.
func encoderFor(p *planner.Plan) keyEncoder {
	for _, m := range p.Moves {
		if !utf8.Valid(p.Snapshot.Keys.At(int(m.Item))) {
			return true
		}
	}
	for _, s := range p.Set {
		if !utf8.Valid(p.Snapshot.Keys.At(int(s.Item))) {
			return true
		}
	}
	for i := range p.Unset {
		if !utf8.Valid(p.UnsetKey(i)) {
			return true
		}
	}
	for _, h := range p.HotKeys {
		if !utf8.Valid(p.Snapshot.Keys.At(int(h.Item))) {
			return true
		}
	}
	return false
}

// documentOf writes a plan out. Lists are never null.
func documentOf(step drive.Step, inputHash [16]byte) planDocument {
	p, s := step.Plan, step.Plan.Snapshot
	keys := encoderFor(p)
	key := func(item int32) string { return keys.encode(s.Keys.At(int(item))) }
	d := planDocument{
		Strategy: p.Strategy, Parameters: parametersOf(p.Options), figures: figuresOf(step),
		Instances: []instanceFigures{}, HotKeys: []hotKey{}, DriftedKeys: s.Drifted,
		InputHash: hex.EncodeToString(inputHash[:]), PlannerRevision: planner.Revision, Migrations: []migration{},
	}
	if keys {
		d.KeyEncoding = "base64"
	}
	for i, l := range p.Instances {
		in := s.Instances[i]
		d.Instances = append(d.Instances, instanceFigures{
			in.ID, in.Capacity, in.Drained, l.Before, l.After, l.KeysBefore, l.KeysAfter, l.StateIn, l.StateOut,
		})
	}
	for _, h := range p.HotKeys {
		d.HotKeys = append(d.HotKeys, hotKey{key(h.Item), s.Instances[h.Instance].ID, h.Cost, h.Pieces, h.ForcedTheta})
	}
	d.Table.tableSizes, d.Table.Set, d.Table.Unset = d.RoutingTable, []tableEntry{}, []string{}
	for _, set := range p.Set {
		d.Table.Set = append(d.Table.Set, tableEntry{key(set.Item), s.Instances[set.To].ID})
	}
	for i := range p.Unset {
		d.Table.Unset = append(d.Table.Unset, keys.encode(p.UnsetKey(i)))
	}
	for _, m := range p.Moves {
		d.Migrations = append(d.Migrations, migration{
			key(m.Item), s.Instances[m.From].ID, s.Instances[m.To].ID, s.Cost[m.Item], stateOf(s, m.Item), m.Reason.String(),
		})
	}
	return d
}

func stateOf(s *planner.Snapshot, item int32) float64 {
	if s.State == nil {
		return 1
	}
	return s.State[item]
}

// spread is a figure over the intervals of a stream.
type spread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

type totalSpread struct {
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	Total  float64 `json:"total"`
}

func spreadOf(s drive.Spread) spread { return spread{s.Median, s.Max} }

// provenFigures sum the certificates of a stream up.
type provenFigures struct {
	Plans      int         `json:"plans"`       // that have one
	Infeasible int         `json:"infeasible"`  // of these, those where no plan meets all limits
	LowerBound totalSpread `json:"lower_bound"` // over the others
	Gap        *float64    `json:"gap"`
}

// streamSummary sums a driven stream up.
type streamSummary struct {
	Intervals   int           `json:"intervals"`
	Planned     int           `json:"planned"`
	Balanced    int           `json:"balanced"`
	WithinLimit int           `json:"table_within_limit"`
	Acted       int           `json:"acted"`
	Stopped     int           `json:"stopped"`
	ThetaBefore spread        `json:"theta_before"`
	ThetaAfter  spread        `json:"theta_after"`
	Keys        totalSpread   `json:"migrated_keys"`
	State       totalSpread   `json:"migrated_state"`
	Fraction    spread        `json:"migrated_fraction"`
	Proven      provenFigures `json:"certificates"`
	Table       spread        `json:"table_size"`
	PlanMS      totalSpread   `json:"plan_ms"`
}

func summaryOf(s *drive.Summary) streamSummary {
	median, most, total := s.Time()
	return streamSummary{
		Intervals: s.Intervals, Planned: s.Planned, Balanced: s.Balanced, WithinLimit: s.WithinLimit, Acted: s.Acted, Stopped: s.Stopped,
		ThetaBefore: spreadOf(s.ThetaBefore()), ThetaAfter: spreadOf(s.ThetaAfter()),
		Keys: totalSpread(s.Keys()), State: totalSpread(s.State()), Fraction: spreadOf(s.Fraction()),
		Proven: provenFigures{s.Certified, s.Infeasible, totalSpread(s.LowerBound()), s.Gap()}, Table: spreadOf(s.Table()),
		PlanMS: totalSpread{milliseconds(median), milliseconds(most), milliseconds(total)},
	}
}

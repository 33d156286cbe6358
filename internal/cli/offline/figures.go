package offline

import (
	"encoding/hex"
	"slices"
	"time"
	"unicode/utf8"

	"plannerd/internal/cli/reading"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// The JSON documents of plan and compare use the names of the HTTP API.

type tableSizes struct {
	Before int64 `json:"size_before"`
	After  int64 `json:"size_after"`
}

// figures are what one plan reports about itself.
type figures struct {
	Interval         int64               `json:"interval"`
	Keys             int64               `json:"keys"`
	EndReason        string              `json:"end_reason"`
	Causes           []planner.Cause     `json:"causes"`
	Balanced         bool                `json:"balanced"`
	TableWithinLimit bool                `json:"table_within_limit"`
	Filled           *bool               `json:"filled,omitzero"`
	Unfilled         []unfilledInstance  `json:"unfilled,omitzero"`
	Theta            planner.Comparison  `json:"theta"`
	Underload        planner.Comparison  `json:"underload"`
	Skewness         planner.Comparison  `json:"skewness"`
	Migration        planner.Migration   `json:"migration"`
	Certificate      *certificateFigures `json:"certificate"`
	Compaction       *CompactionFigures  `json:"compaction"`
	RoutingTable     tableSizes          `json:"routing_table"`
	Merges           *int64              `json:"merges,omitzero"` // per interval, of the parts of split keys
	WorkUnits        int64               `json:"work_units"`
	PlanMS           float64             `json:"plan_ms"`
}

// endTimeout stands as end reason where time ran out before any plan.
const endTimeout = "timeout"

func figuresOf(s step) figures {
	f := figures{
		Interval: s.Interval, EndReason: endTimeout, Causes: []planner.Cause{}, Compaction: s.compaction,
		PlanMS: milliseconds(s.Elapsed),
	}
	switch {
	case s.compaction != nil:
		f.Keys = s.compaction.Keys
	case s.Snapshot != nil:
		f.Keys = int64(s.Snapshot.Len())
	}
	p := s.Plan
	if p == nil {
		return f
	}
	f.EndReason = string(p.EndReason)
	f.Causes = append(f.Causes, p.Causes...)
	f.Balanced, f.TableWithinLimit = p.Balanced, p.TableWithinLimit
	if p.Options.ThetaMin != nil {
		f.Filled, f.Unfilled = new(len(p.Unfilled) == 0), unfilledOf(p)
	}
	f.Theta, f.Underload, f.Skewness = p.Theta, p.Underload, p.Skewness
	f.Migration = p.Migration
	f.Certificate = certificateOf(s)
	f.RoutingTable = tableSizes{p.TableBefore, p.TableAfter}
	if p.Options.Splitting != nil {
		f.Merges = new(p.Merges())
	}
	f.WorkUnits = p.WorkUnits
	return f
}

// unfilledInstance is an instance that the plan leaves below its least load.
type unfilledInstance struct {
	Instance int32            `json:"instance"`
	Cause    planner.Shortage `json:"cause,omitzero"`
	Proven   bool             `json:"proven"`
}

func unfilledOf(p *planner.Plan) []unfilledInstance {
	list := []unfilledInstance{}
	for _, y := range p.Unfilled {
		list = append(list, unfilledInstance{p.Snapshot.Instances[y.Instance].ID, y.Cause, y.Proven})
	}
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// planParameters are the options of a plan, by their names in the HTTP API.
type planParameters struct {
	planner.Options
	MigrationLimit *parameters.MigrationLimit `json:"migration_limit"`
}

func parametersOf(o planner.Options) planParameters {
	v := parameters.Of(o)
	return planParameters{v.Options, v.MigrationLimit}
}

type instanceFigures struct {
	ID         int32   `json:"id"`
	Capacity   float64 `json:"capacity"`
	Drained    bool    `json:"drained,omitzero"`
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
	KeysBefore int64   `json:"keys_before"`
	KeysAfter  int64   `json:"keys_after"`
	StateIn    float64 `json:"state_in"`
	StateOut   float64 `json:"state_out"`
	// LeastLoad is what it should carry at least; nil without theta_min.
	LeastLoad *float64 `json:"least_load,omitzero"`
	// LoadError is that of the load that records made of keys come to.
	LoadError *planner.Comparison `json:"load_error,omitzero"`
}

// HotKey is a key that alone is too much for an instance.
type HotKey struct {
	Key string `json:"key,omitzero"`
	// Class is, of compact records, [d, d_h, v_c, v_S, #].
	Class       []float64 `json:"class,omitzero"`
	Instance    int32     `json:"instance"`
	Cost        float64   `json:"cost"`
	Pieces      int       `json:"pieces"`
	ForcedTheta float64   `json:"forced_theta"`
}

type migration struct {
	Key    string  `json:"key"`
	From   int32   `json:"from"`
	To     int32   `json:"to"`
	Cost   float64 `json:"cost"`
	State  float64 `json:"state"`
	Reason string  `json:"reason"`
	Batch  int     `json:"batch,omitzero"` // from 1; 0: the plan was not cut into batches
}

// PlanHead is one plan without its lists.
type PlanHead struct {
	Strategy   string         `json:"strategy"`
	Parameters planParameters `json:"parameters"`
	Migrates   string         `json:"migrates"` // keys or classes
	figures
	KeyEncoding     string            `json:"key_encoding,omitzero"`
	Instances       []instanceFigures `json:"instances"`
	HotKeys         []HotKey          `json:"hot_keys"`
	DriftedKeys     int64             `json:"drifted_keys"`
	InputHash       string            `json:"input_hash"`
	PlannerRevision string            `json:"planner_revision"`
}

// PlanDocument is one plan of keys.
type PlanDocument struct {
	PlanHead
	Table struct {
		tableSizes
		Set   []reading.TableEntry `json:"set"`
		Unset []string             `json:"unset"`
	} `json:"routing_table"`
	Schedule   *ScheduleFigures `json:"schedule,omitzero"` // nil: the plan was not cut into batches
	SplitKeys  []splitKey       `json:"split_keys,omitzero"`
	Migrations []migration      `json:"migrations"`
}

// ClassDocument is one plan of compact records. Their keys have no table entries
// to list; each migration is [d', d, d_h, v_c, v_S, #], or that of a key that is named.
type ClassDocument struct {
	PlanHead
	SplitKeys   []splitKey `json:"splits,omitempty"`
	Migrations  []any      `json:"migrations"`
	KeyEncoding string     `json:"key_encoding,omitzero"`
}

// encoderFor looks at all keys that the plan's lists name.
func encoderFor(p *planner.Plan) reading.KeyEncoder {
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

// headOf describes a plan; hot keys are described by hot.
func headOf(st step, migrates string, inputHash [16]byte, hot func(*planner.HotKey) HotKey) PlanHead {
	p, s := st.Plan, st.Plan.Snapshot
	h := PlanHead{
		Strategy: p.Strategy, Parameters: parametersOf(p.Options), Migrates: migrates, figures: figuresOf(st),
		Instances: []instanceFigures{}, HotKeys: []HotKey{}, DriftedKeys: s.Drifted,
		InputHash: hex.EncodeToString(inputHash[:]), PlannerRevision: planner.Revision,
	}
	for i, l := range p.Instances {
		in := s.Instances[i]
		f := instanceFigures{
			ID: in.ID, Capacity: in.Capacity, Drained: in.Drained, LoadBefore: l.Before, LoadAfter: l.After,
			KeysBefore: l.KeysBefore, KeysAfter: l.KeysAfter, StateIn: l.StateIn, StateOut: l.StateOut,
		}
		if p.Options.ThetaMin != nil && in.Live() {
			f.LeastLoad = &p.Instances[i].Least
		}
		if st.loadErrors != nil {
			f.LoadError = &st.loadErrors[i]
		}
		h.Instances = append(h.Instances, f)
	}
	for i := range p.HotKeys {
		x := &p.HotKeys[i]
		f := hot(x)
		f.Instance, f.Cost, f.Pieces, f.ForcedTheta = s.Instances[x.Instance].ID, x.Cost, x.Pieces, x.ForcedTheta
		h.HotKeys = append(h.HotKeys, f)
	}
	return h
}

// documentOf writes a plan of keys out. Lists are never null.
func documentOf(st step, inputHash [16]byte, keys reading.KeyEncoder) PlanDocument {
	p, s := st.Plan, st.Plan.Snapshot
	keys = keys || encoderFor(p)
	key := func(item int32) string { return keys.Encode(s.Keys.At(int(item))) }
	d := PlanDocument{
		PlanHead:  headOf(st, "keys", inputHash, func(h *planner.HotKey) HotKey { return HotKey{Key: key(h.Item)} }),
		SplitKeys: splitKeysOf(p, keys), Migrations: migrationsOf(p, keys),
	}
	if keys {
		d.KeyEncoding = "base64"
	}
	d.Table.tableSizes = d.RoutingTable
	d.Table.Set, d.Table.Unset = tableChangesOf(p, keys)
	return d
}

// tableChangesOf lists what a plan does to the entries of whole keys. The lists are never
// null.
func tableChangesOf(p *planner.Plan, keys reading.KeyEncoder) (set []reading.TableEntry, unset []string) {
	set, unset = []reading.TableEntry{}, []string{}
	for _, x := range p.Set {
		set = append(set, reading.TableEntry{Key: keys.Encode(p.Snapshot.Keys.At(int(x.Item))),
			Instance: p.Snapshot.Instances[x.To].ID})
	}
	for i := range p.Unset {
		unset = append(unset, keys.Encode(p.UnsetKey(i)))
	}
	return set, unset
}

// migrationsOf lists the moves of keys.
func migrationsOf(p *planner.Plan, keys reading.KeyEncoder) []migration {
	s, out := p.Snapshot, make([]migration, len(p.Moves))
	for i, m := range p.Moves {
		out[i] = migration{
			keys.Encode(s.Keys.At(int(m.Item))), s.Instances[m.From].ID, s.Instances[m.To].ID,
			s.Cost[m.Item], s.StateOf(m), m.Reason.String(), 0,
		}
	}
	return out
}

// classDocumentOf writes a plan of compact records out.
func classDocumentOf(st step, keys reading.KeyEncoder) ClassDocument {
	named := *st.Plan
	named.Moves = st.classes.MovesNamed(st.Plan)
	named.HotKeys = slices.DeleteFunc(slices.Clone(named.HotKeys),
		func(h planner.HotKey) bool { return !st.classes.IsNamed(h.Item) })
	keys = keys || encoderFor(&named)
	d := ClassDocument{
		PlanHead: headOf(st, "classes", st.hash, func(h *planner.HotKey) HotKey {
			if st.classes.IsNamed(h.Item) {
				return HotKey{Key: keys.Encode(st.classes.Items.Keys.At(int(h.Item)))}
			}
			r := st.classes.Records[h.Item]
			return HotKey{Class: []float64{float64(r.Current), float64(r.Hash), r.Cost, r.State, float64(r.Count)}}
		}),
		SplitKeys: splitKeysOf(st.Plan, keys), Migrations: []any{},
	}
	if keys {
		d.KeyEncoding = "base64"
	}
	for _, r := range st.classes.Moves(st.Plan) {
		d.Migrations = append(d.Migrations, [6]float64{float64(r.Planned), float64(r.Current), float64(r.Hash), r.Cost,
			r.State, float64(r.Count)})
	}
	for _, m := range migrationsOf(&named, keys) {
		d.Migrations = append(d.Migrations, m)
	}
	return d
}

package api

import (
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/compact"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// material is what plans are made of: keys, or classes of them.
type material struct {
	*planner.Snapshot
	classes *compact.Classes // whose items the snapshot has; nil: it has keys
	degree  int              // of the classes; 0: not said

	// compression is the compact form of the keys that was used last, made as
	// compressed says.
	compression *compact.Compression
	compressed  compact.Options
}

// newMaterial brings statistics into the form that strategies take.
func newMaterial(in *statistics, target planner.Configuration, from planner.Base) (*material, error) {
	if in.records == nil {
		s, err := planner.NewSnapshot(in.Statistics, target, from)
		return &material{Snapshot: s}, err
	}
	// Records say where their keys are, and where the hash puts them.
	from.Configuration.Hash, from.Table = nil, nil
	c, err := compact.NewClasses(in.records, target, from)
	if err != nil {
		return nil, err
	}
	return &material{Snapshot: c.Items, classes: c, degree: in.records.Degree}, nil
}

// planCompact plans on the compact form of the keys.
func (m *material) planCompact(strategy string, p compactParameters, o planner.Options) (*compact.Plan, error) {
	options := p.options()
	if m.compression == nil || m.compressed != options {
		if err := m.checkScales(options.Scales); err != nil {
			return nil, err
		}
		m.compression = nil // it need not be in memory beside the new one
		c, err := compact.Compress(m.Snapshot, options)
		if err != nil {
			return nil, err
		}
		m.compression, m.compressed = c, options
	}
	return m.compression.Plan(strategy, o)
}

// checkScales refuses scales in which some value would be greater than costs and
// states may be.
func (m *material) checkScales(s compact.Scales) error {
	for _, v := range []struct {
		field  string
		scale  float64
		values []float64
	}{{"compact/cost_scale", s.Cost, m.Cost}, {"compact/state_scale", s.State, m.State}} {
		if v.scale > 0 && len(v.values) > 0 && slices.Max(v.values)/v.scale > planner.MaxAmount {
			return &planner.InputError{Row: -1, Field: v.field, Detail: "is too small for values as great as these"}
		}
	}
	return nil
}

// outcome is a plan, and what it was made of.
type outcome struct {
	*planner.Plan
	classes    *compact.Classes     // what its items are; nil: keys
	compaction *wire.Compaction     // nil: it was made on keys
	loadErrors []planner.Comparison // by instance; nil: not known
	obstacle   *obstacle            // the plan that was in the way; nil: none was

	// Of scheme ring or ranges:
	shift       shift             // nil: it is of a routing table
	changed     []store.Change    // of the entries that the store holds
	certificate *wire.Certificate // nil: nothing is proven
}

// outcome tells what a plan was made of.
func (m *material) outcome(p *planner.Plan) *outcome {
	out := &outcome{Plan: p, classes: m.classes}
	if m.classes == nil {
		return out
	}
	out.compaction = &wire.Compaction{
		CostScale: m.classes.Scales.Cost, StateScale: m.classes.Scales.State, Records: int64(len(m.classes.Records)),
		Keys: countOf(m.classes.Records),
	}
	if m.degree != 0 {
		degree := int32(m.degree)
		out.compaction.Degree = &degree
	}
	return out
}

func countOf(records []compact.Record) (n int64) {
	for _, r := range records {
		n += r.Count
	}
	return n
}

// compacted notes that the plan was made on the compact form of its keys.
func (o *outcome) compacted(c *compact.Compression, p *compact.Plan) {
	degree, worst := int32(c.Degree), p.GreatestError()
	o.loadErrors = p.Error
	o.compaction = &wire.Compaction{
		Degree: &degree, CostScale: c.Scales.Cost, StateScale: c.Scales.State,
		Records: int64(len(c.Records)), Keys: int64(c.Keys.Len()),
		Error: &wire.CompactionError{Before: worst.Before, After: worst.After},
	}
}

// compactionText returns the compact form as JSON; nil when there is none.
func (o *outcome) compactionText() ([]byte, error) {
	if o.compaction == nil {
		return nil, nil
	}
	return json.Marshal(o.compaction)
}

// changes returns what the plan does to the table; nil when nobody can tell.
func (o *outcome) changes() []store.Change {
	if o.shift != nil {
		return o.changed
	}
	if o.classes != nil {
		return nil
	}
	return changesOf(o.Plan)
}

// see lets keys see every key of the lists of a plan of a routing table.
func (o *outcome) see(keys *keyCoder) {
	if o.classes != nil {
		return
	}
	for c := range unsortedChanges(o.Plan) {
		keys.see(c.Key)
	}
	keys.base64 = keys.base64 || o.migrations().needsBase64()
}

// migrations is the list of what the plan moves.
func (o *outcome) migrations() migrationList {
	if o.shift != nil {
		return o.shift.migrations()
	}
	if o.classes != nil {
		return classMigrations(o.classes.Moves(o.Plan))
	}
	return migrations[statsio.Migration](statsio.MigrationsOf(o.Plan))
}

// stays are the keys that the plan leaves elsewhere than their hash instance, as
// moves to where they are.
func (o *outcome) stays() []compact.Record {
	left := slices.Clone(o.classes.Items.Count)
	for _, m := range o.Moves {
		left[m.Item] -= m.Count
	}
	var out []compact.Record
	for i, r := range o.classes.Records {
		if r.Current != r.Hash && left[i] > 0 {
			r.Count = left[i]
			out = append(out, r)
		}
	}
	return out
}

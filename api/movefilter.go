package api

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"

	"plannerd/api/wire"
	"plannerd/planner"
)

// moveFilter says which migrations are wanted.
type moveFilter struct {
	keyFilter
	contains          []byte
	from, to          *int32
	reason            *planner.Reason
	minCost, minState float64
}

func readMoveFilter(query url.Values) (f moveFilter, err error) {
	if f.keyFilter, err = readKeyFilter(query); err != nil {
		return f, err
	}
	if f.contains, err = f.keys.parameter(query, "key_contains"); err != nil {
		return f, err
	}
	if f.from, err = instanceParameter(query, "from"); err != nil {
		return f, err
	}
	if f.to, err = instanceParameter(query, "to"); err != nil {
		return f, err
	}
	if reason, ok := planner.ParseReason(query.Get("reason")); ok {
		f.reason = &reason
	}
	for name, least := range map[string]*float64{"min_cost": &f.minCost, "min_state": &f.minState} {
		if text := query.Get(name); text != "" {
			if *least, err = strconv.ParseFloat(text, 64); err != nil {
				return f, invalid().withParameter(name, outOfRange)
			}
		}
	}
	return f, nil
}

// takesAll reports whether nothing is filtered out.
func (f moveFilter) takesAll() bool {
	return f.keyFilter.takesAll() && len(f.contains) == 0 && f.from == nil && f.to == nil && f.reason == nil &&
		f.minCost <= 0 && f.minState <= 0
}

// takes reports whether a migration is wanted, as far as its key does not matter.
func (f moveFilter) takes(m moveOf) bool {
	return (f.from == nil || m.from == *f.from) && (f.to == nil || m.to == *f.to) &&
		(f.instance == nil || m.from == *f.instance || m.to == *f.instance) &&
		(f.reason == nil || m.reason == *f.reason) && m.cost >= f.minCost && m.state >= f.minState
}

// takesKey reports whether a migration of this key may be wanted.
func (f moveFilter) takesKey(key []byte) bool {
	return bytes.HasPrefix(key, f.prefix) && bytes.Contains(key, f.contains)
}

// meaningless is a parameter of lists of migrations, or one value of it, that says
// nothing about some of their kinds.
type meaningless struct {
	name, value string // "": whatever the value
	detail      string
	of          []wire.Migrates
}

var (
	keyless   = []wire.Migrates{wire.MigratesClasses, wire.MigratesArcs, wire.MigratesRanges}
	senseless = []meaningless{
		{"key_prefix", "", "is for plans of keys", keyless},
		{"key_contains", "", "is for plans of keys", keyless},
		{"key_encoding", "", "is for plans with keys", []wire.Migrates{wire.MigratesClasses, wire.MigratesArcs}},
		{"reason", "", "is not known of classes", []wire.Migrates{wire.MigratesClasses}},
		{"sort", "key", "by key is for plans of keys", keyless},
		{"sort", "reason", "by reason is not for plans of classes", []wire.Migrates{wire.MigratesClasses}},
		{"sort", "count", "by count is for plans of classes, arcs and ranges", []wire.Migrates{wire.MigratesKeys}},
	}
)

// refuseMeaningless refuses what says nothing about migrations of a kind.
func refuseMeaningless(query url.Values, kind wire.Migrates) error {
	bad := invalid()
	for _, m := range senseless {
		if query.Has(m.name) && (m.value == "" || m.value == query.Get(m.name)) && slices.Contains(m.of, kind) {
			bad.atParameter(m.name, m.detail)
		}
	}
	return bad.orNil()
}

package api

import (
	"errors"
	"slices"
	"strings"

	"plannerd/api/wire"
	"plannerd/compact"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// readCompact reads what the request says about the compact form: that of its
// records, or that to bring its keys into.
func (st *statisticsRequest) readCompact(m *members) {
	in := m.compact()
	if st.document.Records != nil {
		st.readRecords(m, or(in, wire.CompactStatistics{}))
		return
	}
	if in == nil {
		return
	}
	if in.Degree == nil {
		m.refuseCompact(&planner.InputError{Field: "compact/degree", Detail: "is needed"})
		return
	}
	p := parameters.Compact{Degree: int(*in.Degree), CostScale: in.CostScale, StateScale: in.StateScale}
	m.refuseCompact(p.Check())
	st.Compact = &p
}

// readRecords takes the rows for compact records.
func (st *statisticsRequest) readRecords(m *members, in wire.CompactStatistics) {
	m.records = true
	st.Records = &compact.Statistics{
		Records: st.document.Records, Scales: compact.Scales{Cost: or(in.CostScale, 1), State: or(in.StateScale, 1)},
		Degree: int(or(in.Degree, 0)), Partial: st.Partial, Residual: st.Residual,
	}
	if in.Degree != nil {
		m.refuseCompact(parameters.CheckDegree(int(*in.Degree)))
	}
	if len(list[int32](m, "compact_degree")) > 1 {
		m.refuse("compact_degree", "must be one value with compact records")
	}
}

// compact reads the member of that name, which is without its records, or the
// parameters that stand for it; nil where there is none.
func (m *members) compact() *wire.CompactStatistics {
	if m.query == nil {
		return member[wire.CompactStatistics](m, "compact")
	}
	in := wire.CompactStatistics{CostScale: queried[float64](m, "cost_scale"), StateScale: queried[float64](m, "state_scale")}
	if degrees := list[int32](m, "compact_degree"); len(degrees) > 0 { // of several, each is tried
		degree := slices.Max(degrees)
		in.Degree = &degree
	}
	if in == (wire.CompactStatistics{}) {
		return nil
	}
	return &in
}

// refuseCompact adds the problem that err, if it is one, says of the compact form.
func (m *members) refuseCompact(err error) {
	var input *planner.InputError
	if errors.As(err, &input) {
		m.refuse(m.compactName(input.Field), input.Detail)
	}
}

// compactName is what a field of the compact form is called in the request.
func (m *members) compactName(field string) string {
	if m.query == nil {
		return field
	}
	return compactParameter(field)
}

// compactParameter is the query parameter that stands for a field of the compact
// form.
func compactParameter(field string) string {
	if field == "compact/degree" {
		return "compact_degree"
	}
	return strings.TrimPrefix(field, "compact/")
}

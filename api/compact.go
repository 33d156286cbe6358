package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plannerd/api/wire"
	"plannerd/compact"
	"plannerd/planner"
)

// compactParameters say how statistics of keys are compacted before they are
// planned on. Degree 0: not at all.
type compactParameters struct {
	Degree     int      `json:"degree"`
	CostScale  *float64 `json:"cost_scale"`  // nil: taken from the values
	StateScale *float64 `json:"state_scale"` // nil: taken from the values
}

func compactOf(in wire.Compact) compactParameters {
	return compactParameters{Degree: int(in.Degree), CostScale: in.CostScale, StateScale: in.StateScale}
}

// check finds what is wrong with parameters that are within the contract.
func (p compactParameters) check() error {
	const needless = "is for a degree above 0"
	bad := func(field, detail string) error {
		return &planner.InputError{Row: -1, Field: "compact/" + field, Detail: detail}
	}
	switch {
	case p.Degree != 0:
		return checkDegree(p.Degree)
	case p.CostScale != nil:
		return bad("cost_scale", needless)
	case p.StateScale != nil:
		return bad("state_scale", needless)
	}
	return nil
}

func checkDegree(degree int) error {
	var input *planner.InputError
	if errors.As(compact.ValidateDegree(degree), &input) { // the only error it has
		return &planner.InputError{Row: -1, Field: "compact/degree", Detail: input.Detail}
	}
	return nil
}

func (p compactParameters) options() compact.Options {
	return compact.Options{Degree: p.Degree, Scales: compact.Scales{Cost: or(p.CostScale, 0), State: or(p.StateScale, 0)}}
}

// at returns the parameters with another degree.
func (p compactParameters) at(degree int32) compactParameters {
	if degree == 0 {
		return compactParameters{}
	}
	p.Degree = int(degree)
	return p
}

// readCompact reads what the request says about the compact form: that of its
// records, or that to bring its keys into.
func (st *statistics) readCompact(m *members) {
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
	p := compactParameters{Degree: int(*in.Degree), CostScale: in.CostScale, StateScale: in.StateScale}
	m.refuseCompact(p.check())
	st.compact = &p
}

// readRecords takes the rows for compact records.
func (st *statistics) readRecords(m *members, in wire.CompactStatistics) {
	m.records = true
	st.records = &compact.Statistics{
		Records: st.document.Records, Scales: compact.Scales{Cost: or(in.CostScale, 1), State: or(in.StateScale, 1)},
		Degree: int(or(in.Degree, 0)), Partial: st.Partial, Residual: st.Residual,
	}
	if in.Degree != nil {
		m.refuseCompact(checkDegree(int(*in.Degree)))
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

// queriedDegrees reads the degrees to try; those of records are none.
func (m *members) queriedDegrees() []int32 {
	if m.records {
		return nil
	}
	return list[int32](m, "compact_degree")
}

// checkDegrees checks the degrees to try.
func (m *members) checkDegrees(degrees []int32) {
	if m.records && len(degrees) > 0 {
		m.refuseParameter("compact_degree", "is for statistics of keys: these are in compact form")
		return
	}
	for i, degree := range degrees {
		var input *planner.InputError
		if degree == 0 || !errors.As(checkDegree(int(degree)), &input) {
			continue
		}
		name := "compact_degree"
		if m.query == nil && len(degrees) > 1 {
			name = fmt.Sprintf("compact_degree/%d", i)
		}
		m.refuseParameter(name, input.Detail)
	}
}

// over returns the parameters of a plan of these statistics: p, but for what
// they say themselves.
func (st *statistics) over(p parameters) parameters {
	switch {
	case st.records != nil:
		p.Compact = compactParameters{} // they are compact already
	case st.compact != nil:
		p.Compact = *st.compact
	}
	return p
}

package input

import "slices"

// setColumns returns the fields that columns of these names hold. With a count
// and no key, rows that may be of statistics are records.
func (b *builder) setColumns(names []string) ([]field, error) {
	if b.fields&statisticsRow == statisticsRow && slices.Contains(names, "count") && !slices.Contains(names, "key") {
		b.fields = recordRow | b.fields&fieldInterval
	}
	var columns []field
	var seen field
	twice := map[string]bool{}
	for _, name := range names {
		f := fieldOf([]byte(name), b.fields)
		if twice[name] || f != fieldUnknown && seen&f != 0 {
			return nil, &Error{Malformed,
				[]Problem{{"/" + escapePointer(name), "column stands twice", Location{Line: b.lineOf(0), Column: name}}}}
		}
		twice[name] = true
		seen |= f
		switch {
		case f != fieldUnknown:
		case name == "count" && b.fields&fieldCost != 0:
			b.columnProblem(name, detailNoCount)
		default:
			b.columnProblem(name, detailColumn)
		}
		columns = append(columns, f)
	}
	b.checkColumns(seen)
	return columns, b.invalid()
}

// checkColumns notes which columns are missing.
func (b *builder) checkColumns(seen field) {
	statistics := b.fields&statisticsRow == statisticsRow
	required := b.fields.all()
	if statistics {
		required = fieldKey
	}
	for f := range (required &^ seen).each {
		b.columnProblem(f.String(), "column "+detailRequired)
	}
	if !statistics {
		return
	}
	switch seen & (fieldCost | fieldFrequency) {
	case 0:
		b.columnProblem("cost", "column "+detailNoCost)
	case fieldCost | fieldFrequency:
		b.columnProblem("frequency", detailBoth)
	}
}

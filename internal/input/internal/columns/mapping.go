package columns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plannerd/internal/input/internal/problem"
	"plannerd/internal/nearest"
)

// Mapping says where files as other systems write them keep what rows need. The zero value is
// that they keep it under its own name.
type Mapping struct {
	// Columns name, by field, the columns of CSV, or the members of JSON, that hold it. Those
	// of a key may be several. Columns that nothing names are passed over.
	Columns map[string][]string
	// KeySeparator stands between the parts of a key that several columns hold. Empty: "/".
	KeySeparator string
	// Delimiter stands between cells of CSV: a comma, a semicolon, a tab, a bar, or a space, which
	// stands for any number of them. 0: the header shows it.
	Delimiter byte
	// DecimalComma: numbers of CSV are written as 1,5.
	DecimalComma bool
	Skip         int // lines before the header of CSV
	// Records is the path of the list of records in JSON, such as data.result. Empty: the text is
	// a list of records, or has one a line.
	Records string
	// NoLines: the text was made of another one, so that nobody knows its lines.
	NoLines bool
	// SumTwins: rows of one key are added up. Else they are refused.
	SumTwins bool
	// LeaveOut, if set, is given what is wrong with a row, which is left out then. Else the row,
	// and with it the body, is refused.
	LeaveOut func(problem.Problem)
	// IntervalOf, if set, tells the interval that the text of its column stands for.
	IntervalOf func(text []byte) (int64, error)
	// Instances are the names of instances that rows have, in which decoders note them; nil: they are
	// refused.
	Instances *Names
}

// Delimiters are what may stand between cells of CSV, by their names.
var Delimiters = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|', "space": ' ', "colon": ':'}

// Foreign tells whether JSON and Arrow may have other names or values than plannerd's own.
func (m *Mapping) Foreign() bool {
	return len(m.Columns) > 0 || m.Records != "" || m.LeaveOut != nil || m.IntervalOf != nil
}

// Separator stands between the parts of a key.
func (m *Mapping) Separator() string {
	if m.KeySeparator == "" {
		return "/"
	}
	return m.KeySeparator
}

// ParseMapping reads pairs such as key=topic+partition of a field and its columns.
func ParseMapping(pairs []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, pair := range pairs {
		field, columns, ok := strings.Cut(pair, "=")
		field = strings.TrimSpace(field)
		switch {
		case !ok || columns == "":
			return nil, fmt.Errorf("%q: write the field and its column, such as key=user_id", pair)
		case !mayBeMapped(field):
			return nil, fmt.Errorf("%q is no field of statistics: those are key, cost, frequency, state, instance, "+
				"hash_instance, interval, count, and cost.network for a resource network", field)
		case out[field] != nil:
			return nil, fmt.Errorf("%s stands twice", field)
		}
		out[field] = []string{columns}
		if field == Key.String() {
			out[field] = strings.Split(columns, "+")
		}
	}
	return out, nil
}

// mayBeMapped tells whether a column can be said to hold a field.
func mayBeMapped(field string) bool {
	_, ok := ResourceOf(field)
	return ok || namedField([]byte(field))&((StatisticsRow|Interval|Count)&^Costs) != 0
}

// Place is what a column of the text holds.
type Place struct {
	Field Field // 0: nothing that is needed
	Part  int   // of the key, when several columns hold it; the place of a resource
}

// Places returns what columns of these names hold. Where the mapping does not say it, they hold
// what they are called; what has another name is an error then, unless the mapping names columns.
func (b *Faults) Places(names []string, m *Mapping) ([]Place, error) {
	own, at := []string{}, []int{} // fields, and the column of each
	places := make([]Place, len(names))
	for _, field := range slices.Sorted(maps.Keys(m.Columns)) {
		for part, wanted := range m.Columns[field] {
			c := columnOf(names, wanted)
			detail := ""
			if c < 0 {
				detail = "there is no such column; there are " + listed(names)
			} else if places[c].Field != 0 {
				detail = "is said to hold two things"
			}
			if detail != "" {
				return nil, &problem.Error{Kind: problem.Invalid, Problems: []problem.Problem{{
					Pointer: "/" + problem.Escape(wanted), Detail: detail,
					Location: problem.Location{Line: b.lineOf(0), Column: wanted, Near: nearest.To(wanted, names)},
				}}}
			}
			if part == 0 {
				own, at = append(own, field), append(at, c)
			}
			places[c] = Place{namedField([]byte(field)), part}
		}
	}
	for c, name := range names {
		known := b.columnField(name) != Unknown
		if places[c].Field == 0 && (len(m.Columns) == 0 || known && m.Columns[name] == nil) {
			own, at = append(own, name), append(at, c)
		}
	}
	fields, err := b.SetColumns(own)
	for i, f := range fields {
		places[at[i]].Field = f
		if f == Costs && err == nil {
			places[at[i]].Part = b.placeOf(own[i])
		}
	}
	return places, cmp.Or(err, b.Invalid())
}

// NameOf is the name of the field that a column holds.
func (b *Faults) NameOf(p Place) string {
	if p.Field == Costs {
		return b.Resources[p.Part]
	}
	return p.Field.String()
}

// columnOf is the column of a name, which is compared without case when none is written like it.
func columnOf(names []string, wanted string) int {
	if c := slices.Index(names, wanted); c >= 0 {
		return c
	}
	return slices.IndexFunc(names, func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(wanted))
	})
}

// listed joins names for people.
func listed(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

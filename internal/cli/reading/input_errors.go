package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// ProblemList is an error that says several things, a line for each.
type ProblemList struct{ Lines []string }

func (l *ProblemList) Error() string { return strings.Join(l.Lines, "; ") }

// MostProblems is how many problems of an input are shown.
const MostProblems = 20

// Wrap words an error about the input for people who look at the file: with its name,
// the line, the column and the key.
func (in *Input) Wrap(err error) error {
	var (
		decoding *input.Error
		row      = parameters.InputError(err)
		file     *fs.PathError
		usage    cli.UsageError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage):
		return usage
	case errors.As(err, &decoding):
		return in.refused(decoding)
	case row != nil && row.Row >= 0 && in.Last != nil:
		p := input.Problem{Location: in.Last.Location(row.Row, row.Field), Detail: row.Detail}
		p.Value = in.named(row)
		return &ProblemList{[]string{in.line(in.document(in.seen), p) + in.advice(row)}}
	case row != nil:
		return AsFlag(row)
	case errors.As(err, &file):
		err = file.Err // in.name is its path
	}
	return fmt.Errorf("%s: %w", in.Name, err)
}

// refused lists what the decoder found wrong.
func (in *Input) refused(err *input.Error) error {
	name := in.document(in.seen + 1)
	list := &ProblemList{}
	rows := err.Problems
	if in.format != input.JSON && in.format != input.NDJSON && in.format != input.Arrow {
		rows = slices.DeleteFunc(slices.Clone(rows), aboutColumn)
	}
	if len(rows) < len(err.Problems) {
		list.Lines = append(list.Lines, in.headerLine(name, err.Problems))
	}
	for _, p := range rows[:min(MostProblems, len(rows))] {
		list.Lines = append(list.Lines, in.line(name, p))
	}
	if more := len(rows) - MostProblems; more > 0 {
		list.Lines = append(list.Lines, fmt.Sprintf("%s: and %s more", name, cli.Plural(more, "problem")))
	}
	if hint := in.hint(err.Problems); hint != "" {
		list.Lines = append(list.Lines, hint)
	}
	return list
}

// aboutColumn tells whether a problem is about the header of CSV.
func aboutColumn(p input.Problem) bool {
	return p.Row == 0 && (p.Column != "" || p.Detail == input.UnknownColumn)
}

// headerLine says what is wrong with the header of CSV, and what to do about it.
func (in *Input) headerLine(name string, problems []input.Problem) string {
	var unknown, missing, parts, names []string
	line := 0
	for _, p := range problems {
		if !aboutColumn(p) {
			continue
		}
		line = p.Line
		switch column := cli.KeyText([]byte(p.Column)); p.Detail {
		case input.UnknownColumn:
			names = append(names, p.Column)
			if p.Near != "" {
				column += " (" + p.Near + "?)"
			}
			unknown = append(unknown, column)
		case "column is required":
			missing = append(missing, column)
		case "column is required, or frequency in its place":
			missing = append(missing, column+" (or frequency)")
		default:
			parts = append(parts, column+": "+p.Detail)
		}
	}
	if n := len(unknown); n > 0 {
		parts = append(parts, "unknown "+nouns(n, "column")+" "+CutList(unknown))
	}
	if n := len(missing); n > 0 {
		parts = append(parts, nouns(n, "column")+" "+strings.Join(missing, ", ")+" missing")
	}
	if line > 0 {
		name += ":" + strconv.Itoa(line)
	}
	text := fmt.Sprintf("%s: %s; the columns are key, cost and optionally state (or state_bytes), instance, "+
		"hash_instance and interval", name, strings.Join(parts, "; "))
	if try := in.try("", names); len(missing) > 0 && try != "" && in.format != input.Records {
		return text + "; " + try
	}
	if in.flags.Header == nil && len(missing) > 0 {
		text += "; no header? use --header none"
	}
	if in.flags.StreamToo && len(missing) > 0 {
		text += "; one key a line? use --stream"
	}
	return text
}

// nouns is the noun, in the plural unless there is one.
func nouns(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// line is one problem: stats.csv:3: cost of key b: "x" is not a number.
func (in *Input) line(name string, p input.Problem) string {
	where := pointerText(p.Pointer)
	if p.Line > 0 {
		name = in.Name + ":" + strconv.Itoa(p.Line) // lines count from the first document on
		where = ""
	}
	if p.Row > 0 || p.Column != "" {
		where = p.Column
		if p.Key != "" {
			where = strings.TrimPrefix(where+" of key ", "key of ") + cli.KeyText([]byte(p.Key))
		}
		if p.Row > 0 && p.Line == 0 {
			where = strings.TrimSuffix(fmt.Sprintf("row %d, %s", p.Row, where), ", ")
		}
	}
	if where != "" {
		name += ": " + where
	}
	return name + ": " + problemText(p)
}

// problemText says what is wrong. Rows count from 1.
func problemText(p input.Problem) string {
	text := p.Text()
	switch {
	case p.Twin > 0 && p.TwinLine == 0:
		text = fmt.Sprintf("is in row %d already; each key has one row", p.Twin)
	case strings.Contains(p.Detail, " cells at byte ") || strings.HasPrefix(p.Detail, "blank line between records at"):
		return text + "; --bad-rows skip leaves such lines out"
	case strings.Contains(p.Detail, "a comma is no decimal point"):
		return text + "; --decimal comma reads it"
	}
	if p.Twin > 0 {
		text += "; --duplicates sum adds them up"
	}
	return text
}

// named is the instance that a row names, "" when it names none.
func (in *Input) named(err *planner.InputError) string {
	column := map[string]func(*planner.Statistics) []int32{
		"instance":      func(s *planner.Statistics) []int32 { return s.Instance },
		"hash_instance": func(s *planner.Statistics) []int32 { return s.HashInstance },
	}[err.Field]
	if column == nil || in.Last.Stats == nil {
		return ""
	}
	if ids := column(in.Last.Stats); err.Row < len(ids) && ids[err.Row] != planner.NoInstance {
		if in.Operator != nil {
			return in.Operator.Texts()(ids[err.Row])
		}
		return cli.ID(ids[err.Row])
	}
	return ""
}

// advice says what to do about a row that names an instance which is not there.
func (in *Input) advice(err *planner.InputError) string {
	switch {
	case in.Operator == nil || err.Field != "instance" && err.Field != "hash_instance":
		return ""
	case len(in.Operator.BaseInstances) > 0:
		return fmt.Sprintf("; --instances has %s, --base-instances %s", in.Operator.Instances.list(),
			in.Operator.BaseInstances.list())
	case err.Field == "instance":
		return fmt.Sprintf("; --instances has %s; if there were others before a rescale, name them with --base-instances",
			in.Operator.Instances.list())
	}
	return "; --instances has " + in.Operator.Instances.list()
}

// document names document n of the input, where there are several.
func (in *Input) document(n int) string {
	if in.format == input.JSON && n > 1 {
		return fmt.Sprintf("%s, document %d", in.Name, n)
	}
	return in.Name
}

var pointerNames = strings.NewReplacer("~1", "/", "~0", "~")

// pointerText words a JSON pointer such as /compact/degree: compact, degree. Rows
// count from 1.
func pointerText(pointer string) string {
	if pointer == "" {
		return ""
	}
	names := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			name = "row " + strconv.Itoa(n+1)
		}
		names[i] = pointerNames.Replace(name)
	}
	return strings.Join(names, ", ")
}

// CutList joins the first items of a list.
func CutList(items []string) string {
	const most = 16
	if len(items) > most {
		return strings.Join(items[:most], " ") + " …"
	}
	return strings.Join(items, " ")
}

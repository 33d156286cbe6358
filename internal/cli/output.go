package cli

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Output prints results in the form that was asked for.
func (env *Environment) Output(form string, document func() any, people func(*Page), csv func(io.Writer) error) error {
	switch form {
	case "json":
		return Buffered(env.Stdout, func(w io.Writer) error {
			if err := json.MarshalWrite(w, document(), jsontext.WithIndent("  ")); err != nil {
				return err
			}
			_, err := io.WriteString(w, "\n")
			return err
		})
	case "csv":
		return Buffered(env.Stdout, csv)
	}
	return env.People(env.Stdout, people)
}

// Buffered calls write with a buffer in front of w.
func Buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// More are further members of an item: what is found beside it, or worded. It may also be all
// that there is of an item.
type More = map[string]any

// CsvOf writes a header and a row for each item: a column for each of the members
// that are named by their paths in JSON. The column of theta/before is theta_before;
// that of state=migration/state is state.
func CsvOf[T any](items []T, columns string, more ...func(item int) More) func(io.Writer) error {
	header := strings.Fields(columns)
	paths := make([]string, len(header))
	for i, column := range header {
		name, path, named := strings.Cut(column, "=")
		if !named {
			path = name
		}
		header[i], paths[i] = strings.ReplaceAll(name, "/", "_"), path
	}
	rows := [][]string{header}
	for _, values := range membersOf(items, paths, more) {
		row := make([]string, len(paths))
		for c, v := range values {
			switch {
			case !v.IsValid():
			case v.Kind() == reflect.Float64:
				row[c] = Exact(v.Float())
			default:
				row[c] = fmt.Sprint(v.Interface())
			}
		}
		rows = append(rows, row)
	}
	return func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }
}

// WriteList prints a table with a row for each item and a column for each of "title = path
// format | …". The title is by default that of the member, and one that ends with * names
// what a line is about. Without a format numbers are counts or
// quantities; ? in front of a format shows a
// dash where there is no value.
func WriteList[T any](w *Page, items []T, columns string, more ...func(item int) More) {
	var (
		laid           []Column
		paths, formats []string
	)
	for column := range strings.SplitSeq(columns, "|") {
		title, rest, titled := strings.Cut(column, "=")
		if !titled {
			rest = title
		}
		words := append(strings.Fields(rest), "")
		if !titled {
			title = strings.ReplaceAll(words[0], "_", " ")
		}
		title, names := strings.CutSuffix(strings.TrimSpace(title), "*")
		paths, formats = append(paths, words[0]), append(formats, words[1])
		laid = append(laid, Column{title: title, names: names, cut: words[1] == "key"})
	}
	members := membersOf(items, paths, more)
	rows := make([][]string, len(members))
	for i, values := range members {
		rows[i] = make([]string, len(values))
		for c, v := range values {
			text, number := cellText(v, formats[c])
			rows[i][c], laid[c].right = text, laid[c].right || number
		}
	}
	WriteTable(w, laid, rows)
}

// figureFormats are how tables write numbers.
var figureFormats = map[string]func(float64) string{
	"theta": Theta, "percent": Percent, "si": SI, "error": ErrorText, "exact": Exact,
	"small": func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) },
	"two":   func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) },
	"time":  func(ms float64) string { return DurationCell(time.Duration(ms * float64(time.Millisecond))) },
}

// cellText writes a member as a format has it, and tells whether it goes to the right.
func cellText(v reflect.Value, format string) (text string, number bool) {
	format, dash := strings.CutPrefix(format, "?")
	figure := figureFormats[format]
	number = figure != nil || format == "id" || format == "count" || format == "right"
	switch {
	case !v.IsValid() && dash:
		return "-", number
	case !v.IsValid():
		return "", number
	case v.Kind() == reflect.Bool && v.Bool():
		return "yes", false
	case v.Kind() == reflect.Bool:
		return "no", false
	case v.Kind() == reflect.String && format == "key":
		return KeyText([]byte(v.String())), false
	case v.Kind() == reflect.String:
		return v.String(), number
	case figure != nil && v.CanInt():
		return figure(float64(v.Int())), true
	case figure != nil:
		return figure(v.Float()), true
	case v.CanFloat():
		return SI(v.Float()), true
	case format == "id":
		return strconv.FormatInt(v.Int(), 10), true
	}
	return Integer(v.Int()), true
}

// membersOf returns the members of each item at some paths; invalid ones are those that JSON
// leaves out or has as null.
func membersOf[T any](items []T, paths []string, more []func(item int) More) [][]reflect.Value {
	own := make([][]reflect.StructField, len(paths))
	rows := make([][]reflect.Value, len(items))
	for i := range items {
		beside, alone := any(items[i]).(More)
		if !alone {
			beside = More{}
		}
		for _, f := range more {
			maps.Copy(beside, f(i))
		}
		rows[i] = make([]reflect.Value, len(paths))
		for c, path := range paths {
			first, rest, _ := strings.Cut(path, "/")
			if value, found := beside[first]; found {
				rows[i][c] = memberAt(reflect.ValueOf(value), stepsOf(reflect.TypeOf(value), rest))
				continue
			}
			if alone {
				continue
			}
			if own[c] == nil {
				own[c] = stepsOf(reflect.TypeFor[T](), path)
			}
			rows[i][c] = memberAt(reflect.ValueOf(&items[i]), own[c])
		}
	}
	return rows
}

// stepsOf leads from a type to the member at a path.
func stepsOf(t reflect.Type, path string) (steps []reflect.StructField) {
	if t == nil || path == "" {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return member == name
		})
		if i < 0 {
			panic("no member " + path + " in " + t.String())
		}
		steps = append(steps, fields[i])
		t = fields[i].Type
	}
	return steps
}

// memberAt is the value at the end of a path, behind pointers; invalid where there is none.
func memberAt(v reflect.Value, path []reflect.StructField) reflect.Value {
	for v = behind(v); v.IsValid() && len(path) > 0; path = path[1:] {
		next := v.FieldByIndex(path[0].Index)
		if strings.HasSuffix(path[0].Tag.Get("json"), ",omitzero") && next.IsZero() {
			return reflect.Value{}
		}
		v = behind(next)
	}
	return v
}

// behind is what pointers lead to; invalid where one is nil.
func behind(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

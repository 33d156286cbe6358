package cli

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// OutputFlag says for whom a command prints.
type OutputFlag struct {
	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
}

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

// CsvOf writes CSV as memberRows has it.
func CsvOf[T any](items []T, columns string) func(io.Writer) error {
	return func(w io.Writer) error { return csv.NewWriter(w).WriteAll(MemberRows(items, columns)) }
}

// MemberRows are a header and a row for each item: a column for each of the members
// that are named by their paths in JSON. The column of theta/before is theta_before;
// that of state=migration/state is state.
func MemberRows[T any](items []T, columns string) [][]string {
	header := strings.Fields(columns)
	paths := make([][]memberStep, len(header))
	for i, column := range header {
		name, path, named := strings.Cut(column, "=")
		if !named {
			path = name
		}
		header[i], paths[i] = strings.ReplaceAll(name, "/", "_"), stepsOf(reflect.TypeFor[T](), path)
	}
	rows := [][]string{header}
	for i := range items {
		row := make([]string, len(paths))
		for c, path := range paths {
			row[c] = memberText(reflect.ValueOf(&items[i]), path)
		}
		rows = append(rows, row)
	}
	return rows
}

// memberStep leads from a struct to one of its members.
type memberStep struct {
	index    []int
	omitzero bool
}

// stepsOf leads from a type to the member at a path.
func stepsOf(t reflect.Type, path string) (steps []memberStep) {
	for name := range strings.SplitSeq(path, "/") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return member == name
		})
		steps = append(steps, memberStep{fields[i].Index, strings.HasSuffix(fields[i].Tag.Get("json"), ",omitzero")})
		t = fields[i].Type
	}
	return steps
}

// memberText writes a member; what JSON leaves out or has as null is empty.
func memberText(v reflect.Value, path []memberStep) string {
	for _, next := range append(path, memberStep{}) {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return ""
			}
			v = v.Elem()
		}
		if next.index == nil {
			break
		}
		if v = v.FieldByIndex(next.index); next.omitzero && v.IsZero() {
			return ""
		}
	}
	if v.Kind() == reflect.Float64 {
		return Exact(v.Float())
	}
	return fmt.Sprint(v.Interface())
}

// Package trial is what the examples share that compare ways of balancing: the program of
// plannerd, and the figures of runs. A result of a run is a struct: a name, then figures,
// all float64, with names in JSON.
package trial

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
)

// BuildPlannerd builds plannerd into a folder, and returns the path of the program. The
// working directory must be that of an example.
func BuildPlannerd(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "plannerd")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/plannerd")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building plannerd: %w\n%s", err, said)
	}
	return program, nil
}

// Median takes the median of each figure, of an even number the greater one, and the name of
// the first result, of which there must be one.
func Median[R any](runs []R) R {
	out := runs[0]
	v := reflect.ValueOf(&out).Elem()
	for i := 1; i < v.NumField(); i++ {
		var all []float64
		for _, r := range runs {
			all = append(all, reflect.ValueOf(r).Field(i).Float())
		}
		slices.Sort(all)
		v.Field(i).SetFloat(all[len(all)/2])
	}
	return out
}

// WriteCSV writes results as CSV.
func WriteCSV[R any](w io.Writer, results []R) error {
	t := reflect.TypeFor[R]()
	lines := make([][]string, 1+len(results))
	for i := range t.NumField() {
		lines[0] = append(lines[0], t.Field(i).Tag.Get("json"))
		for n, r := range results {
			lines[n+1] = append(lines[n+1], fmt.Sprint(reflect.ValueOf(r).Field(i)))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// Package trial is what the examples share that compare ways of balancing: the program of
// plannerd, the turns that ways take, and the figures of runs. A result of a run is a struct:
// a name, then figures, all float64, with names in JSON.
package trial

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

// Turns are how often each of some ways is measured. They take turns, so that what disturbs
// the machine for a while disturbs one run of each at most.
type Turns struct {
	Times int
	Ways  []string // their names
	Only  string   // names of those that are measured, with commas; "": all
}

// Take measures the ways, and returns the median of each. The program is plannerd's; every run
// has a folder of its own.
func Take[R any](
	ctx context.Context, t Turns, measure func(program, dir string, turn, way int) (R, error),
) ([]R, error) {
	dir, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program, err := BuildPlannerd(ctx, dir)
	if err != nil {
		return nil, err
	}
	runs := make([][]R, len(t.Ways))
	for turn := range t.Times {
		for i, name := range t.Ways {
			if t.Only != "" && !slices.Contains(strings.Split(t.Only, ","), name) {
				continue
			}
			r, err := run(filepath.Join(dir, fmt.Sprintf("%d-%d", turn, i)), func(own string) (R, error) {
				return measure(program, own, turn, i)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			log.Printf("%+v", r)
			runs[i] = append(runs[i], r)
		}
	}
	runs = slices.DeleteFunc(runs, func(list []R) bool { return len(list) == 0 })
	if len(runs) == 0 {
		return nil, fmt.Errorf("none of %q is %q", t.Ways, t.Only)
	}
	var out []R
	for _, list := range runs {
		out = append(out, median(list))
	}
	return out, nil
}

// run measures in a folder that is there meanwhile.
func run[R any](dir string, measure func(dir string) (R, error)) (r R, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	return measure(dir)
}

// median takes the median of each figure, of an even number the greater one, and the name of
// the first result, of which there must be one.
func median[R any](runs []R) R {
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

package api

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/parameters"
	"plannerd/internal/service/figures"
)

// writeLines writes a line for each result.
func (t *whatIfText) writeLines(out *bufio.Writer) error {
	a := answer{out, t.keys}
	for i := range t.results {
		a.result(&t.results[i])
		if err := a.end("\n"); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a row for each result.
func (t *whatIfText) writeCSV(out *bufio.Writer) error {
	w := csv.NewWriter(out)
	for i := range t.results {
		names, cells := t.results[i].row()
		if i == 0 {
			_ = w.Write(names) // the writer keeps its error
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}

// row is a result as a row of CSV, under these names.
func (r *resultText) row() (names, cells []string) {
	add := func(name string, value any) {
		text := ""
		switch v := value.(type) {
		case *float64:
			if v != nil {
				text = strconv.FormatFloat(*v, 'g', -1, 64)
			}
		case float64:
			text = strconv.FormatFloat(v, 'g', -1, 64)
		case *bool:
			if v != nil {
				text = strconv.FormatBool(*v)
			}
		default:
			text = fmt.Sprint(v)
		}
		names, cells = append(names, name), append(cells, text)
	}
	f := &r.figures
	var proven figures.Certificate
	_ = json.Unmarshal(f.Certificate, &proven) // it was made of one, or is null
	add("strategy", f.Strategy)
	for _, p := range parameters.All() {
		if p.Grid != "" {
			add(p.Grid, p.Text(p.Get(&f.Parameters.Values)))
		}
	}
	add("pareto", f.Pareto)
	add("end_reason", f.EndReason)
	add("causes", strings.Join(f.Causes, " "))
	add("balanced", f.Balanced)
	add("table_within_limit", f.TableWithinLimit)
	add("filled", f.Filled)
	add("theta_before", f.Theta.Before)
	add("theta_after", f.Theta.After)
	add("migrated_keys", f.Migration.Keys)
	add("migrated_state", f.Migration.State)
	add("migrated_fraction", f.Migration.Fraction)
	add("migration_objective", f.Migration.Objective)
	add("lower_bound", proven.LowerBound)
	add("gap", proven.Gap)
	add("table_size_before", r.before)
	add("table_size_after", r.after)
	add("merges", f.Merges)
	add("drifted_keys", f.DriftedKeys)
	add("work_units", f.WorkUnits)
	add("plan_ms", f.Timing.PlanMs)
	if f.Instances > 0 {
		add("target_instances", f.Instances)
	}
	return names, cells
}

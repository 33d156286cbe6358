package main

import (
	"encoding/csv"
	"errors"
	"os"
	"strconv"
	"strings"
)

// A column of the CSV file.
type column struct {
	name string
	of   func(r *record, x *result) string
}

// columns describe a case, then one strategy's answer. A figure that there is
// none of is an empty field.
var columns = []column{
	{"case", func(r *record, _ *result) string { return r.name }},
	{"source", func(r *record, _ *result) string { return r.setting.Source() }},
	{"keys", func(r *record, _ *result) string { return strconv.Itoa(r.keys) }},
	{"instances", func(r *record, _ *result) string { return strconv.Itoa(r.setting.Instances) }},
	{"theta_max", func(r *record, _ *result) string { return decimal(r.setting.ThetaMax) }},
	{"table_limit", func(r *record, _ *result) string { return whole(r.setting.TableLimit) }},
	{"window", func(r *record, _ *result) string { return strconv.Itoa(r.setting.Window) }},
	{"fluctuation", func(r *record, _ *result) string { return decimal(r.setting.Fluctuation) }},
	{"seed", func(r *record, _ *result) string { return strconv.FormatUint(r.setting.Seed, 10) }},
	{"interval", func(r *record, _ *result) string { return whole(r.interval) }},
	{"theta_before", func(r *record, _ *result) string { return decimal(r.thetaBefore) }},
	{"table_before", func(r *record, _ *result) string { return whole(r.tableBefore) }},
	{"hot_keys", func(r *record, _ *result) string { return strconv.Itoa(r.hot) }},
	{"settled", func(r *record, _ *result) string { return strconv.FormatBool(r.settled) }},
	{"class", func(r *record, _ *result) string { return string(r.class) }},
	{"lower_bound", func(r *record, _ *result) string { return decimal(r.bound) }},
	{"contradicted", func(r *record, _ *result) string { return strconv.FormatBool(r.contradicted) }},

	{"strategy", func(_ *record, x *result) string { return x.strategy }},
	{"status", func(_ *record, x *result) string { return string(x.status) }},
	{"meets", planned(func(x *result) string { return strconv.FormatBool(x.meets) })},
	{"objective", planned(func(x *result) string { return decimal(x.objective) })},
	{"ratio", func(r *record, x *result) string {
		if ratio, ok := r.ratio(x); ok && x.status != statusSkipped && r.class == classFeasible {
			return decimal(ratio)
		}
		return ""
	}},
	{"own_bound", proven(func(x *result) string { return decimal(x.bound) })},
	{"own_infeasible", proven(func(x *result) string { return strconv.FormatBool(x.infeasible) })},
	{"table", planned(func(x *result) string { return whole(x.table) })},
	{"theta", planned(func(x *result) string { return decimal(x.theta) })},
	{"moved_keys", planned(func(x *result) string { return whole(x.moved) })},
	{"moved_fraction", planned(func(x *result) string { return decimal(x.fraction) })},
	{"work_units", planned(func(x *result) string { return whole(x.workUnits) })},
	{"seconds", func(_ *record, x *result) string {
		if x.status == statusSkipped {
			return ""
		}
		return decimal(x.elapsed.Seconds())
	}},
}

func planned(figure func(*result) string) func(*record, *result) string {
	return func(_ *record, x *result) string {
		if !x.planned() {
			return ""
		}
		return figure(x)
	}
}

func proven(figure func(*result) string) func(*record, *result) string {
	return func(_ *record, x *result) string {
		if !x.proves {
			return ""
		}
		return figure(x)
	}
}

func decimal(x float64) string { return strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)) }

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// rowWriter writes the CSV file, a row per case and strategy. Nil writes nothing.
type rowWriter struct {
	file *os.File
	csv  *csv.Writer
}

// newRowWriter creates the file and writes its header; nil without a path.
func newRowWriter(path string) (*rowWriter, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a nil writer is one that writes nothing
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := &rowWriter{file, csv.NewWriter(file)}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.name
	}
	return w, w.csv.Write(header)
}

// write writes the rows of a case. They are on disk when it returns, so that an
// interrupted run leaves whole cases.
func (w *rowWriter) write(r *record) error {
	if w == nil {
		return nil
	}
	fields := make([]string, len(columns))
	for i := range r.results {
		for j, c := range columns {
			fields[j] = c.of(r, &r.results[i])
		}
		if err := w.csv.Write(fields); err != nil {
			return err
		}
	}
	w.csv.Flush()
	return w.csv.Error()
}

func (w *rowWriter) close() error {
	if w == nil {
		return nil
	}
	w.csv.Flush()
	return errors.Join(w.csv.Error(), w.file.Close())
}

package reading

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/input"
	"plannerd/planner"
)

// pairsFile is a file that gives texts to instances, as a flag names it: keys, or the low ends of
// ranges.
type pairsFile struct {
	flag, path string
	text       string   // name of the first column
	instance   []string // names that the second may have
	keys       KeyEncoder
	least      int  // bytes of a text
	weights    bool // a third column, weight, may follow
	// id is that of an instance, and what is wrong with it; "": nothing. Nil: there are ids only.
	id func(ref string) (int32, string)
}

// read reads CSV, compressed or not, under a header that names the columns. Of each row it
// returns an entry, of one part if the row has a weight, and its line.
func (f *pairsFile) read() (pairs []planner.Entry, lines []int, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.flag, err)
	}
	defer func() { _ = file.Close() }() // only read from
	plain, _, err := input.Open(file)
	if reading := (*fs.PathError)(nil); errors.As(err, &reading) {
		err = reading.Err // the path is in front
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", f.flag, f.path, err)
	}
	defer func() { _ = plain.Close() }()
	in := csv.NewReader(plain)
	header, err := in.Read()
	if err != nil || !f.isHeader(header) {
		return nil, nil, f.wrong(1, "it must be the header %s,%s", f.text, f.instance[0])
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return pairs, lines, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", f.flag, f.path, err)
		}
		line, _ := in.FieldPos(0)
		p, err := f.pair(record, line)
		if err != nil {
			return nil, nil, err
		}
		pairs, lines = append(pairs, p), append(lines, line)
	}
}

// isHeader reports whether a row names the columns.
func (f *pairsFile) isHeader(row []string) bool {
	if f.weights && len(row) == 3 && row[2] == "weight" {
		row = row[:2]
	}
	return len(row) == 2 && row[0] == f.text && slices.Contains(f.instance, row[1])
}

// pair reads one row.
func (f *pairsFile) pair(record []string, line int) (p planner.Entry, err error) {
	if p.Key, err = f.keys.decode(record[0]); err != nil {
		return p, f.wrong(line, "%s: %w", f.text, err)
	}
	if n := len(p.Key); n < f.least || n > planner.MaxKeyBytes {
		return p, f.wrong(line, "%s: must have %d to %d bytes", f.text, f.least, planner.MaxKeyBytes)
	}
	id, err := strconv.ParseInt(record[1], 10, 32)
	detail := ""
	switch p.Instance = int32(id); {
	case err == nil && id >= 0:
	case f.id != nil && !isNumber(record[1]):
		p.Instance, detail = f.id(record[1])
	default:
		detail = "is not an id ≥ 0"
	}
	if detail != "" {
		return p, f.wrong(line, "%s of %s %s: %q %s", f.instance[0], f.text, cli.KeyText(p.Key), record[1], detail)
	}
	if len(record) == 3 && record[2] != "" {
		weight, err := strconv.ParseInt(record[2], 10, 32)
		if err != nil || weight < 1 || weight >= planner.PartUnits {
			return p, f.wrong(line, "weight of %s %s: %q is not from 1 to 65535", f.text, cli.KeyText(p.Key), record[2])
		}
		p.Parts = []planner.Part{{Instance: p.Instance, Weight: int32(weight)}}
	}
	return p, nil
}

// wrong is an error about a line.
func (f *pairsFile) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s %s:%d: %w", f.flag, f.path, line, fmt.Errorf(format, args...))
}

// readRoutingTable reads a CSV file with the header key,instance, and a column weight where
// keys are split: each part of such a key has a row. Its instances have ids or names.
func readRoutingTable(path string, keys KeyEncoder, id func(ref string) (int32, string)) (
	*planner.RoutingTable, error,
) {
	file := pairsFile{flag: "--routing-table", path: path, text: "key", instance: []string{"instance"},
		keys: keys, least: 1, weights: true, id: id}
	pairs, rows, err := file.read()
	if err != nil {
		return nil, err
	}
	entries, lines := entriesOf(pairs, rows)
	table, err := planner.NewRoutingTable(entries)
	if wrong := (*planner.InputError)(nil); errors.As(err, &wrong) {
		e, line := entries[wrong.Row], lines[wrong.Row]
		if wrong.Field == "Parts" {
			return nil, file.wrong(line, "key %s: its parts %s", cli.KeyText(e.Key), wrong.Detail)
		}
		first := slices.IndexFunc(entries, func(x planner.Entry) bool { return bytes.Equal(x.Key, e.Key) })
		return nil, file.wrong(line, "key %s: is in line %d already; each key has one entry", cli.KeyText(e.Key),
			lines[first])
	}
	return table, err
}

// entriesOf makes entries of rows, and tells in which line each begins. Rows with weights
// are the parts of their keys.
func entriesOf(pairs []planner.Entry, rows []int) (entries []planner.Entry, lines []int) {
	split := map[string]int{}
	for i, p := range pairs {
		if at, found := split[string(p.Key)]; p.Parts != nil && found {
			entries[at].Parts = append(entries[at].Parts, p.Parts...)
			continue
		}
		if p.Parts != nil {
			split[string(p.Key)] = len(entries)
		}
		entries, lines = append(entries, p), append(lines, rows[i])
	}
	for _, e := range entries {
		slices.SortFunc(e.Parts, func(a, b planner.Part) int { return cmp.Compare(a.Instance, b.Instance) })
	}
	return entries, lines
}

// WriteRoutingTable writes what readRoutingTable reads; text is how instances are called.
func WriteRoutingTable(w io.Writer, t *planner.RoutingTable, keys KeyEncoder, text func(id int32) string) error {
	columns := "key instance"
	if t.Size() > int64(t.Len()) {
		columns += " weight"
	}
	var rows []cli.More
	for i := range t.Len() {
		e := t.At(i)
		key := keys.Encode(e.Key)
		if e.Parts == nil {
			rows = append(rows, cli.More{"key": key, "instance": text(e.Instance)})
		}
		for _, x := range e.Parts {
			rows = append(rows, cli.More{"key": key, "instance": text(x.Instance), "weight": x.Weight})
		}
	}
	return cli.CsvOf(rows, columns)(w)
}

// ReadOwners reads a CSV file with the header low,instance.
func ReadOwners(path string, keys KeyEncoder) (owners []analyses.RangesOwner, err error) {
	// follower is what the column was called, and is in the CSV of the analysis.
	file := pairsFile{flag: "--owners", path: path, text: "low", instance: []string{"instance", "follower"}, keys: keys}
	pairs, _, err := file.read()
	for _, p := range pairs {
		owners = append(owners, analyses.RangesOwner{Low: keys.Encode(p.Key), Follower: p.Instance})
	}
	return owners, err
}

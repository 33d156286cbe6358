package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/internal/statsio"
	"plannerd/planner"
)

// pair is a row of a file that gives texts to instances: a key or the low end of a
// range, and the id of an instance.
type pair struct {
	text     []byte
	instance int32
	line     int
}

// pairsFile is such a file, as a flag names it.
type pairsFile struct {
	flag, path string
	text       string   // name of the first column
	instance   []string // names that the second may have
	keys       keyEncoder
	least      int // bytes of a text
}

// read reads CSV, compressed or not, under a header that names the columns.
func (f *pairsFile) read() (pairs []pair, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.flag, err)
	}
	defer func() { _ = file.Close() }() // only read from
	plain, _, err := statsio.Open(file)
	if reading := (*fs.PathError)(nil); errors.As(err, &reading) {
		err = reading.Err // the path is in front
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", f.flag, f.path, err)
	}
	defer func() { _ = plain.Close() }()
	in := csv.NewReader(plain)
	in.FieldsPerRecord = 2
	header, err := in.Read()
	if err != nil || header[0] != f.text || !strings.Contains(","+strings.Join(f.instance, ",")+",", ","+header[1]+",") {
		return nil, f.wrong(1, "it must be the header %s,%s", f.text, f.instance[0])
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return pairs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", f.flag, f.path, err)
		}
		line, _ := in.FieldPos(0)
		p, err := f.pair(record, line)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
}

// pair reads one row.
func (f *pairsFile) pair(record []string, line int) (p pair, err error) {
	p.line = line
	if p.text, err = f.keys.decode(record[0]); err != nil {
		return p, f.wrong(line, "%s: %w", f.text, err)
	}
	if n := len(p.text); n < f.least || n > planner.MaxKeyBytes {
		return p, f.wrong(line, "%s: must have %d to %d bytes", f.text, f.least, planner.MaxKeyBytes)
	}
	id, err := strconv.ParseInt(record[1], 10, 32)
	if err != nil || id < 0 {
		return p, f.wrong(line, "%s of %s %s: %q is not an id ≥ 0", f.instance[0], f.text, keyText(p.text), record[1])
	}
	p.instance = int32(id)
	return p, nil
}

// wrong is an error about a line.
func (f *pairsFile) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s %s:%d: %w", f.flag, f.path, line, fmt.Errorf(format, args...))
}

// readRoutingTable reads a CSV file with the header key,instance.
func readRoutingTable(path string, keys keyEncoder) (*planner.RoutingTable, error) {
	file := pairsFile{flag: "--routing-table", path: path, text: "key", instance: []string{"instance"},
		keys: keys, least: 1}
	pairs, err := file.read()
	if err != nil {
		return nil, err
	}
	entries := make([]planner.Entry, len(pairs))
	for i, p := range pairs {
		entries[i] = planner.Entry{Key: p.text, Instance: p.instance}
	}
	table, err := planner.NewRoutingTable(entries)
	if twice := (*planner.InputError)(nil); errors.As(err, &twice) {
		p := pairs[twice.Row]
		first := slices.IndexFunc(pairs, func(q pair) bool { return bytes.Equal(q.text, p.text) })
		return nil, file.wrong(p.line, "key %s: stands in line %d already; each key has one entry", keyText(p.text),
			pairs[first].line)
	}
	return table, err
}

// readOwners reads a CSV file with the header low,instance.
func readOwners(path string, keys keyEncoder) (owners []analyses.RangesOwner, err error) {
	// follower is what the column was called, and is in the CSV of the analysis.
	file := pairsFile{flag: "--owners", path: path, text: "low", instance: []string{"instance", "follower"}, keys: keys}
	pairs, err := file.read()
	for _, p := range pairs {
		owners = append(owners, analyses.RangesOwner{Low: keys.encode(p.text), Follower: p.instance})
	}
	return owners, err
}

package input

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/compact"
	"plannerd/planner"
)

// The oracles are a second implementation of the rules: plain, slow, on the
// whole text at once, upon other parsers.

// oracleRow is one row; nil: not named.
type oracleRow struct {
	key                    string
	cost                   float64
	state                  *float64
	instance, hashInstance *int32
	costs                  map[string]float64 // of resources
}

var errOracle = errors.New("refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errOracle}, args...)...)
}

// oracleBody is what a body holds: rows of keys, or records, which are not nil
// then.
type oracleBody struct {
	rows    []oracleRow
	records []compact.Record
}

// oracleJSON reads a JSON body; one without rows at all has none.
func oracleJSON(body []byte, base64Keys bool) (read oracleBody, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if d.PeekKind() != '{' {
		return read, refuse("no object")
	}
	if _, err := d.ReadToken(); err != nil {
		return read, err
	}
	var keys, columns, records jsontext.Value
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return read, err
		}
		field := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return read, err
		}
		switch field {
		case "compact":
			if members, err := oracleMembers(v); err == nil {
				records = members["records"]
			}
		case "keys":
			keys = v.Clone()
		case "columns":
			columns = v.Clone()
		case "key_encoding":
			encoding, err := jsontext.AppendUnquote(nil, v)
			if err == nil && string(encoding) == "utf8" {
				continue
			}
			if err != nil || string(encoding) != "base64" {
				return read, refuse("key_encoding")
			}
			base64Keys = true
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return read, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return read, refuse("trailing text")
	}
	if records != nil {
		if read.records, err = oracleRecords(records); err != nil {
			return read, err
		}
	}
	switch {
	case keys != nil && columns != nil:
		return read, refuse("both")
	case columns != nil:
		read.rows, err = oracleColumns(columns)
	case keys != nil:
		read.rows, err = oracleList(keys)
	}
	if err != nil {
		return read, err
	}
	read.rows, err = oracleRows(read.rows, base64Keys)
	return read, err
}

func oracleRecords(list jsontext.Value) ([]compact.Record, error) {
	values, err := oracleValues(list)
	if err != nil {
		return nil, err
	}
	records := []compact.Record{}
	for _, v := range values {
		numbers, err := oracleValues(v)
		if err != nil {
			return nil, err
		}
		cells := make([]string, len(numbers))
		for i, n := range numbers {
			if n.Kind() != '0' {
				return nil, refuse("no number %s", n)
			}
			cells[i] = string(n)
		}
		r, err := oracleNumbers(cells)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, oracleCounts(records)
}

// oracleNumbers reads d, d_h, v_c, v_S and #.
func oracleNumbers(cells []string) (r compact.Record, err error) {
	if len(cells) != 5 {
		return r, refuse("%d numbers", len(cells))
	}
	var ids [2]uint64
	for i := range ids {
		if ids[i], err = strconv.ParseUint(cells[i], 10, 31); err != nil {
			return r, refuse("instance %s", cells[i])
		}
	}
	r.Current, r.Hash = int32(ids[0]), int32(ids[1])
	r.Planned = r.Current
	if r.Cost, err = oracleFloat(cells[2]); err != nil {
		return r, err
	}
	if r.State, err = oracleFloat(cells[3]); err != nil {
		return r, err
	}
	n, err := strconv.ParseUint(cells[4], 10, 53)
	if err != nil || n == 0 {
		return r, refuse("count %s", cells[4])
	}
	r.Count = int64(n)
	return r, nil
}

// oracleCounts applies the rule that concerns all records together.
func oracleCounts(records []compact.Record) error {
	sum := new(big.Int)
	for _, r := range records {
		sum.Add(sum, big.NewInt(r.Count))
	}
	if sum.BitLen() > 53 {
		return refuse("%v keys", sum)
	}
	return nil
}

func oracleList(list jsontext.Value) (rows []oracleRow, err error) {
	values, err := oracleValues(list)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		r, err := oracleObject(v)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// oracleValues returns the values of a list.
func oracleValues(list jsontext.Value) (values []jsontext.Value, err error) {
	if list.Kind() != '[' {
		return nil, refuse("no list")
	}
	d := jsontext.NewDecoder(bytes.NewReader(list))
	_, _ = d.ReadToken()
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		values = append(values, v.Clone())
	}
	return values, nil
}

// oracleMembers returns the members of an object.
func oracleMembers(object jsontext.Value) (members map[string]jsontext.Value, err error) {
	if object.Kind() != '{' {
		return nil, refuse("no object")
	}
	members = map[string]jsontext.Value{}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		field := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		members[field] = v.Clone()
	}
	return members, nil
}

func oracleObject(object jsontext.Value) (r oracleRow, err error) {
	members, err := oracleMembers(object)
	if err != nil {
		return r, err
	}
	if !costOnce(members) || members["key"] == nil {
		return r, refuse("members missing")
	}
	for name, v := range members {
		switch name {
		case "key":
			r.key, err = oracleString(v)
		case "cost", "frequency":
			r.cost, err = oracleAmount(v)
		case "state":
			var x float64
			x, err = oracleAmount(v)
			r.state = &x
		case "costs":
			r.costs, err = oracleCosts(v)
		case "instance":
			r.instance, err = oracleInstance(v)
		case "hash_instance":
			r.hashInstance, err = oracleInstance(v)
		default:
			err = refuse("unknown member %q", name)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

var resourcePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,31}$`)

func oracleCosts(v jsontext.Value) (map[string]float64, error) {
	members, err := oracleMembers(v)
	if err != nil {
		return nil, err
	}
	costs := map[string]float64{}
	for name, v := range members {
		if !resourcePattern.MatchString(name) {
			return nil, refuse("resource %q", name)
		}
		if costs[name], err = oracleAmount(v); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

func costOnce(members map[string]jsontext.Value) bool {
	return (members["cost"] == nil) != (members["frequency"] == nil)
}

func oracleColumns(object jsontext.Value) ([]oracleRow, error) {
	members, err := oracleMembers(object)
	if err != nil {
		return nil, err
	}
	if !costOnce(members) || members["key"] == nil {
		return nil, refuse("columns missing")
	}
	keys, err := oracleValues(members["key"])
	if err != nil {
		return nil, err
	}
	rows := make([]oracleRow, len(keys))
	lists := map[string]jsontext.Value{}
	if costs := members["costs"]; costs != nil {
		if lists, err = oracleMembers(costs); err != nil {
			return nil, err
		}
		if len(lists) > 16 {
			return nil, refuse("%d resources", len(lists))
		}
		delete(members, "costs")
	}
	for name, list := range lists {
		values, err := oracleValues(list)
		if err != nil {
			return nil, err
		}
		if len(values) != len(rows) || !resourcePattern.MatchString(name) {
			return nil, refuse("resource %q", name)
		}
		for i, v := range values {
			if rows[i].costs == nil {
				rows[i].costs = map[string]float64{}
			}
			if rows[i].costs[name], err = oracleAmount(v); err != nil {
				return nil, err
			}
		}
	}
	for name, list := range members {
		values, err := oracleValues(list)
		if err != nil {
			return nil, err
		}
		if len(values) != len(rows) {
			return nil, refuse("columns of different length")
		}
		for i, v := range values {
			one := jsontext.Value(fmt.Sprintf(`{%q:%s}`, name, v))
			switch name {
			case "key":
				one = append(one[:len(one)-1], `,"cost":0}`...)
			case "cost", "frequency":
				one = append(one[:len(one)-1], `,"key":""}`...)
			default:
				one = append(one[:len(one)-1], `,"key":"","cost":0}`...)
			}
			r, err := oracleObject(one)
			if err != nil {
				return nil, err
			}
			switch name {
			case "key":
				rows[i].key = r.key
			case "cost", "frequency":
				rows[i].cost = r.cost
			case "state":
				rows[i].state = r.state
			case "instance":
				rows[i].instance = r.instance
			case "hash_instance":
				rows[i].hashInstance = r.hashInstance
			}
		}
	}
	return rows, nil
}

func oracleString(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", refuse("no string")
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err
}

func oracleAmount(v jsontext.Value) (float64, error) {
	if v.Kind() != '0' {
		return 0, refuse("no number")
	}
	return oracleFloat(string(v))
}

func oracleFloat(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0) || x > planner.MaxAmount {
		return 0, refuse("number %s", s)
	}
	return x + 0, nil // not −0
}

func oracleInstance(v jsontext.Value) (*int32, error) {
	if v.Kind() == 'n' {
		return nil, nil
	}
	n, err := strconv.ParseUint(string(v), 10, 31)
	if err != nil {
		return nil, refuse("instance %s", v)
	}
	i := int32(n)
	return &i, nil
}

// oracleRows applies the rules that concern all rows together.
func oracleRows(rows []oracleRow, base64Keys bool) ([]oracleRow, error) {
	seen := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if base64Keys {
			b, err := oracleBase64(r.key)
			if err != nil {
				return nil, err
			}
			r.key = b
		}
		switch {
		case len(r.key) == 0 || len(r.key) > 1024:
			return nil, refuse("key of %d bytes", len(r.key))
		case seen[r.key]:
			return nil, refuse("duplicate key %q", r.key)
		case (r.state == nil) != (rows[0].state == nil):
			return nil, refuse("state on some rows")
		}
		seen[r.key] = true
	}
	if n := len(oracleResources(rows)); n > 16 {
		return nil, refuse("%d resources", n)
	}
	return rows, nil
}

// oracleResources are the names of the resources that rows name.
func oracleResources(rows []oracleRow) []string {
	names := map[string]bool{}
	for _, r := range rows {
		for name := range r.costs {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// oracleBase64 decodes by hand: six bits a character.
func oracleBase64(s string) (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text := strings.TrimRight(s, "=")
	if pad := len(s) - len(text); len(s)%4 != 0 || pad > 2 {
		return "", refuse("padding")
	}
	var out []byte
	var v, bits uint
	for _, c := range []byte(text) {
		k := strings.IndexByte(alphabet, c)
		if k < 0 {
			return "", refuse("alphabet")
		}
		v, bits = v<<6|uint(k), bits+6
		if bits >= 8 {
			bits -= 8
			out = append(out, byte(v>>bits))
			v &= 1<<bits - 1
		}
	}
	if v != 0 {
		return "", refuse("trailing bits")
	}
	return string(out), nil
}

// oracleLines returns the lines of NDJSON that are not blank.
func oracleLines(body []byte) (lines []jsontext.Value, err error) {
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 {
			continue
		}
		if !jsontext.Value(line).IsValid() {
			return nil, refuse("line %q", line)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// oracleNDJSON reads lines.
func oracleNDJSON(body []byte, base64Keys bool) (read oracleBody, err error) {
	lines, err := oracleLines(body)
	if err != nil {
		return read, err
	}
	for _, line := range lines {
		r, err := oracleObject(line)
		if err != nil {
			return read, err
		}
		read.rows = append(read.rows, r)
	}
	read.rows, err = oracleRows(read.rows, base64Keys)
	return read, err
}

// oracleMoves are the rows of a resolution.
type oracleMoves struct {
	moves []keyMove
	hash  []int32
}

// oracleResolutionNDJSON reads lines of a resolution.
func oracleResolutionNDJSON(body []byte, base64Keys bool) (read oracleMoves, err error) {
	lines, err := oracleLines(body)
	if err != nil {
		return read, err
	}
	header := []string{"key", "from", "to", "hash_instance"}
	var records [][]string
	for _, line := range lines {
		members, err := oracleMembers(line)
		if err != nil {
			return read, err
		}
		h, hashed := members["hash_instance"]
		if string(h) == "null" {
			h = nil
		}
		if len(members) != 3 && !(hashed && len(members) == 4) || hashed && h != nil && h.Kind() != '0' ||
			members["key"].Kind() != '"' || members["from"].Kind() != '0' || members["to"].Kind() != '0' {
			return read, refuse("line %q", line)
		}
		k, err := oracleString(members["key"])
		if err != nil {
			return read, err
		}
		records = append(records, []string{k, string(members["from"]), string(members["to"]), string(h)})
	}
	return oracleResolution(header, records, base64Keys)
}

// oracleResolutionCSV reads records of a resolution.
func oracleResolutionCSV(body []byte, base64Keys bool) (read oracleMoves, err error) {
	header, records, err := oracleTable(body)
	if err != nil {
		return read, err
	}
	names := slices.Sorted(slices.Values(header))
	if !slices.Equal(names, []string{"from", "key", "to"}) &&
		!slices.Equal(names, []string{"from", "hash_instance", "key", "to"}) {
		return read, refuse("columns %q", header)
	}
	return oracleResolution(header, records, base64Keys)
}

func oracleResolution(header []string, records [][]string, base64Keys bool) (read oracleMoves, err error) {
	var rows []oracleRow
	for _, cells := range records {
		row := map[string]string{}
		for i, cell := range cells {
			row[header[i]] = cell
		}
		from, err := strconv.ParseUint(row["from"], 10, 31)
		if err != nil {
			return read, refuse("from %q", row["from"])
		}
		to, err := strconv.ParseUint(row["to"], 10, 31)
		if err != nil {
			return read, refuse("to %q", row["to"])
		}
		hash := int64(planner.NoInstance)
		if text := row["hash_instance"]; text != "" {
			h, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				return read, refuse("hash_instance %q", text)
			}
			hash = int64(h)
		}
		rows = append(rows, oracleRow{key: row["key"]})
		read.moves, read.hash = append(read.moves, keyMove{From: int32(from), To: int32(to)}), append(read.hash, int32(hash))
	}
	if rows, err = oracleRows(rows, base64Keys); err != nil {
		return read, err
	}
	for i, r := range rows {
		read.moves[i].Key = []byte(r.key)
	}
	return read, nil
}

var decimalPattern = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// errUncomparable: encoding/csv reads such text otherwise than RFC 4180 does, or with other delimiters.
var errUncomparable = errors.New("not comparable")

// oracleCSV reads rows of keys or compact records.
func oracleCSV(body []byte, base64Keys bool) (read oracleBody, err error) {
	header, records, err := oracleTable(body)
	if err != nil {
		return read, err
	}
	if slices.Contains(header, "count") {
		read.records, err = oracleCSVRecords(header, records)
		return read, err
	}
	if err := oracleHeader(header); err != nil {
		return read, err
	}
	for _, record := range records {
		row, err := oracleRecord(header, record)
		if err != nil {
			return read, err
		}
		read.rows = append(read.rows, row)
	}
	read.rows, err = oracleRows(read.rows, base64Keys)
	return read, err
}

func oracleCSVRecords(header []string, rows [][]string) ([]compact.Record, error) {
	if names := slices.Sorted(slices.Values(header)); !slices.Equal(names,
		[]string{"cost", "count", "hash_instance", "instance", "state"}) {
		return nil, refuse("columns %q", header)
	}
	records := []compact.Record{}
	for _, row := range rows {
		var cells []string
		for _, name := range []string{"instance", "hash_instance", "cost", "state", "count"} {
			cells = append(cells, row[slices.Index(header, name)])
		}
		if !decimalPattern.MatchString(cells[2]) || !decimalPattern.MatchString(cells[3]) {
			return nil, refuse("numbers %q", cells)
		}
		r, err := oracleNumbers(cells)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, oracleCounts(records)
}

// oracleTable reads records with encoding/csv.
func oracleTable(body []byte) (header []string, records [][]string, err error) {
	if !utf8.Valid(body) {
		return nil, nil, refuse("not UTF-8")
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if bytes.Contains(bytes.ReplaceAll(body, []byte("\r\n"), nil), []byte("\r")) {
		return nil, nil, errUncomparable // carriage returns on their own
	}
	if line, _, _ := bytes.Cut(body, []byte("\n")); bytes.ContainsAny(line, ";\t| ") {
		return nil, nil, errUncomparable // these may stand between cells, too
	}
	r := csv.NewReader(bytes.NewReader(body))
	returns := bytes.Contains(body, []byte("\r"))
	for {
		rest := body[r.InputOffset():]
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && header == nil:
			return nil, nil, refuse("no header")
		case errors.Is(err, io.EOF):
			return header, records, nil
		case err != nil:
			return nil, nil, err
		case bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n")):
			return nil, nil, refuse("blank line")
		case returns && strings.Contains(strings.Join(record, ""), "\n"):
			return nil, nil, errUncomparable // line breaks in cells, rewritten
		case header == nil:
			header = record
		default:
			records = append(records, record)
		}
	}
}

func oracleHeader(header []string) error {
	known := map[string]int{"key": 0, "cost": 0, "frequency": 0, "state": 0, "instance": 0, "hash_instance": 0}
	for _, name := range header {
		if of, found := strings.CutPrefix(name, "cost."); found && resourcePattern.MatchString(of) {
			known[name] += 0
		}
		n, ok := known[name]
		if !ok || n > 0 {
			return refuse("column %q", name)
		}
		known[name]++
	}
	if len(known) > 6+16 || known["key"] != 1 || known["cost"]+known["frequency"] != 1 {
		return refuse("columns missing")
	}
	return nil
}

func oracleRecord(header, record []string) (r oracleRow, err error) {
	for c, cell := range record {
		name := header[c]
		of, isCost := strings.CutPrefix(name, "cost.")
		if isCost && r.costs == nil {
			r.costs = map[string]float64{}
		}
		if isCost {
			r.costs[of] = 0
		}
		if cell == "" {
			if name == "cost" || name == "frequency" {
				return r, refuse("no cost")
			}
			continue
		}
		switch name {
		case "key":
			r.key = cell
		case "instance", "hash_instance":
			n, err := strconv.ParseUint(cell, 10, 31)
			if err != nil {
				return r, refuse("instance %q", cell)
			}
			i := int32(n)
			if name == "instance" {
				r.instance = &i
			} else {
				r.hashInstance = &i
			}
		default:
			if !decimalPattern.MatchString(cell) {
				return r, refuse("number %q", cell)
			}
			x, err := oracleFloat(cell)
			if err != nil {
				return r, err
			}
			switch {
			case name == "state":
				r.state = &x
			case isCost:
				r.costs[of] = x
			default:
				r.cost = x
			}
		}
	}
	return r, nil
}

// statisticsOfOracle brings rows into columns.
func statisticsOfOracle(rows []oracleRow) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(0)}
	ids := func(of func(oracleRow) *int32) (column []int32) {
		column, named := make([]int32, len(rows)), false
		for i, r := range rows {
			column[i] = planner.NoInstance
			if id := of(r); id != nil {
				column[i], named = *id, true
			}
		}
		if !named {
			return nil
		}
		return column
	}
	for _, r := range rows {
		s.Keys.Append([]byte(r.key))
		s.Cost = append(s.Cost, r.cost)
		if r.state != nil {
			s.State = append(s.State, *r.state)
		}
	}
	for _, name := range oracleResources(rows) {
		x := planner.Amounts{Name: name}
		for _, r := range rows {
			x.Rows = append(x.Rows, r.costs[name])
		}
		s.Costs = append(s.Costs, x)
	}
	s.Instance = ids(func(r oracleRow) *int32 { return r.instance })
	s.HashInstance = ids(func(r oracleRow) *int32 { return r.hashInstance })
	return s
}

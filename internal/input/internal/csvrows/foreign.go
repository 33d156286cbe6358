package csvrows

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/window"
)

// What follows reads CSV as other systems write it.

// delimiters are those that a header is searched for. The first of those that stand in it most
// often is taken.
const delimiters = ",;\t|"

// chooseDelimiter finds what stands between the cells of the line at i. It needs the whole line.
func (p *Rows) chooseDelimiter(i int) bool {
	if i >= p.End && !p.EOF {
		return p.Fail(i, "")
	}
	n := bytes.IndexByte(p.Buf[i:p.End], '\n')
	if n < 0 && !p.EOF {
		return p.Fail(p.End, "")
	}
	if n < 0 {
		n = p.End - i
	}
	p.delimiter = p.Options.Delimiter
	if p.delimiter == 0 {
		p.delimiter = delimiterOf(p.Buf[i:i+n], len(p.Options.Columns) > 0)
	}
	p.padded = p.delimiter == ' ' || p.delimiter == '|'
	p.wide = p.delimiter == ' ' && namesHaveSpaces(p.Options.Columns, p.Buf[i:i+n])
	return true
}

// delimiterOf is what stands between the cells of a line: runs of spaces only where nothing else
// does, and where one is longer than one space or all words are known or asked for.
func delimiterOf(line []byte, mapped bool) byte {
	counts := map[byte]int{}
	for n, part := range bytes.Split(line, []byte(`"`)) {
		for i := 0; n%2 == 0 && i < len(part); i++ { // what is between quotes does not count
			counts[part[i]]++
		}
	}
	most := byte(',')
	for _, c := range []byte(delimiters) {
		if counts[c] > counts[most] {
			most = c
		}
	}
	if counts[most] > 0 {
		return most
	}
	words := bytes.Fields(line)
	aligned := bytes.Contains(bytes.TrimSpace(line), []byte("  "))
	known := mapped
	for _, word := range words {
		known = known || string(word) == columns.Key.String()
	}
	if len(words) > 1 && (aligned || known) {
		return ' '
	}
	return ','
}

// namesHaveSpaces tells whether the columns of a header that is aligned by spaces stand two or more
// apart: one with a space in its name is asked for, or nothing is, and a word stands there twice.
func namesHaveSpaces(mapped map[string][]string, header []byte) bool {
	for _, names := range mapped {
		for _, name := range names {
			if strings.Contains(name, " ") {
				return true
			}
		}
	}
	words := strings.Fields(string(header))
	slices.Sort(words)
	return len(mapped) == 0 && len(slices.Compact(words)) < len(bytes.Fields(header))
}

// unpad skips the spaces before a cell, where they mean nothing.
func (p *Rows) unpad(i int) int {
	if p.padded {
		for p.Buf[i] == ' ' {
			i++
		}
	}
	return i
}

// unpadEnd skips the spaces behind a cell, but for one that is a delimiter: it is one if another
// cell follows.
func (p *Rows) unpadEnd(i int) int {
	if !p.padded {
		return i
	}
	next := p.unpad(i)
	if p.delimiter == ' ' && next > i && p.Buf[next] != '\n' && p.Buf[next] != '\r' && next < p.End {
		return next - 1
	}
	return next
}

// line reads a line of any text.
func (p *Rows) line(i int) (next int, ok bool) {
	if n := bytes.IndexByte(p.Buf[i:p.End], '\n'); n >= 0 {
		return i + n + 1, true
	}
	return p.End, p.EOF || p.Fail(p.End, "")
}

// rule reads a line of dashes, such as databases print under a header, if there is one.
func (p *Rows) rule(i int) (next int, ok bool) {
	switch p.Buf[i] {
	case '-', '=', '+', '|', ' ':
	default:
		return i, i < p.End || p.EOF || p.Fail(i, "")
	}
	if next, ok = p.line(i); !ok {
		return 0, false
	}
	text := string(p.Buf[i:next])
	if strings.Trim(text, "-=+|: \t\r\n") == "" && strings.Contains(text, "--") {
		return next, true
	}
	return i, true
}

// numbered are the names of columns that no header names.
func numbered(cells int) []string {
	names := make([]string, cells)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

// keyParts are the texts of the columns that hold a key.
type keyParts [][]byte

// join appends the key to a text; nil where all parts are empty.
func (parts keyParts) join(key []byte, separator string) []byte {
	empty := true
	for i, part := range parts {
		if i > 0 {
			key = append(key, separator...)
		}
		key = append(key, part...)
		empty = empty && len(part) == 0
	}
	if empty {
		return nil
	}
	return key
}

// time reads what stands for an interval.
func (p *Rows) time(i int, r *columns.Row) (next int, ok bool) {
	text, next, ok := p.cell(i)
	if !ok {
		return 0, false
	}
	r.Seen |= columns.Interval
	var err error
	if r.Interval, err = p.Options.IntervalOf(text); err != nil {
		p.WrongValue(p.Rows, columns.Interval.String(), text, err.Error())
	}
	return next, true
}

// units are what may follow a number: the prefixes of SI and the binary ones, which a B may follow, and
// percent, which counts as written. Elasticsearch means 1024 by kb.
var units = map[string]float64{
	"": 1, "%": 1, "B": 1, "b": 1, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3,
	"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
	"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50,
}

// quantity is what the text of an amount stands for, −1 if it is none. Where the mapping names columns
// it may have a unit, and a limit behind a slash, as in 1.5GiB / 8GiB.
func quantity(text []byte, o *columns.Options) float64 {
	factor := 1.0
	if len(o.Columns) > 0 {
		text, _, _ = bytes.Cut(text, []byte(" / "))
		end := bytes.LastIndexAny(text, "0123456789.,") + 1
		factor = units[strings.TrimSpace(string(text[end:]))]
		text = text[:end]
	}
	number := string(text)
	switch {
	case grouped(o):
		number = ungrouped(number)
	case o.DecimalComma:
		number = strings.Replace(number, ",", ".", 1)
	}
	if factor == 0 || !problem.IsDecimal(number) {
		return -1
	}
	return factor * window.ParseFloat([]byte(number))
}

// ungrouped is a number such as 1.234,5 as 1234.5; empty where points stand elsewhere than between
// thousands.
func ungrouped(number string) string {
	whole, fraction, cut := strings.Cut(number, ",")
	groups := strings.Split(whole, ".")
	for i, group := range groups {
		if i > 0 && len(group) != 3 || len(groups) > 1 && len(group) > 3 {
			return ""
		}
	}
	if cut {
		fraction = "." + fraction
	}
	return strings.Join(groups, "") + fraction
}

// grouped tells whether points are separators of thousands. The numbers of JSON have decimal points.
func grouped(o *columns.Options) bool { return o.DecimalComma && !o.NoLines }

// amountDetail says what is wrong with the text of an amount.
func amountDetail(x float64, text []byte, decimalComma bool) string {
	detail := columns.AmountDetail(x)
	commas, points := bytes.Count(text, []byte(",")), bytes.Count(text, []byte("."))
	switch {
	case decimalComma && points > 0 && x < 0:
		return "is not written with a decimal comma; points may stand before groups of three digits only"
	case strings.Trim(string(text), "+-0123456789,. '") != "":
	case commas == 1 && points == 0 && !decimalComma:
		detail += "; a comma is no decimal point here"
	case commas+points > 1:
		detail += "; it must be written without separators of thousands"
	}
	return detail
}

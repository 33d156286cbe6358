package api

import (
	"bytes"
	"io"
	"strconv"
)

// formulaEscaper writes CSV in which no cell is a formula to a spreadsheet: one that begins like a
// formula, and is no number, gets a single quote in front, as OWASP recommends against CSV injection.
type formulaEscaper struct {
	io.Writer
	cell   []byte // what came of the cell so far
	quoted bool   // a quotation is open
}

func (e *formulaEscaper) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		e.cell = append(e.cell, b)
		if b == '"' {
			e.quoted = !e.quoted // a doubled one changes it twice
		}
		if !e.quoted && (b == ',' || b == '\n') {
			out = append(out, escapeFormula(e.cell)...)
			e.cell = e.cell[:0]
		}
	}
	if _, err := e.Writer.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeFormula returns a cell with what ends it.
func escapeFormula(cell []byte) []byte {
	text := bytes.TrimPrefix(cell, []byte{'"'})
	if len(text) == 0 || !bytes.ContainsRune([]byte("=+-@\t\r"), rune(text[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(string(bytes.TrimRight(text, "\",\r\n")), 64); err == nil {
		return cell
	}
	return append(append(bytes.Clone(cell[:len(cell)-len(text)]), '\''), text...)
}

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// isTerminal tells whether a stream, a reader or writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// plainWidth is the width of what no terminal shows.
const plainWidth = 120

// page is what people read: text and tables that fit a width.
type page struct {
	bytes.Buffer
	width int
	wraps bool // text is wrapped, too
}

// people has a page written for people and sends it to a stream. It is as wide as
// COLUMNS says, else as the terminal is.
func (env *environment) people(stream io.Writer, write func(*page)) error {
	p := &page{width: plainWidth}
	if columns, err := strconv.Atoi(env.getenv("COLUMNS")); err == nil && columns > 0 {
		p.width, p.wraps = columns, true
	} else if isTerminal(stream) {
		if columns, _, err := term.GetSize(int(stream.(*os.File).Fd())); err == nil && columns > 0 {
			p.width, p.wraps = columns, true
		}
	}
	write(p)
	out := bufio.NewWriter(stream)
	for line := range strings.Lines(p.String()) {
		for p.wraps && displaywidth.String(line) > p.width {
			cut := strings.LastIndexByte(displaywidth.TruncateString(line, p.width+1, ""), ' ')
			if cut <= 0 || strings.TrimSpace(line[:cut]) == "" {
				break
			}
			_, _ = out.WriteString(line[:cut] + "\n") // the writer keeps its error
			line = line[cut+1:]
		}
		_, _ = out.WriteString(line)
	}
	return out.Flush()
}

// column is one column of a table for people. Numbers go to the right.
type column struct {
	title string
	right bool
	// names: the column says what a line is about. In a table that is cut into parts
	// all of them have it. The columns up to the first that has a title do, too.
	names bool
	// cut: the texts may be cut in the middle where room is short.
	cut bool
}

func text(title string) column   { return column{title: title} }
func number(title string) column { return column{title: title, right: true} }
func naming(c column) column     { c.names = true; return c }
func keys(title string) column   { return column{title: title, cut: true} }

// gap is what is between two columns.
const gap = 2

const (
	leastCut   = 20 // the texts of a column are cut no shorter
	titleWidth = 8  // titles are not broken below this
)

// table is a table for people on its way to a page.
type table struct {
	columns []column
	rows    [][]string
	titles  [][]string // the lines of each title
	widths  []int
}

// writeTable prints rows under their titles, without borders. A table that is too wide
// for the page has titles of several lines, keys cut in the middle, its notes below it
// and, if that is not enough, is cut into parts, one below the other.
func writeTable(w *page, columns []column, rows [][]string) {
	t := newTable(columns, rows)
	if t.width() > w.width {
		t.breakTitles()
	}
	t.cutTexts(w.width)
	notes := ""
	if t.width() > w.width {
		notes = t.takeNotes()
	}
	for i, part := range t.parts(w.width) {
		if i > 0 {
			w.WriteByte('\n')
		}
		part.write(w)
	}
	if notes != "" {
		w.WriteString("\n" + notes)
	}
}

// newTable lays a table out, without columns that have nothing to show. Rows may lack
// their last cells.
func newTable(columns []column, rows [][]string) *table {
	cell := func(row []string, c int) string {
		if c < len(row) {
			return row[c]
		}
		return ""
	}
	t := &table{rows: make([][]string, len(rows))}
	for c, column := range columns {
		if column.title == "" && !slices.ContainsFunc(rows, func(row []string) bool { return cell(row, c) != "" }) {
			continue
		}
		t.columns = append(t.columns, column)
		t.titles = append(t.titles, []string{column.title})
		for r, row := range rows {
			t.rows[r] = append(t.rows[r], cell(row, c))
		}
	}
	t.measure()
	return t
}

// measure sets the widths of the columns.
func (t *table) measure() {
	t.widths = make([]int, len(t.columns))
	for c := range t.columns {
		for _, line := range t.titles[c] {
			t.widths[c] = max(t.widths[c], displaywidth.String(line))
		}
		t.widths[c] = max(t.widths[c], t.widest(c))
	}
}

// widest is the width of a column without its title.
func (t *table) widest(c int) (width int) {
	for _, row := range t.rows {
		width = max(width, displaywidth.String(row[c]))
	}
	return width
}

func (t *table) width() int {
	sum := 0
	for _, width := range t.widths {
		sum += width + gap
	}
	return max(0, sum-gap)
}

// breakTitles writes titles that are wider than what is below them on several lines.
func (t *table) breakTitles() {
	for c, column := range t.columns {
		width := max(titleWidth, t.widest(c))
		lines := []string{}
		for word := range strings.FieldsSeq(column.title) {
			last := len(lines) - 1
			if last >= 0 && displaywidth.String(lines[last]+" "+word) <= width {
				lines[last] += " " + word
				continue
			}
			lines = append(lines, word)
		}
		t.titles[c] = lines
	}
	t.measure()
}

// cutTexts cuts the texts of the columns that allow it until the table fits.
func (t *table) cutTexts(width int) {
	for c, column := range t.columns {
		over := t.width() - width
		if !column.cut || over <= 0 {
			continue
		}
		room := max(leastCut, t.widths[c]-over)
		for _, row := range t.rows {
			row[c] = cutMiddle(row[c], room)
		}
		t.measure()
	}
}

// cutMiddle keeps the beginning and the end of a text that is too wide.
func cutMiddle(s string, width int) string {
	if displaywidth.String(s) <= width {
		return s
	}
	runes := []rune(s)
	for left, right := (len(runes)+1)/2, len(runes)/2; ; {
		cut := string(runes[:left]) + "…" + string(runes[len(runes)-right:])
		if displaywidth.String(cut) <= width {
			return cut
		}
		if left > right {
			left--
		} else {
			right--
		}
	}
}

// takeNotes takes the last column, if it has no title, out of the table. It returns a
// line for each of its texts, with the names of the line that it is about.
func (t *table) takeNotes() string {
	last := len(t.columns) - 1
	names, others := t.naming()
	if len(others) == 0 || others[len(others)-1] != last || t.columns[last].title != "" {
		return ""
	}
	var b strings.Builder
	for _, row := range t.rows {
		if row[last] == "" {
			continue
		}
		var about []string
		for _, c := range names {
			if t.columns[c].title != "" {
				about = append(about, row[c])
			}
		}
		b.WriteString(strings.Join(about, ", ") + ": " + row[last] + "\n")
	}
	*t = *t.selected(append(names, others[:len(others)-1]...))
	return b.String()
}

// naming returns the columns that say what a line is about, and the others.
func (t *table) naming() (names, others []int) {
	first := slices.IndexFunc(t.columns, func(c column) bool { return c.title != "" })
	for c, column := range t.columns {
		if c <= first || column.names {
			names = append(names, c)
		} else {
			others = append(others, c)
		}
	}
	return names, others
}

// parts cuts a table that is too wide into several, each with the columns that name the
// lines.
func (t *table) parts(width int) []*table {
	names, others := t.naming()
	if t.width() <= width || len(others) == 0 {
		return []*table{t}
	}
	var parts []*table
	for len(others) > 0 {
		take := 1
		for take < len(others) && t.selected(append(slices.Clone(names), others[:take+1]...)).width() <= width {
			take++
		}
		parts = append(parts, t.selected(append(slices.Clone(names), others[:take]...)))
		others = others[take:]
	}
	return parts
}

// selected is a table of some of the columns, in their order.
func (t *table) selected(columns []int) *table {
	slices.Sort(columns)
	out := &table{rows: make([][]string, len(t.rows))}
	for _, c := range columns {
		out.columns, out.titles, out.widths = append(out.columns, t.columns[c]), append(out.titles, t.titles[c]), append(out.widths, t.widths[c])
		for r, row := range t.rows {
			out.rows[r] = append(out.rows[r], row[c])
		}
	}
	return out
}

// write prints the table.
func (t *table) write(w *page) {
	height := 0
	for _, lines := range t.titles {
		height = max(height, len(lines))
	}
	for i := range height {
		line := make([]string, len(t.columns))
		for c, lines := range t.titles {
			if at := i - (height - len(lines)); at >= 0 {
				line[c] = lines[at]
			}
		}
		t.line(w, line)
	}
	w.WriteString(strings.Repeat("─", t.width()) + "\n")
	for _, row := range t.rows {
		t.line(w, row)
	}
}

// line prints a line of cells.
func (t *table) line(w *page, cells []string) {
	var b strings.Builder
	for c, cell := range cells {
		blank := strings.Repeat(" ", t.widths[c]-displaywidth.String(cell))
		if t.columns[c].right {
			cell = blank + cell
		} else {
			cell += blank
		}
		b.WriteString(cell + strings.Repeat(" ", gap))
	}
	w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

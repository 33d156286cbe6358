package cli

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

// IsTerminal tells whether a stream, a reader or writer, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// PlainWidth is the width of what no terminal shows.
const PlainWidth = 120

// Page is what people read: text and tables that fit a width.
type Page struct {
	bytes.Buffer
	Width int
	wraps bool // text is wrapped, too
}

// People has a page written for people and sends it to a stream. It is as wide as
// COLUMNS says, else as the terminal is.
func (env *Environment) People(stream io.Writer, write func(*Page)) error {
	p := &Page{Width: PlainWidth}
	if columns, err := strconv.Atoi(env.Getenv("COLUMNS")); err == nil && columns > 0 {
		p.Width, p.wraps = columns, true
	} else if IsTerminal(stream) {
		if columns, _, err := term.GetSize(int(stream.(*os.File).Fd())); err == nil && columns > 0 {
			p.Width, p.wraps = columns, true
		}
	}
	write(p)
	out := bufio.NewWriter(stream)
	for line := range strings.Lines(p.String()) {
		for p.wraps && displaywidth.String(line) > p.Width {
			cut := strings.LastIndexByte(displaywidth.TruncateString(line, p.Width+1, ""), ' ')
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

// Column is one column of a table for people. Numbers go to the right.
type Column struct {
	title string
	right bool
	// names: the column says what a line is about. In a table that is cut into parts
	// all of them have it. The columns up to the first that has a title do, too.
	names bool
	// cut: the texts may be cut in the middle where room is short.
	cut bool

	// On its way to a page:
	lines []string // of the title
	cells []string // by row
	width int
}

// Text is a column of texts.
func Text(title string) Column { return Column{title: title} }

// Number is a column of numbers.
func Number(title string) Column { return Column{title: title, right: true} }

// Naming makes a column one that says what a line is about.
func Naming(c Column) Column { c.names = true; return c }

// Keys is a column of keys, which are cut where room is short.
func Keys(title string) Column { return Column{title: title, cut: true} }

// gap is what is between two columns.
const gap = 2

const (
	leastCut   = 20 // the texts of a column are cut no shorter
	titleWidth = 8  // titles are not broken below this
)

// measure sets the width.
func (l *Column) measure() { l.width = max(widest(l.lines), widest(l.cells)) }

func widest(texts []string) (width int) {
	for _, s := range texts {
		width = max(width, displaywidth.String(s))
	}
	return width
}

// table is a table for people, by column.
type table []*Column

// WriteTable prints rows under their titles, without borders. A table that is too wide
// for the page has titles of several lines, keys cut in the middle, its notes below it
// and, if that is not enough, is cut into parts, one below the other.
func WriteTable(w *Page, columns []Column, rows [][]string) {
	t := layOut(columns, rows)
	if t.width() > w.Width {
		t.breakTitles()
	}
	t.cutTexts(w.Width)
	notes := ""
	if t.width() > w.Width {
		t, notes = t.takeNotes()
	}
	for i, part := range t.parts(w.Width) {
		if i > 0 {
			w.WriteByte('\n')
		}
		part.write(w)
	}
	if notes != "" {
		w.WriteString("\n" + notes)
	}
}

// layOut lays a table out, without columns that have nothing to show. Rows may lack
// their last cells.
func layOut(columns []Column, rows [][]string) (t table) {
	for c, l := range columns {
		l.lines, l.cells = []string{l.title}, make([]string, len(rows))
		for r, row := range rows {
			if c < len(row) {
				l.cells[r] = row[c]
			}
		}
		if l.measure(); l.width > 0 {
			t = append(t, &l)
		}
	}
	return t
}

func (t table) width() int {
	sum := -gap
	for _, l := range t {
		sum += l.width + gap
	}
	return max(0, sum)
}

// breakTitles writes titles that are wider than what is below them on several lines.
func (t table) breakTitles() {
	for _, l := range t {
		width := max(titleWidth, widest(l.cells))
		l.lines = nil
		for word := range strings.FieldsSeq(l.title) {
			last := len(l.lines) - 1
			if last >= 0 && displaywidth.String(l.lines[last]+" "+word) <= width {
				l.lines[last] += " " + word
			} else {
				l.lines = append(l.lines, word)
			}
		}
		l.measure()
	}
}

// cutTexts cuts the texts of the columns that allow it until the table fits.
func (t table) cutTexts(width int) {
	for _, l := range t {
		over := t.width() - width
		if !l.cut || over <= 0 {
			continue
		}
		room := max(leastCut, l.width-over)
		for r, cell := range l.cells {
			l.cells[r] = cutMiddle(cell, room)
		}
		l.measure()
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
func (t table) takeNotes() (table, string) {
	names, others := t.naming()
	last := t[len(t)-1]
	if last.title != "" || !slices.Contains(others, last) {
		return t, ""
	}
	var b strings.Builder
	for r, note := range last.cells {
		if note == "" {
			continue
		}
		var about []string
		for _, l := range names {
			if l.title != "" {
				about = append(about, l.cells[r])
			}
		}
		b.WriteString(strings.Join(about, ", ") + ": " + note + "\n")
	}
	return t[:len(t)-1], b.String()
}

// naming returns the columns that say what a line is about, and the others.
func (t table) naming() (names, others table) {
	first := slices.IndexFunc(t, func(l *Column) bool { return l.title != "" })
	for c, l := range t {
		if c <= first || l.names {
			names = append(names, l)
		} else {
			others = append(others, l)
		}
	}
	return names, others
}

// parts cuts a table that is too wide into several, each with the columns that name the
// lines.
func (t table) parts(width int) (parts []table) {
	names, others := t.naming()
	if t.width() <= width || len(others) == 0 {
		return []table{t}
	}
	for len(others) > 0 {
		take := 1
		for take < len(others) && t.selected(names, others[:take+1]).width() <= width {
			take++
		}
		parts = append(parts, t.selected(names, others[:take]))
		others = others[take:]
	}
	return parts
}

// selected has some of the columns, in their order.
func (t table) selected(names, others table) (out table) {
	for _, l := range t {
		if slices.Contains(names, l) || slices.Contains(others, l) {
			out = append(out, l)
		}
	}
	return out
}

// write prints the table.
func (t table) write(w *Page) {
	height := 0
	for _, l := range t {
		height = max(height, len(l.lines))
	}
	for i := range height {
		t.line(w, func(l *Column) string {
			if at := i - (height - len(l.lines)); at >= 0 {
				return l.lines[at]
			}
			return ""
		})
	}
	w.WriteString(strings.Repeat("─", t.width()) + "\n")
	for r := range t[0].cells {
		t.line(w, func(l *Column) string { return l.cells[r] })
	}
}

// line prints a cell of each column.
func (t table) line(w *Page, cell func(*Column) string) {
	var b strings.Builder
	for _, l := range t {
		text := cell(l)
		blank := strings.Repeat(" ", l.width-displaywidth.String(text))
		if l.right {
			text = blank + text
		} else {
			text += blank
		}
		b.WriteString(text + strings.Repeat(" ", gap))
	}
	w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

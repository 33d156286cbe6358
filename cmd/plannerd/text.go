package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
	"golang.org/x/term"
)

// isTerminal tells whether a stream, a reader or writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// column is one column of a table for people. Numbers go to the right.
type column struct {
	title string
	right bool
}

func text(title string) column   { return column{title: title} }
func number(title string) column { return column{title: title, right: true} }

// writeTable prints rows under their titles, without borders.
func writeTable(w io.Writer, columns []column, rows [][]string) error {
	titles := make([]string, len(columns))
	aligns := make([]tw.Align, len(columns))
	for i, c := range columns {
		titles[i], aligns[i] = c.title, tw.AlignLeft
		if c.right {
			aligns[i] = tw.AlignRight
		}
	}
	var out bytes.Buffer
	alignment := tw.CellAlignment{PerColumn: aligns}
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
			},
		})),
		tablewriter.WithEastAsian(tw.Off), // the same widths in every locale
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(alignment),
		tablewriter.WithRowAlignmentConfig(alignment),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
	)
	table.Header(titles)
	if err := table.Bulk(rows); err != nil {
		return err
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range bytes.Lines(out.Bytes()) {
		line = append(bytes.TrimRight(line, " \n"), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// prefixes of a thousand, a million and so on.
const prefixes = "kMGTPE"

// si writes a quantity with four significant digits: 12.5, 9999, 12.35k, 4.2M.
func si(x float64) string {
	if math.Abs(x) < 9999.5 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	i := -1
	for ; math.Abs(x) >= 999.95 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + prefixes[i:i+1]
}

// integer writes a count in groups of three digits: 12,345.
func integer[T int | int32 | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// theta writes a relative overload as the options take it: 0.0762.
func theta(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// percent writes a fraction: 1.28 %.
func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) + " %" }

// errorText writes how far a figure is off, also when that is very little.
func errorText(x float64) string {
	switch {
	case x < 1e-12: // rounding
		return "0 %"
	case x < 1e-3:
		return strconv.FormatFloat(100*x, 'g', 2, 64) + " %"
	}
	return percent(x)
}

// duration writes a duration with three significant digits.
func duration(d time.Duration) string {
	unit, name := time.Microsecond, "µs"
	switch {
	case d == 0 || d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		unit, name = time.Second, "s"
	case d >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	}
	x, digits := float64(d)/float64(unit), 0
	for limit := 99.95; x < limit && digits < 2; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " " + name
}

// plural is "1 key", "2 keys", "2 entries".
func plural[T int | int32 | int64](n T, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return "1 " + noun
	case y && !strings.HasSuffix(stem, "e"):
		return integer(n) + " " + stem + "ies"
	}
	return integer(n) + " " + noun + "s"
}

// keyWidth is where keys are cut in tables for people.
const keyWidth = 48

// keyText shows a key on one line: what is not printable is escaped, what is
// long is cut.
func keyText(key []byte) string {
	s := string(key)
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || strings.TrimSpace(s) != s {
		s = quoted
	}
	if utf8.RuneCountInString(s) > keyWidth {
		runes := []rune(s)
		s = string(runes[:keyWidth-1]) + "…"
	}
	return s
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"plannerd/internal/cli"
	"plannerd/internal/lab/deep"
)

// Tables fit the width of the terminal, whatever they have to show.
func TestTablesFit(t *testing.T) {
	widths := []int{80, 120, 160}[:deep.Count(1, 3)]
	for name, args := range map[string]string{
		"compare": "compare " + streamFile + " --instances 4 --table-limit 4",
		"compare_grid": "compare " + streamFile +
			" --instances 4 --theta-max 2%,5% --table-limit 5,none --strategies mixed,optimal",
		"stream":   "plan " + streamFile + " --instances 4 --strategy mixed --table-limit 3 --compact 4",
		"plan":     "plan " + intervalFile + " --instances 12 --all",
		"batches":  "plan " + intervalFile + " --instances 4 --batch-pause 2s --transfer-rate 10 --top 3",
		"schemes":  "analyze schemes " + intervalFile + " --instances 4",
		"pkg":      "analyze pkg " + intervalFile + " --instances 4 --sources 1,3 --seeds 3",
		"ranges":   "analyze ranges " + intervalFile + " --instances 4",
		"ring":     "analyze ring " + intervalFile + " --instances 4 --plan",
		"backtest": "backtest " + streamFile + " --instances 4 --forecasts last,ewma:0.5",
		"compact":  "compact " + streamFile + " --instances 4",
	} {
		for _, width := range widths {
			vars := map[string]string{"COLUMNS": fmt.Sprint(width)}
			r := exec(t, nil, vars, strings.Fields(args)...)
			if r.code != exitOK || r.stderr != "" {
				t.Fatalf("%s: %+v", args, r)
			}
			for line := range strings.Lines(r.stdout) {
				if columns := displaywidth.String(strings.TrimSuffix(line, "\n")); columns > width {
					t.Errorf("%s in %d columns: a line has %d: %s", args, width, columns, line)
				}
			}
			if width == 80 {
				golden(t, "narrow_"+name+".txt", r.stdout)
			}
		}
	}
}

// A table that is cut into parts has every cell of the whole one, and the names of the
// lines in each part.
func TestTableParts(t *testing.T) {
	columns := []cli.Column{cli.Text(""), cli.Text("name"), cli.Naming(cli.Number("limit")), cli.Number("first figure"),
		cli.Number("second figure"), cli.Text("")}
	rows := [][]string{{"*", "a", "1,000", "11", "22", "a note"}, {"", "b", "2", "33"}}
	p := &cli.Page{Width: 24}
	cli.WriteTable(p, columns, rows)
	want := `
                 first
   name  limit  figure
──────────────────────
*  a     1,000      11
   b         2      33

                second
   name  limit  figure
──────────────────────
*  a     1,000      22
   b         2

a, 1,000: a note
`
	if got := "\n" + p.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
	p = &cli.Page{Width: 40}
	key := strings.Repeat("beginning/", 3) + "middle" + strings.Repeat("/ending", 3)
	cli.WriteTable(p, []cli.Column{cli.Keys("key"), cli.Number("cost")}, [][]string{{key, "1"}})
	if got := strings.Split(p.String(), "\n")[2]; displaywidth.String(got) != 40 ||
		!strings.HasPrefix(got, "beginning/beg") || !strings.Contains(got, "…") || !strings.HasSuffix(got, "ending     1") {
		t.Errorf("a long key: %q", got)
	}
}

// One separator of thousands, in all figures.
func TestThousands(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 12.5: "12.5", 999.4: "999.4", 999.96: "1,000", 1000: "1,000", 1969: "1,969", 9999: "9,999", 9999.4: "9,999",
		9999.6: "10k", 12345: "12.35k", -1969: "-1,969", 3.229e6: "3.229M",
	} {
		if got := cli.SI(x); got != want {
			t.Errorf("si(%v) = %s, want %s", x, got, want)
		}
	}
}

// What is wider than the terminal is wrapped between words; what goes to a file is not.
func TestProseWraps(t *testing.T) {
	args := []string{"compare", intervalFile, "--instances", "4", "--strategies", "mixed"}
	whole := succeed(t, "", args...)
	r := exec(t, nil, map[string]string{"COLUMNS": "60"}, args...)
	if !strings.Contains(whole, "* on the Pareto front of migration, table size and θ\ngap: what it moves, or its θ "+
		"under min_imbalance, above what is proven to be least\n") {
		t.Errorf("whole:\n%s", whole)
	}
	if !strings.Contains(r.stdout,
		"gap: what it moves, or its θ under min_imbalance, above what\nis proven to be least\n") {
		t.Errorf("wrapped:\n%s", r.stdout)
	}
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"plannerd/internal/cli"
	"plannerd/internal/lab/reproduce"
	"plannerd/web"
)

type reproduceCmd struct {
	Documents []reproduce.Document `arg:"" optional:"" name:"document" enum:"mixed,pkg,dpa,shuffler" help:"Papers: mixed, pkg, dpa or shuffler (default: all)."`
	Only      []string             `placeholder:"ITEM" help:"Items, such as fig8 or pkg/table2 (default: all)."`
	Full      bool                 `help:"The papers' sizes, which take hours (default: sizes of seconds)."`
	Seeds     int                  `least:"1" default:"3" help:"How many seeds each point is the median of."`
	Output    string               `own:"" enum:"table,csv,json,html" default:"table" group:"Output" help:"table for people, csv for a spreadsheet, json for programs, html for a page with plots."`
}

// Run measures and reports.
func (c *reproduceCmd) Run(env *cli.Environment) error {
	items, err := reproduce.Select(c.Documents, c.Only)
	if err != nil {
		return cli.Usagef("--only: %v", err)
	}
	results, err := c.measure(env, items)
	if err != nil {
		return err
	}
	if c.Output == "html" {
		charts, err := web.ECharts()
		if err != nil {
			return err
		}
		return cli.Buffered(env.Stdout, func(w io.Writer) error { return reproduce.WriteHTML(w, results, charts) })
	}
	return env.Output(c.Output, func() any { return results }, func(w *cli.Page) { writeReproduced(w, results) },
		reproducedCSV(results))
}

// measure runs items, as many at a time as there are processors, but those that measure time
// one by one, after the others.
func (c *reproduceCmd) measure(env *cli.Environment, items []reproduce.Item) ([]*reproduce.Result, error) {
	watch := cli.StartProgress(env.Stderr, int64(len(items)))
	defer watch.Stop()
	results := make([]*reproduce.Result, len(items))
	options := reproduce.Options{Full: c.Full, Seeds: c.Seeds}
	for _, timed := range []bool{false, true} {
		group, ctx := errgroup.WithContext(env.Ctx)
		if group.SetLimit(runtime.GOMAXPROCS(0)); timed {
			group.SetLimit(1)
		}
		for i, item := range items {
			if item.Timed() != timed {
				continue
			}
			group.Go(func() (err error) {
				watch.Label.Store(&item.ID)
				results[i], err = item.Run(ctx, options)
				watch.At.Add(1)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, cmp.Or(env.Ctx.Err(), err)
		}
	}
	return results, nil
}

// figure writes a measurement with four significant digits.
func figure(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// writeReproduced prints each item with its points, claims and verdict.
func writeReproduced(w *cli.Page, results []*reproduce.Result) {
	count := map[reproduce.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		fmt.Fprintf(w, "%s, %s: %s\n%s (%s): %s.\n\n", r.ID, r.Place, r.Title, verdictText(r.Verdict),
			cmp.Or(r.Counts.String(), "an image without numbers"), r.Setting)
		writePoints(w, r)
		for _, c := range r.Claims {
			holds := "Holds"
			if !c.Holds {
				holds = "Does not hold"
			}
			fmt.Fprintf(w, "%s: %s.\n", holds, c.Text)
		}
		if r.Why != "" {
			fmt.Fprintln(w, r.Why)
		}
		fmt.Fprintf(w, "Published: %s.\n", r.Source)
		if r.Tolerance != "" {
			fmt.Fprintf(w, "Agrees within %s.\n", r.Tolerance)
		}
		fmt.Fprintf(w, "Again: %s\n\n", r.Command)
	}
	fmt.Fprintf(w, "%s: %d agree, %d differ; %d were published as an image only.\n", cli.Plural(len(results), "item"),
		count[reproduce.Agrees], count[reproduce.Differs], count[reproduce.ImageOnly])
}

// writePoints prints what was measured, a table for each unit. A published value that ours
// is not near has a "!".
func writePoints(w *cli.Page, r *reproduce.Result) {
	varied := false
	for _, part := range r.Parts() {
		if part.Variation && !varied {
			fmt.Fprint(w, "With something changed, to show what makes a difference:\n\n")
			varied = true
		}
		var rows [][]string
		for _, s := range part.Series {
			for _, p := range s.Points {
				spread, published := "", ""
				if p.Least != p.Most {
					spread = figure(p.Least) + " – " + figure(p.Most)
				}
				if p.Published != nil {
					published = figure(*p.Published)
					if !*p.Agrees {
						published += " !"
					}
				}
				rows = append(rows, []string{s.Name, p.X, figure(p.Median), spread, published})
			}
		}
		cli.WriteTable(w, []cli.Column{
			cli.Naming(cli.Text(part.Y)), cli.Naming(cli.Text(r.X)), cli.Number("ours"), cli.Number("range"),
			cli.Number("published"),
		}, rows)
		fmt.Fprintln(w)
	}
}

func verdictText(v reproduce.Verdict) string {
	text := strings.ReplaceAll(string(v), "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// reproducedCSV has a line for each point, and for each claim, whose text stands in the place of
// a series.
func reproducedCSV(results []*reproduce.Result) func(io.Writer) error {
	var rows []cli.More
	for _, r := range results {
		row := func(kind, series string, point *reproduce.Point, agrees *bool) {
			rows = append(rows, cli.More{"item": r.ID, "item_verdict": r.Verdict, "kind": kind, "series": series, "point": point,
				"agrees": agrees})
		}
		for _, s := range r.Series {
			kind := "point"
			if s.Variation {
				kind = "variation"
			}
			for p := range slices.Values(s.Points) {
				row(kind, s.Name, &p, p.Agrees)
			}
		}
		for _, c := range r.Claims {
			row("claim", c.Text, nil, &c.Holds)
		}
	}
	return cli.CsvOf(rows, "item item_verdict kind series x=point/x median=point/median least=point/least "+
		"most=point/most published=point/published agrees")
}

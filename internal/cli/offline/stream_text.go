package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/planner"
)

// writeStream prints a line for each interval, and what they come to.
func (r *planReport) writeStream(w *cli.Page) {
	fmt.Fprintf(w, "%s on %s, %s, %s%s\n\n", r.op.Strategy, cli.Plural(len(r.intervals), "interval"),
		cli.Plural(len(r.op.Target.Instances), "instance"), goals(r.op.Options), r.cmd.degreeText())
	var rows [][]string
	for _, f := range r.intervals {
		rows = append(rows, streamRow(f))
	}
	s := summaryOf(&r.summary)
	rows = append(rows,
		[]string{"median", "", cli.Theta(s.ThetaBefore.Median), cli.Theta(s.ThetaAfter.Median), cli.SI(s.Keys.Median),
			cli.SI(s.State.Median), cli.Percent(s.Fraction.Median), "", cli.SI(s.Table.Median), milli(s.PlanMS.Median)},
		[]string{"max", "", cli.Theta(s.ThetaBefore.Max), cli.Theta(s.ThetaAfter.Max), cli.SI(s.Keys.Max),
			cli.SI(s.State.Max), cli.Percent(s.Fraction.Max), "", cli.SI(s.Table.Max), milli(s.PlanMS.Max)},
		[]string{"total", "", "", "", cli.SI(s.Keys.Total), cli.SI(s.State.Total), "", gapText(s.Proven.Gap), "",
			milli(s.PlanMS.Total)},
	)
	columns := []cli.Column{
		cli.Number("interval"), cli.Number("keys"), cli.Number("θ before"), cli.Number("θ after"), cli.Number("migrated"),
		cli.Number("state"),
		cli.Number("of all"), cli.Number("gap"), cli.Number("table"), cli.Number("time"), cli.Text(""),
	}
	if s.Compaction != nil {
		columns, rows = r.withRecords(columns, rows, s.Compaction)
	}
	cli.WriteTable(w, columns, rows)
	fmt.Fprintf(w, "\n%d of %d intervals balanced, %d within the table limit, %d changed something\n",
		s.Balanced, s.Intervals, s.WithinLimit, s.Acted)
	if x := s.Merges; x != nil {
		fmt.Fprintf(w, "Split keys: %s merges in an interval (median), %s at most\n", cli.SI(x.Median), cli.SI(x.Max))
	}
	if x := s.Realised; x != nil {
		fmt.Fprintf(w, "Realised, from the second interval on: θ %s (median) and %s (p95), above θ_max in %s of the "+
			"intervals; moved %s of all state, of which %s returned\n",
			cli.Theta(x.Median), cli.Theta(x.P95), cli.Percent(x.Above), cli.Percent(x.Moved), cli.Percent(x.Returned))
	}
}

// withRecords puts the number of records, and the error of the loads that they come
// to, behind the number of keys.
func (r *planReport) withRecords(columns []cli.Column, rows [][]string, c *compactionSummary) ([]cli.Column,
	[][]string) {
	columns = slices.Insert(columns, 2, cli.Number("records"), cli.Number("load error"), cli.Number("after"))
	cells := func(records string, e *planner.Comparison) []string {
		if e == nil {
			return []string{records, "", ""}
		}
		return []string{records, cli.ErrorText(e.Before), cli.ErrorText(e.After)}
	}
	var all [][]string
	for _, f := range r.intervals {
		if f.Compaction == nil {
			all = append(all, cells("", nil))
		} else {
			all = append(all, cells(cli.Integer(f.Compaction.Records), f.Compaction.Error))
		}
	}
	var median, most *planner.Comparison
	if e := c.Error; e != nil {
		median = &planner.Comparison{Before: e.Before.Median, After: e.After.Median}
		most = &planner.Comparison{Before: e.Before.Max, After: e.After.Max}
	}
	all = append(all, cells(cli.SI(c.Records.Median), median), cells(cli.SI(c.Records.Max), most), cells("", nil))
	for i, row := range rows {
		rows[i] = slices.Insert(row, 2, all[i]...)
	}
	return columns, rows
}

// streamRow is the line of one interval.
func streamRow(f figures) []string {
	interval, keys := strconv.FormatInt(f.Interval, 10), cli.Integer(f.Keys)
	if f.EndReason == endTimeout {
		return []string{interval, keys, "", "", "", "", "", "", "", milli(f.PlanMS), "no plan in time"}
	}
	var notes []string
	var gap *float64
	if c := f.Certificate; c != nil {
		gap = c.Gap
		if c.Infeasible {
			notes = append(notes, "no plan meets all limits")
		}
	}
	if !f.Balanced {
		notes = append(notes, "not balanced")
	}
	if !f.TableWithinLimit {
		notes = append(notes, "table over limit")
	}
	if f.EndReason != string(planner.EndCompleted) {
		notes = append(notes, "cut short")
	}
	return []string{
		interval, keys, cli.Theta(f.Theta.Before), cli.Theta(f.Theta.After), cli.Integer(f.Migration.Keys),
		cli.SI(f.Migration.State),
		cli.Percent(f.Migration.Fraction), gapText(gap), cli.Integer(f.RoutingTable.After), milli(f.PlanMS),
		strings.Join(notes, ", "),
	}
}

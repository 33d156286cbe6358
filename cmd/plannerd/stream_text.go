package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plannerd/planner"
)

// writeStream prints a line for each interval, and what they come to.
func (r *planReport) writeStream(w *page) {
	fmt.Fprintf(w, "%s on %s, %s, %s%s\n\n", r.op.Strategy, plural(len(r.intervals), "interval"),
		plural(len(r.op.Target.Instances), "instance"), goals(r.op.Options), r.cmd.degreeText())
	var rows [][]string
	for _, f := range r.intervals {
		rows = append(rows, streamRow(f))
	}
	s := summaryOf(&r.summary)
	rows = append(rows,
		[]string{"median", "", theta(s.ThetaBefore.Median), theta(s.ThetaAfter.Median), si(s.Keys.Median), si(s.State.Median),
			percent(s.Fraction.Median), "", si(s.Table.Median), milli(s.PlanMS.Median)},
		[]string{"max", "", theta(s.ThetaBefore.Max), theta(s.ThetaAfter.Max), si(s.Keys.Max), si(s.State.Max),
			percent(s.Fraction.Max), "", si(s.Table.Max), milli(s.PlanMS.Max)},
		[]string{"total", "", "", "", si(s.Keys.Total), si(s.State.Total), "", gapText(s.Proven.Gap), "",
			milli(s.PlanMS.Total)},
	)
	columns := []column{
		number("interval"), number("keys"), number("θ before"), number("θ after"), number("migrated"), number("state"),
		number("of all"), number("gap"), number("table"), number("time"), text(""),
	}
	if s.Compaction != nil {
		columns, rows = r.withRecords(columns, rows, s.Compaction)
	}
	writeTable(w, columns, rows)
	fmt.Fprintf(w, "\n%d of %d intervals balanced, %d within the table limit, %d changed something\n",
		s.Balanced, s.Intervals, s.WithinLimit, s.Acted)
	if x := s.Merges; x != nil {
		fmt.Fprintf(w, "Split keys: %s merges in an interval (median), %s at most\n", si(x.Median), si(x.Max))
	}
	if x := s.Realised; x != nil {
		fmt.Fprintf(w, "Realised, from the second interval on: θ %s (median) and %s (p95), above θ_max in %s of the "+
			"intervals; moved %s of all state, of which %s returned\n",
			theta(x.Median), theta(x.P95), percent(x.Above), percent(x.Moved), percent(x.Returned))
	}
}

// withRecords puts the number of records, and the error of the loads that they come
// to, behind the number of keys.
func (r *planReport) withRecords(columns []column, rows [][]string, c *compactionSummary) ([]column, [][]string) {
	columns = slices.Insert(columns, 2, number("records"), number("load error"), number("after"))
	cells := func(records string, e *planner.Comparison) []string {
		if e == nil {
			return []string{records, "", ""}
		}
		return []string{records, errorText(e.Before), errorText(e.After)}
	}
	var all [][]string
	for _, f := range r.intervals {
		if f.Compaction == nil {
			all = append(all, cells("", nil))
		} else {
			all = append(all, cells(integer(f.Compaction.Records), f.Compaction.Error))
		}
	}
	var median, most *planner.Comparison
	if e := c.Error; e != nil {
		median = &planner.Comparison{Before: e.Before.Median, After: e.After.Median}
		most = &planner.Comparison{Before: e.Before.Max, After: e.After.Max}
	}
	all = append(all, cells(si(c.Records.Median), median), cells(si(c.Records.Max), most), cells("", nil))
	for i, row := range rows {
		rows[i] = slices.Insert(row, 2, all[i]...)
	}
	return columns, rows
}

// streamRow is the line of one interval.
func streamRow(f figures) []string {
	interval, keys := strconv.FormatInt(f.Interval, 10), integer(f.Keys)
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
		interval, keys, theta(f.Theta.Before), theta(f.Theta.After), integer(f.Migration.Keys), si(f.Migration.State),
		percent(f.Migration.Fraction), gapText(gap), integer(f.RoutingTable.After), milli(f.PlanMS),
		strings.Join(notes, ", "),
	}
}

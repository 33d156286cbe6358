package offline

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/planner"
)

// writeStream prints a line for each interval, and what they come to.
func (c *Plan) writeStream(w *cli.Page) {
	fmt.Fprintf(w, "%s on %s, %s, %s%s\n\n", c.op.Strategy, cli.Plural(len(c.intervals), "interval"),
		cli.Plural(len(c.op.Target.Instances), "instance"), goals(c.op.Options), c.degreeText())
	var rows []cli.More
	for _, f := range c.intervals {
		rows = append(rows, streamRow(f))
	}
	s := c.summary.Report()
	median := cli.More{"line": "median", "before": s.ThetaBefore.Median, "after": s.ThetaAfter.Median,
		"moved": s.Keys.Median, "state": s.State.Median, "part": s.Fraction.Median, "table": s.Table.Median,
		"time": s.PlanMS.Median}
	most := cli.More{"line": "max", "before": s.ThetaBefore.Max, "after": s.ThetaAfter.Max, "moved": s.Keys.Max,
		"state": s.State.Max, "part": s.Fraction.Max, "table": s.Table.Max, "time": s.PlanMS.Max}
	total := cli.More{"line": "total", "moved": s.Keys.Total, "state": s.State.Total, "gap": gapText(s.Proven.Gap),
		"time": s.PlanMS.Total}
	records := ""
	if c := s.Compaction; c != nil {
		records = " | records | load error = error_before error | after = error_after error"
		median["records"], most["records"] = c.Records.Median, c.Records.Max
		if e := c.Error; e != nil {
			median["error_before"], median["error_after"] = e.Before.Median, e.After.Median
			most["error_before"], most["error_after"] = e.Before.Max, e.After.Max
		}
	}
	cli.WriteList(w, append(rows, median, most, total), "interval = line right | keys"+records+
		" | θ before = before theta | θ after = after theta | migrated = moved | state | of all = part percent | gap right"+
		" | table | time time | = note")
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

// gapText is a gap in a table for people.
func gapText(gap *float64) string {
	if gap == nil {
		return "-"
	}
	return cli.Percent(*gap)
}

// streamRow is the line of one interval.
func streamRow(f Result) cli.More {
	row := cli.More{"line": strconv.FormatInt(f.Interval, 10), "keys": f.Keys, "time": f.Timing.PlanMs}
	if f.EndReason == endTimeout {
		row["note"] = "no plan in time"
		return row
	}
	row["before"], row["after"], row["table"] = f.Theta.Before, f.Theta.After, f.RoutingTable.SizeAfter
	row["moved"], row["state"], row["part"] = f.Migration.Keys, f.Migration.State, f.Migration.Fraction
	if c := f.Compaction; c != nil {
		row["records"] = c.Records
		if c.Error != nil {
			row["error_before"], row["error_after"] = c.Error.Before, c.Error.After
		}
	}
	row["gap"] = "-"
	var notes []string
	if c := f.Certificate; c != nil {
		row["gap"] = gapText(c.Gap)
		if c.Infeasible {
			notes = append(notes, "no plan meets all limits")
		}
	}
	if !*f.Balanced {
		notes = append(notes, "not balanced")
	}
	if !f.TableWithinLimit {
		notes = append(notes, "table over limit")
	}
	if string(f.EndReason) != string(planner.EndCompleted) {
		notes = append(notes, "cut short")
	}
	row["note"] = strings.Join(notes, ", ")
	return row
}

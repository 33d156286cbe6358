package analyzing

import (
	"fmt"
	"io"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
)

// writeRing prints the analysis for people. judged: there are loads or queues.
func writeRing(w *cli.Page, r *analyses.RingResult, judged bool) {
	if judged {
		writeRingNodes(w, r)
		writeVerdict(w, r)
	}
	for _, x := range []struct {
		title  string
		change *analyses.RingChange
	}{{"One round of redistribution", r.Redistribution}, {"Joins and leaves", r.Rescale}} {
		if x.change == nil || x.change.TokensAdded+x.change.TokensRemoved == 0 {
			continue
		}
		writeRingChange(w, x.title, x.change)
	}
	if p := r.Plan; p != nil {
		writeRingPlan(w, p)
	}
}

// writeRingNodes prints the nodes as they are.
func writeRingNodes(w *cli.Page, r *analyses.RingResult) {
	fmt.Fprintf(w, "%s", cli.Plural(len(r.Nodes), "instance"))
	if r.Keys > 0 {
		fmt.Fprintf(w, ", %s of cost %s: S = %s, θ = %s", cli.Plural(r.Keys, "key"), cli.SI(r.Cost), cli.Theta(r.Skew),
			cli.Theta(r.Theta))
	}
	fmt.Fprint(w, "\n\n")
	cli.WriteList(w, r.Nodes,
		"instance = id id | tokens | capacity si | of the ring = share percent | load si | keys | queue si")
}

// writeVerdict prints what the policy says.
func writeVerdict(w *cli.Page, r *analyses.RingResult) {
	v := r.Verdict
	if v == nil {
		return
	}
	longest := "several instances share the longest queue, " + cli.SI(v.Longest)
	if v.Node != nil {
		longest = fmt.Sprintf("the longest queue, %s of instance %d", cli.SI(v.Longest), *v.Node)
	}
	verdict := "stays within"
	switch {
	case v.Fires:
		verdict = "exceeds"
	case v.Cause == "short_queue":
		verdict = "is too short to count, whatever"
	case v.Cause == "alone":
		verdict = "has no other beside it, hence no"
	}
	fmt.Fprintf(w, "\nPolicy: %s, %s the threshold of %s\n", longest, verdict, cli.SI(v.Threshold))
}

// writeRingChange prints what a change does to the nodes.
func writeRingChange(w *cli.Page, title string, c *analyses.RingChange) {
	summary := fmt.Sprintf("%s: %s added, %s removed, %s of the ring on %s", title,
		cli.Plural(c.TokensAdded, "token"), cli.Integer(c.TokensRemoved), cli.Percent(c.Moved), cli.Plural(c.ArcsMoved,
			"arc"))
	if m := c.Migration; m != nil {
		summary += fmt.Sprintf("\n%s and %s of the state move; S %s → %s, θ %s → %s", cli.Plural(m.Keys, "key"),
			cli.Percent(m.Fraction),
			cli.Theta(c.Skew.Before), cli.Theta(c.Skew.After), cli.Theta(c.Theta.Before), cli.Theta(c.Theta.After))
	}
	columns := "instance = id id | tokens = tokens_before | after = tokens_after"
	if c.Migration != nil {
		columns += " | load = load_before si | after = load_after si | keys = keys_before | after = keys_after" +
			" | state_in si | state_out si"
	}
	listed(w, summary, c.Nodes, columns)
}

// writeRingPlan prints a plan.
func writeRingPlan(w *cli.Page, p *analyses.RingPlan) {
	how := "no round tried"
	switch {
	case p.Searched > 0:
		how = cli.Plural(p.Searched, "token count") + " tried"
	case len(p.Rounds) > 0:
		how = fmt.Sprintf("%d of %s taken", p.Adopted, cli.Plural(len(p.Rounds), "round"))
	}
	verdict := "balanced"
	if !p.Balanced {
		verdict = "not balanced (" + strings.ReplaceAll(string(p.Cause), "_", " ") + ")"
	}
	title := fmt.Sprintf("Plan by %s, %s, %s", p.Method, how, verdict)
	if p.Change.TokensAdded+p.Change.TokensRemoved == 0 {
		fmt.Fprintf(w, "\n%s: nothing changes\n", title)
		return
	}
	writeRingChange(w, title, &p.Change)
}

// ringCSV writes what was asked for last.
func ringCSV(r *analyses.RingResult) func(io.Writer) error {
	const change = "node=id capacity tokens_before tokens_after load_before load_after " +
		"keys_before keys_after state_in state_out"
	switch {
	case r.Plan != nil:
		return cli.CsvOf(r.Plan.Change.Nodes, change)
	case r.Rescale != nil:
		return cli.CsvOf(r.Rescale.Nodes, change)
	}
	return cli.CsvOf(r.Nodes, "node=id tokens capacity share load keys queue")
}

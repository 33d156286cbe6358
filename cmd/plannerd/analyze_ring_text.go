package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/planner/ring"
)

// writeRing prints the analysis for people. judged: there are loads or queues.
func writeRing(w *page, r *analyses.RingResult, judged bool) {
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
	if r.Reach != nil {
		writeReach(w, r.Reach)
	}
	writeSimulations(w, r.Simulations)
	writePaper(w, r.Paper, judged)
}

// writeRingNodes prints the nodes as they are.
func writeRingNodes(w *page, r *analyses.RingResult) {
	fmt.Fprintf(w, "%s", plural(len(r.Nodes), "instance"))
	if r.Keys > 0 {
		fmt.Fprintf(w, ", %s of cost %s: S = %s, θ = %s", plural(r.Keys, "key"), si(r.Cost), theta(r.Skew), theta(r.Theta))
	}
	fmt.Fprint(w, "\n\n")
	var rows [][]string
	for _, n := range r.Nodes {
		rows = append(rows, []string{
			id(n.ID), integer(n.Tokens), si(n.Capacity), percent(n.Share), si(n.Load), integer(n.Keys), si(n.Queue),
		})
	}
	writeTable(w, []column{
		number("instance"), number("tokens"), number("capacity"), number("of the ring"), number("load"), number("keys"),
		number("queue"),
	}, rows)
}

// writeVerdict prints what the policy says.
func writeVerdict(w *page, r *analyses.RingResult) {
	v := r.Verdict
	if v == nil {
		return
	}
	longest := "several instances share the longest queue, " + si(v.Longest)
	if v.Node != nil {
		longest = fmt.Sprintf("the longest queue, %s of instance %d", si(v.Longest), *v.Node)
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
	fmt.Fprintf(w, "\nPolicy: %s, %s the threshold of %s\n", longest, verdict, si(v.Threshold))
}

// writeRingChange prints what a change does to the nodes.
func writeRingChange(w *page, title string, c *analyses.RingChange) {
	summary := fmt.Sprintf("%s: %s added, %s removed, %s of the ring on %s", title,
		plural(c.TokensAdded, "token"), integer(c.TokensRemoved), percent(c.Moved), plural(c.ArcsMoved, "arc"))
	if m := c.Migration; m != nil {
		summary += fmt.Sprintf("\n%s and %s of the state move; S %s → %s, θ %s → %s", plural(m.Keys, "key"),
			percent(m.Fraction),
			theta(c.Skew.Before), theta(c.Skew.After), theta(c.Theta.Before), theta(c.Theta.After))
	}
	columns := []column{number("instance"), number("tokens"), number("after")}
	if c.Migration != nil {
		columns = append(columns, number("load"), number("after"), number("keys"), number("after"), number("state in"),
			number("state out"))
	}
	var rows [][]string
	for _, n := range c.Nodes {
		row := []string{id(n.ID), integer(n.TokensBefore), integer(n.TokensAfter)}
		if c.Migration != nil {
			row = append(row, si(n.LoadBefore), si(n.LoadAfter), integer(n.KeysBefore), integer(n.KeysAfter), si(n.StateIn),
				si(n.StateOut))
		}
		rows = append(rows, row)
	}
	titled(w, summary, columns, rows)
}

// writeRingPlan prints a plan.
func writeRingPlan(w *page, p *analyses.RingPlan) {
	how := "no round tried"
	switch {
	case p.Searched > 0:
		how = plural(p.Searched, "token count") + " tried"
	case len(p.Rounds) > 0:
		how = fmt.Sprintf("%d of %s taken", p.Adopted, plural(len(p.Rounds), "round"))
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

// writeReach prints what the ring can reach.
func writeReach(w *page, r *analyses.RingReach) {
	var rows [][]string
	for _, m := range r.Methods {
		tokens := make([]string, len(m.Nodes))
		for i, n := range m.Nodes {
			tokens[i] = count(n.Tokens)
		}
		rows = append(rows, []string{string(m.Method), string(m.Balances), theta(m.Theta), theta(m.LowerBound),
			integer(m.Searched), cutList(tokens)})
	}
	titled(w, fmt.Sprintf("Reach: θ is %s; whatever the tokens, %s keeps it at %s or more", theta(r.Theta),
		shown(r.HeaviestKey), theta(r.HeaviestTheta)),
		[]column{text("method"), text("can balance"), number("θ"), number("at best"), number("tried"), text("tokens")}, rows)
	t := r.Table
	least := ""
	if t.LowerBound != nil {
		least = fmt.Sprintf(" (at least %s)", si(*t.LowerBound))
	}
	fmt.Fprintf(w, "\nA routing table on top of the ring: %s, θ %s, moving %s with %s of state%s, %s\n",
		plural(t.Entries, "entry"), theta(t.Theta), plural(t.Keys, "key"), si(t.State), least, percent(t.Fraction))
}

// cutList joins the first items of a list.
func cutList(items []string) string {
	const most = 16
	if len(items) > most {
		return strings.Join(items[:most], " ") + " …"
	}
	return strings.Join(items, " ")
}

// writeSimulations prints the simulations side by side.
func writeSimulations(w *page, simulations []analyses.RingSimulation) {
	if len(simulations) == 0 {
		return
	}
	var rows [][]string
	add := func(state, method string, r *analyses.RingRun) {
		moved := ""
		if r.Stages != nil {
			moved = integer(r.Stages.StatesMoved)
		}
		rows = append(rows, []string{
			state, method, theta(r.Skew), integer(r.Rounds), integer(r.EventCount), integer(r.Forwarded), integer(r.SplitKeys),
			integer(r.Merges), moved,
			si(float64(r.Ticks)), yesNo(r.Consistent),
		})
	}
	for i := range simulations {
		s := &simulations[i]
		add(string(s.StateScheme), "no balancing", &s.Baseline)
		add("", string(s.Method), &s.Balanced)
	}
	titled(w, fmt.Sprintf("Simulation of %s", plural(simulations[0].Messages, "message")), []column{
		text("state"), naming(text("")), number("S"), number("rounds"), number("changes"), number("forwarded"),
		number("split keys"), number("merges"),
		number("states moved"), number("ticks"), text("counts agree"),
	}, rows)
}

// writePaper prints the experiments of the paper.
func writePaper(w *page, paper []analyses.RingPaperRow, after bool) {
	if len(paper) == 0 {
		return
	}
	var rows [][]string
	for _, r := range paper {
		published := ""
		if r.PublishedBalanced != nil {
			published = skew(*r.PublishedBalanced)
		}
		rows = append(rows, []string{
			r.Workload, string(r.Method), count(r.MaxRounds), skew(r.PublishedBaseline), skew(r.Baseline), published,
			skew(r.Balanced.Median),
			skew(r.Balanced.Least) + "–" + skew(r.Balanced.Greatest), skew(r.Floor), integer(r.Forwarded), integer(r.SplitKeys),
		})
	}
	if after {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "DPA Load Balancer, Table 1 and Fig. 3: S without and with balancing, the paper's and ours\n\n")
	writeTable(w, []column{
		text("workload"), naming(text("method")), naming(number("rounds")), number("paper"), number("ours"),
		number("paper, balanced"), number("ours, median"),
		text("over seeds"), number("at best"), number("forwarded"), number("split keys"),
	}, rows)
}

// skew writes S as the paper does.
func skew(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// ringCSV writes what was asked for last.
func ringCSV(r *analyses.RingResult) func(io.Writer) error {
	const change = "node=id capacity tokens_before tokens_after load_before load_after " +
		"keys_before keys_after state_in state_out"
	switch {
	case r.Paper != nil:
		return csvOf(r.Paper, "workload method max_rounds published_baseline baseline published_balanced "+
			"median=balanced/median least=balanced/least greatest=balanced/greatest floor forwarded split_keys rounds")
	case r.Simulations != nil:
		return csvOf(simulationRows(r.Simulations), "state_scheme method skew rounds changes=event_count "+
			"forwarded split_keys merges states_moved=stages/states_moved ticks merge_ticks consistent")
	case r.Reach != nil:
		return csvOf(r.Reach.Methods, "method balances theta lower_bound evidence searched")
	case r.Plan != nil:
		return csvOf(r.Plan.Change.Nodes, change)
	case r.Rescale != nil:
		return csvOf(r.Rescale.Nodes, change)
	}
	return csvOf(r.Nodes, "node=id tokens capacity share load keys queue")
}

// simulationRow is a simulated run in CSV.
type simulationRow struct {
	analyses.RingRun
	StateScheme ring.StateScheme `json:"state_scheme"`
	Method      ring.Method      `json:"method"`
}

func simulationRows(simulations []analyses.RingSimulation) (rows []simulationRow) {
	for i := range simulations {
		s := &simulations[i]
		rows = append(rows, simulationRow{s.Baseline, s.StateScheme, "none"}, simulationRow{s.Balanced, s.StateScheme,
			s.Method})
	}
	return rows
}

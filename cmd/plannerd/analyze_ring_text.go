package main

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/analyses"
)

// writeRing prints the analysis for people. judged: there are loads or queues.
func writeRing(w *page, r *analyses.RingResult, judged bool) error {
	if judged {
		if err := writeRingNodes(w, r); err != nil {
			return err
		}
		writeVerdict(w, r)
	}
	for _, x := range []struct {
		title  string
		change *analyses.RingChange
	}{{"One round of redistribution", r.Redistribution}, {"Joins and leaves", r.Rescale}} {
		if x.change == nil || x.change.TokensAdded+x.change.TokensRemoved == 0 {
			continue
		}
		if err := writeRingChange(w, x.title, x.change); err != nil {
			return err
		}
	}
	if p := r.Plan; p != nil {
		if err := writeRingPlan(w, p); err != nil {
			return err
		}
	}
	if r.Reach != nil {
		if err := writeReach(w, r.Reach); err != nil {
			return err
		}
	}
	if err := writeSimulations(w, r.Simulations); err != nil {
		return err
	}
	return writePaper(w, r.Paper, judged)
}

// writeRingNodes prints the nodes as they are.
func writeRingNodes(w *page, r *analyses.RingResult) error {
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
	return writeTable(w, []column{
		number("instance"), number("tokens"), number("capacity"), number("of the ring"), number("load"), number("keys"), number("queue"),
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
func writeRingChange(w *page, title string, c *analyses.RingChange) error {
	summary := fmt.Sprintf("%s: %s added, %s removed, %s of the ring on %s", title,
		plural(c.TokensAdded, "token"), integer(c.TokensRemoved), percent(c.Moved), plural(c.ArcsMoved, "arc"))
	if m := c.Migration; m != nil {
		summary += fmt.Sprintf("\n%s and %s of the state move; S %s → %s, θ %s → %s", plural(m.Keys, "key"), percent(m.Fraction),
			theta(c.Skew.Before), theta(c.Skew.After), theta(c.Theta.Before), theta(c.Theta.After))
	}
	columns := []column{number("instance"), number("tokens"), number("after")}
	if c.Migration != nil {
		columns = append(columns, number("load"), number("after"), number("keys"), number("after"), number("state in"), number("state out"))
	}
	var rows [][]string
	for _, n := range c.Nodes {
		row := []string{id(n.ID), integer(n.TokensBefore), integer(n.TokensAfter)}
		if c.Migration != nil {
			row = append(row, si(n.LoadBefore), si(n.LoadAfter), integer(n.KeysBefore), integer(n.KeysAfter), si(n.StateIn), si(n.StateOut))
		}
		rows = append(rows, row)
	}
	return titled(w, summary, columns, rows)
}

// writeRingPlan prints a plan.
func writeRingPlan(w *page, p *analyses.RingPlan) error {
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
		_, err := fmt.Fprintf(w, "\n%s: nothing changes\n", title)
		return err
	}
	return writeRingChange(w, title, &p.Change)
}

// writeReach prints what the ring can reach.
func writeReach(w *page, r *analyses.RingReach) error {
	var rows [][]string
	for _, m := range r.Methods {
		tokens := make([]string, len(m.Nodes))
		for i, n := range m.Nodes {
			tokens[i] = count(n.Tokens)
		}
		rows = append(rows, []string{string(m.Method), string(m.Balances), theta(m.Theta), theta(m.LowerBound), integer(m.Searched), cutList(tokens)})
	}
	err := titled(w, fmt.Sprintf("Reach: θ is %s; whatever the tokens, %s keeps it at %s or more", theta(r.Theta), shown(r.HeaviestKey), theta(r.HeaviestTheta)),
		[]column{text("method"), text("can balance"), number("θ"), number("at best"), number("tried"), text("tokens")}, rows)
	if err != nil {
		return err
	}
	t := r.Table
	least := ""
	if t.LowerBound != nil {
		least = fmt.Sprintf(" (at least %s)", si(*t.LowerBound))
	}
	_, err = fmt.Fprintf(w, "\nA routing table on top of the ring: %s, θ %s, moving %s with %s of state%s, %s\n",
		plural(t.Entries, "entry"), theta(t.Theta), plural(t.Keys, "key"), si(t.State), least, percent(t.Fraction))
	return err
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
func writeSimulations(w *page, simulations []analyses.RingSimulation) error {
	if len(simulations) == 0 {
		return nil
	}
	var rows [][]string
	add := func(state, method string, r *analyses.RingRun) {
		moved := ""
		if r.Stages != nil {
			moved = integer(r.Stages.StatesMoved)
		}
		rows = append(rows, []string{
			state, method, theta(r.Skew), integer(r.Rounds), integer(r.EventCount), integer(r.Forwarded), integer(r.SplitKeys), integer(r.Merges), moved,
			si(float64(r.Ticks)), yesNo(r.Consistent),
		})
	}
	for i := range simulations {
		s := &simulations[i]
		add(string(s.StateScheme), "no balancing", &s.Baseline)
		add("", string(s.Method), &s.Balanced)
	}
	return titled(w, fmt.Sprintf("Simulation of %s", plural(simulations[0].Messages, "message")), []column{
		text("state"), naming(text("")), number("S"), number("rounds"), number("changes"), number("forwarded"), number("split keys"), number("merges"),
		number("states moved"), number("ticks"), text("counts agree"),
	}, rows)
}

// writePaper prints the experiments of the paper.
func writePaper(w *page, paper []analyses.RingPaperRow, after bool) error {
	if len(paper) == 0 {
		return nil
	}
	var rows [][]string
	for _, r := range paper {
		published := ""
		if r.PublishedBalanced != nil {
			published = skew(*r.PublishedBalanced)
		}
		rows = append(rows, []string{
			r.Workload, string(r.Method), count(r.MaxRounds), skew(r.PublishedBaseline), skew(r.Baseline), published, skew(r.Balanced.Median),
			skew(r.Balanced.Least) + "–" + skew(r.Balanced.Greatest), skew(r.Floor), integer(r.Forwarded), integer(r.SplitKeys),
		})
	}
	if after {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "DPA Load Balancer, Table 1 and Fig. 3: S without and with balancing, the paper's and ours\n\n")
	return writeTable(w, []column{
		text("workload"), naming(text("method")), naming(number("rounds")), number("paper"), number("ours"), number("paper, balanced"), number("ours, median"),
		text("over seeds"), number("at best"), number("forwarded"), number("split keys"),
	}, rows)
}

// skew writes S as the paper does.
func skew(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// ringRows are the rows of what was asked for last.
func ringRows(r *analyses.RingResult) [][]string {
	switch {
	case r.Paper != nil:
		return paperRows(r.Paper)
	case r.Simulations != nil:
		return simulationRows(r.Simulations)
	case r.Reach != nil:
		return reachRows(r.Reach)
	case r.Plan != nil:
		return changeRows(&r.Plan.Change)
	case r.Rescale != nil:
		return changeRows(r.Rescale)
	}
	rows := [][]string{{"node", "tokens", "capacity", "share", "load", "keys", "queue"}}
	for _, n := range r.Nodes {
		rows = append(rows, []string{id(n.ID), count(n.Tokens), exact(n.Capacity), exact(n.Share), exact(n.Load), number64(n.Keys), exact(n.Queue)})
	}
	return rows
}

func changeRows(c *analyses.RingChange) [][]string {
	rows := [][]string{{"node", "capacity", "tokens_before", "tokens_after", "load_before", "load_after", "keys_before", "keys_after", "state_in", "state_out"}}
	for _, n := range c.Nodes {
		rows = append(rows, []string{
			id(n.ID), exact(n.Capacity), count(n.TokensBefore), count(n.TokensAfter), exact(n.LoadBefore), exact(n.LoadAfter),
			number64(n.KeysBefore), number64(n.KeysAfter), exact(n.StateIn), exact(n.StateOut),
		})
	}
	return rows
}

func reachRows(r *analyses.RingReach) [][]string {
	rows := [][]string{{"method", "balances", "theta", "lower_bound", "evidence", "searched"}}
	for _, m := range r.Methods {
		rows = append(rows, []string{string(m.Method), string(m.Balances), exact(m.Theta), exact(m.LowerBound), string(m.Evidence), number64(m.Searched)})
	}
	return rows
}

func simulationRows(simulations []analyses.RingSimulation) [][]string {
	rows := [][]string{{"state_scheme", "method", "skew", "rounds", "changes", "forwarded", "split_keys", "merges", "states_moved", "ticks", "merge_ticks", "consistent"}}
	for i := range simulations {
		s := &simulations[i]
		for _, x := range []struct {
			method string
			run    *analyses.RingRun
		}{{"none", &s.Baseline}, {string(s.Method), &s.Balanced}} {
			r, moved := x.run, ""
			if r.Stages != nil {
				moved = number64(r.Stages.StatesMoved)
			}
			rows = append(rows, []string{
				string(s.StateScheme), x.method, exact(r.Skew), number64(r.Rounds), number64(r.EventCount), number64(r.Forwarded), number64(r.SplitKeys),
				number64(r.Merges), moved, number64(r.Ticks), number64(r.MergeTicks), strconv.FormatBool(r.Consistent),
			})
		}
	}
	return rows
}

func paperRows(paper []analyses.RingPaperRow) [][]string {
	rows := [][]string{{
		"workload", "method", "max_rounds", "published_baseline", "baseline", "published_balanced", "median", "least", "greatest", "floor",
		"forwarded", "split_keys", "rounds",
	}}
	for _, r := range paper {
		published := ""
		if r.PublishedBalanced != nil {
			published = exact(*r.PublishedBalanced)
		}
		rows = append(rows, []string{
			r.Workload, string(r.Method), count(r.MaxRounds), exact(r.PublishedBaseline), exact(r.Baseline), published,
			exact(r.Balanced.Median), exact(r.Balanced.Least), exact(r.Balanced.Greatest), exact(r.Floor),
			number64(r.Forwarded), number64(r.SplitKeys), number64(r.Rounds),
		})
	}
	return rows
}

package analyzing

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner/ring"
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
	if r.Reach != nil {
		writeReach(w, r.Reach)
	}
	writeSimulations(w, r.Simulations)
	writePaper(w, r.Paper, judged)
}

// writeRingNodes prints the nodes as they are.
func writeRingNodes(w *cli.Page, r *analyses.RingResult) {
	fmt.Fprintf(w, "%s", cli.Plural(len(r.Nodes), "instance"))
	if r.Keys > 0 {
		fmt.Fprintf(w, ", %s of cost %s: S = %s, θ = %s", cli.Plural(r.Keys, "key"), cli.SI(r.Cost), cli.Theta(r.Skew),
			cli.Theta(r.Theta))
	}
	fmt.Fprint(w, "\n\n")
	var rows [][]string
	for _, n := range r.Nodes {
		rows = append(rows, []string{
			cli.ID(n.ID), cli.Integer(n.Tokens), cli.SI(n.Capacity), cli.Percent(n.Share), cli.SI(n.Load), cli.Integer(n.Keys),
			cli.SI(n.Queue),
		})
	}
	cli.WriteTable(w, []cli.Column{
		cli.Number("instance"), cli.Number("tokens"), cli.Number("capacity"), cli.Number("of the ring"), cli.Number("load"),
		cli.Number("keys"),
		cli.Number("queue"),
	}, rows)
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
	columns := []cli.Column{cli.Number("instance"), cli.Number("tokens"), cli.Number("after")}
	if c.Migration != nil {
		columns = append(columns, cli.Number("load"), cli.Number("after"), cli.Number("keys"), cli.Number("after"),
			cli.Number("state in"), cli.Number("state out"))
	}
	var rows [][]string
	for _, n := range c.Nodes {
		row := []string{cli.ID(n.ID), cli.Integer(n.TokensBefore), cli.Integer(n.TokensAfter)}
		if c.Migration != nil {
			row = append(row, cli.SI(n.LoadBefore), cli.SI(n.LoadAfter), cli.Integer(n.KeysBefore), cli.Integer(n.KeysAfter),
				cli.SI(n.StateIn), cli.SI(n.StateOut))
		}
		rows = append(rows, row)
	}
	titled(w, summary, columns, rows)
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

// writeReach prints what the ring can reach.
func writeReach(w *cli.Page, r *analyses.RingReach) {
	var rows [][]string
	for _, m := range r.Methods {
		tokens := make([]string, len(m.Nodes))
		for i, n := range m.Nodes {
			tokens[i] = count(n.Tokens)
		}
		rows = append(rows, []string{string(m.Method), string(m.Balances), cli.Theta(m.Theta), cli.Theta(m.LowerBound),
			cli.Integer(m.Searched), reading.CutList(tokens)})
	}
	titled(w, fmt.Sprintf("Reach: θ is %s; whatever the tokens, %s keeps it at %s or more", cli.Theta(r.Theta),
		shown(r.HeaviestKey), cli.Theta(r.HeaviestTheta)),
		[]cli.Column{cli.Text("method"), cli.Text("can balance"), cli.Number("θ"), cli.Number("at best"), cli.Number("tried"),
			cli.Text("tokens")}, rows)
	t := r.Table
	least := ""
	if t.LowerBound != nil {
		least = fmt.Sprintf(" (at least %s)", cli.SI(*t.LowerBound))
	}
	fmt.Fprintf(w, "\nA routing table on top of the ring: %s, θ %s, moving %s with %s of state%s, %s\n",
		cli.Plural(t.Entries, "entry"), cli.Theta(t.Theta), cli.Plural(t.Keys,
			"key"), cli.SI(t.State), least, cli.Percent(t.Fraction))
}

// writeSimulations prints the simulations side by side.
func writeSimulations(w *cli.Page, simulations []analyses.RingSimulation) {
	if len(simulations) == 0 {
		return
	}
	var rows [][]string
	add := func(state, method string, r *analyses.RingRun) {
		moved := ""
		if r.Stages != nil {
			moved = cli.Integer(r.Stages.StatesMoved)
		}
		rows = append(rows, []string{
			state, method, cli.Theta(r.Skew), cli.Integer(r.Rounds), cli.Integer(r.EventCount), cli.Integer(r.Forwarded),
			cli.Integer(r.SplitKeys),
			cli.Integer(r.Merges), moved, cli.SI(float64(r.Ticks)), yesNo(r.Consistent),
		})
	}
	for i := range simulations {
		s := &simulations[i]
		add(string(s.StateScheme), "no balancing", &s.Baseline)
		add("", string(s.Method), &s.Balanced)
	}
	titled(w, fmt.Sprintf("Simulation of %s", cli.Plural(simulations[0].Messages, "message")), []cli.Column{
		cli.Text("state"), cli.Naming(cli.Text("")), cli.Number("S"), cli.Number("rounds"), cli.Number("changes"),
		cli.Number("forwarded"),
		cli.Number("split keys"), cli.Number("merges"),
		cli.Number("states moved"), cli.Number("ticks"), cli.Text("counts agree"),
	}, rows)
}

// writePaper prints the experiments of the paper.
func writePaper(w *cli.Page, paper []analyses.RingPaperRow, after bool) {
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
			skew(r.Balanced.Least) + "–" + skew(r.Balanced.Greatest), skew(r.Floor), cli.Integer(r.Forwarded),
			cli.Integer(r.SplitKeys),
		})
	}
	if after {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "DPA Load Balancer, Table 1 and Fig. 3: S without and with balancing, the paper's and ours\n\n")
	cli.WriteTable(w, []cli.Column{
		cli.Text("workload"), cli.Naming(cli.Text("method")), cli.Naming(cli.Number("rounds")), cli.Number("paper"),
		cli.Number("ours"),
		cli.Number("paper, balanced"), cli.Number("ours, median"),
		cli.Text("over seeds"), cli.Number("at best"), cli.Number("forwarded"), cli.Number("split keys"),
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
		return cli.CsvOf(r.Paper, "workload method max_rounds published_baseline baseline published_balanced "+
			"median=balanced/median least=balanced/least greatest=balanced/greatest floor forwarded split_keys rounds")
	case r.Simulations != nil:
		return cli.CsvOf(simulationRows(r.Simulations), "state_scheme method skew rounds changes=event_count "+
			"forwarded split_keys merges states_moved=stages/states_moved ticks merge_ticks consistent")
	case r.Reach != nil:
		return cli.CsvOf(r.Reach.Methods, "method balances theta lower_bound evidence searched")
	case r.Plan != nil:
		return cli.CsvOf(r.Plan.Change.Nodes, change)
	case r.Rescale != nil:
		return cli.CsvOf(r.Rescale.Nodes, change)
	}
	return cli.CsvOf(r.Nodes, "node=id tokens capacity share load keys queue")
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

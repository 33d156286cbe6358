package analyzing

import (
	"fmt"
	"io"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
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

// writeReach prints what the ring can reach.
func writeReach(w *cli.Page, r *analyses.RingReach) {
	listed(w, fmt.Sprintf("Reach: θ is %s; whatever the tokens, %s keeps it at %s or more", cli.Theta(r.Theta),
		shown(r.HeaviestKey), cli.Theta(r.HeaviestTheta)), r.Methods,
		"method | can balance = balances | θ = theta theta | at best = lower_bound theta | tried = searched"+
			" | tokens = counts",
		func(i int) cli.More {
			var tokens []string
			for _, n := range r.Methods[i].Nodes {
				tokens = append(tokens, count(n.Tokens))
			}
			return cli.More{"counts": reading.CutList(tokens)}
		})
	t := r.Table
	least := ""
	if t.LowerBound != nil {
		least = fmt.Sprintf(" (at least %s)", cli.SI(*t.LowerBound))
	}
	fmt.Fprintf(w, "\nA routing table on top of the ring: %s, θ %s, moving %s with %s of state%s, %s\n",
		cli.Plural(t.Entries, "entry"), cli.Theta(t.Theta), cli.Plural(t.Keys,
			"key"), cli.SI(t.State), least, cli.Percent(t.Fraction))
}

// runsOf are the runs of simulations, each without balancing and with it, and what each is
// for the columns of a list.
func runsOf(simulations []analyses.RingSimulation) (runs []analyses.RingRun, more func(run int) cli.More) {
	for _, s := range simulations {
		runs = append(runs, s.Baseline, s.Balanced)
	}
	return runs, func(run int) cli.More {
		s := simulations[run/2]
		if run%2 == 0 {
			return cli.More{"state_scheme": s.StateScheme, "method": "none", "first": s.StateScheme, "how": "no balancing"}
		}
		return cli.More{"state_scheme": s.StateScheme, "method": s.Method, "first": "", "how": s.Method}
	}
}

// writeSimulations prints the simulations side by side.
func writeSimulations(w *cli.Page, simulations []analyses.RingSimulation) {
	if len(simulations) == 0 {
		return
	}
	runs, more := runsOf(simulations)
	listed(w, fmt.Sprintf("Simulation of %s", cli.Plural(simulations[0].Messages, "message")), runs,
		"state = first | * = how | S = skew theta | rounds | changes = event_count | forwarded | split_keys | merges"+
			" | states moved = stages/states_moved | ticks si | counts agree = consistent", more)
}

// writePaper prints the experiments of the paper.
func writePaper(w *cli.Page, paper []analyses.RingPaperRow, after bool) {
	if len(paper) == 0 {
		return
	}
	if after {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "DPA Load Balancer, Table 1 and Fig. 3: S without and with balancing, the paper's and ours\n\n")
	cli.WriteList(w, paper, "workload | method* = method | rounds* = max_rounds id | paper = published_baseline two"+
		" | ours = baseline two | paper, balanced = published_balanced two | ours, median = balanced/median two"+
		" | over seeds = range | at best = floor two | forwarded | split_keys",
		func(i int) cli.More {
			return cli.More{"range": fmt.Sprintf("%.2f–%.2f", paper[i].Balanced.Least, paper[i].Balanced.Greatest)}
		})
}

// ringCSV writes what was asked for last.
func ringCSV(r *analyses.RingResult) func(io.Writer) error {
	const change = "node=id capacity tokens_before tokens_after load_before load_after " +
		"keys_before keys_after state_in state_out"
	switch {
	case r.Paper != nil:
		return cli.CsvOf(r.Paper, "workload method max_rounds published_baseline baseline published_balanced "+
			"median=balanced/median least=balanced/least greatest=balanced/greatest floor forwarded split_keys rounds")
	case r.Simulations != nil:
		runs, more := runsOf(r.Simulations)
		return cli.CsvOf(runs, "state_scheme method skew rounds changes=event_count "+
			"forwarded split_keys merges states_moved=stages/states_moved ticks merge_ticks consistent", more)
	case r.Reach != nil:
		return cli.CsvOf(r.Reach.Methods, "method balances theta lower_bound evidence searched")
	case r.Plan != nil:
		return cli.CsvOf(r.Plan.Change.Nodes, change)
	case r.Rescale != nil:
		return cli.CsvOf(r.Rescale.Nodes, change)
	}
	return cli.CsvOf(r.Nodes, "node=id tokens capacity share load keys queue")
}

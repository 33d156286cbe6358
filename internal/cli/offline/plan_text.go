package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/planner"
)

// writePlan prints one plan for people.
func (r *planReport) writePlan(w *cli.Page) {
	p := r.last.Plan
	fmt.Fprintf(w, "%s on %s, %s, %s\n", p.Strategy, cli.Plural(r.intervals[0].Keys, "key"),
		cli.Plural(len(r.op.Target.Instances), "instance"), goals(p.Options))
	for _, text := range []string{verdict(p), certificateText(p), r.last.compaction.text()} {
		if text != "" {
			fmt.Fprintln(w, text)
		}
	}
	fmt.Fprintln(w)
	r.writeFigures(w, p)
	migrations := r.writeMigrations
	if r.last.classes != nil {
		migrations = func(w *cli.Page, p *planner.Plan) {
			r.writeClassMoves(w, p)
			named := *p
			named.Moves = r.last.classes.MovesNamed(p)
			r.writeMigrations(w, &named)
		}
	}
	for _, part := range []func(*cli.Page, *planner.Plan){
		r.writeHotKeys, r.writeSplits, writeInstances, migrations, r.writeTableChanges,
		r.writeBatches,
	} {
		part(w, p)
	}
}

// goals says what a plan is to reach.
func goals(o planner.Options) string {
	text := fmt.Sprintf("θ_max %v", o.ThetaMax)
	if o.ThetaMin != nil {
		text += fmt.Sprintf(", θ_min %v", *o.ThetaMin)
	}
	text += limitText(o.TableLimit)
	if m := o.MigrationLimit; m != nil {
		text += ", the least θ that " + amountText(m.Unit, m.Amount, limitDigits) + " of migration can buy"
	}
	return text
}

func limitText(limit *int64) string {
	if limit == nil {
		return ""
	}
	return ", table limit " + cli.Integer(*limit)
}

// verdict says in a sentence what the plan reaches, and what not.
func verdict(p *planner.Plan) string {
	var b strings.Builder
	switch {
	case p.Balanced && p.TableWithinLimit && p.Empty():
		b.WriteString("Balanced already: nothing to do.")
	case p.Balanced && p.TableWithinLimit:
		b.WriteString("Balanced.")
	case p.Balanced:
		b.WriteString("Balanced, but the routing table exceeds its limit.")
	case p.TableWithinLimit:
		b.WriteString("NOT balanced.")
	default:
		b.WriteString("NOT balanced, and the routing table exceeds its limit.")
	}
	for _, c := range p.Causes {
		if text, ok := causeTexts[c]; ok {
			b.WriteString(" " + text)
		}
	}
	b.WriteString(shortageText(p))
	switch p.EndReason {
	case planner.EndStopped:
		b.WriteString(" Time ran out: this is the best plan so far.")
	case planner.EndWorkBudget:
		b.WriteString(" The work budget ran out: this is the best plan so far.")
	}
	return b.String()
}

var causeTexts = map[planner.Cause]string{
	planner.CauseHotKey:         "A single key is too costly for any instance.",
	planner.CausePartsLimit:     "A key would need more parts than it may have.",
	planner.CauseTableLimit:     "No plan was found within the table limit.",
	planner.CauseNothingMovable: "Some instance stays above its bound: nothing that fits elsewhere can be moved.",
	planner.CauseFrozen:         "Of some instances nothing is known: what is there stays there.",
}

// shortageText says which instances stay below their least load, and why.
func shortageText(p *planner.Plan) string {
	var b strings.Builder
	for _, y := range unfilledOf(p) {
		fmt.Fprintf(&b, " Instance %d stays below its least load: %s.", y.Instance, shortageTexts[y.Cause])
	}
	return b.String()
}

var shortageTexts = map[planner.Shortage]string{
	planner.ShortOfKeys:   "no key that fits there can be spared",
	planner.ShortOfTable:  "the routing table is at its limit",
	planner.ShortOfBudget: "no more may be moved, or time ran out",
}

func (r *planReport) writeFigures(w *cli.Page, p *planner.Plan) {
	m := p.Migration
	cli.WriteTable(w, []cli.Column{cli.Text(""), cli.Number("before"), cli.Number("after")}, [][]string{
		{"θ, largest overload", cli.Theta(p.Theta.Before), cli.Theta(p.Theta.After)},
		{"largest underload", cli.Theta(p.Underload.Before), cli.Theta(p.Underload.After)},
		{"skewness, max / mean load", cli.Theta(p.Skewness.Before), cli.Theta(p.Skewness.After)},
		{"routing table, entries", cli.Integer(p.TableBefore), cli.Integer(p.TableAfter)},
		{"migrated keys", "", cli.Integer(m.Keys)},
		{"migrated state", "", cli.SI(m.State)},
		{"migrated share of all state", "", cli.Percent(m.Fraction)},
		{"planning time", "", cli.Duration(r.last.Elapsed)},
	})
}

func (r *planReport) writeHotKeys(w *cli.Page, p *planner.Plan) {
	if len(p.HotKeys) == 0 {
		return
	}
	fmt.Fprintf(w, "\nHot keys: each alone exceeds what any instance may carry\n\n")
	name := func(item int32) string { return cli.KeyText(p.Snapshot.Keys.At(int(item))) }
	title := "key"
	if classes := r.last.classes; classes != nil {
		title = "class [d, d_h, v_c, v_S]"
		if classes.Items.Named > 0 {
			title = "key, or " + title
		}
		name = func(item int32) string {
			if classes.IsNamed(item) {
				return cli.KeyText(p.Snapshot.Keys.At(int(item)))
			}
			return classText(classes.Records[item])
		}
	}
	var rows [][]string
	for _, h := range p.HotKeys {
		pieces := "-"
		if h.Pieces > 0 {
			pieces = cli.Integer(h.Pieces)
		}
		rows = append(rows, []string{
			name(h.Item), cli.ID(p.Snapshot.Instances[h.Instance].ID), cli.SI(h.Cost), cli.Theta(h.ForcedTheta), pieces,
		})
	}
	cli.WriteTable(w, []cli.Column{cli.Keys(title), cli.Number("instance"), cli.Number("cost"), cli.Number("forces θ"),
		cli.Number("split would need")}, rows)
}

func writeInstances(w *cli.Page, p *planner.Plan) {
	fmt.Fprintf(w, "\nInstances\n\n")
	var rows [][]string
	for i, l := range p.Instances {
		in := p.Snapshot.Instances[i]
		note := ""
		switch {
		case in.Drained:
			note = "drained"
		case l.After > l.Max*(1+1e-9):
			note = "overloaded"
		case l.After < l.Least*(1-1e-9):
			note = "not filled"
		}
		rows = append(rows, []string{
			cli.ID(in.ID), cli.Exact(in.Capacity), cli.SI(l.Before), cli.SI(l.After), ofFair(l.Before, l.Fair), ofFair(l.After,
				l.Fair),
			cli.Integer(l.KeysBefore), cli.Integer(l.KeysAfter), cli.SI(l.StateIn), cli.SI(l.StateOut), note,
		})
	}
	cli.WriteTable(w, []cli.Column{
		cli.Number("id"), cli.Number("capacity"), cli.Number("load"), cli.Number("after"), cli.Number("of fair"),
		cli.Number("after"),
		cli.Number("keys"), cli.Number("after"), cli.Number("state in"), cli.Number("state out"), cli.Text(""),
	}, rows)
}

// ofFair is a load relative to the fair one.
func ofFair(load, fair float64) string {
	if fair == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*load/fair, 'f', 1, 64) + " %"
}

// writeList prints a list of n rows, or the first of them and how many more there are.
func (r *planReport) writeList(w *cli.Page, columns []cli.Column, n int, row func(i int) []string) {
	shown := n
	if !r.cmd.All {
		shown = min(n, r.cmd.Top)
	}
	rows := make([][]string, shown)
	for i := range rows {
		rows[i] = row(i)
	}
	cli.WriteTable(w, columns, rows)
	if n > shown {
		fmt.Fprintf(w, "… and %s more: --all lists them\n", cli.Integer(n-shown))
	}
}

// writeMigrations lists the migrations, those of the largest state first.
func (r *planReport) writeMigrations(w *cli.Page, p *planner.Plan) {
	if len(p.Moves) == 0 {
		return
	}
	fmt.Fprintf(w, "\nMigrations: %s\n\n", cli.Plural(len(p.Moves), "key"))
	s := p.Snapshot
	moves := slices.Clone(p.Moves)
	slices.SortStableFunc(moves, func(a, b planner.Move) int {
		return cmp.Or(cmp.Compare(s.StateOf(b), s.StateOf(a)), cmp.Compare(s.Cost[b.Item], s.Cost[a.Item]))
	})
	columns := []cli.Column{cli.Keys("key"), cli.Number("from"), cli.Number("to"), cli.Number("cost"), cli.Number("state"),
		cli.Text("reason")}
	r.writeList(w, columns, len(moves), func(i int) []string {
		m := moves[i]
		return []string{
			cli.KeyText(s.Keys.At(int(m.Item))), cli.ID(s.Instances[m.From].ID), cli.ID(s.Instances[m.To].ID),
			cli.SI(s.Cost[m.Item]), cli.SI(s.StateOf(m)), m.Reason.String(),
		}
	})
}

// writeClassMoves lists the moves of classes, those of the most state first.
func (r *planReport) writeClassMoves(w *cli.Page, p *planner.Plan) {
	moves := r.last.classes.Moves(p)
	if len(moves) == 0 {
		return
	}
	count := int64(0)
	for _, m := range moves {
		count += m.Count
	}
	fmt.Fprintf(w, "\nMigrations: %s in %s from d to d', of cost v_c and state v_S in the scales\n\n",
		cli.Plural(count, "key"), cli.Plural(len(moves), "move"))
	state := func(m compact.Record) float64 { return m.State * float64(m.Count) }
	slices.SortStableFunc(moves, func(a, b compact.Record) int { return cmp.Compare(state(b), state(a)) })
	columns := []cli.Column{cli.Number("d'"), cli.Number("d"), cli.Number("d_h"), cli.Number("v_c"), cli.Number("v_S"),
		cli.Number("#")}
	r.writeList(w, columns, len(moves), func(i int) []string {
		m := moves[i]
		return []string{cli.ID(m.Planned), cli.ID(m.Current), cli.ID(m.Hash), cli.Exact(m.Cost), cli.Exact(m.State),
			cli.Integer(m.Count)}
	})
}

// classText is what the keys of a class have in common.
func classText(r compact.Record) string {
	return "[" + cli.ID(r.Current) + ", " + cli.ID(r.Hash) + ", " + cli.Exact(r.Cost) + ", " + cli.Exact(r.State) + "]"
}

// writeTableChanges lists what the plan does to the routing table.
func (r *planReport) writeTableChanges(w *cli.Page, p *planner.Plan) {
	if len(p.Set)+len(p.Unset) == 0 {
		return
	}
	fmt.Fprintf(w, "\nRouting table: %s set, %s dropped\n\n", cli.Plural(len(p.Set), "entry"), cli.Integer(len(p.Unset)))
	s := p.Snapshot
	columns := []cli.Column{cli.Text(""), cli.Keys("key"), cli.Number("was"), cli.Number("becomes")}
	r.writeList(w, columns, len(p.Set)+len(p.Unset), func(i int) []string {
		if i < len(p.Set) {
			set, sign := p.Set[i], "+"
			old := entryBefore(s, set.Item)
			if old != "" {
				sign = "~"
			}
			return []string{sign, cli.KeyText(s.Keys.At(int(set.Item))), old, cli.ID(s.Instances[set.To].ID)}
		}
		i -= len(p.Set)
		u, key := p.Unset[i], cli.KeyText(p.UnsetKey(i))
		if u.Item < 0 {
			return []string{"-", key, entryText(s.Table.At(int(u.Entry))), "absent"}
		}
		return []string{"-", key, entryBefore(s, u.Item), "hash"}
	})
}

// entryBefore is the instance of an item's entry in the committed table, or "".
func entryBefore(s *planner.Snapshot, item int32) string {
	switch {
	case s.Table == nil && s.Current[item] != s.Hash[item]:
		return cli.ID(s.Instances[s.Current[item]].ID)
	case s.Entry != nil && s.Entry[item] >= 0:
		return entryText(s.Table.At(int(s.Entry[item])))
	}
	return ""
}

// milli writes a number of milliseconds as a duration.
func milli(ms float64) string { return Cell(time.Duration(ms * float64(time.Millisecond))) }

// Cell is a time in a column, whose width is the same however long things take: how a
// table is laid out must not depend on that.
func Cell(d time.Duration) string { return fmt.Sprintf("%7s", cli.Duration(d)) }

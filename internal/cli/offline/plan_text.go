package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/planner"
)

// writePlan prints one plan for people.
func (c *Plan) writePlan(w *cli.Page) {
	p := c.last.Plan
	fmt.Fprintf(w, "%s on %s, %s, %s\n", p.Strategy, keysOf(c.intervals[0]),
		cli.Plural(len(c.op.Target.Instances), "instance"), goals(p.Options))
	for _, text := range []string{verdict(p), certificateText(p), formText(c.last.Compaction)} {
		if text != "" {
			fmt.Fprintln(w, text)
		}
	}
	fmt.Fprintln(w)
	c.writeFigures(w, p)
	for _, part := range []func(*cli.Page, *planner.Plan){
		writeResources, c.writeHotKeys, c.writeSplits, c.writeInstances, c.writeClassMoves, c.writeMigrations,
		c.writeTableChanges, c.writeBatches,
	} {
		part(w, p)
	}
}

// keysOf says how many keys were planned, and in how many groups.
func keysOf(r Result) string {
	if a := r.Affinity; a != nil {
		return fmt.Sprintf("%s in %s", cli.Plural(a.Keys, "key"), cli.Plural(a.RoutedKeys, "group"))
	}
	return cli.Plural(r.Keys, "key")
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
		if text := causeText(p, c); text != "" {
			b.WriteString(" " + text)
		}
	}
	b.WriteString(resourceText(p))
	b.WriteString(shortageText(p))
	switch p.EndReason {
	case planner.EndStopped:
		b.WriteString(" Time ran out: this is the best plan so far.")
	case planner.EndWorkBudget:
		b.WriteString(" The work budget ran out: this is the best plan so far.")
	}
	return b.String()
}

// causeText says a cause in a sentence; "": it goes without saying.
func causeText(p *planner.Plan, c planner.Cause) string {
	if c == planner.CauseHotKey && len(p.HotKeys) > 0 && p.HotKeys[0].Resource != "" {
		return "A single key takes more " + p.HotKeys[0].Resource + " than any instance may have."
	}
	return causeTexts[c]
}

var causeTexts = map[planner.Cause]string{
	planner.CauseHotKey:         "A single key is too costly for any instance.",
	planner.CausePartsLimit:     "A key would need more parts than it may have.",
	planner.CauseTableLimit:     "No plan was found within the table limit.",
	planner.CauseNothingMovable: "Some instance stays above its bound: nothing that fits elsewhere can be moved.",
	planner.CauseFrozen:         "Nothing is known about some instances: their keys stay.",
}

// shortageText says which instances stay below their least load, and why.
func shortageText(p *planner.Plan) string {
	var b strings.Builder
	for _, y := range p.Unfilled {
		fmt.Fprintf(&b, " Instance %s stays below its least load: %s.", instanceText(p.Snapshot, y.Instance),
			shortageTexts[y.Cause])
	}
	return b.String()
}

var shortageTexts = map[planner.Shortage]string{
	planner.ShortOfKeys:   "no key that fits there can be spared",
	planner.ShortOfTable:  "the routing table is at its limit",
	planner.ShortOfBudget: "no more may be moved, or time ran out",
}

func (c *Plan) writeFigures(w *cli.Page, p *planner.Plan) {
	m := p.Migration
	cli.WriteTable(w, []cli.Column{cli.Text(""), cli.Number("before"), cli.Number("after")}, [][]string{
		{"θ, largest overload", cli.Theta(p.Theta.Before), cli.Theta(p.Theta.After)},
		{"largest underload", cli.Theta(p.Underload.Before), cli.Theta(p.Underload.After)},
		{"skewness, max / mean load", cli.Theta(p.Skewness.Before), cli.Theta(p.Skewness.After)},
		{"routing table, entries", cli.Integer(p.TableBefore), cli.Integer(p.TableAfter)},
		{"migrated keys", "", cli.Integer(m.Keys)},
		{"migrated state", "", cli.SI(m.State)},
		{"migrated share of all state", "", cli.Percent(m.Fraction)},
		{"planning time", "", cli.Duration(c.last.Elapsed)},
	})
}

func (c *Plan) writeHotKeys(w *cli.Page, p *planner.Plan) {
	if len(p.HotKeys) == 0 {
		return
	}
	fmt.Fprintf(w, "\nHot keys: each alone exceeds what any instance may carry\n\n")
	title := "key"
	if classes := c.last.classes; classes != nil {
		title = "class [d, d_h, v_c, v_S]"
		if classes.Items.Named > 0 {
			title = "key, or " + title
		}
	}
	forces, in := "forces θ", ""
	if len(p.Resources) > 0 {
		forces, in = "forces", " | in = resource"
	}
	cli.WriteList(w, hotKeysOf(c.last, false), title+" = name key | instance id | cost si | "+forces+
		" = forced_theta theta | split would need = pieces ?count"+in, func(i int) cli.More {
		if item := p.HotKeys[i].Item; c.last.classes != nil && !c.last.classes.IsNamed(item) {
			return cli.More{"name": classText(c.last.classes.Records[item])}
		}
		return cli.More{"name": string(p.Snapshot.Keys.At(int(p.HotKeys[i].Item))),
			"instance": instanceText(p.Snapshot, p.HotKeys[i].Instance)}
	})
}

func (c *Plan) writeInstances(w *cli.Page, p *planner.Plan) {
	fmt.Fprintf(w, "\nInstances\n\n")
	title := "id"
	if c.Named() {
		title = "instance"
	}
	cli.WriteList(w, loadsOf(c.last), title+" = id id | capacity exact | load = load_before si | after = load_after si"+
		" | of fair = fair_before right | after = fair_after right | keys = keys_before | after = keys_after"+
		" | state_in si | state_out si | = note", func(i int) cli.More {
		l := p.Instances[i]
		more := cli.More{"fair_before": ofFair(l.Before, l.Fair), "fair_after": ofFair(l.After, l.Fair), "note": "",
			"id": instanceText(p.Snapshot, int32(i))}
		switch {
		case p.Snapshot.Instances[i].Drained:
			more["note"] = "drained"
		case l.After > l.Max*(1+1e-9):
			more["note"] = "overloaded"
		case l.After < l.Least*(1-1e-9):
			more["note"] = "not filled"
		}
		return more
	})
}

// instanceText is how people call the instance of that index.
func instanceText(s *planner.Snapshot, index int32) string {
	return cmp.Or(s.Instances[index].Name, cli.ID(s.Instances[index].ID))
}

// ofFair is a load relative to the fair one.
func ofFair(load, fair float64) string {
	if fair == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*load/fair, 'f', 1, 64) + " %"
}

// writeFirst prints a list, or the first of it and how many more there are.
func writeFirst[T any](w *cli.Page, c *Plan, items []T, columns string, more ...func(item int) cli.More) {
	shown := items
	if !c.All {
		shown = items[:min(len(items), c.Top)]
	}
	cli.WriteList(w, shown, columns, more...)
	if n := len(items) - len(shown); n > 0 {
		fmt.Fprintf(w, "… and %s more: --all lists them\n", cli.Integer(n))
	}
}

// writeMigrations lists the migrations of keys, those of the largest state first.
func (c *Plan) writeMigrations(w *cli.Page, p *planner.Plan) {
	s, moves := p.Snapshot, slices.Clone(c.last.named().Moves)
	if len(moves) == 0 {
		return
	}
	fmt.Fprintf(w, "\nMigrations: %s\n\n", cli.Plural(len(moves), "key"))
	slices.SortStableFunc(moves, func(a, b planner.Move) int {
		return cmp.Or(cmp.Compare(s.StateOf(b), s.StateOf(a)), cmp.Compare(s.Cost[b.Item], s.Cost[a.Item]))
	})
	writeFirst(w, c, moves, "key key | from id | to id | cost si | state si | reason", func(i int) cli.More {
		m := moves[i]
		return cli.More{"key": string(s.Keys.At(int(m.Item))), "from": instanceText(s, m.From), "to": instanceText(s, m.To),
			"cost": s.Cost[m.Item], "state": s.StateOf(m), "reason": m.Reason.String()}
	})
}

// writeClassMoves lists the moves of classes, those of the most state first.
func (c *Plan) writeClassMoves(w *cli.Page, p *planner.Plan) {
	if c.last.classes == nil {
		return
	}
	moves := c.last.classes.Moves(p)
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
	writeFirst(w, c, moves, "d' id | d id | d_h = h id | v_c = c exact | v_S = s exact | # = n", func(i int) cli.More {
		m := moves[i]
		return cli.More{"d'": m.Planned, "d": m.Current, "h": m.Hash, "c": m.Cost, "s": m.State, "n": m.Count}
	})
}

// classText is what the keys of a class have in common.
func classText(r compact.Record) string {
	return "[" + cli.ID(r.Current) + ", " + cli.ID(r.Hash) + ", " + cli.Exact(r.Cost) + ", " + cli.Exact(r.State) + "]"
}

// writeTableChanges lists what the plan does to the routing table.
func (c *Plan) writeTableChanges(w *cli.Page, p *planner.Plan) {
	if len(p.Set)+len(p.Unset) == 0 {
		return
	}
	fmt.Fprintf(w, "\nRouting table: %s set, %s dropped\n\n", cli.Plural(len(p.Set), "entry"), cli.Integer(len(p.Unset)))
	s := p.Snapshot
	changes := make([]struct{}, len(p.Set)+len(p.Unset))
	writeFirst(w, c, changes, "= sign | key key | was right | becomes right", func(i int) cli.More {
		if i < len(p.Set) {
			set, sign := p.Set[i], "+"
			was := entryBefore(s, set.Item, c.text)
			if was != "" {
				sign = "~"
			}
			return cli.More{"sign": sign, "key": string(s.Keys.At(int(set.Item))), "was": was,
				"becomes": instanceText(s, set.To)}
		}
		u := p.Unset[i-len(p.Set)]
		more := cli.More{"sign": "-", "key": string(p.UnsetKey(i - len(p.Set))), "becomes": "hash"}
		if u.Item < 0 {
			more["was"], more["becomes"] = entryText(s.Table.At(int(u.Entry)), c.text), "absent"
		} else {
			more["was"] = entryBefore(s, u.Item, c.text)
		}
		return more
	})
}

// entryBefore is the instance of an item's entry in the committed table, or "".
func entryBefore(s *planner.Snapshot, item int32, name func(id int32) string) string {
	switch {
	case s.Table == nil && s.Current[item] != s.Hash[item]:
		return instanceText(s, s.Current[item])
	case s.Entry != nil && s.Entry[item] >= 0:
		return entryText(s.Table.At(int(s.Entry[item])), name)
	}
	return ""
}

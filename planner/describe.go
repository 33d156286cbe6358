package planner

import (
	"strconv"
	"strings"
)

// Describe is the plan in lines that a person can read and compare: what it comes to,
// then its migrations, and how the table changes. Instances are named by id.
func (p *Plan) Describe() string {
	var b strings.Builder
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	line := func(words ...string) {
		b.WriteString(strings.Join(words, " "))
		b.WriteByte('\n')
	}
	id := func(d int32) string { return strconv.Itoa(int(p.Snapshot.Instances[d].ID)) }
	line("θ", number(p.Theta.Before), "→", number(p.Theta.After)+", table",
		strconv.FormatInt(p.TableBefore, 10), "→", strconv.FormatInt(p.TableAfter, 10)+", keys moved",
		strconv.FormatInt(p.Migration.Keys, 10)+", state moved", number(p.Migration.State)+p.describeBound())
	for _, m := range p.Moves {
		times := ""
		if m.Count > 1 {
			times = strconv.FormatInt(m.Count, 10) + " of "
		}
		line("move", times+string(p.Snapshot.Keys.At(int(m.Item))), id(m.From), "→", id(m.To)+":", m.Reason.String())
	}
	for _, x := range p.Set {
		line("set", string(p.Snapshot.Keys.At(int(x.Item))), "→", id(x.To))
	}
	for _, x := range p.Splits {
		words := []string{"split", string(p.Snapshot.Keys.At(int(x.Item))), "→"}
		for _, part := range x.Parts {
			share := float64(part.Weight) / PartUnits
			words = append(words, id(part.Instance), "("+strconv.FormatFloat(share, 'f', 3, 64)+")")
		}
		line(append(words, "because", string(x.Cause))...)
	}
	for i := range p.Unset {
		line("unset", string(p.UnsetKey(i)))
	}
	return b.String()
}

// describeBound is what the certificate proves, in words.
func (p *Plan) describeBound() string {
	switch c := p.Certificate; {
	case c == nil:
		return ""
	case c.Infeasible:
		return " (proven: no plan meets all limits)"
	case p.Options.Objective == MinImbalance:
		return " (proven: θ at least " + strconv.FormatFloat(c.LowerBound, 'g', 6, 64) + ")"
	default:
		return " (proven: at least " + strconv.FormatFloat(c.LowerBound, 'g', 6, 64) + ")"
	}
}

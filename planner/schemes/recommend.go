package schemes

import (
	"cmp"
	"math"
	"strconv"
)

// Recommendation is which scheme to use, and why.
type Recommendation struct {
	Scheme Scheme
	Rule   Rule
	Reason string // one sentence, for people
}

// Rule is a rule by which [Recommend] chose.
type Rule string

// The rules, in the order in which they are tried: the first one that applies.
const (
	// RuleHash: the plain hash that is there is balanced. Nothing moves, and nothing is
	// held besides.
	RuleHash Rule = "hash_is_balanced"
	// RuleTable: a routing table within its limit balances. Of mixed and optimal the one
	// that moves less state, then the one with the smaller table, then mixed, which is
	// faster.
	RuleTable Rule = "table_balances"
	// RuleTokens: no such table does, but other token counts balance the ring, and move
	// no more state than ranges, if those balance.
	RuleTokens Rule = "tokens_balance"
	// RuleIntervals: no such table does, but key ranges balance.
	RuleIntervals Rule = "intervals_balance"
	// RuleSplit: nothing that keeps keys whole balances, a routing table within its limit
	// that splits some of them does, else partial key grouping, and keys may be split.
	RuleSplit Rule = "split_keys_balance"
	// RuleClosest: nothing balances. The scheme of the least θ among those that keep to
	// the table limit, and without PKG if keys must stay whole; of equal ones that which
	// moves less state, then the plain hash that is there, then the first.
	RuleClosest Rule = "closest"
)

// Recommend says which scheme of a comparison to use. Keys stay whole where that
// balances: what is whole has nothing to merge, and any operator can do it. Then less
// state that moves is better, and only then what has to be held.
func Recommend(c *Comparison) Recommendation {
	hash, table := c.Of(c.Options.Hash), c.bestTable()
	tokens, intervals, split, grouped := c.Of(Ring), c.Of(Ranges), c.Of(Split), c.Of(PKG)
	goal := "θ_max = " + number(c.Options.ThetaMax)
	switch {
	case hash.Balanced:
		return Recommendation{hash.Scheme, RuleHash, "Stay with plain hashing: its θ of " + number(hash.Theta) +
			" is within " + goal + ", nothing has to move and nothing to be held."}
	case table != nil:
		return Recommendation{table.Scheme, RuleTable, "Use a routing table by strategy " + string(table.Scheme) + ": with " +
			count(table.TableEntries, "entry", "entries") + " θ goes from " + number(hash.Theta) + " to " + number(table.Theta) +
			", " + percent(table.Fraction) + " of the state moves, and every key stays whole."}
	case tokens.Balanced && !(intervals.Balanced && intervals.State < tokens.State):
		return Recommendation{Ring, RuleTokens, "Redistribute the ring's tokens (" + tokens.Method +
			"): no routing table within its limit balances, but with " +
			count(tokens.Tokens, "token", "tokens") + " θ goes from " + number(hash.Theta) + " to " + number(tokens.Theta) +
			", and " + percent(tokens.Fraction) + " of the state moves."}
	case intervals.Balanced:
		return Recommendation{Ranges, RuleIntervals, "Use key ranges: no routing table within its limit balances, but with " +
			count(intervals.Intervals, "interval", "intervals") + " θ goes from " + number(hash.Theta) + " to " +
			number(intervals.Theta) + ", though getting there moves " + percent(intervals.Fraction) + " of the state."}
	case split.Balanced && split.WithinLimit && !c.Options.Whole:
		return Recommendation{Split, RuleSplit, "Use a routing table that splits the costliest keys: " + c.wholeFails() +
			", while that brings it to " + number(split.Theta) + " at " + number(split.Aggregation) +
			" messages to merge in each period, where partial key grouping has " + number(grouped.Aggregation) + "." +
			c.lessToMove()}
	case grouped.Balanced && !c.Options.Whole:
		return Recommendation{PKG, RuleSplit, "Use partial key grouping with " +
			count(int64(grouped.Choices), "choice", "choices") + ": " + c.wholeFails() +
			", while split keys bring it to " + number(grouped.Theta) + " at " + number(grouped.Aggregation) +
			" messages to merge in each period."}
	}
	best := c.closest()
	return Recommendation{best.Scheme, RuleClosest, "Nothing meets " + goal + ": " + string(best.Scheme) +
		" comes closest with θ = " + number(best.Theta) + "; " + c.wayOut() + "."}
}

// lessToMove says what a price of merges saves, if anything.
func (c *Comparison) lessToMove() string {
	split, priced := c.Of(Split), c.Of(SplitPriced)
	if !priced.Balanced || !priced.WithinLimit || priced.State >= split.State {
		return ""
	}
	return " With a price of merges there are " + number(priced.Aggregation) + " of them, and " +
		percent(priced.Fraction) + " of the state moves instead of " + percent(split.Fraction) + "."
}

// bestTable is the better of the routing tables that balance within their limit.
func (c *Comparison) bestTable() (best *Figures) {
	for _, s := range []Scheme{Mixed, Optimal} {
		f := c.Of(s)
		if f.Balanced && f.WithinLimit &&
			(best == nil || cmp.Or(cmp.Compare(f.State, best.State), cmp.Compare(f.TableEntries, best.TableEntries)) < 0) {
			best = f
		}
	}
	return best
}

// closest is the scheme of the least θ that may be used.
func (c *Comparison) closest() *Figures {
	best := c.Of(c.Options.Hash)
	for i := range c.Figures {
		f := &c.Figures[i]
		if !f.WithinLimit || c.Options.Whole && !f.Whole {
			continue
		}
		if cmp.Or(cmp.Compare(f.Theta, best.Theta), cmp.Compare(f.State, best.State)) < 0 {
			best = f
		}
	}
	return best
}

// wholeFails says why keys cannot stay whole.
func (c *Comparison) wholeFails() string {
	if c.LeastTheta > c.Options.ThetaMax {
		return "the costliest key alone, " + percent(c.P1) + " of all cost, keeps θ at " + number(c.LeastTheta) +
			" or more wherever it is whole"
	}
	return "no scheme that keeps keys whole was found within θ_max"
}

// wayOut says what would help where nothing balances.
func (c *Comparison) wayOut() string {
	switch {
	case c.Options.Whole && c.LeastTheta > c.Options.ThetaMax:
		return "the costliest key keeps θ at " + number(c.LeastTheta) + " or more unless it can be split"
	case c.LeastTheta > c.Options.ThetaMax:
		return "fewer instances or a greater θ_max would help, since the costliest key has " + percent(c.P1) + " of all cost"
	}
	return "a greater θ_max or table limit would help"
}

// number writes a figure with four significant digits, whole ones in groups of three.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		s := strconv.FormatFloat(x, 'f', -1, 64)
		for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func percent(x float64) string { return number(math.Round(x*1e4)/100) + " %" }

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(float64(n)) + " " + many
}

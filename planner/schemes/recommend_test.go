package schemes

import (
	"strings"
	"testing"
)

// figures returns the figures of all schemes, none of which is balanced, with the
// given ones in their place.
func figures(given ...Figures) []Figures {
	var out []Figures
	for i, s := range []Scheme{HashModulo, HashRing, Ring, PKG, Mixed, Optimal, Split, SplitPriced, Ranges} {
		f := Figures{Scheme: s, Theta: 1 + float64(i)/10, WithinLimit: true, Whole: !splits(s), State: 100,
			Fraction: 0.5, Choices: 2, Method: "halving"}
		for _, g := range given {
			if g.Scheme == s {
				f = g
				f.Whole = !splits(s)
			}
		}
		out = append(out, f)
	}
	return out
}

func splits(s Scheme) bool { return s == PKG || s == Split || s == SplitPriced }

// Each rule, and what it depends on.
func TestRecommend(t *testing.T) {
	table := func(s Scheme, state float64, entries int64) Figures {
		return Figures{Scheme: s, Theta: 0.05, Balanced: true, WithinLimit: true, State: state, TableEntries: entries}
	}
	over := table(Optimal, 1, 1)
	over.WithinLimit = false
	tooLarge := table(Split, 80, 7)
	tooLarge.WithinLimit = false
	ring := Figures{Scheme: Ring, Theta: 0.06, Balanced: true, WithinLimit: true, State: 30, Tokens: 99, Method: "fitted"}
	ranges := Figures{Scheme: Ranges, Theta: 0.02, Balanced: true, WithinLimit: true, State: 90, Intervals: 12}
	pkg := Figures{Scheme: PKG, Theta: 0.01, Balanced: true, WithinLimit: true, Choices: 3, Aggregation: 1234}
	onRing := Figures{Scheme: HashRing, Theta: 0.07, Balanced: true, WithinLimit: true}
	onModulo := Figures{Scheme: HashModulo, Theta: 0.03, Balanced: true, WithinLimit: true}
	cheap := ranges
	cheap.State = 29
	for _, c := range []struct {
		name    string
		options Options
		least   float64
		figures []Figures
		scheme  Scheme
		rule    Rule
		says    string
	}{
		{"plain hashing first", Options{}, 0, figures(onRing, table(Mixed, 1, 1), pkg), HashRing, RuleHash,
			"Stay with plain hashing"},
		{"only the hash that is there", Options{}, 0, figures(onModulo, table(Mixed, 9, 1)), Mixed, RuleTable,
			"with 1 entry θ goes"},
		{"the other hash is there", Options{Hash: HashModulo}, 0, figures(onModulo, table(Mixed, 9, 1)), HashModulo,
			RuleHash, "0.03"},
		{"the table that moves less", Options{}, 0, figures(table(Mixed, 9, 1), table(Optimal, 8, 5)), Optimal, RuleTable,
			"by strategy optimal: with 5 entries"},
		{"the smaller table", Options{}, 0, figures(table(Mixed, 8, 6), table(Optimal, 8, 5)), Optimal, RuleTable, ""},
		{"mixed of equal ones", Options{}, 0, figures(table(Mixed, 8, 5), table(Optimal, 8, 5)), Mixed, RuleTable,
			"every key stays whole"},
		{"a table over its limit does not count", Options{}, 0, figures(table(Mixed, 8, 5), over), Mixed, RuleTable, ""},
		{"a table before tokens that move less", Options{}, 0, figures(table(Mixed, 80, 5), ring, pkg), Mixed, RuleTable, ""},
		{"tokens", Options{}, 0, figures(over, ring, ranges, pkg), Ring, RuleTokens, "(fitted)"},
		{"ranges that move less than tokens", Options{}, 0, figures(ring, cheap, pkg), Ranges, RuleIntervals, "12 intervals"},
		{"ranges", Options{}, 0, figures(ranges, pkg), Ranges, RuleIntervals, "getting there moves"},
		{"split keys", Options{}, 0.4, figures(pkg), PKG, RuleSplit, "keeps θ at 0.4 or more"},
		{"split keys, though no key is to blame", Options{}, 0, figures(pkg), PKG, RuleSplit,
			"no scheme that keeps keys whole was found"},
		{"a table that splits keys before partial key grouping", Options{}, 0.4, figures(pkg, table(Split, 80, 7)), Split,
			RuleSplit, "where partial key grouping has 1,234"},
		{"more merges, and less to move", Options{}, 0.4,
			figures(pkg, table(Split, 80, 7), Figures{
				Scheme: SplitPriced, Balanced: true, WithinLimit: true, State: 2, Fraction: 0.01, Aggregation: 9,
			}), Split, RuleSplit, "of merges there are 9 of them, and 1 % of the state moves"},
		{"a table that splits keys, over its limit", Options{}, 0.4, figures(pkg, tooLarge), PKG, RuleSplit, "3 choices"},
		{"keys must stay whole, though splitting them would do", Options{Whole: true}, 0.4, figures(table(Split, 80, 7)),
			HashModulo, RuleClosest, "unless it can be split"},
		{"keys must stay whole", Options{Whole: true}, 0.4, figures(pkg), HashModulo, RuleClosest, "unless it can be split"},
		{"the closest", Options{}, 0, figures(Figures{Scheme: Mixed, Theta: 0.5, WithinLimit: true}), Mixed, RuleClosest,
			"a greater θ_max or table limit"},
		{"the closest within the limit", Options{}, 0, figures(Figures{Scheme: Mixed, Theta: 0.5}), HashModulo,
			RuleClosest, ""},
		{"the closest splits", Options{}, 0.4, figures(Figures{Scheme: PKG, Theta: 0.5, WithinLimit: true}), PKG, RuleClosest,
			"fewer instances"},
		{
			"of equal ones the hash that is there", Options{}, 0.4,
			figures(Figures{Scheme: HashModulo, Theta: 0.5, WithinLimit: true},
				Figures{Scheme: HashRing, Theta: 0.5, WithinLimit: true}), HashRing, RuleClosest, "",
		},
		{
			"of equal ones the one that moves less", Options{}, 0,
			figures(Figures{Scheme: Mixed, Theta: 0.5, WithinLimit: true, State: 7},
				Figures{Scheme: Optimal, Theta: 0.5, WithinLimit: true, State: 6}), Optimal, RuleClosest, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.ThetaMax = 0.08
			r := Recommend(&Comparison{Options: c.options.withDefaults(), LeastTheta: c.least, Figures: c.figures})
			if r.Scheme != c.scheme || r.Rule != c.rule || !strings.Contains(r.Reason, c.says) {
				t.Errorf("%+v, want %s by %s saying %q", r, c.scheme, c.rule, c.says)
			}
			if !strings.HasSuffix(r.Reason, ".") || strings.Contains(r.Reason, "\n") {
				t.Errorf("no sentence: %q", r.Reason)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 12: "12", 0.079824: "0.07982", 1234567: "1,234,567", -1234: "-1,234",
		123: "123", 1e-7: "1e-07", 2483.25: "2483"} {
		if got := number(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
	if got := percent(0.07165); got != "7.17 %" && got != "7.16 %" {
		t.Errorf("percent: %q", got)
	}
}

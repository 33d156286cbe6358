package knapsack

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"

	"pgregory.net/rapid"
)

func newCoverer(states int) *Solver {
	return &Solver{States: states, Canonical: cmp.Compare[int32]}
}

// exactSum adds without rounding.
func exactSum(items []Item) *big.Float {
	sum := new(big.Float).SetPrec(2400)
	for _, x := range items {
		sum.Add(sum, new(big.Float).SetFloat64(x.Weight))
	}
	return sum
}

// leastCover tries all subsets, without rounding. Nil if none is a cover.
func leastCover(items []Item, need int64) *big.Float {
	var best *big.Float
	sum, cost := new(big.Float).SetPrec(2400), int64(0)
	w := make([]*big.Float, len(items))
	for i, x := range items {
		w[i] = new(big.Float).SetFloat64(x.Weight)
	}
	var try func(i int)
	try = func(i int) {
		if i == len(items) {
			if cost >= need && (best == nil || sum.Cmp(best) < 0) {
				best = new(big.Float).Copy(sum)
			}
			return
		}
		try(i + 1)
		sum.Add(sum, w[i])
		cost += items[i].Cost
		try(i + 1)
		sum.Sub(sum, w[i])
		cost -= items[i].Cost
	}
	try(0)
	return best
}

// leastIntegerCover is leastCover for whole weights of small sum.
func leastIntegerCover(items []Item, need int64) (least float64, ok bool) {
	least = math.Inf(1)
	for set := range uint32(1) << len(items) {
		weight, cost := 0.0, int64(0)
		for i := range items {
			if set>>i&1 == 1 {
				weight += items[i].Weight
				cost += items[i].Cost
			}
		}
		if cost >= need {
			least = min(least, weight)
		}
	}
	return least, !math.IsInf(least, 1)
}

// coverKinds make items that are hard in one way or another.
var coverKinds = map[string]func(r *rand.Rand) Item{
	"small":    func(r *rand.Rand) Item { return Item{Cost: 1 + r.Int64N(9), Weight: float64(r.IntN(10))} },
	"medium":   func(r *rand.Rand) Item { return Item{Cost: 1 + r.Int64N(1e6), Weight: float64(r.IntN(1e6))} },
	"no cost":  func(r *rand.Rand) Item { return Item{Cost: r.Int64N(3), Weight: float64(r.IntN(3))} },
	"negative": func(r *rand.Rand) Item { return Item{Cost: r.Int64N(20), Weight: float64(r.IntN(20) - 7)} },
	"no weight": func(r *rand.Rand) Item {
		return Item{Cost: 1 + r.Int64N(20), Weight: float64(r.IntN(2) * r.IntN(9))}
	},
	"equal":       func(*rand.Rand) Item { return Item{Cost: 7 << 50, Weight: 3} },
	"cardinality": func(r *rand.Rand) Item { return Item{Cost: 1 + r.Int64N(1000), Weight: 1} },
	"subset sum": func(r *rand.Rand) Item {
		c := 1 + r.Int64N(1e5)
		return Item{Cost: c << 40, Weight: float64(64 * c)}
	},
	"even": func(r *rand.Rand) Item {
		c := 2 * (1 + r.Int64N(50))
		return Item{Cost: c, Weight: float64(c)}
	},
	"strongly correlated": func(r *rand.Rand) Item {
		c := 1 + r.Int64N(1000)
		return Item{Cost: c, Weight: float64(c + 100)}
	},
	"large costs": func(r *rand.Rand) Item {
		return Item{Cost: 1 + r.Int64N(1<<57), Weight: float64(r.IntN(1 << 20))}
	},
}

// wildKinds are weights whose sums round.
var wildKinds = map[string]func(r *rand.Rand) Item{
	"fractions": func(r *rand.Rand) Item { return Item{Cost: 1 + r.Int64N(1<<40), Weight: r.Float64()} },
	"tenths": func(r *rand.Rand) Item {
		c := 1 + r.Int64N(1000)
		return Item{Cost: c, Weight: float64(c) * 0.1}
	},
	"all magnitudes": func(r *rand.Rand) Item {
		return Item{Cost: 1 + r.Int64N(1<<r.IntN(59)), Weight: math.Ldexp(1+r.Float64(), r.IntN(2000)-1040)}
	},
	"mixed magnitudes": func(r *rand.Rand) Item {
		return Item{Cost: 1 + r.Int64N(1<<r.IntN(20)),
			Weight: []float64{0, 5e-324, 1e-310, 1, 3, 1e16, 1e290}[r.IntN(7)]}
	},
	"tiny": func(r *rand.Rand) Item {
		return Item{Cost: 1 + r.Int64N(100), Weight: float64(r.IntN(50)) * 5e-324}
	},
	"one ratio, all magnitudes": func(r *rand.Rand) Item {
		c := 1 + r.Int64N(1<<r.IntN(59))
		return Item{Cost: c, Weight: float64(c) / 3}
	},
	"negative fractions": func(r *rand.Rand) Item {
		return Item{Cost: r.Int64N(1 << 40), Weight: (r.Float64() - 0.3) * math.Ldexp(1, r.IntN(200)-100)}
	},
}

func coverCase(r *rand.Rand, n int, kind func(r *rand.Rand) Item) (items []Item, need int64) {
	total := int64(0)
	for i := range n {
		x := kind(r)
		if total > math.MaxInt64/2-x.Cost {
			break
		}
		x.ID, x.Tie = int32(i), r.Uint32N(3)
		items = append(items, x)
		total += x.Cost
	}
	switch r.IntN(8) {
	case 0:
		return items, total
	case 1:
		return items, total + 1 - r.Int64N(3)
	case 2:
		return items, r.Int64N(5) - 2
	}
	return items, r.Int64N(total + 1)
}

// checkCover checks what holds of every answer.
func checkCover(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, items []Item, need int64, got Cover) {
	t.Helper()
	total, cost := int64(0), int64(0)
	for _, x := range items {
		total += x.Cost
	}
	if got.Feasible != (total >= need) {
		t.Fatalf("feasible %t, total %d, need %d", got.Feasible, total, need)
	}
	if !got.Feasible {
		if len(got.Taken) > 0 || !math.IsInf(got.Bound, 1) || got.exact {
			t.Fatalf("infeasible, but %+v", got)
		}
		return
	}
	known, seen := map[Item]bool{}, map[int32]bool{}
	for _, x := range items {
		known[x] = true
	}
	whole := 0.0
	for _, x := range got.Taken {
		if seen[x.ID] || !known[x] {
			t.Fatalf("%+v is taken twice, or changed", x)
		}
		seen[x.ID] = true
		cost += x.Cost
		whole += math.Abs(x.Weight)
	}
	for _, x := range items {
		if x.Weight < 0 && !seen[x.ID] {
			t.Fatalf("%+v is left", x)
		}
	}
	if cost < need {
		t.Fatalf("covers %d of %d", cost, need)
	}
	subnormal := float64(len(got.Taken)) * 1e-323
	real, _ := exactSum(got.Taken).Float64()
	if off := math.Abs(got.Weight - real); off > whole*1e-13+subnormal {
		t.Fatalf("weight %v is said to be %v", real, got.Weight)
	}
	if got.Bound > got.Weight {
		t.Fatalf("bound %v above weight %v", got.Bound, got.Weight)
	}
	if off := got.Weight - got.Bound; got.exact && off > whole*1e-12+subnormal {
		t.Fatalf("exact, but bound %v and weight %v", got.Bound, got.Weight)
	}
}

func describeCover(items []Item, need int64, got Cover) string {
	return fmt.Sprintf("need %d of %+v: %+v", need, items, got)
}

func TestCoverIsLeast(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 1))
	c := newCoverer(1 << 24) // so that none is given up
	for name, kind := range sortedKinds(coverKinds) {
		for n := range deep.Cases(12_000) {
			size := r.IntN(9)
			if n%400 == 0 {
				size = 12 + r.IntN(5)
			}
			items, need := coverCase(r, size, kind)
			least, _ := leastIntegerCover(items, need)
			got := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			if got.Feasible && (!got.exact || got.Weight != least || got.Bound != least) {
				t.Fatalf("%s: %s, want %v", name, describeCover(items, need, got), least)
			}
		}
	}
}

// However little is looked at, the bound holds.
func TestCoverBoundHoldsWhenCut(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 2))
	for name, kind := range sortedKinds(coverKinds) {
		for range deep.Cases(3000) {
			items, need := coverCase(r, r.IntN(10), kind)
			least, _ := leastIntegerCover(items, need)
			c := newCoverer(r.IntN(12))
			c.Splits = r.IntN(2) * r.IntN(6)
			got := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			if got.Bound > least || got.exact && got.Weight != least {
				t.Fatalf("%s: %s, want %v", name, describeCover(items, need, got), least)
			}
		}
	}
}

func TestCoverBoundHoldsDespiteRounding(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 3))
	for name, kind := range sortedKinds(wildKinds) {
		for n := range deep.Cases(1500) {
			items, need := coverCase(r, r.IntN(9), kind)
			states := 1 << 20
			if n%2 == 0 {
				states = r.IntN(12)
			}
			least := leastCover(items, need)
			c := newCoverer(states)
			c.Splits = n % 4
			got := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			if least == nil {
				continue
			}
			if new(big.Float).SetFloat64(got.Bound).Cmp(least) > 0 {
				t.Fatalf("%s: %s, bound above %v", name, describeCover(items, need, got), least)
			}
			whole := 0.0
			for _, x := range got.Taken {
				whole += math.Abs(x.Weight)
			}
			over, _ := new(big.Float).Sub(exactSum(got.Taken), least).Float64()
			if states > 12 && over > whole*1e-12 && over > 1e-322 {
				t.Fatalf("%s: %s, want %v", name, describeCover(items, need, got), least)
			}
		}
	}
}

// knapsackTable is the textbook's dynamic programming over costs.
func knapsackTable(items []Item, need int64) float64 {
	least := make([]float64, need+1)
	for c := range least[1:] {
		least[c+1] = math.Inf(1)
	}
	for _, x := range items {
		for c := need; c > 0; c-- {
			least[c] = min(least[c], least[max(0, c-x.Cost)]+x.Weight)
		}
	}
	return least[need]
}

func TestCoverOfMediumSize(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 4))
	for name, kind := range map[string]func() Item{
		"uncorrelated": func() Item { return Item{Cost: 1 + r.Int64N(100), Weight: float64(1 + r.IntN(1000))} },
		"strongly":     func() Item { c := 1 + r.Int64N(100); return Item{Cost: c, Weight: float64(10*c + 100)} },
		"inversely":    func() Item { c := 1 + r.Int64N(100); return Item{Cost: c + 10, Weight: float64(c)} },
		"subset sum":   func() Item { c := 1 + r.Int64N(100); return Item{Cost: c, Weight: float64(c)} },
		"heavy": func() Item {
			c := int64(1) << r.IntN(10)
			return Item{Cost: c, Weight: float64(c * (40 + r.Int64N(20)))}
		},
	} {
		for range 30 {
			items := make([]Item, 50+r.IntN(350))
			total := int64(0)
			for i := range items {
				items[i] = kind()
				items[i].ID = int32(i)
				total += items[i].Cost
			}
			need := 1 + r.Int64N(total/5)
			least := knapsackTable(items, need)
			got := newCoverer(1<<18).Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			if !got.exact || got.Weight != least || got.Bound != least {
				t.Fatalf("%s: %d items, need %d: %v ≤ %v, want %v", name, len(items), need, got.Bound, got.Weight, least)
			}
			c := newCoverer(300)
			c.Splits = 5
			cut := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, cut)
			if cut.Bound > least || cut.Weight < least || cut.exact && cut.Weight != least {
				t.Fatalf("%s: cut: %v ≤ %v, want %v", name, cut.Bound, cut.Weight, least)
			}
		}
	}
}

func TestCoverDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		kind := rapid.SampledFrom(append(sortedList(coverKinds), sortedList(wildKinds)...)).Draw(t, "kind")
		size := rapid.IntRange(0, 300).Draw(t, "items")
		states := rapid.SampledFrom([]int{0, 3, 200, 3000}).Draw(t, "states")
		splits := rapid.IntRange(0, 4).Draw(t, "splits")
		type outcome struct {
			weight, bound float64
			exact         bool
			used          int
			taken         []int32
		}
		solve := func(items []Item, need int64) outcome {
			c := newCoverer(states)
			c.Splits = splits
			got := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			x := outcome{weight: got.Weight, bound: got.Bound, exact: got.exact, used: c.Used}
			for _, y := range got.Taken {
				x.taken = append(x.taken, y.ID)
			}
			slices.Sort(x.taken)
			return x
		}
		for range 30 {
			items, need := coverCase(r, size, kind)
			want := solve(items, need)
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			got := solve(items, need)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("shuffled: %+v, want %+v", got, want)
			}
		}
	})
}

// Splits alone prove small covers least, or nearly.
func TestCoverBySplits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 8))
	for name, kind := range sortedKinds(coverKinds) {
		for range 300 {
			items, need := coverCase(r, r.IntN(10), kind)
			least, ok := leastIntegerCover(items, need)
			c := newCoverer(0)
			c.Splits = 1 << 10
			got := c.Solve(slices.Clone(items), need)
			checkCover(t, items, need, got)
			if ok && (got.Bound > least || got.Weight-got.Bound > math.Abs(got.Weight)*goodCover) {
				t.Fatalf("%s: %s, want %v", name, describeCover(items, need, got), least)
			}
		}
	}
}

func TestCoverScalesWithWeights(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(61, 6))
	for range 300 {
		items, need := coverCase(r, 40, coverKinds["medium"])
		want := newCoverer(1000).Solve(slices.Clone(items), need)
		for _, factor := range []float64{0x1p-900, 0x1p+900} {
			scaled := slices.Clone(items)
			for i := range scaled {
				scaled[i].Weight *= factor
			}
			got := newCoverer(1000).Solve(scaled, need)
			if got.Weight != want.Weight*factor || got.Bound != want.Bound*factor {
				t.Fatalf("× %v: %v ≤ %v, want %v ≤ %v", factor, got.Bound, got.Weight, want.Bound*factor, want.Weight*factor)
			}
		}
	}
}

// Orders that make bad samples may cost time, but neither more than sorting nor
// the answer.
func TestBreakItemOfAdverseOrders(t *testing.T) {
	t.Parallel()
	const n = 60_000
	order := ratioOrder{scale: 1, canonical: cmp.Compare[int32]}
	kinds := map[string]func(i int) Item{
		"ascending":    func(i int) Item { return Item{Cost: 1, Weight: float64(i)} },
		"descending":   func(i int) Item { return Item{Cost: 1, Weight: float64(n - i)} },
		"organ pipes":  func(i int) Item { return Item{Cost: 1, Weight: float64(min(i, n-i))} },
		"all the same": func(int) Item { return Item{Cost: 5, Weight: 5} },
		"same item":    func(int) Item { return Item{Cost: 5, Weight: 5, ID: 1} },
		"one huge":     func(i int) Item { return Item{Cost: 1 + int64(i/(n-1))<<40, Weight: float64(i)} },
		"powers":       func(i int) Item { return Item{Cost: 1 << (i % 40), Weight: 1} },
	}
	for name, item := range kinds {
		for _, share := range []int64{0, 1, 100, 1000, 999_999, 1_000_000} {
			var e []Item
			total := int64(0)
			for i := range n {
				x := item(i)
				if name != "same item" {
					x.ID = int32(i)
				}
				e = append(e, x)
				total += x.Cost
			}
			need := max(1, total/1_000_000*share+total%1_000_000*share/1_000_000)
			at, before := order.breakItem(e, need)
			sum := int64(0)
			for i := range e {
				if i < at {
					sum += e[i].Cost
				}
				if c := order.compare(&e[i], &e[at]); i < at && c > 0 || i > at && c < 0 {
					t.Fatalf("%s: item %d is on the wrong side of %d", name, i, at)
				}
			}
			if sum != before || before >= need || before+e[at].Cost < need {
				t.Fatalf("%s: %d before item %d of cost %d, need %d", name, before, at, e[at].Cost, need)
			}
		}
	}
}

func sortedList[T any](m map[string]T) []T {
	var out []T
	for _, x := range sortedKinds(m) {
		out = append(out, x)
	}
	return out
}

// sortedKinds iterates in the order of names, so that a failure repeats.
func sortedKinds[T any](m map[string]T) func(yield func(string, T) bool) {
	return func(yield func(string, T) bool) {
		names := make([]string, 0, len(m))
		for name := range m {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// Package reproduce measures what the four papers state, each statement, table and figure
// as an item of its own, and puts what they published beside it.
//
// An item is a function that measures series of points and checks claims. What a paper
// published, and how near ours has to come to agree, is data: published.json. Which
// statement of which paper has an item, or why it has none, is data too: statements.tsv.
package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Document is one of the papers.
type Document string

// The papers, by their names in the glossary.
const (
	Mixed    Document = "mixed"    // Parallel Stream Processing Against Workload Skewness and Variance
	PKG      Document = "pkg"      // Partial Key Grouping
	DPA      Document = "dpa"      // DPA Load Balancer
	Shuffler Document = "shuffler" // the Shuffler proposal
)

// Item is what one place of a paper states.
type Item struct {
	ID       string // the document and the place, such as mixed/fig8
	Document Document
	Place    string // as the paper names it
	Title    string
	measure  func(*measurement)
}

// Timed says whether an item measures how long plans take, so that nothing should run beside
// it.
func (i Item) Timed() bool {
	return slices.Contains([]string{"mixed/fig9", "mixed/fig11", "mixed/fig12"}, i.ID)
}

// Items returns all, by document, in the order of the papers.
func Items() []Item {
	return slices.Concat(mixedItems, pkgItems, dpaItems, shufflerItems)
}

// Select returns the items of some documents; of these, those that only names: by id, or
// by what follows the document in it. Without documents or names it is all.
func Select(documents []Document, only []string) ([]Item, error) {
	items := Items()
	if len(documents) > 0 {
		items = slices.DeleteFunc(items, func(i Item) bool { return !slices.Contains(documents, i.Document) })
	}
	if len(only) == 0 {
		return items, nil
	}
	named := func(i Item, name string) bool {
		_, place, _ := strings.Cut(i.ID, "/")
		return name == i.ID || name == place
	}
	for _, name := range only {
		if !slices.ContainsFunc(items, func(i Item) bool { return named(i, name) }) {
			return nil, fmt.Errorf("there is no item %q", name)
		}
	}
	return slices.DeleteFunc(items, func(i Item) bool {
		return !slices.ContainsFunc(only, func(name string) bool { return named(i, name) })
	}), nil
}

// Verdict says how ours compares to what was published.
type Verdict string

// The verdicts. Something agrees if every published number is met within its tolerance
// and every claim holds.
const (
	Agrees  Verdict = "agrees"
	Differs Verdict = "differs"
	// ImageOnly: the paper has a figure without numbers and claims nothing about it that
	// could be checked.
	ImageOnly Verdict = "image_only"
)

// Result is what came of an item.
type Result struct {
	ID       string   `json:"id"`
	Document Document `json:"document"`
	Place    string   `json:"place"`
	Title    string   `json:"title"`
	Setting  string   `json:"setting"`
	X        string   `json:"x"` // what the points are over
	Y        string   `json:"y"` // what is measured, with its unit
	Series   []Series `json:"series"`
	Claims   []Claim  `json:"claims"`
	// Source says where in the paper the published values stand.
	Source string `json:"source,omitempty"`
	// Tolerance says in words how near a published value has to be.
	Tolerance string  `json:"tolerance,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Counts    Counts  `json:"counts"`
	// Why says why ours differs, where that is known.
	Why     string `json:"why,omitempty"`
	Command string `json:"command"` // measures the item again
}

// Counts are what a verdict rests on: the published numbers that ours are held against and
// the claims, and how many of them agree.
type Counts struct {
	Values      int `json:"values"`
	ValuesAgree int `json:"values_agree"`
	Claims      int `json:"claims"`
	ClaimsHold  int `json:"claims_hold"`
}

// Series are points over x.
type Series struct {
	Name string `json:"name"`
	// Y is what it measures, with its unit, where that is not [Result].Y: it has a plot of
	// its own.
	Y string `json:"y,omitempty"`
	// Variation: it is measured with something changed, to show what makes a difference.
	// Published values stand beside it, too, but the verdict does not rest on them.
	Variation bool    `json:"variation,omitempty"`
	Points    []Point `json:"points"`
}

// Part are series of a result of one kind that measure the same, in one unit.
type Part struct {
	Y         string
	Variation bool
	Series    []Series
}

// Parts divides the series by what they measure, variations last.
func (r *Result) Parts() (parts []Part) {
	for _, variation := range []bool{false, true} {
		for _, s := range r.Series {
			if s.Variation != variation {
				continue
			}
			y := cmp.Or(s.Y, r.Y)
			i := slices.IndexFunc(parts, func(p Part) bool { return p.Y == y && p.Variation == variation })
			if i < 0 {
				i = len(parts)
				parts = append(parts, Part{Y: y, Variation: variation})
			}
			parts[i].Series = append(parts[i].Series, s)
		}
	}
	return parts
}

// Point is one measurement, over several seeds where chance has a part in it.
type Point struct {
	X string `json:"x"`
	// At is where X lies on its axis; nil where it is a name.
	At     *float64 `json:"at,omitempty"`
	Median float64  `json:"median"` // of an even number of seeds the lower one
	Least  float64  `json:"least"`
	Most   float64  `json:"most"`
	// Published is what the paper has there. Nil: nothing but an image.
	Published *float64 `json:"published,omitempty"`
	// Agrees says whether the median is near enough to Published.
	Agrees *bool `json:"agrees,omitempty"`
}

// Claim is a sentence about the figures, and whether it holds for ours.
type Claim struct {
	Text  string `json:"text"`
	Holds bool   `json:"holds"`
}

// Options are the parameters of [Item.Run].
type Options struct {
	// Full takes the papers' sizes, which needs minutes to hours. Otherwise all items
	// together take less than a minute.
	Full bool
	// Seeds is how many seeds each point is the median of. 0: 3.
	Seeds int
}

// Run measures an item. The error is that of ctx, or one of the item's own planning.
func (i Item) Run(ctx context.Context, o Options) (*Result, error) {
	o.Seeds = cmp.Or(o.Seeds, 3)
	m := &measurement{ctx: ctx, full: o.Full, seeds: o.Seeds, result: &Result{
		ID: i.ID, Document: i.Document, Place: i.Place, Title: i.Title, Series: []Series{}, Claims: []Claim{},
		Command: "plannerd reproduce --only " + i.ID,
	}}
	if o.Full {
		m.result.Command += " --full"
	}
	if o.Seeds != 3 {
		m.result.Command += fmt.Sprintf(" --seeds %d", o.Seeds)
	}
	err := m.run(i)
	if ctx.Err() != nil {
		err = ctx.Err() // what was measured until then says nothing
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.ID, err)
	}
	return m.result, judge(m.result)
}

// measurement collects what an item measures.
type measurement struct {
	ctx    context.Context
	full   bool
	seeds  int
	result *Result
}

// failure is what ends a measurement early: a panic, so that a measurement reads as what it
// measures. None leaves [measurement.run].
type failure struct{ error }

// check ends the measurement if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is the result of a call. It ends the measurement if the call failed.
func must[T any](result T, err error) T {
	check(err)
	return result
}

// run measures an item.
func (m *measurement) run(i Item) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case failure:
			err = x.error
		default:
			panic(x)
		}
	}()
	i.measure(m)
	return nil
}

// stopped is asked by what takes long.
func (m *measurement) stopped() bool { return m.ctx.Err() != nil }

// of returns the one value or, at the paper's size, the other.
func of[T any](m *measurement, reduced, full T) T {
	if m.full {
		return full
	}
	return reduced
}

func (m *measurement) setting(format string, a ...any) { m.result.Setting = fmt.Sprintf(format, a...) }

func (m *measurement) axes(x, y string) { m.result.X, m.result.Y = x, y }

// series returns the one of a name, a new one where there is none; it is valid until the
// next call.
func (m *measurement) series(name string) *Series {
	i := slices.IndexFunc(m.result.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		i = len(m.result.Series)
		m.result.Series = append(m.result.Series, Series{Name: name})
	}
	return &m.result.Series[i]
}

// add adds a point to a series; x is a number or a name.
func (m *measurement) add(series string, x any, ours ...float64) {
	p := Point{X: fmt.Sprint(x), Least: slices.Min(ours), Most: slices.Max(ours), Median: median(ours)}
	switch x := x.(type) {
	case int:
		p.At = new(float64(x))
	case float64:
		p.At = &x
	}
	s := m.series(series)
	s.Points = append(s.Points, p)
}

// vary adds a point to a series that is a variation.
func (m *measurement) vary(series string, x any, ours ...float64) {
	m.add(series, x, ours...)
	m.series(series).Variation = true
}

// unit says what a series measures, where it is not what the others do.
func (m *measurement) unit(series, y string) { m.series(series).Y = y }

// claim states something that the paper does.
func (m *measurement) claim(holds bool, format string, a ...any) {
	m.result.Claims = append(m.result.Claims, Claim{fmt.Sprintf(format, a...), holds})
}

// at is the median of a series at x.
func (m *measurement) at(series string, x any) float64 {
	if _, p := m.result.find(series, fmt.Sprint(x)); p != nil {
		return p.Median
	}
	return 0
}

// each calls measure with every seed, 1, 2, …, and returns what it returns.
func (m *measurement) each(measure func(seed uint64) float64) []float64 {
	return m.eachOf(func(seed uint64) []float64 { return []float64{measure(seed)} })[0]
}

// eachOf calls measure with every seed. The figures are by what is measured, then by seed.
func (m *measurement) eachOf(measure func(seed uint64) []float64) (all [][]float64) {
	for seed := range uint64(m.seeds) {
		check(m.ctx.Err())
		figures := measure(seed + 1)
		if all == nil {
			all = make([][]float64, len(figures))
		}
		for i, x := range figures {
			all[i] = append(all[i], x)
		}
	}
	return all
}

// sortSeries brings series that were measured in no order into that of their names.
func (m *measurement) sortSeries() {
	slices.SortFunc(m.result.Series, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
}

// drawing draws indices, each with a chance in proportion to its weight.
func drawing(weights []float64, r *rand.Rand) func() int {
	cumulative, sum := make([]float64, len(weights)), 0.0
	for i, w := range weights {
		sum += w
		cumulative[i] = sum
	}
	return func() int {
		i, _ := slices.BinarySearch(cumulative, r.Float64()*sum)
		return min(i, len(weights)-1)
	}
}

// mean returns the arithmetic mean.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// median returns the lower median.
func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return sorted[(len(sorted)-1)/2]
}

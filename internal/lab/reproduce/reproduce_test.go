package reproduce

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
)

// timedClaim finds the claims, of items that measure time, which depend on how fast a machine
// is.
var timedClaim = regexp.MustCompile("second|fast")

// different are the items that do not agree with what was published, as they come out on
// every machine. Each says why.
var different = []string{
	"mixed/theorem2", "mixed/fig7a", "mixed/fig13", "mixed/fig14", "pkg/table3", "dpa/table1", "dpa/fig3",
	"shuffler/examples", "shuffler/middle",
}

// refuted are those of them that show by themselves that what was published is wrong. The
// others show what makes the difference by variations.
var refuted = []string{"mixed/theorem2", "shuffler/examples", "shuffler/middle"}

// quick are items of each paper that take no longer than moments: a usual run measures them alone.
var quick = []string{
	"mixed/fig2", "mixed/fig4", "mixed/fig6", "mixed/theorem2", "mixed/fig7b", "mixed/lemma3", "pkg/table1", "pkg/fig1",
	"pkg/theorem5.1", "pkg/idle", "dpa/table1", "dpa/states", "dpa/time", "dpa/merge", "shuffler/middle",
	"shuffler/formula", "shuffler/examples",
}

func TestItems(t *testing.T) {
	known, err := publications()
	if err != nil {
		t.Fatal(err)
	}
	if deep.On() {
		quick = nil // all
	}
	items, err := Select(nil, quick)
	if err != nil {
		t.Fatal(err)
	}
	var results []*Result
	for _, item := range items {
		r, err := item.Run(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
		if !strings.HasPrefix(item.ID, string(item.Document)+"/") || r.Setting == "" || r.X == "" || r.Y == "" {
			t.Errorf("%s lacks something: %+v", item.ID, r)
		}
		points := 0
		for _, s := range r.Series {
			for _, p := range s.Points {
				points++
				if !(p.Least <= p.Median && p.Median <= p.Most) {
					t.Errorf("%s, %s at %s: %v is not between %v and %v", item.ID, s.Name, p.X, p.Median, p.Least, p.Most)
				}
			}
		}
		if points == 0 {
			t.Errorf("%s measures nothing", item.ID)
		}
		p, ok := known[item.ID]
		if !ok || p.Source == "" {
			t.Errorf("%s: where it was published is not said", item.ID)
		}
		for _, v := range p.Values {
			if _, p := r.find(v.Series, v.X); p == nil {
				t.Errorf("%s: nothing is measured for %s at %s", item.ID, v.Series, v.X)
			}
		}
		if r.Verdict == Differs && r.Why == "" {
			t.Errorf("%s differs, and does not say why: %+v", item.ID, r.Claims)
		}
		varied := slices.ContainsFunc(r.Series, func(s Series) bool { return s.Variation })
		if r.Verdict == Differs && !varied && !slices.Contains(refuted, item.ID) {
			t.Errorf("%s differs, and does not show what makes the difference: %+v", item.ID, r.Claims)
		}
		checkCounts(t, r)
		differs := slices.Contains(different, item.ID)
		if !item.Timed() && differs != (r.Verdict == Differs) {
			t.Errorf("%s: %s, %+v", item.ID, r.Verdict, r.Claims)
		}
		for _, c := range r.Claims {
			if slices.Contains([]string{"mixed/fig9", "mixed/fig12"}, item.ID) && !c.Holds && !timedClaim.MatchString(c.Text) {
				t.Errorf("%s: %s", item.ID, c.Text)
			}
		}
	}
	for id := range known {
		if !slices.ContainsFunc(Items(), func(i Item) bool { return i.ID == id }) {
			t.Errorf("%s is published, but no item", id)
		}
	}
	checkPage(t, results)
}

// checkCounts: a verdict rests on the published values and the claims, and not on variations.
func checkCounts(t *testing.T, r *Result) {
	t.Helper()
	want := Counts{Claims: len(r.Claims)}
	for _, c := range r.Claims {
		want.ClaimsHold += count(c.Holds)
	}
	for _, s := range r.Series {
		for _, p := range s.Points {
			if (p.Published == nil) != (p.Agrees == nil) {
				t.Errorf("%s, %s at %s: %+v", r.ID, s.Name, p.X, p)
			}
			if p.Published != nil && !s.Variation {
				want.Values++
				want.ValuesAgree += count(*p.Agrees)
			}
		}
	}
	all := want.Values == want.ValuesAgree && want.Claims == want.ClaimsHold
	if r.Counts != want || all != (r.Verdict != Differs) {
		t.Errorf("%s: %s with %+v, want %+v", r.ID, r.Verdict, r.Counts, want)
	}
}

// checkPage: the page has every item, and needs no other.
func checkPage(t *testing.T, results []*Result) {
	t.Helper()
	var page strings.Builder
	if err := WriteHTML(&page, results, []byte("export const init = null")); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, r := range results {
		if strings.Count(text, `<article id="`+r.ID+`"`) != 1 {
			t.Errorf("%s is not on the page", r.ID)
		}
	}
	for _, outside := range []string{"src=", `href="http`, "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	if plots := strings.Count(text, `class="plot"`); plots < len(results)/2 {
		t.Errorf("only %d plots", plots)
	}
}

// statement is something that a paper says, and what there is of it.
type statement struct {
	Document Document // empty: of all
	Place    string
	Text     string
	// Item measures it. Where it is empty, Reason says where else it is, or why it is not.
	Item, Reason string
}

// statements reads what the papers say, statement by statement, in their order. A figure of
// several parts names the item of its first.
func statements(t *testing.T) (all []statement) {
	t.Helper()
	text, err := os.ReadFile("statements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			t.Fatalf("statement %d has %d columns", n+1, len(fields))
		}
		s := statement{Document: Document(fields[0]), Place: fields[1], Text: fields[2]}
		if s.Document == "all" {
			s.Document = ""
		}
		switch kind, what, _ := strings.Cut(fields[3], " "); kind {
		case "item":
			s.Item = what
		case "reason":
			s.Reason = what
		}
		all = append(all, s)
	}
	return all
}

// Every statement of the papers has an item or a reason, and every item is one of a
// statement's, or the further part of one.
func TestStatements(t *testing.T) {
	all := statements(t)
	count := map[Document]int{}
	named := map[string]bool{}
	for _, s := range all {
		count[s.Document]++
		if (s.Item == "") == (s.Reason == "") || s.Text == "" {
			t.Errorf("%+v", s)
		}
		if s.Item != "" && !slices.ContainsFunc(Items(), func(i Item) bool {
			return i.ID == s.Item && (s.Document == i.Document)
		}) {
			t.Errorf("%s, %s: there is no item %s", s.Document, s.Place, s.Item)
		}
		named[s.Item] = true
	}
	for document, want := range map[Document]int{Mixed: 54, PKG: 38, DPA: 22, Shuffler: 28, "": 2} {
		if count[document] != want {
			t.Errorf("%d statements of %q, want %d", count[document], document, want)
		}
	}
	parts := []string{"mixed/fig7b", "mixed/fig21"}
	for _, i := range Items() {
		if !named[i.ID] && !slices.Contains(parts, i.ID) {
			t.Errorf("no statement names %s", i.ID)
		}
	}
}

// TestNamedTests: a reason names tests that there are.
func TestNamedTests(t *testing.T) {
	all := statements(t)
	declared := map[string]bool{}
	named, declaration := regexp.MustCompile(`\bTest[A-Z]\w*`), regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declaration.FindAllSubmatch(source, -1) {
			declared[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		for _, test := range named.FindAllString(s.Reason, -1) {
			if n++; !declared[test] {
				t.Errorf("%s, %s names %s, which there is not", s.Document, s.Place, test)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d tests are named", n)
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		documents []Document
		only      []string
		want      int
	}{
		{nil, nil, len(Items())},
		{[]Document{Shuffler}, nil, len(shufflerItems)},
		{nil, []string{"fig4"}, 2},
		{[]Document{PKG}, []string{"fig4"}, 1},
		{nil, []string{"mixed/fig4", "table2"}, 2},
		{[]Document{DPA}, []string{"fig4"}, -1},
		{nil, []string{"fig99"}, -1},
	} {
		got, err := Select(c.documents, c.only)
		if c.want < 0 != (err != nil) || err == nil && len(got) != c.want {
			t.Errorf("%v %v: %d items, %v", c.documents, c.only, len(got), err)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		within
		ours, published float64
		want            bool
	}{
		{within{}, 3, 3, true}, {within{}, 3, 3.1, false},
		{within{Absolute: 0.1}, 0.55, 0.5, true}, {within{Absolute: 0.1}, 0.7, 0.5, false},
		{within{Relative: 0.1}, 109, 100, true}, {within{Relative: 0.1}, 111, 100, false},
		{within{Factor: 2}, 6, 3, true}, {within{Factor: 2}, 1.4, 3, false}, {within{Factor: 2}, -3, 3, false},
	} {
		if got := c.allows(c.ours, c.published); got != c.want {
			t.Errorf("%v: %v for %v is %t", c.within, c.ours, c.published, got)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, i := range Items() {
		if _, err := i.Run(ctx, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", i.ID, err)
		}
	}
}

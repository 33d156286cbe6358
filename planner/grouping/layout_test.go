package grouping

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	spaolacci "github.com/spaolacci/murmur3"

	"plannerd/planner"
)

// literalCandidates are those of a key as the contract says it, with another murmur3.
func literalCandidates(l Layout, key string) (out []int32) {
	d := l.Choices
	for _, k := range l.Head {
		if string(k.Key) == key {
			d = k.Choices
		}
	}
	for j := range min(d, l.Workers) {
		h, _ := spaolacci.Sum128WithSeed([]byte(key), uint32(j))
		w := int32(h % uint64(l.Workers))
		for slices.Contains(out, w) {
			w = (w + 1) % int32(l.Workers)
		}
		out = append(out, w)
	}
	return out
}

// literalLevel levels loads by looking at all sets of workers: the greatest set in which
// the keys that cannot leave it cost most for its capacity is the most loaded.
func literalLevel(candidates [][]int32, cost, capacity []float64) []float64 {
	loads, left := make([]float64, len(capacity)), uint(1<<len(capacity))-1
	for left != 0 {
		best, rate := uint(0), -1.0
		for set := left; set != 0; set = (set - 1) & left {
			inside, room := 0.0, 0.0
			for i, row := range candidates {
				own, elsewhere := false, false
				for _, w := range row {
					own = own || set&(1<<w) != 0
					elsewhere = elsewhere || left&^set&(1<<w) != 0
				}
				if own && !elsewhere {
					inside += cost[i]
				}
			}
			for w, c := range capacity {
				if set&(1<<w) != 0 {
					room += c
				}
			}
			if x := inside / room; x > rate+1e-12 || x > rate-1e-12 && set|best == set {
				best, rate = set, max(rate, x)
			}
		}
		for w, c := range capacity {
			if best&(1<<w) != 0 {
				loads[w] = rate * c
			}
		}
		left &^= best
	}
	return loads
}

// tinyLayout draws an interval, capacities and a layout.
func tinyLayout(r *rand.Rand) (*planner.Statistics, []float64, Layout) {
	l := Layout{Workers: 1 + r.IntN(6), Choices: 1 + r.IntN(3)}
	s := &planner.Statistics{Keys: planner.NewKeys(0)}
	for i := range 1 + r.IntN(10)*r.IntN(10) {
		key := fmt.Sprintf("k%d-%d", i, r.IntN(1000))
		s.Keys.Append([]byte(key))
		s.Cost = append(s.Cost, float64(r.IntN(10))*math.Pow(10, float64(r.IntN(2))))
		if r.IntN(5) == 0 {
			l.Head = append(l.Head, HeadKey{[]byte(key), 1 + r.IntN(l.Workers)})
		}
	}
	slices.SortFunc(l.Head, func(a, b HeadKey) int { return bytes.Compare(a.Key, b.Key) })
	capacity := make([]float64, l.Workers)
	for w := range capacity {
		capacity[w] = float64(1 + r.IntN(3))
	}
	return s, capacity, l
}

func rates(loads, capacity []float64) (most float64) {
	for w, x := range loads {
		most = max(most, x/capacity[w])
	}
	return most
}

// TestExpectAgainstLiteral: loads, the bound and what is counted are those of a literal
// implementation, and a bound is never above what there is.
func TestExpectAgainstLiteral(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for n := range 3000 {
		s, capacity, l := tinyLayout(r)
		got, err := l.Expect(s, capacity, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([][]int32, s.Len())
		keys, merges := make([]int64, l.Workers), make([]int64, l.Workers)
		for i := range rows {
			rows[i] = literalCandidates(l, string(s.Keys.At(i)))
			if own := l.Candidates().Append(nil, s.Keys.At(i)); !slices.Equal(own, rows[i]) {
				t.Fatalf("%d: candidates %v, not %v", n, own, rows[i])
			}
			for j, w := range rows[i] {
				keys[w]++
				merges[w] += int64(min(j, 1))
			}
		}
		want := literalLevel(rows, s.Cost, capacity)
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, b) }
		for w := range want {
			if !near(got.Loads[w], want[w]) {
				t.Fatalf("%d: loads %v, not %v, of %+v", n, got.Loads, want, l)
			}
		}
		if most := rates(want, capacity); !near(got.MostRate, most) || !near(got.BoundRate, most) ||
			got.BoundRate > most*(1+1e-12) || !slices.Equal(got.Keys, keys) || !slices.Equal(got.Merges, merges) {
			t.Fatalf("%d: %+v; greatest rate %g", n, got, most)
		}
	}
}

// TestReplanAgainstLiteral: a head that will do stays; a new one will do where any can; it
// has keys above the threshold alone, and none of them has fewer candidates than before.
func TestReplanAgainstLiteral(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	reached, failed, stayed := 0, 0, 0
	for n := range 3000 {
		s, capacity, l := tinyLayout(r)
		o := LayoutOptions{Scheme: []Scheme{DChoices, WChoices}[r.IntN(2)], ThetaMax: []float64{0, 0.1, 0.5}[r.IntN(3)]}
		total, room := 0.0, 0.0
		for _, c := range s.Cost {
			total += c
		}
		for _, c := range capacity {
			room += c
		}
		level := func(l Layout) float64 {
			rows := make([][]int32, s.Len())
			for i := range rows {
				rows[i] = literalCandidates(l, string(s.Keys.At(i)))
			}
			return rates(literalLevel(rows, s.Cost, capacity), capacity)
		}
		limit := (1 + o.ThetaMax) * total / room * (1 + 1e-8)
		got, err := l.Replan(s, capacity, o)
		if err != nil {
			t.Fatal(err)
		}
		if level(l) <= limit/(1+1e-8)*(1+1e-10) {
			stayed++
			if !reflect.DeepEqual(got, l) {
				t.Fatalf("%d: %+v became %+v, though it would do", n, l, got)
			}
			continue
		}
		all := l // what more candidates can do at best
		all.Head = nil
		heavy := map[string]bool{}
		for i, c := range s.Cost {
			if key := s.Keys.At(i); c > total/float64(5*l.Workers) {
				heavy[string(key)] = true
				all.Head = append(all.Head, HeadKey{key, l.Workers})
			}
		}
		switch most := level(got); {
		case most <= limit:
			reached++
		case level(all) <= limit:
			t.Fatalf("%d: %+v leaves %g above %g, all candidates for %d heavy keys do not", n, got, most, limit, len(heavy))
		default:
			failed++
		}
		for i, k := range got.Head {
			if !heavy[string(k.Key)] || k.Choices <= min(l.Choices, l.Workers) ||
				i > 0 && bytes.Compare(got.Head[i-1].Key, k.Key) >= 0 {
				t.Fatalf("%d: head %v", n, got.Head)
			}
			for _, was := range l.Head {
				if bytes.Equal(was.Key, k.Key) && k.Choices < was.Choices {
					t.Fatalf("%d: %s had %d candidates, and has %d", n, k.Key, was.Choices, k.Choices)
				}
			}
		}
	}
	if reached < 50 || failed < 50 || stayed < 50 {
		t.Errorf("%d reached, %d could not be, %d stayed", reached, failed, stayed)
	}
}

// zipfInterval has n keys whose costs are as messages of Zipf's law.
func zipfInterval(n int, z float64, unit float64) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(n)}
	for i := range n {
		s.Keys.Append(fmt.Appendf(nil, "key-%d", i))
		s.Cost = append(s.Cost, unit*math.Ceil(1e6/math.Pow(float64(i+1), z)))
	}
	return s
}

// TestReplanIsCanonical: neither the order of the rows nor the unit of costs matters.
func TestReplanIsCanonical(t *testing.T) {
	a := zipfInterval(3000, 1.2, 1)
	b := &planner.Statistics{Keys: planner.NewKeys(a.Len())}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(a.Len()) {
		b.Keys.Append(a.Keys.At(i))
		b.Cost = append(b.Cost, a.Cost[i]*1024)
	}
	l, capacity := Layout{Workers: 24, Choices: 2}, slices.Repeat([]float64{1}, 24)
	o := LayoutOptions{Scheme: DChoices, ThetaMax: 0.05}
	x, err := l.Replan(a, capacity, o)
	y, err2 := l.Replan(b, capacity, o)
	if err != nil || err2 != nil || len(x.Head) == 0 || !reflect.DeepEqual(x, y) {
		t.Errorf("%+v and %+v, %v, %v", x, y, err, err2)
	}
	xs, _ := x.Expect(a, capacity, nil)
	ys, _ := y.Expect(b, capacity, nil)
	for w := range xs.Loads {
		if xs.Loads[w]*1024 != ys.Loads[w] {
			t.Fatalf("worker %d: %g and %g", w, xs.Loads[w], ys.Loads[w])
		}
	}
}

// TestReplanStops: planning ends when it is told to.
func TestReplanStops(t *testing.T) {
	s, l := zipfInterval(1000, 1.5, 1), Layout{Workers: 16, Choices: 2}
	for _, after := range []int{0, 5, 17, 33} {
		left := after
		stop := func() bool { left--; return left < 0 }
		_, err := l.Replan(s, slices.Repeat([]float64{1}, 16), LayoutOptions{Scheme: DChoices, Stop: stop})
		if !errors.Is(err, planner.ErrStopped) {
			t.Errorf("after %d questions: %v", after, err)
		}
	}
}

// TestRoutersKeepWhatIsExpected: routers that know nothing but what they have sent
// themselves come to the loads that are expected.
func TestRoutersKeepWhatIsExpected(t *testing.T) {
	const workers, routers, messages = 16, 5, 200_000
	s := zipfInterval(2000, 1.2, 1)
	capacity := slices.Repeat([]float64{1}, workers)
	for _, scheme := range []Scheme{DChoices, WChoices} {
		l, err := Layout{Workers: workers, Choices: 2}.Replan(s, capacity, LayoutOptions{Scheme: scheme, ThetaMax: 0.05})
		if err != nil || len(l.Head) == 0 {
			t.Fatal(l, err)
		}
		rows, upTo, total := make([][]int32, s.Len()), make([]float64, s.Len()), 0.0
		for i, c := range s.Cost {
			rows[i] = literalCandidates(l, string(s.Keys.At(i)))
			total += c
			upTo[i] = total
		}
		loads, own := make([]float64, workers), [routers][workers]int{}
		r := rand.New(rand.NewPCG(9, 9))
		for range messages {
			k, _ := slices.BinarySearch(upTo, r.Float64()*total)
			mine := &own[r.IntN(routers)]
			best := rows[k][0]
			for _, w := range rows[k] {
				if mine[w] < mine[best] {
					best = w
				}
			}
			mine[best]++
			loads[best]++
		}
		if theta := slices.Max(loads)/(messages/workers) - 1; theta > 0.06 {
			t.Errorf("%s: θ of %g, with the head %v", scheme, theta, l.Head)
		}
	}
}

// vectors are the candidates 0, 1, 2 and 3 of keys on five workers, as the guide lists
// them: routers are tested with these.
var vectors = []struct {
	key  string
	want []int32
}{
	{"airport", []int32{4, 1, 0, 2}},
	{"station", []int32{1, 2, 4, 3}},
	{"user:1", []int32{3, 1, 2, 0}},
	{"key", []int32{1, 2, 3, 4}},
	{"ü", []int32{4, 0, 2, 3}},
}

// TestVectors: the guide's candidates are those that plans are made with.
func TestVectors(t *testing.T) {
	guide, err := os.ReadFile("../../docs/partial-key-grouping.md")
	if err != nil {
		t.Fatal(err)
	}
	c := Layout{Workers: 5, Choices: 4}.Candidates()
	for _, v := range vectors {
		got := c.Append(nil, []byte(v.key))
		row := fmt.Sprintf("| `%s` | %s |\n", v.key, strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v.want), "[]")), ", "))
		if !slices.Equal(got, v.want) || !strings.Contains(string(guide), row) {
			t.Errorf("%s: %v; the guide should have %q", v.key, got, row)
		}
	}
}

package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

// naiveReport is a report before it is encoded.
type naiveReport struct {
	Report
	stats *planner.Statistics
}

func (n naiveReport) encoded() Report {
	r := n.Report
	r.Blob = EncodeReport(n.stats)
	return r
}

// naiveMerge merges by maps, as the documentation of MergeReports puts it.
func naiveMerge(reports []naiveReport, frozen []int32, place Place) (*Merged, error) {
	type line struct {
		naiveReport
		row int
	}
	byKey := map[string][]line{}
	names, rests := map[string]bool{}, map[string]map[int32]float64{} // amounts that have no row, by resource and instance
	out := &planner.Statistics{Keys: planner.NewKeys(0), Instance: []int32{}, Frozen: frozen}
	states := map[bool]bool{}
	homes := false
	for _, r := range reports {
		out.Partial = out.Partial || r.stats.Partial
		out.Residual = append(out.Residual, r.stats.Residual...)
		if r.Carried || r.Outdated {
			out.PartialOn = append(out.PartialOn, r.Instance)
		}
		if r.stats.Len() > 0 {
			states[r.stats.State != nil] = true
		}
		homes = homes || r.stats.HashInstance != nil
		for _, x := range r.stats.Costs {
			if names[x.Name] = true; rests[x.Name] == nil {
				rests[x.Name] = map[int32]float64{}
			}
			for i, rest := range x.Residual {
				rests[x.Name][r.stats.Residual[i].Instance] += rest
			}
		}
		for i := range r.stats.Len() {
			key := string(r.stats.Keys.At(i))
			byKey[key] = append(byKey[key], line{r, i})
		}
	}
	if len(states) == 2 {
		return nil, ErrMixedState
	}
	if states[true] {
		out.State = []float64{}
	}
	if homes {
		out.HashInstance = []int32{}
	}
	merged := &Merged{Statistics: out}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out.Costs = append(out.Costs, planner.Amounts{Name: name})
	}
	amount := func(l line, name string) float64 {
		for _, x := range l.stats.Costs {
			if x.Name == name {
				return x.Rows[l.row]
			}
		}
		return 0
	}
	keys := slices.SortedFunc(maps.Keys(byKey), func(a, b string) int {
		return cmp.Or(cmp.Compare(planner.KeyHash([]byte(a)), planner.KeyHash([]byte(b))), strings.Compare(a, b))
	})
	for _, key := range keys {
		lines := byKey[key]
		homeOf := func(lines []line) int32 {
			for _, l := range lines {
				if l.stats.HashInstance != nil && l.stats.HashInstance[l.row] != planner.NoInstance {
					return l.stats.HashInstance[l.row]
				}
			}
			return planner.NoInstance
		}
		placed := place([]byte(key), planner.KeyHash([]byte(key)), homeOf(lines))
		if slices.ContainsFunc(lines, func(l line) bool { return !l.Carried }) {
			lines = slices.DeleteFunc(lines, func(l line) bool { return l.Carried && l.Instance != placed })
		}
		home := homeOf(lines)
		placed = place([]byte(key), planner.KeyHash([]byte(key)), home)
		cost, state := 0.0, 0.0
		stateOf := func(l line) float64 {
			if l.stats.State == nil {
				return 1
			}
			return l.stats.State[l.row]
		}
		for _, l := range lines {
			cost += l.stats.Cost[l.row]
			state += stateOf(l)
		}
		reporters := map[int32]float64{}
		for _, l := range lines {
			reporters[l.Instance] = stateOf(l)
		}
		current := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.Outdated })
		at := planner.NoInstance
		if _, reported := reporters[placed]; reported && len(lines) > 1 {
			at = placed
		} else if len(current) > 0 {
			at = slices.MinFunc(current, func(a, b line) int {
				return cmp.Or(cmp.Compare(stateOf(b), stateOf(a)), cmp.Compare(a.Instance, b.Instance))
			}).Instance
		}
		_, named := reporters[placed]
		vague := slices.ContainsFunc(reports, func(r naiveReport) bool {
			return r.Instance == placed && (r.Carried || r.Outdated || r.stats.Partial)
		})
		if slices.Contains(frozen, placed) || vague && !named && len(current) > 0 {
			for _, l := range current {
				at := slices.IndexFunc(out.Residual, func(r planner.Residual) bool { return r.Instance == l.Instance })
				if at < 0 {
					at = len(out.Residual)
					out.Residual = append(out.Residual, planner.Residual{Instance: l.Instance})
				}
				out.Residual[at].Cost += l.stats.Cost[l.row]
				out.Residual[at].State += stateOf(l)
				out.Residual[at].Keys++
				for name := range names {
					rests[name][l.Instance] += amount(l, name)
				}
			}
			if len(current) > 0 {
				merged.Drifted++
			}
			continue
		}
		// NewSnapshot counts a key whose place is known to be another one.
		if len(lines) > 1 && (at == planner.NoInstance || placed == planner.NoInstance || at == placed) {
			merged.Drifted++
		}
		shares, costs := map[int32]float64{}, map[int32]float64{}
		for _, l := range lines {
			costs[l.Instance] += l.stats.Cost[l.row]
			if l.Instance == at || !l.Outdated {
				shares[l.Instance] += stateOf(l)
			} else if out.State != nil {
				shares[at] += stateOf(l)
			}
		}
		if len(shares) > 1 {
			for _, id := range slices.Sorted(maps.Keys(shares)) {
				out.Shares = append(out.Shares, planner.Share{
					Row: int32(out.Keys.Len()), Instance: id, State: shares[id], Idle: costs[id] == 0,
				})
			}
		}
		out.Keys.Append([]byte(key))
		out.Cost, out.Instance = append(out.Cost, cost), append(out.Instance, at)
		for i := range out.Costs {
			sum := 0.0
			for _, l := range lines {
				sum += amount(l, out.Costs[i].Name)
			}
			out.Costs[i].Rows = append(out.Costs[i].Rows, sum)
		}
		if out.State != nil {
			out.State = append(out.State, state)
		}
		if out.HashInstance != nil {
			out.HashInstance = append(out.HashInstance, home)
		}
	}
	slices.SortFunc(out.Residual, func(a, b planner.Residual) int { return cmp.Compare(a.Instance, b.Instance) })
	for i, x := range out.Costs {
		for _, rest := range out.Residual {
			out.Costs[i].Residual = append(out.Costs[i].Residual, rests[x.Name][rest.Instance])
		}
	}
	return merged, nil
}

// drawReports draws reports of up to six instances over few keys, and where a
// table puts each.
func drawReports(r *rand.Rand) (reports []naiveReport, frozen []int32, place Place) {
	resources := r.IntN(3)
	withState, mixed, homes := r.IntN(2) == 0, r.IntN(20) == 0, r.IntN(4) == 0
	universe := 1 + r.IntN(30)
	for d := range int32(1 + r.IntN(6)) {
		if r.IntN(5) == 0 {
			frozen = append(frozen, 3*d)
			continue
		}
		n := naiveReport{Report{Instance: 3 * d, Carried: r.IntN(4) == 0, Outdated: r.IntN(4) == 0},
			&planner.Statistics{Keys: planner.NewKeys(0)}}
		s := n.stats
		has := withState != (mixed && r.IntN(3) == 0)
		if has {
			s.State = []float64{}
		}
		if homes && r.IntN(3) > 0 {
			s.HashInstance = []int32{}
		}
		for _, k := range r.Perm(universe)[:r.IntN(universe+1)] {
			s.Keys.Append(fmt.Appendf(nil, "key %d", k))
			s.Cost = append(s.Cost, float64(r.IntN(5)*r.IntN(1<<20))/1024) // sums are exact, in any order
			if has {
				s.State = append(s.State, float64(r.IntN(3)))
			}
			if s.HashInstance != nil {
				s.HashInstance = append(s.HashInstance, int32(r.IntN(4))-1)
			}
		}
		if r.IntN(4) == 0 {
			s.Partial, s.Residual = true, []planner.Residual{{Instance: 3 * d, Cost: float64(r.IntN(8)), State: 2, Keys: 5}}
		}
		for i := range resources {
			if r.IntN(3) > 0 {
				s.Costs = append(s.Costs, drawAmounts(r, []string{"network", "cpu"}[i], s))
			}
		}
		reports = append(reports, n)
	}
	salt := r.Uint64()
	return reports, frozen, func(_ []byte, hash uint64, home int32) int32 {
		if home != planner.NoInstance && salt%3 == 0 {
			return 3 * home
		}
		if d := int32((hash ^ salt) % 8); d < 7 {
			return 3 * d
		}
		return planner.NoInstance
	}
}

func drawAmounts(r *rand.Rand, name string, s *planner.Statistics) planner.Amounts {
	x := planner.Amounts{Name: name, Rows: []float64{}}
	for range s.Len() {
		x.Rows = append(x.Rows, float64(r.IntN(9)))
	}
	if r.IntN(2) == 0 {
		for range s.Residual {
			x.Residual = append(x.Residual, float64(r.IntN(9)))
		}
	}
	return x
}

func nowhere([]byte, uint64, int32) int32 { return planner.NoInstance }

func checkMerge(t *testing.T, reports []naiveReport, frozen []int32, place Place) {
	t.Helper()
	encoded := make([]Report, len(reports))
	for i, r := range reports {
		encoded[i] = r.encoded()
	}
	got, err := MergeReports(t.Context(), encoded, frozen, place)
	want, refused := naiveMerge(reports, frozen, place)
	if refused != nil || err != nil {
		if !errors.Is(err, refused) {
			t.Fatalf("error %v, want %v", err, refused)
		}
		return
	}
	inputtest.SameStatistics(t, "merged", got.Statistics, want.Statistics)
	if !slices.Equal(got.Shares, want.Shares) {
		t.Fatalf("shares %v, want %v", got.Shares, want.Shares)
	}
	if !slices.Equal(got.PartialOn, want.PartialOn) || !slices.Equal(got.Frozen, want.Frozen) ||
		got.Drifted != want.Drifted {
		t.Fatalf("partial on %v, frozen %v, %d drifted; want %v, %v, %d", got.PartialOn, got.Frozen, got.Drifted,
			want.PartialOn, want.Frozen, want.Drifted)
	}
}

func TestMergeAgreesWithMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 4_000 {
		reports, frozen, place := drawReports(r)
		checkMerge(t, reports, frozen, place)
	}
}

func FuzzMerge(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed*seed)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		reports, frozen, place := drawReports(rand.New(rand.NewPCG(a, b)))
		checkMerge(t, reports, frozen, place)
	})
}

// TestMergeOfManyBlocks: reports of several blocks come together in order, keys
// of all lengths and with equal costs told apart.
func TestMergeOfManyBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var reports []naiveReport
	for d := range int32(5) {
		s := &planner.Statistics{Keys: planner.NewKeys(0), State: []float64{}}
		for k := range 20_000 {
			if r.IntN(4) == 0 {
				s.Keys.Append(fmt.Appendf(nil, "%d%s", k, strings.Repeat("x", r.IntN(40))))
				s.Cost, s.State = append(s.Cost, 1), append(s.State, float64(r.IntN(100)))
			}
		}
		s.Keys.Append([]byte(strings.Repeat("long", 256)))
		s.Cost, s.State = append(s.Cost, math.MaxInt64), append(s.State, 5e-324)
		reports = append(reports, naiveReport{Report{Instance: d}, s})
	}
	checkMerge(t, reports, nil, func(_ []byte, hash uint64, _ int32) int32 { return int32(hash % 5) })
}

func reportOf(instance int32, rows ...inputtest.Row) naiveReport {
	s := inputtest.StatisticsOf(rows)
	s.Instance = nil
	return naiveReport{Report{Instance: instance}, s}
}

func TestMergeRefuses(t *testing.T) {
	merge := func(ctx context.Context, reports ...Report) error {
		_, err := MergeReports(ctx, reports, nil, func([]byte, uint64, int32) int32 { return 0 })
		return err
	}
	great := reportOf(0, inputtest.Row{Key: "a", Cost: planner.MaxAmount, State: 1}).encoded()
	more := reportOf(1, inputtest.Row{Key: "a", Cost: planner.MaxAmount / 2, State: 1}).encoded()
	var refused *problem.Error
	if err := merge(t.Context(), great, more); !errors.As(err, &refused) || refused.Kind != problem.Invalid ||
		!strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a sum that is too great: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := merge(ended, great); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	broken := more
	broken.Blob = slices.Clone(more.Blob)
	broken.Blob[len(broken.Blob)-1] ^= 1
	if err := merge(t.Context(), great, broken); !errors.Is(err, blob.ErrCorrupt) ||
		!strings.Contains(err.Error(), "instance 1") {
		t.Errorf("a corrupt report: %v", err)
	}
	if err := merge(t.Context()); err != nil {
		t.Error(err)
	}
}

// FuzzReport: whatever passes the checksum is refused or has distinct rows in
// order.
func FuzzReport(f *testing.F) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(40))
	s.HashInstance, s.Partial, s.Residual = s.Instance, true, []planner.Residual{{Instance: 1, Cost: 2}}
	encoded := EncodeReport(s)
	f.Add(encoded)
	f.Add(encoded[blob.HeaderBytes:])
	unsorted := blob.NewWriter(reportMagic)
	unsorted.Number(0)
	unsorted.Number(2)
	blob.WriteList(unsorted, nil, blob.Residuals)
	order := hashOrder(s.Keys)
	writeBlock(unsorted, &planner.Statistics{Keys: s.Keys, Cost: s.Cost}, 0, []int32{order[1], order[0]}, 100)
	f.Add(unsorted.Finish())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("long")
		}
		for _, encoded := range inputtest.Sealed(reportMagic, data) {
			m, err := MergeReports(t.Context(), []Report{{Instance: 1, Blob: encoded}}, nil, nowhere)
			var refused *problem.Error
			switch {
			case errors.Is(err, blob.ErrCorrupt), errors.As(err, &refused):
				continue
			case err != nil:
				t.Fatal(err)
			}
			for i := 1; i < m.Len(); i++ {
				if h, g := m.Keys.Hash(i-1), m.Keys.Hash(i); h > g || h == g && string(m.Keys.At(i-1)) >= string(m.Keys.At(i)) {
					t.Fatalf("%q: rows %d and %d", encoded, i-1, i)
				}
			}
		}
	})
}

func TestReportOutOfOrderIsCorrupt(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(3))
	order := hashOrder(s.Keys)
	for _, rows := range [][]int32{{order[1], order[0], order[2]}, {order[0], order[1], order[1]}} {
		for cut := range rows { // also from block to block
			w := blob.NewWriter(reportMagic)
			w.Number(0)
			w.Number(len(rows))
			blob.WriteList(w, nil, blob.Residuals)
			plain := &planner.Statistics{Keys: s.Keys, Cost: s.Cost}
			if cut > 0 {
				writeBlock(w, plain, 0, rows[:cut], 100)
			}
			writeBlock(w, plain, 0, rows[cut:], 100)
			if _, err := MergeReports(t.Context(), []Report{{Blob: w.Finish()}}, nil, nil); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("rows %v cut at %d: %v", rows, cut, err)
			}
		}
	}
}

// BenchmarkMerge merges a million rows of 40 reports, and beside it decodes the
// same rows and sorts them all.
func BenchmarkMerge(b *testing.B) {
	const rows, instances = 1e6, 40
	parts := make([][]inputtest.Row, instances)
	for _, r := range inputtest.ZipfRows(rows) {
		parts[r.Instance] = append(parts[r.Instance], r)
	}
	var reports []Report
	var inputs [][]byte
	size := 0
	for d, part := range parts {
		r := reportOf(int32(d), part...)
		reports = append(reports, r.encoded())
		inputs = append(inputs, stored.EncodeInputUntil(r.stats, nil, func() bool { return false }))
		size += len(reports[d].Blob)
	}
	place := func(_ []byte, hash uint64, _ int32) int32 { return int32(hash % instances) }
	per := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	}
	b.Run("merge/keys=1e6/reports=40", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if m, err := MergeReports(b.Context(), reports, nil, place); err != nil || m.Len() != rows {
				b.Fatal(m, err)
			}
		}
		per(b)
		b.ReportMetric(float64(size)/rows, "stored_B/row")
	})
	b.Run("sort/keys=1e6/reports=40", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all := &planner.Statistics{Keys: planner.NewKeys(rows)}
			for d, input := range inputs {
				s, _, err := stored.DecodeInput(input)
				if err != nil {
					b.Fatal(err)
				}
				for i := range s.Len() {
					all.Keys.Append(s.Keys.At(i))
					all.Instance = append(all.Instance, int32(d))
				}
				all.Cost, all.State = append(all.Cost, s.Cost...), append(all.State, s.State...)
			}
			if len(hashOrder(all.Keys)) != rows {
				b.Fatal(all)
			}
		}
		per(b)
	})
	b.Run("encode/keys=25e3", func(b *testing.B) {
		s := reportOf(0, parts[0]...).stats
		b.ReportAllocs()
		for b.Loop() {
			EncodeReport(s)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.Len()), "ns/row")
	})
}

// TestAmountsAreSeen: a migration that removes what older programs cannot read finds amounts of resources by
// the flags behind the header.
func TestAmountsAreSeen(t *testing.T) {
	s := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, Partial: true}
	plain := EncodeReport(s)
	s.Costs = []planner.Amounts{{Name: "memory", Rows: []float64{1}}}
	if report := EncodeReport(s); string(report[:4]) != "PLRP" || report[9] < 8 || report[9] > 15 || plain[9] >= 8 {
		t.Errorf("% x, % x", report[:12], plain[:12])
	}
}

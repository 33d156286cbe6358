package ranges

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
)

// fataler is what rapid and testing have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

// findSlowly goes through all intervals.
func findSlowly(o Owners, key []byte) int32 {
	for i := range o {
		if o.Interval(i).Contains(key) {
			return o[i].Follower
		}
	}
	return Nobody
}

// recount checks all figures of a division against sums over all keys, and its
// lists against each other.
func recount(t fataler, s stream, before Owners, p *Division) {
	t.Helper()
	total := float64(max(1, s.total()))
	if err := p.After.Validate(); err != nil || len(p.After) == 0 {
		t.Fatalf("owners after: %v", err)
	}
	if !p.Before.equal(before) {
		t.Fatalf("owners before were %v", p.Before)
	}
	index := map[int32]int{}
	for i, f := range p.Followers {
		index[f.ID] = i
	}
	loadBefore, loadAfter := make([]int64, len(p.Followers)), make([]int64, len(p.Followers))
	in, out := make([]int64, len(p.Followers)), make([]int64, len(p.Followers))
	moved := int64(0)
	for i, w := range s.weights {
		key := s.keys.At(i)
		to := index[findSlowly(p.After, key)]
		loadAfter[to] += w
		if len(before) == 0 {
			continue
		}
		from := index[findSlowly(before, key)]
		loadBefore[from] += w
		if from != to {
			moved += w
			in[to] += w
			out[from] += w
		}
	}
	if !near(p.Moved, float64(moved)/total) {
		t.Fatalf("moved %g, recounted %g", p.Moved, float64(moved)/total)
	}
	recountLoads(t, p, total, loadBefore, loadAfter, in, out)
	recountTransfers(t, s, p, total, index)
	for i, f := range p.Followers {
		empty := slices.ContainsFunc(p.Empty, func(e Empty) bool { return e.Follower == f.ID })
		if empty != (f.stays() && loadAfter[i] == 0) {
			t.Fatalf("follower %d has %d, called empty: %v", f.ID, loadAfter[i], empty)
		}
	}
}

func recountLoads(t fataler, p *Division, total float64, before, after, in, out []int64) {
	t.Helper()
	capacity, staying, sum, most := 0.0, 0, int64(0), int64(0)
	for i, f := range p.Followers {
		if f.stays() {
			capacity += f.capacity()
			staying++
			sum += after[i]
			most = max(most, after[i])
		}
	}
	theta, underload, balanced := planner.Comparison{}, planner.Comparison{}, true
	for i, f := range p.Followers {
		l := p.Loads[i]
		if !near(l.Before, float64(before[i])/total) || !near(l.After, float64(after[i])/total) ||
			!near(l.In, float64(in[i])/total) || !near(l.Out, float64(out[i])/total) {
			t.Fatalf("follower %d: %+v; recounted %d, %d, in %d, out %d of %g", f.ID, l, before[i], after[i], in[i],
				out[i], total)
		}
		if l.IntervalsBefore != len(p.Before.of(f.ID)) || l.IntervalsAfter != len(p.After.of(f.ID)) {
			t.Fatalf("follower %d: %d and %d intervals", f.ID, l.IntervalsBefore, l.IntervalsAfter)
		}
		if !f.stays() {
			if l.IntervalsAfter > 0 || l.Fair != 0 {
				t.Fatalf("follower %d has something after it went", f.ID)
			}
			continue
		}
		if p.Options.Method == MinMovement && l.IntervalsAfter > p.Options.MaxIntervals || p.Options.Method == Quantile &&
			l.IntervalsAfter > 1 {
			t.Fatalf("follower %d has %d intervals", f.ID, l.IntervalsAfter)
		}
		fair := f.capacity() / capacity
		if !near(l.Fair, fair) || !near(l.Max, fair*(1+p.Options.ThetaMax)) {
			t.Fatalf("follower %d: fair share %g, want %g", f.ID, l.Fair, fair)
		}
		if sum > 0 {
			theta.Before, theta.After = max(theta.Before, l.Before/fair-1), max(theta.After, l.After/fair-1)
			underload.Before, underload.After = max(underload.Before, 1-l.Before/fair), max(underload.After, 1-l.After/fair)
		}
		balanced = balanced && l.After <= l.Max*(1+1e-9)
	}
	skewness := 1.0
	if sum > 0 {
		skewness = float64(most) * float64(staying) / float64(sum)
	}
	if !near(p.Theta.Before, theta.Before) || !near(p.Theta.After, theta.After) ||
		!near(p.Underload.Before, underload.Before) ||
		!near(p.Underload.After, underload.After) || p.Balanced != balanced || !near(p.Skewness.After, skewness) {
		t.Fatalf("θ %v, underload %v, skewness %v, balanced %v; recounted %v, %v, %g, %v",
			p.Theta, p.Underload, p.Skewness, p.Balanced, theta, underload, skewness, balanced)
	}
}

func recountTransfers(t fataler, s stream, p *Division, total float64, index map[int32]int) {
	t.Helper()
	sent, lost := 0.0, 0.0
	for i, x := range p.Transfers {
		if i > 0 && bytes.Compare(p.Transfers[i-1].Interval.Low, x.Interval.Low) >= 0 {
			t.Fatalf("transfers %d and %d are out of order", i-1, i)
		}
		w := int64(0)
		for k := range s.weights {
			if x.Interval.Contains(s.keys.At(k)) {
				w += s.weights[k]
			}
		}
		if !near(x.Share, float64(w)/total) {
			t.Fatalf("%+v: recounted %g", x, float64(w)/total)
		}
		source := x.From
		if p.Followers[index[x.From]].Status == Crashed {
			source = replicaSlowly(p.Followers, index[x.From])
		}
		if x.Source != source {
			t.Fatalf("%+v: source should be %d", x, source)
		}
		if source == Nobody {
			lost += x.Share
		} else if source != x.To {
			sent += x.Share
		}
	}
	if !near(p.Sent, sent) || !near(p.Lost, lost) {
		t.Fatalf("sent %g, lost %g; recounted %g, %g", p.Sent, p.Lost, sent, lost)
	}
	if len(p.Before) == 0 {
		return
	}
	checkTransfers(t, p)
}

// checkTransfers demands that transfers do not overlap, and lead from the owners before to those
// after: owners change at the ends of intervals alone.
func checkTransfers(t fataler, p *Division) {
	var lows [][]byte
	for _, x := range slices.Concat(p.Before, p.After) {
		lows = append(lows, x.Low)
	}
	for _, x := range p.Transfers {
		if !below(x.Interval.Low, x.Interval.High) {
			t.Fatalf("%+v is empty", x)
		}
		lows = append(lows, x.Interval.Low, x.Interval.High)
	}
	for _, low := range lows {
		owner, _ := p.Before.Find(low)
		moved := false
		for _, x := range p.Transfers {
			if !x.Interval.Contains(low) {
				continue
			}
			if moved || x.From != owner {
				t.Fatalf("%+v is of another than %d, or overlaps", x, owner)
			}
			moved, owner = true, x.To
		}
		if to, _ := p.After.Find(low); to != owner {
			t.Fatalf("the transfers lead %q to %d, not to %d", low, owner, to)
		}
	}
}

// of are the intervals of a follower, in order.
func (o Owners) of(follower int32) (own []Interval) {
	for i, x := range o {
		if x.Follower == follower {
			own = append(own, o.Interval(i))
		}
	}
	return own
}

// replicaSlowly is the next of the followers there were, i+1 modulo their number.
func replicaSlowly(followers []Follower, of int) int32 {
	were, place := []Follower{}, 0
	for i, f := range followers {
		if i == of {
			place = len(were)
		}
		if f.Status != Joined {
			were = append(were, f)
		}
	}
	next := were[(place+1)%len(were)]
	if next.Status == Crashed {
		return Nobody
	}
	return next.ID
}

// drawOwners draws a division among the followers that were there before, with
// borders at keys and elsewhere.
func drawOwners(t *rapid.T, s stream, followers []Follower) Owners {
	var were []int32
	for _, f := range followers {
		if f.Status != Joined {
			were = append(were, f.ID)
		}
	}
	if len(were) == 0 {
		return nil
	}
	lows := [][]byte{{}}
	for range rapid.IntRange(0, 8).Draw(t, "borders") {
		if s.keys.Len() > 0 && rapid.Bool().Draw(t, "at a key") {
			lows = append(lows, s.keys.At(rapid.IntRange(0, s.keys.Len()-1).Draw(t, "key")))
		} else {
			lows = append(lows, rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 255}), 1, 6).Draw(t, "border"))
		}
	}
	slices.SortFunc(lows, bytes.Compare)
	var o Owners
	for _, low := range slices.CompactFunc(lows, bytes.Equal) {
		o = o.appendOwner(low, rapid.SampledFrom(were).Draw(t, "owner"))
	}
	return o
}

func drawFollowers(t *rapid.T, most int) []Follower {
	ids := rapid.SliceOfNDistinct(rapid.Int32Range(0, 50), 1, most, rapid.ID).Draw(t, "ids")
	f := make([]Follower, len(ids))
	for i, id := range ids {
		f[i] = Follower{ID: id, Status: rapid.SampledFrom([]Status{Live, Live, Live, Joined, Left, Crashed}).
			Draw(t, "status")}
		if rapid.Bool().Draw(t, "unequal") {
			f[i].Capacity = float64(rapid.IntRange(1, 8).Draw(t, "capacity")) / 2
		}
	}
	f[rapid.IntRange(0, len(f)-1).Draw(t, "stays")].Status = Live
	return f
}

func drawOptions(t *rapid.T) Options {
	return Options{
		Method:       rapid.SampledFrom([]Method{Quantile, MinMovement, MinMovement}).Draw(t, "method"),
		ThetaMax:     rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.5}).Draw(t, "theta_max"),
		MaxIntervals: rapid.SampledFrom([]int{1, 2, 3, 32}).Draw(t, "max_intervals"),
	}
}

func TestFiguresAgreeWithARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		followers := drawFollowers(t, 7)
		owners := drawOwners(t, s, followers)
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		given, present := slices.Clone(followers), slices.Clone(owners)
		p, err := Divide(c, owners, followers, drawOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(given, followers) || !present.equal(owners) {
			t.Fatal("the input was changed")
		}
		recount(t, s, owners, p)
	})
}

// Many followers, torn intervals, and some keys that outweigh the rest.
func TestFiguresOfLargerCases(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 3))
		z := rand.NewZipf(rng, 1.05+rng.Float64(), 1, 1<<20)
		s := stream{keys: planner.NewKeys(0)}
		for range 300 {
			s.keys.Append(binary.BigEndian.AppendUint32(nil, rng.Uint32()))
			s.weights = append(s.weights, int64(z.Uint64()))
		}
		followers := followersOf(2 + rng.IntN(40))
		for i := range followers {
			followers[i].Status = []Status{Live, Live, Live, Live, Joined, Left, Crashed}[rng.IntN(7)]
			followers[i].Capacity = []float64{0, 0, 0.5, 3}[rng.IntN(4)]
		}
		followers[0].Status, followers[1].Status = Live, Left
		var owners Owners
		for i, step := 0, 1+rng.Uint32N(1<<28); i < 120 && uint64(i)*uint64(step) < 1<<32; i++ {
			owner := rng.IntN(len(followers))
			if followers[owner].Status == Joined {
				owner = 1
			}
			low := binary.BigEndian.AppendUint32(nil, uint32(i)*step)
			if i == 0 {
				low = []byte{}
			}
			owners = owners.appendOwner(low, followers[owner].ID)
		}
		c := s.cdf(t)
		for _, o := range []Options{{Method: Quantile}, {}, {MaxIntervals: 1}, {MaxIntervals: 3, ThetaMax: 0.1},
			{ThetaMax: 0.5}} {
			recount(t, s, owners, mustPlan(t, c, owners, followers, o))
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	c := even(10).cdf(t)
	two := []Follower{{ID: 1}, {ID: 2}}
	for name, try := range map[string]struct {
		owners    Owners
		followers []Follower
		o         Options
	}{
		"method":          {nil, two, Options{Method: "best"}},
		"theta":           {nil, two, Options{ThetaMax: math.NaN()}},
		"intervals":       {nil, two, Options{MaxIntervals: -1}},
		"nobody":          {nil, nil, Options{}},
		"nobody stays":    {Owners{{nil, 1}}, []Follower{{ID: 1, Status: Left}}, Options{}},
		"twice":           {nil, []Follower{{ID: 1}, {ID: 1}}, Options{}},
		"negative id":     {nil, []Follower{{ID: -1}}, Options{}},
		"capacity":        {nil, []Follower{{ID: 1, Capacity: math.Inf(1)}}, Options{}},
		"status":          {nil, []Follower{{ID: 1, Status: "gone"}}, Options{}},
		"unknown owner":   {Owners{{nil, 3}}, two, Options{}},
		"first border":    {Owners{{[]byte("a"), 1}}, two, Options{}},
		"too many":        {nil, make([]Follower, MaxFollowers+1), Options{}},
		"too torn":        {make(Owners, MaxOwners+1), two, Options{}},
		"order":           {Owners{{nil, 1}, {[]byte("b"), 2}, {[]byte("b"), 1}}, two, Options{}},
		"same neighbours": {Owners{{nil, 1}, {[]byte("b"), 1}}, two, Options{}},
	} {
		var input *planner.InputError
		if _, err := Divide(c, try.owners, try.followers, try.o); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// equal reports whether two divisions are the same.
func (o Owners) equal(p Owners) bool {
	return slices.EqualFunc(o, p, func(a, b Owner) bool {
		return a.Follower == b.Follower && bytes.Equal(a.Low, b.Low)
	})
}

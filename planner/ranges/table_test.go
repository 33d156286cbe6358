package ranges

import (
	"math"
	"slices"
	"testing"
)

// The proposal's own figures: one follower that becomes two, two that become three,
// and the limits.
func TestFormulas(t *testing.T) {
	for _, x := range []struct{ got, want float64 }{
		{JoinShare(1, 0), 1. / 2}, {JoinShare(1, 1), 1. / 3}, {JoinShare(2, 0), 1. / 2}, {JoinShare(25, 25), 52. / 204},
		{JoinShare(50, 0), 1. / 2}, {LeaveShare(0, 1), 1. / 2}, {LeaveShare(1, 1), 1. / 3}, {LeaveShare(49, 0), 1. / 2},
	} {
		if math.Abs(x.got-x.want) > 1e-15 {
			t.Errorf("%g, want %g", x.got, x.want)
		}
	}
}

// The proposal's formulas at every place for 1 to 50 followers, on real keys:
// exactly planned, and planned by a sketch but measured by all keys.
func TestTableOnRealKeys(t *testing.T) {
	for _, s := range summed(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			checkTable(t, s.cdf(t), 50)
		})
	}
}

func checkTable(t *testing.T, c *CDF, n int) {
	t.Helper()
	rows := tableOf(t, c, n)
	if len(rows) != n*(n+1)+n-1 {
		t.Fatalf("%d rows", len(rows))
	}
	atom := c.share(c.heaviest)
	var quantile, join, leave []float64 // by how much they are off
	for _, r := range rows {
		if math.Abs(r.Quantile-r.Formula) > r.Slack+1e-9 {
			t.Errorf("%+v", r)
		}
		// Beside the formula: what the shares are off to begin with, and half a key at
		// each end of a transfer.
		off := math.Abs(r.MinMovement - r.Least)
		if allowed := c.slack(r.Followers) + float64(r.Transfers)*atom; off > allowed+1e-9 {
			t.Errorf("least movement %+v, allowed %g", r, allowed)
		}
		// All keys known, a join moves what it has to but for one of them.
		if gap := math.Abs(r.MinMovement - r.LowerBound); r.Status == Joined && gap > atom {
			t.Errorf("least movement %+v, off its bound by %g", r, gap)
		}
		quantile = append(quantile, math.Abs(r.Quantile-r.Formula))
		if r.Status == Joined {
			join = append(join, off)
		} else {
			leave = append(leave, off)
		}
	}
	half := func(x []float64) (median, most float64) {
		slices.Sort(x)
		return x[len(x)/2], x[len(x)-1]
	}
	for what, x := range map[string][]float64{"quantiles": quantile, "least movement, joins": join,
		"least movement, leaves": leave} {
		median, most := half(x)
		if median > atom {
			t.Errorf("%s: off by %g in the median", what, median)
		}
		t.Logf("heaviest key %.4f: %s off by %.5f, at most %.5f", atom, what, median, most)
	}
}

// With next to no atoms the formulas come out to four digits, and least movement
// as well, up to the greatest number of followers.
func TestTableOnEvenKeys(t *testing.T) {
	c := even(1 << 20).cdf(t)
	rows := tableOf(t, c, 24)
	for _, r := range rows {
		if math.Abs(r.Quantile-r.Formula) > 1e-4 || math.Abs(r.MinMovement-r.Least) > 1e-4 ||
			r.Intervals > DefaultMaxIntervals {
			t.Errorf("%+v", r)
		}
	}
}

// With one interval each the least movement of a join is that of the best place.
func TestOneIntervalEachMovesWhatTheMiddleDoes(t *testing.T) {
	c := even(1 << 20).cdf(t)
	for n := 1; n <= 40; n++ {
		before := mustPlan(t, c, nil, followersOf(n), Options{}).After
		p := mustPlan(t, c, before, append(followersOf(n), Follower{ID: 99, Status: Joined}), Options{MaxIntervals: 1})
		if want := JoinShare(n/2, n-n/2); math.Abs(p.Moved-want) > 1e-3 || p.Theta.After > 1e-3 {
			t.Errorf("n=%d: moves %.5f, want %.5f; θ %.5f", n, p.Moved, want, p.Theta.After)
		}
	}
}

// row is one change of n followers of equal capacity, each of which owns one interval, cut by
// quantiles, beforehand: a join or a leave at a place. Shares are of the weight.
type row struct {
	Status    Status
	Followers int
	// Formula is JoinShare or LeaveShare, Quantile what the plan by quantiles moves. Slack is by how much
	// each border, old or new, is off its quantile, as keys cannot be split.
	Formula, Quantile, Slack float64
	// Least is what has to move if every key weighs next to nothing, MinMovement what the plan of least
	// movement moves that may leave as much imbalance, and LowerBound that of this plan.
	Least, MinMovement, LowerBound float64
	Transfers, Intervals           int
}

// tableOf plans every join of one follower to 1…n others, at every place, and every leave of one of 2…n.
func tableOf(t *testing.T, c *CDF, most int) (rows []row) {
	t.Helper()
	change := func(n, after int, start Owners, followers []Follower, r row) {
		r.Followers, r.Slack = n, c.slack(n)+c.slack(after)
		quantile := mustPlan(t, c, start, followers, Options{Method: Quantile})
		least := mustPlan(t, c, start, followers, Options{Method: MinMovement, ThetaMax: quantile.Theta.After})
		r.Quantile, r.MinMovement, r.LowerBound = quantile.Moved, least.Moved, least.LowerBound
		r.Transfers = len(least.Transfers)
		for _, l := range least.Loads {
			r.Intervals = max(r.Intervals, l.IntervalsAfter)
		}
		rows = append(rows, r)
	}
	for n := 1; n <= most; n++ {
		followers := followersOf(n)
		start := mustPlan(t, c, nil, followers, Options{Method: Quantile}).After
		for i := range n + 1 {
			joined := slices.Insert(slices.Clone(followers), i, Follower{ID: 1000, Status: Joined})
			change(n, n+1, start, joined, row{Status: Joined, Formula: JoinShare(i, n-i), Least: 1 / float64(n+1)})
		}
		for i := 0; i < n && n > 1; i++ {
			left := slices.Clone(followers)
			left[i].Status = Left
			change(n, n-1, start, left, row{Status: Left, Formula: LeaveShare(i, n-1-i), Least: 1 / float64(n)})
		}
	}
	return rows
}

// slack is by how much the borders of n intervals are off their quantiles, all
// together.
func (c *CDF) slack(n int) (sum float64) {
	for i := 1; i < n && c.Total() > 0; i++ {
		q := float64(c.Total()) * float64(i) / float64(n)
		sum += math.Abs(float64(c.below[c.nearest(q)])-q)/float64(c.Total()) + c.Error()
	}
	return sum
}

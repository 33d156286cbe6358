package ranges

import (
	"cmp"
	"math"

	"plannerd/planner"
)

// DefaultMostFollowers is the number of followers up to which [Table] goes.
const DefaultMostFollowers = 50

// MaxMostFollowers bounds TableOptions.MostFollowers: a table has about the square
// of it in rows.
const MaxMostFollowers = 500

// TableOptions are the parameters of a [Table].
type TableOptions struct {
	// MostFollowers is the greatest number n of followers before a change, from 1 to
	// MaxMostFollowers. Defaults to DefaultMostFollowers.
	MostFollowers int
	// Stop is asked before each number of followers; true ends the table with
	// [planner.ErrStopped]. Nil: never.
	Stop func() bool
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o TableOptions) Validate() error {
	return planner.RequireWithin("MostFollowers", cmp.Or(o.MostFollowers, 1), 1, MaxMostFollowers)
}

// Row is one change of n followers of equal capacity, each of which owns one
// interval, cut by quantiles, beforehand. All figures but counts are shares of
// the weight.
type Row struct {
	Status    Status // Joined or Left
	Followers int    // n, before the change
	Left      int    // i, those listed before the follower that comes or goes
	Right     int    // j, those behind it
	// Formula is what a change by quantiles moves if every key weighs next to
	// nothing: [JoinShare] or [LeaveShare].
	Formula float64
	// Quantile is what the plan by quantiles moves. It differs from Formula by at
	// most Slack: by how much each border, old or new, is off its quantile because
	// keys cannot be split and because ranks are not exact.
	Quantile, Slack float64
	// Least is what has to move if every key weighs next to nothing: 1/(n+1) for a
	// join, 1/n for a leave.
	Least float64
	// MinMovement is what the plan of least movement moves, in so many Transfers,
	// with at most so many Intervals of one follower, if it may leave as much
	// imbalance as the one by quantiles does. LowerBound is that of the plan: Least,
	// but for how uneven the shares were to begin with.
	MinMovement, LowerBound float64
	Transfers, Intervals    int
}

// JoinShare is the share that a join moves by quantiles with i followers to the
// left and j to the right of the new one, if every key weighs next to nothing:
// [i(i+1)+j(j+1)] / [2n(n+1)], n = i+j ≥ 1 (Shuffler proposal).
func JoinShare(i, j int) float64 {
	n := i + j
	return float64(i*(i+1)+j*(j+1)) / float64(2*n*(n+1))
}

// LeaveShare is the share that a leave moves by quantiles with i followers to the
// left and j ≥ 0 to the right of the one that leaves, n = i+j+1 ≥ 2:
// [i(i+1)+j(j+1)] / [2n(n−1)].
func LeaveShare(i, j int) float64 {
	n := i + j + 1
	return float64(i*(i+1)+j*(j+1)) / float64(2*n*(n-1))
}

// Table plans every join of one follower to 1…n others, at every place, and every
// leave of one of 2…n, by quantiles and with least movement, and compares what
// moves with the formulas. Rows are by number of followers, joins before leaves,
// then by place.
func Table(c *CDF, o TableOptions) ([]Row, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MostFollowers == 0 {
		o.MostFollowers = DefaultMostFollowers
	}
	n := o.MostFollowers
	rows := make([]Row, 0, n*(n+1)+n)
	for n := 1; n <= o.MostFollowers; n++ {
		if o.Stop != nil && o.Stop() {
			return nil, planner.ErrStopped
		}
		more, err := c.changes(n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// changes makes the rows of n followers.
func (c *CDF) changes(n int) (rows []Row, err error) {
	followers := make([]Follower, n)
	for i := range followers {
		followers[i].ID = int32(i)
	}
	start, err := Divide(c, nil, followers, Options{Method: Quantile})
	if err != nil {
		return nil, err
	}
	for i := range n + 1 {
		joined := append(append(append([]Follower{}, followers[:i]...), Follower{ID: int32(n), Status: Joined}),
			followers[i:]...)
		r := Row{
			Status: Joined, Followers: n, Left: i, Right: n - i, Formula: JoinShare(i, n-i),
			Slack: c.slack(n) + c.slack(n+1), Least: 1 / float64(n+1),
		}
		if err := r.fill(c, start.After, joined); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	for i := 0; i < n && n > 1; i++ {
		left := append([]Follower{}, followers...)
		left[i].Status = Left
		r := Row{
			Status: Left, Followers: n, Left: i, Right: n - 1 - i, Formula: LeaveShare(i, n-1-i),
			Slack: c.slack(n) + c.slack(n-1), Least: 1 / float64(n),
		}
		if err := r.fill(c, start.After, left); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
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

func (r *Row) fill(c *CDF, before Owners, followers []Follower) error {
	quantile, err := Divide(c, before, followers, Options{Method: Quantile})
	if err != nil {
		return err
	}
	least, err := Divide(c, before, followers, Options{Method: MinMovement, ThetaMax: quantile.Theta.After})
	if err != nil {
		return err
	}
	r.Quantile, r.MinMovement = quantile.Moved, least.Moved
	r.LowerBound, r.Transfers = least.LowerBound, len(least.Transfers)
	for _, l := range least.Loads {
		r.Intervals = max(r.Intervals, l.IntervalsAfter)
	}
	return nil
}

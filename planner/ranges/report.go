package ranges

import (
	"math"

	"plannerd/planner"
)

// report describes a new division.
func (d *division) report(before Owners, after []segment) *Division {
	p := &Division{Options: d.o, Followers: d.followers, Before: before, After: d.owners(after)}
	p.Options.Stop = nil
	p.Loads = make([]FollowerLoad, len(d.followers))
	d.compare(after, func(from, to, low, high int) { d.addTransfer(p, from, to, low, high) })
	d.reportLoads(p, after)
	d.reportHeavy(p)
	d.reportEmpty(p, after)
	if len(p.Transfers) == 0 && p.Balanced {
		p.Causes = append(p.Causes, planner.CauseBalanced)
	} else if !p.Balanced {
		if len(p.HeavyKeys) > 0 {
			p.Causes = append(p.Causes, planner.CauseHotKey)
		}
		if len(p.Transfers) == 0 {
			p.Causes = append(p.Causes, planner.CauseNothingMovable)
		}
	}
	return p
}

func (d *division) owners(segments []segment) (o Owners) {
	for _, s := range segments {
		o = o.appendOwner(d.g.key(s.from), d.followers[s.owner].ID)
	}
	return o
}

// compare goes along both divisions at once and tells of every part that changes
// its owner.
func (d *division) compare(after []segment, tell func(from, to, low, high int)) {
	i, j := 0, 0
	for at := 0; at < d.g.len(); {
		end := min(d.end(d.before, i), d.end(after, j))
		from, to := d.before[i].owner, after[j].owner
		if from >= 0 && from != to && end > at {
			tell(from, to, at, end)
		}
		if d.end(d.before, i) == end {
			i++
		}
		if d.end(after, j) == end {
			j++
		}
		at = end
	}
}

func (d *division) addTransfer(p *Division, from, to, low, high int) {
	c := d.g.cdf
	t := Transfer{From: d.followers[from].ID, To: d.followers[to].ID, Interval: Interval{d.g.key(low), d.g.key(high)}}
	t.Share = c.share(d.g.weight(low, high))
	t.Source = d.source(from)
	switch t.Source {
	case Nobody:
		p.Lost += t.Share
	case t.To:
	default:
		p.Sent += t.Share
	}
	p.Moved += t.Share
	p.Loads[from].Out += t.Share
	p.Loads[to].In += t.Share
	p.Transfers = append(p.Transfers, t)
}

// source is who can send what a follower owns.
func (d *division) source(of int) int32 {
	if d.followers[of].Status != Crashed {
		return d.followers[of].ID
	}
	for step := 1; step < len(d.followers); step++ {
		switch f := d.followers[(of+step)%len(d.followers)]; f.Status {
		case Joined: // it was not there
		case Crashed:
			return Nobody
		default:
			return f.ID
		}
	}
	return Nobody
}

func (d *division) reportLoads(p *Division, after []segment) {
	c := d.g.cdf
	loads := d.loadsOf(after)
	intervalsBefore, intervalsAfter := d.intervals(d.before), d.intervals(after)
	total, staying := int64(0), 0
	mostBefore, mostAfter, sumBefore := int64(0), int64(0), int64(0)
	p.Balanced = true
	for i, f := range d.followers {
		l := &p.Loads[i]
		l.Before, l.After = c.share(d.loads[i]), c.share(loads[i])
		l.IntervalsBefore, l.IntervalsAfter = intervalsBefore[i], intervalsAfter[i]
		if !f.stays() {
			continue
		}
		l.Fair = d.part[i]
		l.Max = (1 + d.o.ThetaMax) * l.Fair
		l.Bound = l.Max
		p.Balanced = p.Balanced && !exceeds(loads[i], d.limit(i))
		mostBefore, mostAfter = max(mostBefore, d.loads[i]), max(mostAfter, loads[i])
		total, sumBefore = total+loads[i], sumBefore+d.loads[i]
		staying++
		overload(&p.Theta.Before, &p.Underload.Before, d.loads[i], d.fair[i])
		overload(&p.Theta.After, &p.Underload.After, loads[i], d.fair[i])
	}
	p.Skewness = planner.Comparison{Before: skewness(mostBefore, sumBefore, staying),
		After: skewness(mostAfter, total, staying)}
}

// overload takes one follower into the figures of imbalance.
func overload(theta, underload *float64, load int64, fair float64) {
	if fair == 0 {
		return
	}
	*theta = math.Max(*theta, float64(load)/fair-1)
	*underload = math.Max(*underload, 1-float64(load)/fair)
}

func skewness(most, sum int64, n int) float64 {
	if sum == 0 {
		return 1
	}
	return float64(most) / float64(sum) * float64(n)
}

func (d *division) reportEmpty(p *Division, after []segment) {
	c := d.g.cdf
	loads := d.loadsOf(after)
	sum := 0.0
	for i, f := range d.followers {
		if !f.stays() {
			continue
		}
		low := sum
		sum += d.part[i]
		if loads[i] > 0 {
			continue
		}
		e := Empty{Follower: f.ID}
		if d.o.Method == Quantile && c.Total() > 0 {
			e.Key, e.Share = c.covering(low, sum)
		}
		p.Empty = append(p.Empty, e)
	}
}

// covering returns the key whose weight covers the middle of a range of
// quantiles, which it does if no border was found within that range.
func (c *CDF) covering(low, high float64) (key []byte, share float64) {
	middle := (low + high) / 2 * float64(c.Total())
	i := c.nearest(middle)
	if i == c.Len() || float64(c.below[i]) > middle {
		i--
	}
	return c.Key(i), c.share(c.Weight(i))
}

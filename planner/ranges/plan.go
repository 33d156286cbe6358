package ranges

import (
	"math"

	"plannerd/planner"
)

// Nobody stands for a follower where there is none.
const Nobody int32 = -1

// Transfer is an interval that changes its owner.
type Transfer struct {
	From, To int32 // IDs of the old and the new owner
	// Source is the follower that sends it: From, or after a crash its replica, the
	// next follower in the order of the list that was there before. It is To when
	// the replica becomes the owner and nothing has to be sent, and Nobody when the
	// replica crashed as well and the data is lost.
	Source   int32
	Interval Interval
	Share    float64 // of the weight, by the CDF
	// Cost and State are sums over the keys in the interval, and Keys is their
	// number; only [DivideKeys] fills them in.
	Cost, State float64
	Keys        int64
}

// FollowerLoad is what a division does to one follower. Shares are parts of the whole weight.
type FollowerLoad struct {
	Fair                            float64 // κ over Σκ of those that stay; 0 for one that does not
	Max                             float64 // (1+θ_max)·Fair
	Bound                           float64 // Max, or more if a key heavier than every Max is placed here
	Before, After                   float64
	IntervalsBefore, IntervalsAfter int
	In, Out                         float64 // shares received and given away
	// Cost, state in the units of the keys, and numbers of keys; only [DivideKeys]
	// fills them in.
	CostBefore, CostAfter float64
	StateIn, StateOut     float64
	KeysBefore, KeysAfter int64
}

// Empty is a follower that stays and gets no known key.
type Empty struct {
	Follower int32
	// Key is the key whose weight covers all of the follower's quantile range; nil
	// if there is none, or the method has no such ranges.
	Key   []byte
	Share float64 // of Key
}

// HeavyKey is a key that weighs more than every follower's Max: no division
// meets the tolerance.
type HeavyKey struct {
	Key      []byte
	Follower int32 // ID: who owns it in the end
	Share    float64
	// ForcedTheta is the least θ that any division has because of this key.
	ForcedTheta float64
}

// Division is a new division of the key space and how it comes about: the answer
// to [Divide]. Figures are by the CDF; those of the truth are within its error.
type Division struct {
	Options   Options // with defaults filled in, without Stop
	Followers []Follower
	// Before and After are the old and the new owners. Transfers is what differs, in
	// the order of the key space. There are none if
	// nobody owned anything before.
	Before, After Owners
	Transfers     []Transfer
	Loads         []FollowerLoad // parallel to Followers
	Empty         []Empty
	HeavyKeys     []HeavyKey // by descending weight

	// Balanced: no follower that stays is above its Max.
	Balanced bool
	Causes   []planner.Cause
	// Theta is the largest overload max L/fair − 1, ≥ 0, Underload the largest
	// 1 − L/fair, ≥ 0, Skewness the largest load over the mean one, all over the
	// followers that stay.
	Theta, Underload, Skewness planner.Comparison

	// Moved is the share that changes its owner. Sent is the part of Moved that crosses
	// the network, the rest being there as a replica; Lost is the part that is lost.
	Moved, Sent, Lost float64
	// LowerBound: no division, however many intervals it has, moves less in which
	// each follower is within its Bound, each joined one has its fair share, or as
	// much as here if that is less, and those that left or crashed have nothing: every follower has to give away what
	// exceeds its bound, or has everything to give away, and what joined ones lack
	// has to come from others. Heavy keys are where the plan put them.
	LowerBound float64
}

// segment is an interval of a division: from a point of the grid to where the next
// one begins.
type segment struct {
	from  int
	owner int // index into the followers; −1: nobody
}

// division is what planning works on.
type division struct {
	g         *grid
	o         Options
	followers []Follower
	index     map[int32]int // ID → index into followers
	before    []segment     // sorted, neighbours differ
	part      []float64     // fair share by follower; 0 for one that does not stay
	fair      []float64     // the same in units of weight
	loads     []int64       // before
	heavy     []int         // points of the heavy keys, by descending weight
	stopped   bool
}

// stop asks whether to stop.
func (d *division) stop() bool {
	d.stopped = d.stopped || d.o.Stop != nil && d.o.Stop()
	return d.stopped
}

// Divide divides the key space anew. Owners is the present division, nil if there
// is none yet: a shuffle is created. The followers are those of the present and of
// the future, in the order of their names; each of the owners is among them. The
// same input gives the same plan.
func Divide(c *CDF, owners Owners, followers []Follower, o Options) (*Division, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := validateFollowers(followers, owners); err != nil {
		return nil, err
	}
	d := newDivision(c, owners, followers, o.withDefaults())
	after := d.divide()
	if d.stopped {
		return nil, planner.ErrStopped
	}
	return d.report(owners, after), nil
}

func newDivision(c *CDF, owners Owners, followers []Follower, o Options) *division {
	d := &division{g: newGrid(c, owners), o: o, followers: followers, index: make(map[int32]int, len(followers))}
	capacity := 0.0
	for i, f := range followers {
		d.index[f.ID] = i
		if f.stays() {
			capacity += f.capacity()
		}
	}
	d.part, d.fair = make([]float64, len(followers)), make([]float64, len(followers))
	for i, f := range followers {
		if f.stays() {
			d.part[i] = f.capacity() / capacity
			d.fair[i] = float64(c.Total()) * d.part[i]
		}
	}
	for _, x := range owners {
		d.before = append(d.before, segment{d.g.find(x.Low), d.index[x.Follower]})
	}
	if len(owners) == 0 {
		d.before = []segment{{0, -1}}
	}
	d.loads = d.loadsOf(d.before)
	d.findHeavy()
	return d
}

func (d *division) end(segments []segment, i int) int {
	if i+1 < len(segments) {
		return segments[i+1].from
	}
	return d.g.len()
}

func (d *division) loadsOf(segments []segment) []int64 {
	loads := make([]int64, len(d.followers))
	for i, s := range segments {
		if s.owner >= 0 {
			loads[s.owner] += d.g.weight(s.from, d.end(segments, i))
		}
	}
	return loads
}

// divide decides who owns what.
func (d *division) divide() []segment {
	if d.nothingToDo() {
		return d.before
	}
	if d.o.Method == Quantile || d.before[0].owner < 0 {
		return d.quantiles()
	}
	return d.unlessDominated(d.move(), d.quantiles())
}

// unlessDominated returns a division, or another one if that is as near to the
// bounds and moves less: with few and heavy keys, quantiles may do so.
func (d *division) unlessDominated(a, b []segment) []segment {
	if d.worst(b) <= d.worst(a) && d.moves(b) < d.moves(a) {
		return b
	}
	return a
}

// worst is the greatest load in relation to what it may be, at least that.
func (d *division) worst(segments []segment) float64 {
	worst := 1.0
	for i, load := range d.loadsOf(segments) {
		if limit := d.limit(i); exceeds(load, limit) {
			worst = math.Max(worst, float64(load)/limit)
		}
	}
	return worst
}

// moves is the weight that changes its owner.
func (d *division) moves(after []segment) (sum int64) {
	d.compare(after, func(_, _, low, high int) { sum += d.g.weight(low, high) })
	return sum
}

// nothingToDo: everybody stays, and is within the tolerance and the bound on
// intervals.
func (d *division) nothingToDo() bool {
	if d.before[0].owner < 0 {
		return false
	}
	intervals := d.intervals(d.before)
	for i, f := range d.followers {
		if f.Status != Live || exceeds(d.loads[i], d.limit(i)) {
			return false
		}
		if d.o.Method == MinMovement && intervals[i] > d.o.MaxIntervals || d.o.Method == Quantile && intervals[i] > 1 {
			return false
		}
	}
	return true
}

// limit is (1+θ_max) times the fair load.
func (d *division) limit(i int) float64 { return (1 + d.o.ThetaMax) * d.fair[i] }

// exceeds is the one predicate that decides balance.
func exceeds(load int64, limit float64) bool { return float64(load) > limit*(1+1e-9) }

func (d *division) intervals(segments []segment) []int {
	n := make([]int, len(d.followers))
	for _, s := range segments {
		if s.owner >= 0 {
			n[s.owner]++
		}
	}
	return n
}

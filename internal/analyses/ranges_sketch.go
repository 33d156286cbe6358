package analyses

import (
	"math"

	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/sdk/go/sketch"
)

// weights are the costs as integers: whole numbers as they are if their sum is small
// enough, else under a power of two.
func weights(cost []float64) []int64 {
	exponent, whole, sum := 0, true, 0.0
	for _, c := range cost {
		whole = whole && c == math.Trunc(c)
		sum = min(sum+c, math.MaxFloat64)
	}
	if sum > 0 && (!whole || sum > ranges.MaxWeight/2) {
		_, e := math.Frexp(sum)
		exponent = 59 - e
	}
	out := make([]int64, len(cost))
	for i, c := range cost {
		out[i] = int64(math.RoundToEven(math.Ldexp(c, exponent)))
	}
	return out
}

// know makes the distribution by all keys.
func (a *rangesJob) know() (err error) {
	if a.exact == nil {
		a.exact, err = ranges.NewCDF(a.input.Keys, weights(a.input.Cost))
	}
	return err
}

// summarize lets followers count what they receive, and merges their sketches.
func (a *rangesJob) summarize() error {
	if a.r.SketchK == 0 {
		return nil
	}
	if err := a.know(); err != nil {
		return err
	}
	n := a.r.Sketches
	if n == 0 {
		n = min(len(a.r.Followers), MaxSketches)
	}
	if err := planner.RequireWithin("K", a.r.SketchK, sketch.MinK, sketch.MaxK); err != nil {
		return a.failure(err, map[string]string{"k": "sketch_k"})
	}
	sketches := make([]*sketch.Sketch, n)
	for i := range sketches {
		var err error
		if sketches[i], err = sketch.New(sketch.Options{K: a.r.SketchK, Seed: a.r.Seed,
			Stream: uint64(i)}); err != nil {
			return err
		}
	}
	if err := a.receive(sketches); err != nil {
		return err
	}
	merged := sketches[0]
	for _, s := range sketches[1:] {
		if err := merged.Merge(s); err != nil {
			return err
		}
	}
	var err error
	if a.sketch, err = ranges.FromSketch(merged, a.r.Confidence); err != nil {
		return err
	}
	blob, err := merged.MarshalBinary()
	a.out.Sketch = &RangesSketch{
		K: a.r.SketchK, Sketches: n, Kept: merged.Len(), Bytes: len(blob), RankError: a.sketch.Error(),
		Confidence:  a.sketch.Confidence(),
		ActualError: a.actualError(),
	}
	return err
}

// receive spreads the messages, or the rows, over the sketches.
func (a *rangesJob) receive(sketches []*sketch.Sketch) error {
	in := a.input
	cost, count := in.Cost, in.Len()
	if in.Messages != nil {
		cost, count = in.MessageCost, len(in.Messages)
	}
	var weight []int64
	if cost != nil {
		weight = weights(cost)
	}
	tell := a.tell("sketch")
	for i := range count {
		if i%progressStep == 0 {
			if tell(int64(i), int64(count)); a.stop() {
				return a.ctx.Err()
			}
		}
		key, w := i, int64(1)
		if in.Messages != nil {
			key = int(in.Messages[i])
		}
		if weight != nil {
			w = weight[i]
		}
		if err := sketches[i%len(sketches)].Add(in.Keys.At(key), w); err != nil {
			return err
		}
	}
	return nil
}

// progressStep is after how many keys progress is told and the context asked.
const progressStep = 1 << 16

// actualError is the greatest difference between a rank by the sketch and by all keys.
func (a *rangesJob) actualError() float64 {
	most := 0.0
	rank := int64(0)
	for i := range a.exact.Len() {
		by := float64(a.sketch.Rank(a.exact.Key(i))) / float64(max(1, a.sketch.Total()))
		most = max(most, math.Abs(by-float64(rank)/float64(max(1, a.exact.Total()))))
		rank += a.exact.Weight(i)
	}
	return most
}

// account adds the keys up that a plan by the sketch deals with.
func (a *rangesJob) account(d *ranges.Division) {
	place := make(map[int32]*ranges.FollowerLoad, len(d.Followers))
	for i, f := range d.Followers {
		place[f.ID] = &d.Loads[i]
	}
	next := 0
	for _, k := range a.byKey() {
		key, cost, state := a.input.Keys.At(int(k)), a.input.Cost[k], a.state(k)
		id, _ := d.After.Find(key) // a plan divides the whole key space
		to := place[id]
		to.CostAfter += cost
		to.KeysAfter++
		id, was := d.Before.Find(key)
		if !was {
			continue
		}
		from := place[id]
		from.CostBefore += cost
		from.KeysBefore++
		if from == to {
			continue
		}
		from.StateOut += state
		to.StateIn += state
		for !d.Transfers[next].Interval.Contains(key) {
			next++
		}
		t := &d.Transfers[next]
		t.Cost, t.State, t.Keys = t.Cost+cost, t.State+state, t.Keys+1
	}
}

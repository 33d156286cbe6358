package planner_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
)

// TestRehash recounts plans that follow a changed hash, hot keys, drained instances and a key
// that is split included.
func TestRehash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(30)
		s := &planner.Snapshot{
			Instances: []planner.Instance{{ID: 1, Capacity: 1}, {ID: 4, Capacity: 2, Drained: true},
				{ID: 6, Capacity: 3, Added: true}},
			Keys: planner.NewKeys(n), HashChanged: true,
		}
		for i := range n {
			s.Keys.Append([]byte{byte(i)})
			s.Cost = append(s.Cost, float64(r.IntN(5)*r.IntN(40)))
			s.State = append(s.State, float64(r.IntN(9)))
			s.Current = append(s.Current, int32(r.IntN(3)))
			s.Hash = append(s.Hash, int32(2*r.IntN(2)))
		}
		var splits []planner.Split
		if weight := r.Int32N(planner.PartUnits); r.IntN(2) == 0 && weight > 0 {
			splits = []planner.Split{{Item: int32(r.IntN(n)),
				Parts: []planner.Part{{Instance: 0, Weight: weight}, {Instance: 2, Weight: planner.PartUnits - weight}}}}
		}
		p, err := planner.Rehash(s, planner.Options{}, splits)
		if err != nil {
			t.Fatal(err)
		}
		var load [3]float64
		keys, state, total := int64(0), 0.0, 0.0
		for i, to := range s.Hash {
			total += s.Cost[i]
			if splits != nil && splits[0].Item == int32(i) {
				for _, x := range splits[0].Parts {
					load[x.Instance] += s.Cost[i] * float64(x.Weight) / planner.PartUnits
				}
				if s.Current[i] == 1 {
					keys++
					state += s.State[i]
				}
				continue
			}
			load[to] += s.Cost[i]
			if s.Current[i] != to {
				keys++
				state += s.State[i]
			}
		}
		for d, l := range load {
			if math.Abs(p.Instances[d].After-l) > 1e-9 {
				t.Fatalf("instance %d carries %v, not %v", d, p.Instances[d].After, l)
			}
		}
		theta := 0.0
		if total > 0 {
			theta = max(load[0]/(total/4), load[2]/(total*3/4)) - 1
		}
		if p.Migration.Keys != keys || p.Migration.State != state || math.Abs(p.Theta.After-theta) > 1e-12 ||
			p.Certificate != nil {
			t.Fatalf("%+v, want %d keys of state %v and θ %v", p.Migration, keys, state, theta)
		}
		if len(p.Set) > 0 || p.TableAfter != int64(2*len(splits)) || len(p.Splits) != len(splits) {
			t.Fatalf("%d entries, %d of them of splits; %v", p.TableAfter, len(p.Splits), p.Set)
		}
		for _, h := range p.HotKeys {
			if h.Instance != s.Hash[h.Item] && (splits == nil || splits[0].Item != h.Item) {
				t.Fatalf("hot key %d is said to be on %d", h.Item, h.Instance)
			}
		}
	}
}

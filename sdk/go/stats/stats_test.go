package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"plannerd/sdk/go/client"
)

// zipf draws a key.
func zipf(z *rand.Zipf) []byte { return fmt.Appendf(nil, "key-%d", z.Uint64()) }

// TestExact counts from several goroutines, over three intervals. A key that goes in the
// second is told of once more, with its cost and without state.
func TestExact(t *testing.T) {
	t.Parallel()
	e := NewExact()
	for interval := range 3 {
		literal, mu := map[string]float64{}, sync.Mutex{}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				z := rand.NewZipf(rand.New(rand.NewPCG(uint64(interval), uint64(g))), 1.1, 1, 1000)
				for range 5000 {
					key := zipf(z)
					if interval == 2 && string(key) == "key-0" {
						continue
					}
					e.Add(key, 2)
					e.SetState(key, float64(len(key)))
					mu.Lock()
					literal[string(key)] += 2
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if interval == 1 {
			e.Forget([]byte("key-0"))
		}
		last := ""
		for _, row := range e.Close() {
			key := string(row.Key)
			state := float64(len(key))
			if interval == 1 && key == "key-0" {
				state = 0
			}
			if row.Cost != literal[key] || row.State != state || key <= last {
				t.Fatalf("interval %d: %+v, after %q; it cost %v", interval, row, last, literal[key])
			}
			delete(literal, key)
			last = key
		}
		if len(literal) > 0 {
			t.Errorf("interval %d: keys are missing: %v", interval, literal)
		}
	}
}

// TestMerge: a key that moved in the interval has one row, where its state is now.
func TestMerge(t *testing.T) {
	t.Parallel()
	instances := map[int32]*Exact{0: NewExact(), 3: NewExact(), 7: NewExact()}
	for id, e := range instances {
		e.Add([]byte("moved"), float64(1+id))
		e.Add(fmt.Appendf(nil, "only at %d", id), 1)
		e.SetState([]byte("moved"), 10)
		if id != 3 {
			e.Forget([]byte("moved"))
		}
		e.SetState([]byte("divided"), float64(5+id%4)) // 5, 8 and 8
	}
	for interval, want := range []string{
		"[{divided 0 21 3 0} {moved 13 10 3 0} {only at 0 1 0 0 0} {only at 3 1 0 3 0} {only at 7 1 0 7 0}]",
		"[{divided 0 21 3 0} {moved 0 10 3 0} {only at 0 0 0 0 0} {only at 3 0 0 3 0} {only at 7 0 0 7 0}]",
	} {
		counted := map[int32][]client.Row{}
		for id, e := range instances {
			counted[id] = e.Close()
		}
		var got []string
		for _, r := range Merge(counted) {
			got = append(got, fmt.Sprintf("{%s %v %v %d %d}", r.Key, r.Cost, r.State, r.Instance, r.HashInstance))
		}
		if text := fmt.Sprint(got); text != want {
			t.Errorf("interval %d: %s\nwant %s", interval, text, want)
		}
	}
	if rows := Merge(nil); len(rows) > 0 {
		t.Errorf("rows of nobody: %v", rows)
	}
}

// TestHeavy holds what is kept against the bounds that it promises.
func TestHeavy(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		z := rand.NewZipf(r, 1.05+r.Float64(), 1, 5000)
		most := 1 + r.IntN(200)
		h := NewHeavy(most)
		for interval := range 2 {
			literal, total := map[string]float64{}, 0.0
			for range 20_000 {
				key, cost := zipf(z), math.Ceil(10*r.ExpFloat64())
				h.Add(key, cost)
				literal[string(key)] += cost
				total += cost
			}
			rows, residual := h.Close(3, func([]byte) float64 { return 1 }, float64(len(literal)), int64(len(literal)))
			sum, bound := *residual.Cost, total/float64(most)
			for _, row := range rows {
				key := string(row.Key)
				if row.Cost > literal[key] || row.Cost < literal[key]-bound || row.Instance != 3 {
					t.Fatalf("seed %d, interval %d: %+v costs %v, all %v", seed, interval, row, literal[key], total)
				}
				sum += row.Cost
				delete(literal, key)
			}
			for key, cost := range literal {
				if cost > bound {
					t.Errorf("seed %d, interval %d: %q costs %v of %v, and is not kept", seed, interval, key, cost, total)
				}
			}
			if len(rows) > most || sum != total || *residual.Keys != int64(len(literal)) ||
				*residual.State != float64(len(literal)) {
				t.Errorf("seed %d: %d rows, %v of %v, %d other keys of %d", seed, len(rows), sum, total, *residual.Keys,
					len(literal))
			}
		}
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	e, h, key := NewExact(), NewHeavy(10), []byte("key")
	e.Add(key, 1)
	h.Add(key, 1)
	if n := testing.AllocsPerRun(100, func() { e.Add(key, 1); h.Add(key, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	keys := make([][]byte, 1<<16)
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 1, 100_000)
	for i := range keys {
		keys[i] = zipf(z)
	}
	for name, add := range map[string]func([]byte, float64){
		"exact": NewExact().Add, "heavy=1000": NewHeavy(1000).Add,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					add(keys[i%len(keys)], 1)
				}
			})
		})
	}
}

// TestMergeCosts adds up what a key takes of resources at two instances.
func TestMergeCosts(t *testing.T) {
	t.Parallel()
	at := func(costs ...float64) []client.Row { return []client.Row{{Key: []byte("a"), Costs: costs}} }
	one, other := at(1, 2), at(3)
	got := Merge(map[int32][]client.Row{0: one, 1: other})
	if len(got) != 1 || !slices.Equal(got[0].Costs, []float64{4, 2}) || one[0].Costs[0] != 1 || other[0].Costs[0] != 3 {
		t.Errorf("%v of %v and %v", got, one, other)
	}
}

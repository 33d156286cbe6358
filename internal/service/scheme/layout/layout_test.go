package layout

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/store"
)

// randomOwners divides the key space at some of the keys 00, 01, 02 and 03.
func randomOwners(r *rand.Rand) (out ranges.Owners) {
	for _, low := range [][]byte{{}, {0}, {1}, {2}, {3}} {
		id := r.Int32N(3)
		if n := len(out); n == 0 || r.IntN(3) > 0 && out[n-1].Follower != id {
			out = append(out, ranges.Owner{Low: low, Follower: id})
		}
	}
	return out
}

// TestOwnersRoundTrip: what the store keeps of a division is that division, but for
// what lies below all keys, and what is handed over leads from one to the other.
func TestOwnersRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	keys := [][]byte{{0}, {0, 0}, {1}, {1, 9}, {2}, {3}, {255}}
	cut := 0
	for range 5000 {
		before, division := aboveLowest(randomOwners(r)), randomOwners(r)
		after := aboveLowest(division)
		if len(after) < len(division) {
			cut++
		}
		stored := after.Entries()
		if !slices.IsSortedFunc(stored, func(a, b store.Entry) int { return bytes.Compare(a.Key, b.Key) }) ||
			len(stored[0].Key) == 0 {
			t.Fatalf("%q", stored)
		}
		back, err := readOwners(stored)
		if err != nil || !sameOwners(back, after) {
			t.Fatalf("%q was stored as %q: %v", back, stored, err)
		}
		for _, key := range keys {
			want, _ := division.Find(key)
			if got, err := after.Instance(key, 0); got != want || err != nil {
				t.Fatalf("%q goes to %d, not %d", key, got, want)
			}
		}
		var transfers []ranges.Transfer
		for _, m := range rangesOf(difference(before, division)) {
			transfers = append(transfers, ranges.Transfer{From: m.From, To: m.To,
				Interval: ranges.Interval{Low: m.Range.From, High: m.Range.To}})
		}
		for _, key := range keys {
			owner, _ := ranges.Owners(before).Find(key)
			for _, x := range transfers {
				if x.From == owner && x.Interval.Contains(key) {
					owner = x.To
					break
				}
			}
			if to, _ := ranges.Owners(after).Find(key); to != owner {
				t.Fatalf("%q and %+v lead %q to %d, not to %d", before, transfers, key, owner, to)
			}
		}
	}
	if cut == 0 {
		t.Error("no division had a range below all keys")
	}
}

// difference is what the library says about two divisions.
func difference(before Owners, after ranges.Owners) *ranges.Division {
	p := &ranges.Division{Followers: []ranges.Follower{{ID: 0}, {ID: 1}, {ID: 2}}, Loads: make([]ranges.FollowerLoad, 3)}
	lows := [][]byte{{}, {0}, {1}, {2}, {3}, nil}
	for i, low := range lows[:5] {
		from, _ := ranges.Owners(before).Find(low)
		if to, _ := after.Find(low); from != to {
			p.Transfers = append(p.Transfers, ranges.Transfer{From: from, To: to,
				Interval: ranges.Interval{Low: low, High: lows[i+1]}})
		}
	}
	return p
}

// TestTokensRoundTrip: what the store keeps of a ring is that ring, in its order.
func TestTokensRoundTrip(t *testing.T) {
	held := tokens{{ID: 0, Tokens: 1}, {ID: 255, Tokens: 7}, {ID: 256, Tokens: math.MaxUint16},
		{ID: math.MaxInt32, Tokens: ring.MaxTokens}}
	stored := held.Entries()
	if !slices.IsSortedFunc(stored, func(a, b store.Entry) int { return bytes.Compare(a.Key, b.Key) }) {
		t.Fatalf("%q", stored)
	}
	if back, err := readTokens(stored); err != nil || !reflect.DeepEqual(back, held) {
		t.Fatalf("%v, %v", back, err)
	}
	for _, broken := range []store.Entry{{Key: []byte("key"), Instance: 1}, {Key: []byte{0, 0, 0, 1}, Instance: 0}} {
		if _, err := readTokens([]store.Entry{broken}); err == nil {
			t.Errorf("%v was taken for tokens", broken)
		}
	}
	if _, err := readOwners([]store.Entry{{Key: []byte("a"), Instance: 1}}); err == nil {
		t.Error("ranges that do not begin at the lower end were taken")
	}
}

// TestChangesTo: the changes turn one list of entries into the other.
func TestChangesTo(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		before, after := Owners(nil), aboveLowest(randomOwners(r))
		if r.IntN(8) > 0 {
			before = aboveLowest(randomOwners(r))
		}
		table := map[string]int32{}
		for _, e := range before.Entries() {
			table[string(e.Key)] = e.Instance
		}
		for _, c := range changesTo(after, before.Entries()) {
			old, there := table[string(c.Key)]
			if !there {
				old = store.NoInstance
			}
			if c.Old != old || c.New == old {
				t.Fatalf("%+v, it is %d", c, old)
			}
			table[string(c.Key)] = c.New
			if c.New == store.NoInstance {
				delete(table, string(c.Key))
			}
		}
		for _, e := range after.Entries() {
			if got, there := table[string(e.Key)]; !there || got != e.Instance {
				t.Fatalf("%q is %d", e.Key, got)
			}
			delete(table, string(e.Key))
		}
		if len(table) > 0 {
			t.Fatalf("left over: %v", table)
		}
	}
}

func sameOwners(a, b Owners) bool {
	return slices.EqualFunc(a, b, func(x, y ranges.Owner) bool {
		return x.Follower == y.Follower && bytes.Equal(x.Low, y.Low)
	})
}

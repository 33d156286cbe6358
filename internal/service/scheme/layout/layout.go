package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/store"
)

// changesTo returns what turns stored entries into those of a layout.
func changesTo(after scheme.Layout, stored []store.Entry) []store.Change {
	changes, now := []store.Change{}, after.Entries()
	for len(stored) > 0 || len(now) > 0 {
		var order int
		switch {
		case len(stored) == 0:
			order = 1
		case len(now) == 0:
			order = -1
		default:
			order = bytes.Compare(stored[0].Key, now[0].Key)
		}
		c := store.Change{Old: store.NoInstance, New: store.NoInstance}
		if order <= 0 {
			c.Key, c.Old, stored = stored[0].Key, stored[0].Instance, stored[1:]
		}
		if order >= 0 {
			c.Key, c.New, now = now[0].Key, now[0].Instance, now[1:]
		}
		if c.Old != c.New {
			changes = append(changes, c)
		}
	}
	return changes
}

// entriesAfter returns what changes make of stored entries; both are in ascending
// bytes of their keys.
func entriesAfter(entries []store.Entry, changes []store.Change) []store.Entry {
	out := make([]store.Entry, 0, len(entries)+len(changes))
	for _, c := range changes {
		i, held := slices.BinarySearchFunc(entries, c.Key,
			func(e store.Entry, key []byte) int { return bytes.Compare(e.Key, key) })
		out = append(out, entries[:i]...)
		if entries = entries[i:]; held {
			entries = entries[1:]
		}
		if c.New != store.NoInstance {
			out = append(out, store.Entry{Key: c.Key, Instance: c.New})
		}
	}
	return append(out, entries...)
}

// tokens are the nodes of a ring in ascending order of their ids, each with a
// token at least. An entry has the id as four bytes, the highest first, for its
// key, and the number of tokens for its instance.
type tokens []ring.Node

func readTokens(entries []store.Entry) (tokens, error) {
	out := make(tokens, len(entries))
	for i, e := range entries {
		if len(e.Key) != 4 || e.Instance < 1 {
			return nil, fmt.Errorf("reading stored tokens: entry %x of %d", e.Key, e.Instance)
		}
		out[i] = ring.Node{ID: int32(binary.BigEndian.Uint32(e.Key)), Tokens: int(e.Instance)}
	}
	return out, nil
}

func (t tokens) Placed() planner.HashFunction { return ring.New(t) }

func (t tokens) Nobody() bool { return false }

func (t tokens) Size() (n int64) {
	for _, x := range t {
		n += int64(x.Tokens)
	}
	return n
}

func (t tokens) Entries() []store.Entry {
	out := make([]store.Entry, len(t))
	for i, x := range t {
		out[i] = store.Entry{Key: binary.BigEndian.AppendUint32(nil, uint32(x.ID)), Instance: int32(x.Tokens)}
	}
	return out
}

func (t tokens) Ids() map[int32]bool {
	out := make(map[int32]bool, len(t))
	for _, x := range t {
		out[x.ID] = true
	}
	return out
}

// changes returns by instance how many tokens it has here and afterwards.
func (t tokens) changes(after tokens) (out []stored.TokenChange) {
	for _, c := range changesTo(after, t.Entries()) {
		id := int32(binary.BigEndian.Uint32(c.Key)) // without an entry it has no tokens
		out = append(out, stored.TokenChange{Instance: id, Before: max(0, c.Old), After: max(0, c.New)})
	}
	return out
}

func (t tokens) Unchanged() listing.LayoutDiff { return listing.RingDiff{} }

func (t tokens) Part() listing.Part {
	out := make([]lists.RingTokens, len(t))
	for i, x := range t {
		out[i] = lists.RingTokens{Instance: x.ID, Tokens: int32(x.Tokens)}
	}
	return listing.Part{Name: "tokens", List: listing.ListOf(out)}
}

// Owners are the ranges of the key space. An entry has the least key of a range
// for its key; there is none below the byte 0, so that stands for the lower end of
// the key space, which is no key.
type Owners ranges.Owners

var lowest = []byte{0}

func readOwners(entries []store.Entry) (Owners, error) {
	out := make(ranges.Owners, len(entries))
	for i, e := range entries {
		out[i] = ranges.Owner{Low: e.Key, Follower: e.Instance}
		if bytes.Equal(e.Key, lowest) {
			out[i].Low = []byte{}
		}
	}
	if err := out.Validate(); err != nil {
		return nil, fmt.Errorf("reading stored ranges: %w", err)
	}
	return Owners(out), nil
}

// aboveLowest leaves out what holds no key, the range below the byte 0, and lets
// the range from there on begin at the end of the key space.
func aboveLowest(o ranges.Owners) Owners {
	if len(o) > 1 && bytes.Equal(o[1].Low, lowest) {
		o = slices.Clone(o[1:])
		o[0].Low = []byte{}
	}
	return Owners(o)
}

// Placed implements [scheme.Layout].
func (o Owners) Placed() planner.HashFunction { return o }

var errNobody = errors.New("nobody owns the key")

// Instance implements [planner.HashFunction].
func (o Owners) Instance(key []byte, _ uint64) (int32, error) {
	id, ok := ranges.Owners(o).Find(key)
	if !ok {
		return 0, errNobody
	}
	return id, nil
}

// Size implements [scheme.Layout].
func (o Owners) Size() int64 { return int64(len(o)) }

// Nobody implements [scheme.Layout].
func (o Owners) Nobody() bool { return len(o) == 0 }

// Entries implements [scheme.Layout].
func (o Owners) Entries() []store.Entry {
	out := make([]store.Entry, len(o))
	for i, x := range o {
		out[i] = store.Entry{Key: x.Low, Instance: x.Follower}
		if i == 0 {
			out[i].Key = lowest
		}
	}
	return out
}

// Ids implements [scheme.Layout].
func (o Owners) Ids() map[int32]bool {
	out := make(map[int32]bool)
	for _, x := range o {
		out[x.Follower] = true
	}
	return out
}

// allOf are the ranges that one instance owns all of.
func allOf(id int32) Owners { return Owners{{Low: []byte{}, Follower: id}} }

// Unchanged implements [scheme.Layout].
func (o Owners) Unchanged() listing.LayoutDiff {
	return listing.RangesDiff{RangesPlan: stored.RangesPlan{Owners: o.records()}}
}

// Part implements [scheme.Layout].
func (o Owners) Part() listing.Part {
	return listing.Part{Name: "owners", List: listing.ListOf(o.records())}
}

// records are the ranges as answers list them.
func (o Owners) records() []lists.RangeOwner {
	out := make([]lists.RangeOwner, len(o))
	for i, x := range o {
		v := ranges.Owners(o).Interval(i)
		out[i] = lists.RangeOwner{Range: lists.Range{From: v.Low, To: v.High}, Instance: x.Follower}
	}
	return out
}

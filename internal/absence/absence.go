// Package absence counts for how many intervals in a row no statistics named the keys of
// table entries.
//
// A key that comes back for an interval and goes again would be migrated each time if its
// entry were dropped at once: an entry is dropped only after a grace.
package absence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"plannerd/planner"
)

// DefaultGrace is for how many intervals in a row a key must be absent before its entry
// may be dropped, unless somebody says otherwise.
const DefaultGrace = 2

// Count is a table entry, and for how many intervals in a row, at least 1, no statistics
// named its key.
type Count struct {
	planner.Entry
	Intervals uint64
}

// Counts are in ascending order of the keys.
type Counts []Count

// Encode returns what [Decode] reads.
func (c Counts) Encode() []byte {
	var out []byte
	for _, x := range c {
		out = binary.AppendUvarint(out, uint64(len(x.Key)))
		out = append(out, x.Key...)
		out = binary.AppendUvarint(out, uint64(x.Instance))
		out = binary.AppendUvarint(out, x.Intervals)
	}
	return out
}

var errDamaged = errors.New("stored absences are damaged")

// Decode reads what Encode wrote; the keys are slices of data. The error says that data is
// something else.
func Decode(data []byte) (Counts, error) {
	var out Counts
	damaged := false
	number := func() uint64 {
		x, n := binary.Uvarint(data)
		damaged = damaged || n <= 0
		data = data[max(n, 0):]
		return x
	}
	for len(data) > 0 {
		n := number()
		if damaged || n > uint64(len(data)) {
			return nil, errDamaged
		}
		x := Count{Entry: planner.Entry{Key: data[:n:n]}}
		data = data[n:]
		x.Instance, x.Intervals = int32(number()), number()
		if damaged {
			return nil, errDamaged
		}
		out = append(out, x)
	}
	return out, nil
}

// of returns the count of an entry: another instance in it begins anew.
func (c Counts) of(e planner.Entry) uint64 {
	i, found := slices.BinarySearchFunc(c, e.Key, func(x Count, key []byte) int { return bytes.Compare(x.Key, key) })
	if !found || c[i].Instance != e.Instance {
		return 0
	}
	return c[i].Intervals
}

// Interval is what an interval adds to the counts.
type Interval struct {
	// Before are the counts of the interval before.
	Before Counts
	// Table is the one that the interval ran on. Nil is an empty one.
	Table *planner.RoutingTable
	// Statistics say which keys there were. Only a complete report of the instance where
	// a key is routed says that it is absent. Nil: nothing says so.
	Statistics *planner.Statistics
}

// after is the count of an entry after the interval, provided that no row names its key.
func (i Interval) after(e planner.Entry) uint64 {
	n := i.Before.of(e)
	if i.Statistics == nil || i.Statistics.Partial {
		return n
	}
	_, partial := slices.BinarySearch(i.Statistics.PartialOn, e.Instance)
	_, frozen := slices.BinarySearch(i.Statistics.Frozen, e.Instance)
	if partial || frozen {
		return n
	}
	return n + 1
}

// Kept tells which entries of the table stay though no row names their keys, as
// [planner.Base] wants it; nil without a grace: none.
func (i Interval) Kept(grace int) []bool {
	if grace == 0 || i.Table.Len() == 0 {
		return nil
	}
	kept := make([]bool, i.Table.Len())
	for e := range kept {
		kept[e] = i.after(i.Table.At(e)) < uint64(grace)
	}
	return kept
}

// After counts the interval; named are the entries of the table that its rows name, by
// index, with -1 for rows without one.
func (i Interval) After(named []int32) Counts {
	if i.Table.Len() == 0 {
		return nil
	}
	present := make([]bool, i.Table.Len())
	for _, e := range named {
		if e >= 0 {
			present[e] = true
		}
	}
	var out Counts
	for e, here := range present {
		if entry := i.Table.At(e); !here {
			if n := i.after(entry); n > 0 {
				out = append(out, Count{entry, n})
			}
		}
	}
	slices.SortFunc(out, func(x, y Count) int { return bytes.Compare(x.Key, y.Key) })
	return out
}

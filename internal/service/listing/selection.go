package listing

import (
	"bytes"
	"iter"
	"slices"

	"plannerd/internal/input/lists"
	"plannerd/internal/service/figures"
	"plannerd/planner"
	"plannerd/store"
)

// Listing is what is wanted of a long list. The list is read where it is.
type Listing interface {
	// All is all that is wanted.
	All() lists.List
	// Page is at most size of the records that are wanted, behind the first offset
	// ones: how many these are, and how many are wanted in all.
	Page(offset, size int) (page lists.List, n, total int)
}

// KeyFilter says which records of a long list are wanted.
type KeyFilter struct {
	Prefix   []byte // of their keys
	Instance *int32 // that they name; nil: any
}

// TakesAll reports whether nothing is filtered out.
func (f KeyFilter) TakesAll() bool { return len(f.Prefix) == 0 && f.Instance == nil }

// Takes reports whether a record of this key that names these instances is wanted.
func (f KeyFilter) Takes(key []byte, instances ...int32) bool {
	return bytes.HasPrefix(key, f.Prefix) && (f.Instance == nil || slices.Contains(instances, *f.Instance))
}

// TakesParts reports whether a change of a key that is split is wanted for one of its parts.
func (f KeyFilter) TakesParts(c store.Change) bool {
	return slices.ContainsFunc(append(figures.PartsOf(c.OldParts), figures.PartsOf(c.NewParts)...),
		func(x planner.Part) bool {
			return f.Takes(c.Key, x.Instance)
		})
}

// Selection is the [Listing] of records of one kind.
type Selection[R lists.Record] struct {
	Count int
	At    func(i int) R
	order []int32          // where the records are, in their order; nil: as they are
	Takes func(i int) bool // nil: all
}

// index returns where the record is at a place of the order.
func (s Selection[R]) index(place int) int {
	if s.order == nil {
		return place
	}
	return int(s.order[place])
}

// indices yields where the records that are wanted are, in their order.
func (s Selection[R]) indices() iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := range s.Count {
			if i := s.index(place); (s.Takes == nil || s.Takes(i)) && !yield(i) {
				return
			}
		}
	}
}

// records yields what is at the indices.
func (s Selection[R]) records(indices iter.Seq[int]) iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := range indices {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// All implements [Listing].
func (s Selection[R]) All() lists.List { return lists.Records[R](s.records(s.indices())) }

// Page implements [Listing].
func (s Selection[R]) Page(offset, size int) (list lists.List, n, total int) {
	page, total := s.page(offset, size)
	return lists.Records[R](s.records(slices.Values(page))), len(page), total
}

// page returns where so many of the records that are wanted are, behind the first
// offset ones, and how many are wanted in all.
func (s Selection[R]) page(offset, size int) (page []int, total int) {
	if s.Takes == nil { // no need to look at the others
		from := min(offset, s.Count)
		for place := from; place < min(from+size, s.Count); place++ {
			page = append(page, s.index(place))
		}
		return page, s.Count
	}
	for i := range s.indices() {
		if total >= offset && len(page) < size {
			page = append(page, i)
		}
		total++
	}
	return page, total
}

package api

import (
	"cmp"
	"iter"
	"net/http"
	"slices"

	"plannerd/internal/statsio"
)

// selection is what a request wants of a long list. The list is read where it is:
// only an order that it does not have costs memory, four bytes a record.
type selection[R statsio.Record] struct {
	n     int
	at    func(i int) R
	takes func(R) bool
	order func(i, j int) int // of indices; ties stay as they are; nil: all do
}

// indices yields where the records that are wanted are, in their order.
func (s selection[R]) indices() iter.Seq[int32] {
	wanted := func(yield func(int32) bool) {
		for i := range s.n {
			if s.takes(s.at(i)) && !yield(int32(i)) {
				return
			}
		}
	}
	if s.order == nil || s.ordered(wanted) {
		return wanted
	}
	return slices.Values(slices.SortedFunc(wanted, func(i, j int32) int {
		return cmp.Or(s.order(int(i), int(j)), cmp.Compare(i, j))
	}))
}

// ordered reports whether what is at the indices is in order as it is.
func (s selection[R]) ordered(indices iter.Seq[int32]) bool {
	last := int32(-1)
	for i := range indices {
		if last >= 0 && s.order(int(last), int(i)) > 0 {
			return false
		}
		last = i
	}
	return true
}

// records yields what is at the indices.
func (s selection[R]) records(indices iter.Seq[int32]) iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := range indices {
			if !yield(s.at(int(i))) {
				return
			}
		}
	}
}

// answer answers with a page of what is wanted, as the member of that name, or with
// all of it as NDJSON or CSV.
func (s selection[R]) answer(w http.ResponseWriter, c *call, name string, keys keyCoder) error {
	if c.media == mediaNDJSON || c.media == mediaCSV {
		return streamList(w, c, s.records(s.indices()), keys)
	}
	token := pageToken{list: c.URL.Path}
	if err := token.read(c.query); err != nil {
		return err
	}
	page, more := pageOf(s.indices(), token.Offset, pageSize(c.query))
	var next *string
	if more {
		token.Offset += len(page)
		next = token.text()
	}
	records := s.records(slices.Values(page))
	keys.base64 = keys.base64 || statsio.NeedsBase64(records)
	return writeList(w, name, statsio.AppendJSON(nil, records, keys.base64), keys, next)
}

// pageOf returns a page of so many items behind the first offset ones, and whether
// there are more behind it.
func pageOf[T any](items iter.Seq[T], offset, size int) (page []T, more bool) {
	for item := range items {
		switch {
		case offset > 0:
			offset--
		case len(page) == size:
			return page, true
		default:
			page = append(page, item)
		}
	}
	return page, false
}

package api

import (
	"iter"
	"math"
	"net/http"
	"slices"

	"plannerd/internal/statsio"
)

// selection is what a request wants of a long list. The list is read where it is.
type selection[R statsio.Record] struct {
	n     int
	at    func(i int) R
	order []int32          // where the records are, in their order; nil: as they are
	takes func(i int) bool // nil: all
}

// index returns where the record is at a place of the order.
func (s selection[R]) index(place int) int {
	if s.order == nil {
		return place
	}
	return int(s.order[place])
}

// indices yields where the records that are wanted are, in their order.
func (s selection[R]) indices() iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := range s.n {
			if i := s.index(place); (s.takes == nil || s.takes(i)) && !yield(i) {
				return
			}
		}
	}
}

// records yields what is at the indices.
func (s selection[R]) records(indices iter.Seq[int]) iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := range indices {
			if !yield(s.at(i)) {
				return
			}
		}
	}
}

// page returns where so many of the records that are wanted are, behind the first
// offset ones, and how many are wanted in all.
func (s selection[R]) page(offset, size int) (page []int, total int) {
	if s.takes == nil { // no need to look at the others
		from := min(offset, s.n)
		for place := from; place < min(from+size, s.n); place++ {
			page = append(page, s.index(place))
		}
		return page, s.n
	}
	for i := range s.indices() {
		if total >= offset && len(page) < size {
			page = append(page, i)
		}
		total++
	}
	return page, total
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
	offset := token.Offset + min(skipped(c.query), math.MaxInt-token.Offset)
	page, total := s.page(offset, pageSize(c.query))
	var next *string
	if offset+len(page) < total {
		token.Offset = offset + len(page)
		next = token.text()
	}
	records := s.records(slices.Values(page))
	keys.base64 = keys.base64 || statsio.NeedsBase64(records)
	return writeList(w, name, statsio.AppendJSON(nil, records, keys.base64), keys, total, next)
}

package grouping

import "math/bits"

// pairSet is the set of the (worker, key) pairs that have met: the state that the
// workers hold, ever and since the last aggregation.
type pairSet interface {
	// add adds a pair for each message.
	add(keys, to []int32)
	// endPeriod forgets the pairs of the period and returns their number.
	endPeriod() int64
	// held is the number of pairs ever, and that of each worker.
	held() (all int64, byWorker []int64)
}

// newPairs returns an empty set for a stream; without periods only one period
// ends, the last. Bitmaps are quicker, but must not take much more than a table of
// all messages would.
func newPairs(s *Stream, o *Options) pairSet {
	words := (o.Workers + 63) / 64
	b := bitmaps{tally: tally{byWorker: make([]int64, o.Workers)}, words: words, row: words}
	if o.AggregationPeriod > 0 {
		b.row = 2*words + 1
	}
	if int64(s.keys.Len())*int64(b.row) > 4*s.messages+1<<17 {
		return newPairTable(o.Workers)
	}
	b.bits = make([]uint64, s.keys.Len()*b.row)
	return &b
}

type tally struct {
	all, fresh int64
	byWorker   []int64
	period     uint64
}

func (t *tally) held() (all int64, byWorker []int64) { return t.all, t.byWorker }

func (t *tally) endPeriod() int64 {
	n := t.fresh
	t.period, t.fresh = t.period+1, 0
	return n
}

// bitmaps has a bit for every worker in the row of each key. With periods, the
// row goes on with the period it was last used in and the bits of that period.
type bitmaps struct {
	tally
	words, row int
	bits       []uint64
}

func (b *bitmaps) add(keys, to []int32) {
	periodic := b.row > b.words
	for i, k := range keys {
		w := to[i]
		row := b.bits[int(k)*b.row:][:b.row]
		word, bit := int(w>>6), uint64(1)<<(w&63)
		if row[word]&bit == 0 {
			row[word] |= bit
			b.all++
			b.byWorker[w]++
			if !periodic {
				b.fresh++
			}
		}
		if !periodic {
			continue
		}
		now := row[b.words+1:]
		if row[b.words] != b.period {
			row[b.words] = b.period
			clear(now)
		}
		if now[word]&bit == 0 {
			now[word] |= bit
			b.fresh++
		}
	}
}

// pairTable is an open-addressing hash table of pairs, at most half full.
type pairTable struct {
	tally
	pair  []uint64 // (key<<32 | worker) + 1; 0 when empty
	last  []uint32 // the period in which the pair last met
	shift int
}

func newPairTable(workers int) *pairTable {
	const initial = 1 << 16
	return &pairTable{
		tally: tally{byWorker: make([]int64, workers)},
		pair:  make([]uint64, initial), last: make([]uint32, initial), shift: 64 - bits.Len(initial-1),
	}
}

func (t *pairTable) add(keys, to []int32) {
	for i, k := range keys {
		pair := uint64(k)<<32 + uint64(to[i]) + 1
		at := t.find(pair)
		switch {
		case t.pair[at] == 0:
			t.pair[at] = pair
			t.all++
			t.byWorker[to[i]]++
			t.fresh++
		case uint64(t.last[at]) != t.period:
			t.fresh++
		}
		t.last[at] = uint32(t.period)
		if int(t.all) > len(t.pair)/2 {
			t.grow()
		}
	}
}

// find returns where the pair is, or belongs.
func (t *pairTable) find(pair uint64) int {
	at := int(pair * 0x9e3779b97f4a7c15 >> t.shift)
	for t.pair[at] != 0 && t.pair[at] != pair {
		at = (at + 1) & (len(t.pair) - 1)
	}
	return at
}

func (t *pairTable) grow() {
	pair, last := t.pair, t.last
	t.pair, t.last = make([]uint64, 2*len(pair)), make([]uint32, 2*len(last))
	t.shift--
	for i, p := range pair {
		if p != 0 {
			at := t.find(p)
			t.pair[at], t.last[at] = p, last[i]
		}
	}
}

package grouping

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"plannerd/planner"
)

// Stream is a sequence of messages, each with a key. It is immutable: runs may
// share it, at the same time too.
type Stream struct {
	keys     *planner.Keys
	messages int64
	counts   []int64 // of each key, in this very stream
	distinct int     // keys that have messages
	top      int32   // the most frequent key, ties in canonical order

	sample []int32 // the keys in order, or nil

	// The source key of each message, or nil.
	sourceKeys *planner.Keys
	sourceKey  []int32

	// What a generated stream draws from.
	weights []int64
	order   Order
	seed    uint64
}

// NewStream is the stream whose message i has the key numbered sample[i] in
// keys. The slice is kept: it must not be changed.
func NewStream(keys *planner.Keys, sample []int32) (*Stream, error) {
	if len(sample) == 0 || len(sample) > MaxMessages {
		return nil, planner.Invalid("Sample", "must have from 1 to 4294967295 messages")
	}
	s := &Stream{keys: keys, sample: sample, messages: int64(len(sample)), counts: make([]int64, keys.Len())}
	for i, k := range sample {
		if k < 0 || int(k) >= len(s.counts) {
			return nil, planner.InvalidRow(i, "Sample", "must be the number of a key")
		}
		s.counts[k]++
	}
	s.summarize()
	return s, nil
}

// WithSourceKeys returns the same stream, whose message i goes to the source that
// the key numbered sourceKey[i] in keys belongs to (partial-key-grouping §6.2 Q3:
// key grouping onto the sources). Only for a stream with a given order. The slice
// is kept: it must not be changed.
func (s *Stream) WithSourceKeys(keys *planner.Keys, sourceKey []int32) (*Stream, error) {
	switch {
	case s.sample == nil:
		return nil, planner.Invalid("SourceKeys", "need a stream with a given order")
	case len(sourceKey) != len(s.sample):
		return nil, planner.Invalid("SourceKeys", "must be as many as there are messages")
	}
	for i, k := range sourceKey {
		if k < 0 || int(k) >= keys.Len() {
			return nil, planner.InvalidRow(i, "SourceKeys", "must be the number of a source key")
		}
	}
	with := *s
	with.sourceKeys, with.sourceKey = keys, sourceKey
	return &with, nil
}

// Order is how a stream is made of frequencies.
type Order string

// The orders.
const (
	// Shuffled: every key has exactly as many messages as its frequency says, and
	// every order of them is equally likely.
	Shuffled Order = "shuffled"
	// Independent: every message has a key drawn for it alone, with a probability
	// in proportion to the frequency.
	Independent Order = "independent"
)

// Frequencies describe a stream to be generated.
type Frequencies struct {
	// Keys names the keys; Count[k] ≥ 0 is the frequency of key k. The sum of all
	// times the number of those above 0 must not exceed 2⁶², and is above 0. The
	// slice is kept: it must not be changed.
	Keys  *planner.Keys
	Count []int64
	// Order defaults to Shuffled.
	Order Order
	// Messages is how many there are under Independent; 0: the sum of Count. Under
	// Shuffled it is that sum, and must be left 0.
	Messages int64
	// Seed decides the order.
	Seed uint64
	// Stop is asked now and then; true ends the generation with planner.ErrStopped. Nil:
	// never.
	Stop func() bool
}

// Generate is a stream that is drawn anew, always the same, by each run: it
// takes memory for its keys, not for its messages.
func Generate(f Frequencies) (*Stream, error) {
	f.Order = cmp.Or(f.Order, Shuffled)
	total, err := f.validate()
	if err != nil {
		return nil, err
	}
	s := &Stream{keys: f.Keys, weights: f.Count, order: f.Order, seed: f.Seed, messages: total}
	if f.Order == Shuffled {
		s.counts = f.Count
		s.summarize()
		return s, nil
	}
	if f.Messages > 0 {
		s.messages = f.Messages
	}
	s.counts = make([]int64, len(f.Count))
	for c := s.read(1); ; {
		keys, _ := c.next()
		if len(keys) == 0 {
			break
		}
		for _, k := range keys {
			s.counts[k]++
		}
		if f.Stop != nil && f.Stop() {
			return nil, planner.ErrStopped
		}
	}
	s.summarize()
	return s, nil
}

func (f *Frequencies) validate() (total int64, err error) {
	if len(f.Count) != f.Keys.Len() {
		return 0, planner.Invalid("Count", "must be as many as there are keys")
	}
	live := int64(0)
	for k, n := range f.Count {
		if n < 0 || total > math.MaxInt64-n {
			return 0, planner.InvalidRow(k, "Count", "must be ≥ 0, and their sum below 2⁶³")
		}
		total += n
		if n > 0 {
			live++
		}
	}
	switch {
	case total == 0:
		return 0, planner.Invalid("Count", "must not all be 0")
	case total > maxUrn/live:
		return 0, planner.Invalid("Count", "must not exceed 2⁶² as the sum of all times the number of those above 0")
	case f.Order != Shuffled && f.Order != Independent:
		return 0, planner.Invalid("Order", "must be shuffled or independent")
	case f.Order == Shuffled && f.Messages != 0:
		return 0, planner.Invalid("Messages", "belongs to order independent")
	case f.Messages < 0 || f.Messages > MaxMessages:
		return 0, planner.Invalid("Messages", "must be from 0 to 4294967295")
	case f.Messages == 0 && total > MaxMessages:
		return 0, planner.Invalid("Count",
			"must not exceed 4294967295 in all, unless order is independent and messages are given")
	}
	return total, nil
}

// Reseeded returns the stream of the same frequencies with another seed. A
// stream with a given order has none: it is returned as it is.
func (s *Stream) Reseeded(seed uint64) (*Stream, error) {
	if s.sample != nil {
		return s, nil
	}
	f := Frequencies{Keys: s.keys, Count: s.weights, Order: s.order, Seed: seed}
	if s.order == Independent {
		f.Messages = s.messages
	}
	return Generate(f)
}

func (s *Stream) summarize() {
	s.top = -1
	for k, n := range s.counts {
		if n > 0 {
			s.distinct++
			if s.top < 0 || s.byFrequency(int32(k), s.top) < 0 {
				s.top = int32(k)
			}
		}
	}
}

// byFrequency orders keys by descending frequency, ties in canonical order.
func (s *Stream) byFrequency(a, b int32) int {
	if c := cmp.Compare(s.counts[b], s.counts[a]); c != 0 {
		return c
	}
	if c := cmp.Compare(s.keys.Hash(int(a)), s.keys.Hash(int(b))); c != 0 {
		return c
	}
	return bytes.Compare(s.keys.At(int(a)), s.keys.At(int(b)))
}

// above lists the keys with more than least messages, most frequent first.
func (s *Stream) above(least int64) (keys []int32) {
	for k, n := range s.counts {
		if n > least {
			keys = append(keys, int32(k))
		}
	}
	slices.SortFunc(keys, s.byFrequency)
	return keys
}

// Len is m, the number of messages.
func (s *Stream) Len() int64 { return s.messages }

// Keys names the keys, also those that have no message.
func (s *Stream) Keys() *planner.Keys { return s.keys }

// Distinct is the number of keys that have messages.
func (s *Stream) Distinct() int { return s.distinct }

// Count is the number of messages of key k.
func (s *Stream) Count(k int) int64 { return s.counts[k] }

// Top is the most frequent key.
func (s *Stream) Top() int { return int(s.top) }

// P1 is p1, the share of the most frequent key in the messages.
func (s *Stream) P1() float64 { return float64(s.counts[s.top]) / float64(s.messages) }

// headKeys is the head of the stream for a number of workers, most frequent
// first, and d, the number of candidates that D-Choices gives to each of its
// keys: the smallest d ≥ max(choices, p1·W) with
//
//	Σ_{i≤h} p_i + (b/W)^d · Σ_{h<i≤|H|} p_i + (b/W)^choices · Σ_{i>|H|} p_i ≤ b·(1/W + ε),
//	b = W − W·(1 − 1/W)^(h·d), for h = 1…|H|,
//
// where key i has the i-th highest share p_i and the head H has the keys with
// p_i > 1/(5W) (Nasir, De Francisci Morales, Kourtellis and Serafini, "When Two
// Choices Are Not Enough", ICDE 2016). b is the number of workers that are
// expected among the candidates of the h heaviest keys: what must go to them,
// and what of the other keys can only go to them, should leave them no more than
// ε above their fair load. If no d < W does, d = W, and the head may go to any
// worker. Without a head d is choices.
func (s *Stream) headKeys(workers, choices int, epsilon float64, stop func() bool) (keys []int32, d int) {
	keys = s.above(s.messages / int64(5*workers))
	counts := make([]int64, len(keys))
	for i, k := range keys {
		counts[i] = s.counts[k]
	}
	return keys, headChoices(counts, s.messages, workers, choices, epsilon, stop)
}

// cursor reads a stream from its beginning.
type cursor struct {
	s       *Stream
	at      int64
	sources int
	of      []int32 // the source of each source key
	keys    []int32
	from    []int32
	urn     *urn
}

const blockMessages = 1 << 12

// read starts at the beginning, with that many sources.
func (s *Stream) read(sources int) *cursor {
	c := &cursor{s: s, sources: sources, from: make([]int32, min(s.messages, blockMessages))}
	if s.sourceKeys != nil && sources > 1 {
		c.of = make([]int32, s.sourceKeys.Len())
		for k := range c.of {
			c.of[k] = int32(s.sourceKeys.Hash(k) % uint64(sources))
		}
	}
	if s.sample == nil {
		c.keys = make([]int32, len(c.from))
		c.urn = newUrn(s.weights, s.seed, s.order == Shuffled)
	}
	return c
}

// next returns the keys and the sources of the messages that follow, in slices
// that the next call overwrites; none when there are no more.
func (c *cursor) next() (keys, sources []int32) {
	n := int(min(c.s.messages-c.at, blockMessages))
	if c.urn != nil {
		keys = c.keys[:n]
		c.urn.draw(keys)
	} else {
		keys = c.s.sample[c.at:][:n]
	}
	sources = c.from[:n]
	switch {
	case c.sources == 1: // they stay 0
	case c.of != nil:
		for i, k := range c.s.sourceKey[c.at:][:n] {
			sources[i] = c.of[k]
		}
	default:
		source := int32(c.at % int64(c.sources))
		for i := range sources {
			sources[i] = source
			if source++; int(source) == c.sources {
				source = 0
			}
		}
	}
	c.at += int64(n)
	return keys, sources
}

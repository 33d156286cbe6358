// Package sketch counts keys in little memory, so that an instance can report how the keys
// that it receives are distributed over the key space without sending them all.
package sketch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// MaxKeyBytes is the greatest length of a key, and MaxWeight bounds the sum of all weights:
// sums of two of them do not overflow.
const (
	MaxKeyBytes = 1024
	MaxWeight   = 1 << 61
)

var (
	errK      = errors.New("sketch: K must be from " + strconv.Itoa(MinK) + " to " + strconv.Itoa(MaxK))
	errKey    = errors.New("sketch: a key must be at most " + strconv.Itoa(MaxKeyBytes) + " bytes long")
	errWeight = errors.New("sketch: a weight must be ≥ 0, and all together at most " + strconv.FormatInt(MaxWeight, 10))
	errItself = errors.New("sketch: it must not be merged with itself")
)

// Limits and defaults of [Options].
const (
	// DefaultK states an error of 0.09 % of a million keys, with 99 %, and holds
	// 12 000 of them.
	DefaultK          = 4096
	MinK              = 8
	MaxK              = 1 << 20
	DefaultConfidence = 0.99
)

// Options are the parameters of a [Sketch].
type Options struct {
	// K is k of the KLL sketch: the capacity of its top level, from MinK to
	// MaxK. A sketch keeps about 3k keys, exactly as long as there are at
	// most k different ones. Defaults to DefaultK.
	K int
	// Seed and Stream give the coins. Sketches that are to be merged need
	// different ones, for instance the same seed and the follower as the stream:
	// their errors cancel out only if their coins are independent.
	Seed, Stream uint64
}

// Sketch is a mergeable summary of the distribution of weighted keys: the KLL
// sketch of Karnin, Lang and Liberty ("Optimal Quantile Approximation in
// Streams", 2016) with weights, over byte strings. A key of weight w counts as w
// equal ones: each binary digit of w puts it into the level that stands for it.
//
// A level that is full is sorted, and every other of its keys goes up to the next
// level, where it counts twice; a coin says which. Each time, a rank changes by
// the weight of that level at most, up or down with the same probability. A
// sketch adds up the squares of these weights, those of what was merged into it
// included, and so knows a bound on its own error which is proven for whatever
// came in and however it was merged; see [Sketch.RankError].
//
// The same keys in the same order with the same coins give the same sketch. Its
// methods must not be called at the same time.
type Sketch struct {
	k     int
	coins rand.PCG
	coin  uint64 // tosses to come, the next one lowest
	left  int    // their number

	recent []weighted // with their whole weights, not yet in a level
	levels [][]sample // level h holds keys that count 2^h each
	size   int        // keys in the levels
	room   int        // keys that the levels may hold

	spare []sample // room to sort in
	ends  []int    // of runs, likewise

	arena    []byte // the bytes of the keys
	tidyAt   int    // length of the arena at which to drop the bytes of keys that are gone
	total    int64
	variance float64 // Σ of the squared weights of all compactions
}

// sample is a key of a sketch.
type sample struct {
	prefix uint64 // its first eight bytes
	ref    uint64 // where it lies in the arena: offset<<11 | length
}

type weighted struct {
	sample
	weight int64
}

const (
	leastLevel = 8       // keys that even the lowest level may hold
	leastArena = 1 << 16 // bytes
)

// New returns an empty sketch.
func New(o Options) (*Sketch, error) {
	k := cmp.Or(o.K, DefaultK)
	if k < MinK || k > MaxK {
		return nil, errK
	}
	s := &Sketch{k: k, tidyAt: leastArena}
	s.coins.Seed(o.Seed, o.Stream)
	return s, nil
}

// Total is the weight of all keys that were added.
func (s *Sketch) Total() int64 { return s.total }

// Len is the number of keys that the sketch holds, repeated ones included.
func (s *Sketch) Len() int { return s.size + len(s.recent) }

// Add adds a key of the given weight ≥ 0. The bytes are copied.
func (s *Sketch) Add(key []byte, weight int64) error {
	switch {
	case len(key) > MaxKeyBytes:
		return errKey
	case weight < 0 || weight > MaxWeight-s.total:
		return errWeight
	case weight > 0:
		s.total += weight
		s.add(key, weight)
	}
	return nil
}

func (s *Sketch) add(key []byte, weight int64) {
	s.recent = append(s.recent, weighted{s.intern(key), weight})
	if len(s.recent) >= 2*s.k {
		s.settle()
	}
}

func (s *Sketch) intern(key []byte) sample {
	x := sample{prefixOf(key), uint64(len(s.arena))<<11 | uint64(len(key))}
	s.arena = append(s.arena, key...)
	return x
}

func (s *Sketch) key(x sample) []byte {
	offset, n := x.ref>>11, x.ref&(1<<11-1)
	return s.arena[offset : offset+n : offset+n]
}

func (s *Sketch) compare(a, b sample) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return bytes.Compare(s.key(a), s.key(b))
}

// settle adds up the weights of equal recent keys. When they are more than k
// even so, or the sketch is not exact any more, they go into the levels.
func (s *Sketch) settle() {
	slices.SortFunc(s.recent, func(a, b weighted) int { return s.compare(a.sample, b.sample) })
	merged := s.recent[:0]
	for _, x := range s.recent {
		if n := len(merged); n > 0 && s.compare(merged[n-1].sample, x.sample) == 0 {
			merged[n-1].weight += x.weight
		} else {
			merged = append(merged, x)
		}
	}
	s.recent = merged
	if s.size > 0 || len(s.recent) > s.k {
		for _, x := range s.recent {
			for h := 0; x.weight>>h > 0; h++ {
				if x.weight>>h&1 == 1 {
					s.raise(h + 1)
					s.levels[h] = append(s.levels[h], x.sample)
					s.size++
				}
			}
		}
		s.recent = s.recent[:0]
		s.shrink()
	}
	s.tidy()
}

// raise makes sure that there are that many levels.
func (s *Sketch) raise(levels int) {
	if levels <= len(s.levels) {
		return
	}
	for len(s.levels) < levels {
		s.levels = append(s.levels, nil)
	}
	s.room = 0
	for h := range s.levels {
		s.room += s.capacity(h)
	}
}

// capacity is how many keys level h may hold: k at the top, and two thirds of
// the level above further down.
func (s *Sketch) capacity(h int) int {
	c := s.k
	for range len(s.levels) - 1 - h {
		if c = (2*c + 2) / 3; c <= leastLevel {
			return leastLevel
		}
	}
	return c
}

// shrink compacts the lowest full level, while there are too many keys.
func (s *Sketch) shrink() {
	for s.size > s.room {
		h := 0
		for len(s.levels[h]) < s.capacity(h) {
			h++
		}
		s.compact(h)
	}
}

// compact sends half of the keys of level h up. Of an odd number the first one
// stays.
func (s *Sketch) compact(h int) {
	s.raise(h + 2)
	level := s.levels[h]
	s.sort(level)
	stay := len(level) % 2
	for i := stay + s.toss(); i < len(level); i += 2 {
		s.levels[h+1] = append(s.levels[h+1], level[i])
	}
	s.levels[h] = level[:stay]
	s.size -= len(level) / 2
	s.variance += math.Ldexp(1, 2*h)
}

// sort sorts a level, which consists of few ascending runs: what was left of it, and
// what came in at a time. They are merged in pairs.
func (s *Sketch) sort(level []sample) {
	ends := s.ends[:0]
	for i := 1; i <= len(level); i++ {
		if i == len(level) || s.compare(level[i-1], level[i]) > 0 {
			ends = append(ends, i)
		}
	}
	if len(level) > len(s.spare) {
		s.spare = make([]sample, 2*len(level))
	}
	from, to := level, s.spare[:len(level)]
	for ; len(ends) > 1; from, to = to, from {
		start, n := 0, 0
		for k := 0; k < len(ends); k += 2 {
			middle, end := ends[k], ends[min(k+1, len(ends)-1)]
			s.merge(to[start:end], from[start:middle], from[middle:end])
			ends[n] = end
			start, n = end, n+1
		}
		ends = ends[:n]
	}
	if len(level) > 0 && &from[0] != &level[0] {
		copy(level, from)
	}
	s.ends = ends[:0]
}

// merge merges two ascending runs.
func (s *Sketch) merge(into, a, b []sample) {
	for i := range into {
		if len(b) == 0 || len(a) > 0 && s.compare(a[0], b[0]) <= 0 {
			into[i], a = a[0], a[1:]
		} else {
			into[i], b = b[0], b[1:]
		}
	}
}

// toss returns 0 or 1.
func (s *Sketch) toss() int {
	if s.left == 0 {
		s.coin, s.left = s.coins.Uint64(), 64
	}
	c := int(s.coin & 1)
	s.coin >>= 1
	s.left--
	return c
}

// tidy drops the bytes of keys that are gone, once these may be most.
func (s *Sketch) tidy() {
	if len(s.arena) < s.tidyAt {
		return
	}
	old := s.arena
	s.arena = make([]byte, 0, s.tidyAt)
	move := func(x *sample) {
		offset, n := x.ref>>11, x.ref&(1<<11-1)
		x.ref = uint64(len(s.arena))<<11 | n
		s.arena = append(s.arena, old[offset:offset+n]...)
	}
	for i := range s.recent {
		move(&s.recent[i].sample)
	}
	for _, level := range s.levels {
		for i := range level {
			move(&level[i])
		}
	}
	s.tidyAt = max(leastArena, 2*len(s.arena))
}

// Merge adds all that is in another sketch, which stays as it is. The two must
// not have seen the same coins: a sketch is not to be merged with itself or a
// copy.
func (s *Sketch) Merge(other *Sketch) error {
	if other == s {
		return errItself
	}
	if other.total > MaxWeight-s.total {
		return errWeight
	}
	s.total += other.total
	s.variance += other.variance
	for h, level := range other.levels {
		if len(level) > 0 {
			s.raise(h + 1)
		}
		for _, x := range level {
			s.levels[h] = append(s.levels[h], s.intern(other.key(x)))
		}
		s.size += len(level)
	}
	s.shrink()
	for _, x := range other.recent {
		s.add(other.key(x.sample), x.weight)
	}
	return nil
}

// All yields the keys that the sketch holds, in no order and some of them several times,
// with the weights that they stand for, which add up to the total. The bytes are shared.
func (s *Sketch) All() iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		for _, x := range s.recent {
			if !yield(s.key(x.sample), x.weight) {
				return
			}
		}
		for h, level := range s.levels {
			for _, x := range level {
				if !yield(s.key(x), 1<<h) {
					return
				}
			}
		}
	}
}

// Variance bounds the variance of every rank. 0: the ranks are exact.
func (s *Sketch) Variance() float64 { return s.variance }

// RankError bounds by how much the weight of all keys below one is off, for all keys at once
// with that confidence, above 0 and below 1. It is 0 if the sketch never held more than k
// different keys.
//
// A rank is the truth and a sum of independent changes, each ±2^h or none, so by
// Azuma's and Hoeffding's inequality it is off by more than t with a probability
// of at most 2·exp(−t²/2V), V being the sum of the squares 4^h. Taken at the G−1
// keys that divide the weight into G parts, just before and just after each, this
// covers all keys: between two of them ranks differ by a G-th of the weight. It is the
// best of the bounds over G.
func (s *Sketch) RankError(confidence float64) int64 {
	if s.variance == 0 {
		return 0
	}
	best := float64(s.total)
	for g := 1; g <= 30; g++ {
		parts := math.Ldexp(1, g)
		off := math.Sqrt(float64(2*s.variance*math.Log(float64(4*(parts-1))/(1-confidence)))) + float64(s.total)/parts
		best = math.Min(best, off)
	}
	return int64(math.Ceil(best))
}

// prefixOf returns the first eight bytes of a key as a number. It orders keys that differ
// there; a key and its continuation by zero bytes have the same.
func prefixOf(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

package ranges

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/sdk/go/sketch"
)

// MaxWeight bounds the sum of all weights: sums of two of them do not overflow.
const MaxWeight = sketch.MaxWeight

// CDF says how the weight of all keys is distributed over the key space: exactly,
// or with the error of the summary it was taken from. It is immutable.
type CDF struct {
	keys *planner.Keys
	// order holds the indices into keys, by their bytes; each key once, and only
	// those that weigh something.
	order []int32
	// below[i] is the weight of all keys before the ith; the last one is that of all.
	below      []int64
	heaviest   int64 // weight of a key
	rankError  int64
	confidence float64
}

// NewCDF returns the exact distribution of keys with the given weights ≥ 0. Their
// order does not matter; weights of the same key add up, and keys without weight
// are left out. The keys are shared: they must not be changed any more.
func NewCDF(keys *planner.Keys, weights []int64) (*CDF, error) {
	return NewApproximateCDF(keys, weights, 0, 1)
}

// NewApproximateCDF returns the distribution that a summary of another kind
// stands for: its sample with weights ≥ 0, and the greatest difference, in units
// of weight, between a rank in the sample and the truth, which holds for all
// ranks at once with the given confidence.
func NewApproximateCDF(keys *planner.Keys, weights []int64, rankError int64, confidence float64) (*CDF, error) {
	switch {
	case keys.Len() != len(weights):
		return nil, planner.Invalid("Weights", "must be as many as keys")
	case rankError < 0:
		return nil, planner.Invalid("RankError", "must be ≥ 0")
	case !(confidence > 0 && confidence <= 1):
		return nil, planner.Invalid("Confidence", "must be above 0 and at most 1")
	}
	total := int64(0)
	for i, w := range weights {
		if w < 0 || w > MaxWeight-total {
			return nil, planner.InvalidRow(i, "Weight", "must be ≥ 0, and all together at most "+
				strconv.FormatInt(MaxWeight, 10))
		}
		total += w
	}
	c := newCDF(keys, weights, sortedByBytes(keys))
	c.rankError, c.confidence = min(rankError, total), confidence
	return c, nil
}

// newCDF is NewCDF for weights in range and an order that is known.
func newCDF(keys *planner.Keys, weights []int64, order []int32) *CDF {
	c := &CDF{keys: keys, confidence: 1, order: make([]int32, 0, len(order)), below: make([]int64, 0, len(order)+1)}
	sum := int64(0)
	for _, i := range order {
		if weights[i] == 0 {
			continue
		}
		if n := len(c.order); n == 0 || !bytes.Equal(keys.At(int(c.order[n-1])), keys.At(int(i))) {
			c.order = append(c.order, i)
			c.below = append(c.below, sum)
		}
		sum += weights[i]
	}
	c.below = append(c.below, sum)
	for i := range c.order {
		c.heaviest = max(c.heaviest, c.Weight(i))
	}
	return c
}

// sortedByBytes returns the indices of the keys in the order of their bytes and
// then of their indices.
func sortedByBytes(keys *planner.Keys) []int32 {
	type place struct {
		prefix uint64
		index  int32
	}
	common := commonPrefix(keys)
	places := make([]place, keys.Len())
	for i := range places {
		places[i] = place{prefixOf(keys.At(i)[common:]), int32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(keys.At(int(a.index)), keys.At(int(b.index))); c != 0 {
			return c
		}
		return cmp.Compare(a.index, b.index)
	})
	order := make([]int32, len(places))
	for i, p := range places {
		order[i] = p.index
	}
	return order
}

// commonPrefix is the number of bytes with which all keys begin.
func commonPrefix(keys *planner.Keys) int {
	if keys.Len() == 0 {
		return 0
	}
	first := keys.At(0)
	n := len(first)
	for i := 1; i < keys.Len() && n > 0; i++ {
		key := keys.At(i)
		n = min(n, len(key))
		for j := range n {
			if key[j] != first[j] {
				n = j
				break
			}
		}
	}
	return n
}

// prefixOf returns the first eight bytes of a key as a number. It orders keys
// that differ there; a key and its continuation by zero bytes have the same.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// Len is the number of different keys, or of those in the sample.
func (c *CDF) Len() int { return len(c.order) }

// Key returns key i, in the order of their bytes. The slice is shared.
func (c *CDF) Key(i int) []byte { return c.keys.At(int(c.order[i])) }

// Weight returns the weight of key i.
func (c *CDF) Weight(i int) int64 { return c.below[i+1] - c.below[i] }

// Total is the weight of all keys. It is exact.
func (c *CDF) Total() int64 { return c.below[len(c.order)] }

// search returns the index of the first key at or after key.
func (c *CDF) search(key []byte) int {
	i, _ := slices.BinarySearchFunc(c.order, key, func(at int32, key []byte) int {
		return bytes.Compare(c.keys.At(int(at)), key)
	})
	return i
}

// Rank returns the weight of all keys below key, which is off by [CDF.Error] of
// the total at most; at the two ends of the key space it is exact.
func (c *CDF) Rank(key []byte) int64 { return c.below[c.search(key)] }

// nearest returns the index of the key before which the weight is nearest to the
// given one, the number of keys if that is all of it.
func (c *CDF) nearest(weight float64) int {
	i, _ := slices.BinarySearchFunc(c.below, weight,
		func(w int64, weight float64) int { return cmp.Compare(float64(w), weight) })
	if i == len(c.below) || i > 0 && weight-float64(c.below[i-1]) <= float64(c.below[i])-weight {
		i--
	}
	return i
}

// share is a weight as a part of the total.
func (c *CDF) share(weight int64) float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(weight) / float64(c.Total())
}

// Error bounds by how much a rank is off, as a part of the total, for all keys at
// once with the confidence of [CDF.Confidence]. 0: the ranks are exact.
func (c *CDF) Error() float64 { return c.share(c.rankError) }

// Confidence is the probability, over the coins of the summary, that every rank
// is within [CDF.Error]; 1 if it is certain.
func (c *CDF) Confidence() float64 { return c.confidence }

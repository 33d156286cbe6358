package route

import (
	"errors"
	"sync/atomic"
)

// PartUnits is the weight of a whole key.
const PartUnits = 1 << 16

// Part is one of the instances of a split key.
type Part struct {
	Instance int32
	Weight   int32 // its share of the key's messages, from 1 to PartUnits−1, in 1/PartUnits
}

// ValidateParts reports what is wrong with the parts of a table entry.
func ValidateParts(parts []Part) error {
	sum := int64(0)
	for i, x := range parts {
		if x.Weight < 1 {
			return errors.New("must have weights ≥ 1")
		}
		if i > 0 && x.Instance <= parts[i-1].Instance {
			return errors.New("must be on instances that ascend without repetition")
		}
		sum += int64(x.Weight)
	}
	if len(parts) < 2 || sum != PartUnits {
		return errors.New("must be two at least, whose weights sum up to 65536")
	}
	return nil
}

// split is where a split key goes, and whose turn it is.
type split struct {
	heaviest int32 // the instance that the entry names
	parts    []Part
	// turn counts the messages of the key, and goes on when weights change. It wraps
	// round at a multiple of PartUnits.
	turn *atomic.Uint32
}

// step is odd, so that PartUnits steps visit every number below PartUnits once: then
// each part has had exactly its weight. It is PartUnits divided by the golden ratio: of
// any number of steps in a row the visited numbers are spread evenly (Knuth, The Art of
// Computer Programming 3, §6.4, theorem S), so that shares are met early and the parts
// take turns.
const step = 40503

// next takes the next turn.
func (s *split) next() int32 {
	at := int32(s.turn.Add(1) * step % PartUnits)
	for _, x := range s.parts[:len(s.parts)-1] {
		if at -= x.Weight; at < 0 {
			return x.Instance
		}
	}
	return s.parts[len(s.parts)-1].Instance
}

// newTurn is the counter of a key at a router, which starts where chance would have it:
// were all routers to start at the same part, that would get more than its share of
// keys with few messages.
func newTurn(hash, router uint64) *atomic.Uint32 {
	turn := new(atomic.Uint32)
	turn.Store(uint32(mix(hash^mix(router)) >> 32))
	return turn
}

// mix is the finalizer of murmur3_x64_128.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

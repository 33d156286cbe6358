package ring

import (
	"math/bits"
	"math/rand/v2"
	"strconv"

	"plannerd/planner"
)

// MaxMessages is the greatest length of a stream.
const MaxMessages = 1 << 30

// Stream is a sequence of messages by their keys.
type Stream struct {
	// Keys are distinct, 1 to planner.MaxKeyBytes bytes.
	Keys *planner.Keys
	// Messages are the keys of the messages in their order, as indices into Keys.
	Messages []int32
}

// NewStream returns counts[i] messages of each key i, shuffled with the seed. Stop is
// asked now and then; nil: never. The error is a [planner.InputError] or
// planner.ErrStopped.
func NewStream(keys *planner.Keys, counts []int64, seed uint64, stop func() bool) (*Stream, error) {
	if len(counts) != keys.Len() {
		return nil, planner.Invalid("Keys", "the columns differ in length")
	}
	total := int64(0)
	for i, n := range counts {
		if n < 0 || n > MaxMessages-total {
			return nil, planner.InvalidRow(i, "Count", "must be ≥ 0, and all together at most "+strconv.Itoa(MaxMessages))
		}
		total += n
	}
	s := &Stream{Keys: keys, Messages: make([]int32, 0, total)}
	for i, n := range counts {
		for range n {
			s.Messages = append(s.Messages, int32(i))
		}
	}
	rng := rand.NewPCG(seed, 0)
	for i := len(s.Messages) - 1; i > 0; i-- {
		if i%askEvery == 0 && stop != nil && stop() {
			return nil, planner.ErrStopped
		}
		j := below(rng, uint64(i)+1)
		s.Messages[i], s.Messages[j] = s.Messages[j], s.Messages[i]
	}
	return s, nil
}

// below draws a number below n, n > 0. The bias is at most n/2⁶⁴.
func below(rng *rand.PCG, n uint64) uint64 {
	high, _ := bits.Mul64(rng.Uint64(), n)
	return high
}

// Counts is how many messages each key has.
func (s *Stream) Counts() []int64 {
	counts := make([]int64, s.Keys.Len())
	for _, k := range s.Messages {
		counts[k]++
	}
	return counts
}

// validate checks the stream.
func (s *Stream) validate() error {
	if len(s.Messages) > MaxMessages {
		return planner.Invalid("Stream", "must not have more than "+strconv.Itoa(MaxMessages)+" messages")
	}
	for i := range s.Keys.Len() {
		if len(s.Keys.At(i)) == 0 {
			return planner.Invalid(planner.Element("Keys", i), "must not be empty")
		}
	}
	for i, k := range s.Messages {
		if k < 0 || int(k) >= s.Keys.Len() {
			return planner.InvalidRow(i, "Key", "is not one of the keys")
		}
	}
	return nil
}

package grouping

import "math/rand/v2"

// maxUrn bounds the weights of an urn, all of them times their number.
const maxUrn = 1 << 62

// urn draws keys at random in proportion to integer weights, with exact
// probabilities, in constant time: Walker's alias method as Vose builds it.
//
// To draw without putting back, a key is accepted with the share of its weight
// that is left, else another one is drawn. When half of the weight is gone the
// tables are built again for what is left, so a draw takes two tries at most in
// the mean, and all building together no more than the first one times the
// number of halvings.
type urn struct {
	rng   *rand.Rand
	total uint64 // weight in the tables
	slots []aliasSlot

	left     []int64  // weight of each key; nil when keys are put back
	built    []int64  // the same when the tables were built
	leftover uint64   // all that is left
	balance  []uint64 // scratch of build
}

// aliasSlot has the weight total, of which key takes all below cut and other the
// rest.
type aliasSlot struct {
	cut        uint64
	key, other int32
}

func newUrn(weights []int64, seed uint64, remove bool) *urn {
	u := &urn{rng: rand.New(rand.NewPCG(seed, 0x706b67))}
	if remove {
		u.left = append([]int64(nil), weights...)
		u.built = make([]int64, len(weights))
		weights = u.left
	}
	u.build(weights)
	return u
}

// build makes the tables from the weights above 0.
func (u *urn) build(weights []int64) {
	u.total, u.slots = 0, u.slots[:0]
	for k, w := range weights {
		if w > 0 {
			u.total += uint64(w)
			u.slots = append(u.slots, aliasSlot{key: int32(k)})
		}
	}
	copy(u.built, weights)
	u.leftover = u.total
	// A slot starts with its key's weight times the number of slots. What is
	// missing to total is filled from a slot that has more.
	u.balance = u.balance[:0]
	var small, large []int32
	for i, s := range u.slots {
		w := uint64(weights[s.key]) * uint64(len(u.slots))
		u.balance = append(u.balance, w)
		if w < u.total {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		u.slots[s].cut, u.slots[s].other = u.balance[s], u.slots[l].key
		u.balance[l] -= u.total - u.balance[s]
		if u.balance[l] < u.total {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, l := range large { // exactly full
		u.slots[l].cut = u.total
	}
}

// draw fills keys.
func (u *urn) draw(keys []int32) {
	for i := range keys {
		keys[i] = u.one()
	}
}

func (u *urn) one() int32 {
	if u.left != nil && u.leftover <= u.total/2 {
		u.build(u.left)
	}
	for {
		s := &u.slots[u.rng.Uint64N(uint64(len(u.slots)))]
		k := s.key
		if u.rng.Uint64N(u.total) >= s.cut {
			k = s.other
		}
		if u.left == nil {
			return k
		}
		if left := u.left[k]; left == u.built[k] || int64(u.rng.Uint64N(uint64(u.built[k]))) < left {
			u.left[k]--
			u.leftover--
			return k
		}
	}
}

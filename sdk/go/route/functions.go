package route

import (
	"errors"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/twmb/murmur3"
)

// A Function places the keys that have no entry in a routing table.
type Function interface {
	// Instance returns the ID of the key's instance. The hash is [KeyHash] of the key.
	// The error says why the function cannot place it.
	Instance(key []byte, hash uint64) (int32, error)
}

// KeyHash is the first half of murmur3_x64_128 with seed 0 of the key. It places keys
// under [Modulo] and indexes routing tables.
func KeyHash(key []byte) uint64 { return murmur3.Sum64(key) }

// RingPosition returns where a key, or the name of a token, lies on a token ring:
// murmur3_x86_32 of its bytes, with seed 0.
//
// The hash is twmb/murmur3's: the Sum32 of spaolacci/murmur3 reads words through
// unaligned pointers, which the race detector's pointer check forbids.
func RingPosition(key []byte) uint32 { return murmur3.Sum32(key) }

// Why a key cannot be placed.
var (
	errNotUTF8 = errors.New("must be valid UTF-8 under the key type string")
	errNotInt  = errors.New("must be a decimal integer of 32 bits, without plus sign or leading zeros, under the key " +
		"type int")
	errNotLong = errors.New("must be a decimal integer of 64 bits, without plus sign or leading zeros, under the key " +
		"type long")
)

// modulo lists the instance ids in ascending order.
type modulo []int32

func (m modulo) Instance(_ []byte, hash uint64) (int32, error) {
	return m[hash%uint64(len(m))], nil
}

// kafka lists the instance id of each partition.
type kafka []int32

func (k kafka) Instance(key []byte, _ uint64) (int32, error) {
	return k[murmur2(key)&0x7fffffff%uint32(len(k))], nil
}

// murmur2 is the 32-bit MurmurHash2 with the seed that Kafka gives it.
func murmur2(key []byte) uint32 {
	const m = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	for i := len(key) - 1; i >= 0; i-- {
		h ^= uint32(key[i]) << (8 * i)
		if i == 0 {
			h *= m
		}
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// flink places keys as Flink's KeyGroupRangeAssignment does.
type flink struct {
	hashCode func(key []byte) (int32, error)
	owners   []int32 // the instance id of each key group
}

func newFlink(c Config, instances []Instance) flink {
	f := flink{hashCode: stringHashCode, owners: make([]int32, c.MaxParallelism)}
	switch c.KeyType {
	case Int:
		f.hashCode = intHashCode
	case Long:
		f.hashCode = longHashCode
	}
	for group := range f.owners {
		f.owners[group] = instances[group*len(instances)/c.MaxParallelism].ID
	}
	return f
}

func (f flink) Instance(key []byte, _ uint64) (int32, error) {
	code, err := f.hashCode(key)
	if err != nil {
		return 0, err
	}
	return f.owners[flinkMurmur(code)%uint32(len(f.owners))], nil
}

// flinkMurmur is MathUtils.murmurHash: murmur3_x86_32 of one word, and of that
// the absolute value.
func flinkMurmur(code int32) uint32 {
	h := bits.RotateLeft32(uint32(code)*0xcc9e2d51, 15) * 0x1b873593
	h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	h ^= 4
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	// The sign is as good as random, so a branch on it would cost more than the
	// hash. The mask turns the one number without an absolute value into 0.
	sign := uint32(int32(h) >> 31)
	return ((h ^ sign) - sign) & 0x7fffffff
}

// stringHashCode is String.hashCode: a polynomial in 31 over the UTF-16 code
// units, modulo 2³².
func stringHashCode(key []byte) (int32, error) {
	var h uint32
	// ASCII, four steps at once: the key is placed in two thirds of the time.
	for len(key) >= 4 && key[0]|key[1]|key[2]|key[3] < utf8.RuneSelf {
		h = h*(31*31*31*31) + uint32(key[0])*(31*31*31) + uint32(key[1])*(31*31) + uint32(key[2])*31 + uint32(key[3])
		key = key[4:]
	}
	for len(key) > 0 {
		if c := key[0]; c < utf8.RuneSelf {
			h = h*31 + uint32(c)
			key = key[1:]
			continue
		}
		r, size := utf8.DecodeRune(key)
		if r == utf8.RuneError && size == 1 {
			return 0, errNotUTF8
		}
		if utf16.RuneLen(r) == 2 {
			var high rune
			high, r = utf16.EncodeRune(r)
			h = h*31 + uint32(high)
		}
		h = h*31 + uint32(r)
		key = key[size:]
	}
	return int32(h), nil
}

// intHashCode is Integer.hashCode, the number itself.
func intHashCode(key []byte) (int32, error) {
	n, ok := parse(key, 32)
	if !ok {
		return 0, errNotInt
	}
	return int32(n), nil
}

// longHashCode is Long.hashCode: one half of the number xor the other.
func longHashCode(key []byte) (int32, error) {
	n, ok := parse(key, 64)
	if !ok {
		return 0, errNotLong
	}
	return int32(n ^ n>>32), nil
}

// parse reads a decimal integer in the form that Java prints. Others are
// refused, because two spellings of one number would be two keys here and one
// in the engine.
func parse(key []byte, bitSize int) (int64, bool) {
	n, err := strconv.ParseInt(string(key), 10, bitSize)
	digits := key
	if n < 0 {
		digits = key[1:]
	}
	return n, err == nil && (len(digits) == 1 || digits[0] >= '1')
}

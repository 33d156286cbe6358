package sketch

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

var (
	errVersion = errors.New("sketch: it is not of a known version")
	errForm    = errors.New("sketch: it is not in the binary form of one")
)

// sketchVersion is the first byte of a sketch in its binary form.
const sketchVersion = 1

// MarshalBinary returns the sketch as a follower reports it: all there is to
// know, its coins included. It never fails.
func (s *Sketch) MarshalBinary() ([]byte, error) {
	coins, err := s.coins.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 64+len(s.arena)+2*s.Len()), sketchVersion)
	b = binary.AppendUvarint(b, uint64(s.k))
	b = append(binary.AppendUvarint(b, uint64(len(coins))), coins...)
	b = binary.AppendUvarint(b, s.coin)
	b = binary.AppendUvarint(b, uint64(s.left))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(s.variance))
	b = binary.AppendUvarint(b, uint64(len(s.recent)))
	for _, x := range s.recent {
		b = binary.AppendUvarint(b, uint64(x.weight))
		b = s.appendKey(b, x.sample)
	}
	b = binary.AppendUvarint(b, uint64(len(s.levels)))
	for _, level := range s.levels {
		b = binary.AppendUvarint(b, uint64(len(level)))
		for _, x := range level {
			b = s.appendKey(b, x)
		}
	}
	return b, nil
}

func (s *Sketch) appendKey(b []byte, x sample) []byte {
	key := s.key(x)
	return append(binary.AppendUvarint(b, uint64(len(key))), key...)
}

// UnmarshalBinary replaces the sketch by one that [Sketch.MarshalBinary] wrote. It
// returns an error for what cannot be one; the sketch is then as it was. Whoever makes up
// a sketch can lie about what it has seen, but cannot make this or any other method fail.
func (s *Sketch) UnmarshalBinary(data []byte) error {
	r := sketchReader{data: data}
	if r.byte() != sketchVersion {
		return errVersion
	}
	d := &Sketch{k: int(r.number(MaxK)), tidyAt: leastArena}
	if d.k < MinK {
		r.failed = true
	}
	if err := d.coins.UnmarshalBinary(r.bytes(64)); err != nil {
		r.failed = true
	}
	d.coin, d.left = r.number(math.MaxUint64), int(r.number(64))
	d.variance = math.Float64frombits(binary.BigEndian.Uint64(append(r.take(8), make([]byte, 8)...)))
	for range r.number(uint64(2 * d.k)) {
		weight := r.number(MaxWeight)
		d.count(&r, weight)
		d.recent = append(d.recent, weighted{d.intern(r.bytes(MaxKeyBytes)), int64(weight)})
	}
	levels := int(r.number(uint64(bits.Len64(MaxWeight))))
	if !r.failed {
		d.raise(levels)
	}
	for h := range d.levels {
		for range r.number(uint64(len(data))) {
			d.count(&r, 1<<h)
			d.levels[h] = append(d.levels[h], d.intern(r.bytes(MaxKeyBytes)))
			d.size++
			if r.failed {
				break
			}
		}
	}
	if r.failed || len(r.data) > 0 || !(d.variance >= 0 && d.variance <= math.MaxFloat64) {
		return errForm
	}
	d.shrink()
	*s = *d
	return nil
}

// count adds to the total what was read.
func (s *Sketch) count(r *sketchReader, weight uint64) {
	if weight == 0 || weight > uint64(MaxWeight-s.total) {
		r.failed = true
		return
	}
	s.total += int64(weight)
}

// sketchReader takes the parts of a sketch from its binary form. After the first
// that is not there it only returns zeros.
type sketchReader struct {
	data   []byte
	failed bool
}

func (r *sketchReader) take(n int) []byte {
	if r.failed || n > len(r.data) {
		r.failed = true
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *sketchReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *sketchReader) number(most uint64) uint64 {
	x, n := binary.Uvarint(r.data)
	if r.failed || n <= 0 || x > most {
		r.failed = true
		return 0
	}
	r.data = r.data[n:]
	return x
}

// bytes reads a length, at most that, and as many bytes.
func (r *sketchReader) bytes(most uint64) []byte { return r.take(int(r.number(most))) }

package forecast

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"plannerd/planner"
)

// The first byte of an encoded state: alone, and followed by what is remembered of resources.
const (
	version       = 1
	withResources = 2
)

// sources numbers what amounts of resources are, as they are encoded.
var sources = []planner.AmountSource{"", planner.FromState, planner.FromCount}

// ErrEncoding is returned for bytes that Encode of this version did not write.
var ErrEncoding = errors.New("forecast: the encoded state is damaged or of another version")

// methods numbers the methods as they are encoded.
var methods = []Method{Last, EWMA, Level, Seasonal, Combined}

// Encode returns what [Decode] reads: some 12 bytes and the text for each key, 8 more
// where state is reported, 16 more under method combined, and up to 400 kB for the errors of
// the last forecasts. For each resource that rows tell it has once more what it has for the cost of a key,
// for state 4 bytes of it.
func (s *State) Encode() []byte {
	n := s.keys.Len()
	w := writer{buf: make([]byte, 0, 32*n+64)}
	first := byte(version)
	if len(s.resources) > 0 {
		first = withResources
	}
	w.buf = append(w.buf, first, byte(slices.Index(methods, s.config.Method)))
	w.float(s.config.Alpha)
	w.number(s.config.Period)
	w.number(s.intervals)
	for _, x := range s.noise.fields() {
		w.float(*x)
	}
	w.number(n)
	for id := range n {
		key := s.keys.At(id)
		w.number(len(key))
		w.buf = append(w.buf, key...)
	}
	w.singles(s.level)
	w.number(len(s.size))
	for _, x := range s.size {
		w.float(x)
	}
	w.number(len(s.home))
	for _, h := range s.home {
		w.number(int(h) + 1)
	}
	w.errors(&s.series)
	if len(s.resources) > 0 {
		w.number(len(s.resources))
	}
	for _, r := range s.resources {
		w.resource(r)
	}
	return w.buf
}

// errors writes the errors of the last forecasts, and what follows from them.
func (w *writer) errors(x *series) {
	w.number(len(x.recent))
	for _, v := range x.recent {
		w.float(v.rest)
		w.number(len(v.keys))
		for i, id := range v.keys {
			w.number(int(id))
			w.single(v.diff[i])
		}
	}
	for _, a := range x.combination.averages {
		w.float(a.loss)
		w.singles(a.level)
	}
	if x.config.Method == Combined {
		w.float(x.combination.losses[0])
		w.float(x.combination.losses[1])
	}
}

func (w *writer) resource(r *resource) {
	w.number(len(r.name))
	w.buf = append(append(w.buf, r.name...), byte(slices.Index(sources, r.from)))
	if r.from == planner.FromCount {
		return
	}
	w.number(r.intervals)
	for _, x := range r.noise.fields() {
		w.float(*x)
	}
	w.singles(r.level)
	w.errors(&r.series)
	w.number(len(r.totals))
	for _, total := range r.totals {
		w.float(total)
	}
}

// Decode reads a state that Encode wrote.
func Decode(data []byte) (*State, error) {
	r := reader{rest: data}
	first := r.byte()
	if first != version && first != withResources {
		return nil, ErrEncoding
	}
	s := &State{}
	if m := int(r.byte()); m < len(methods) {
		s.config.Method = methods[m]
	}
	s.config.Alpha = r.float()
	s.config.Period, s.intervals = r.number(), r.number()
	for _, x := range s.noise.fields() {
		*x = r.float()
	}
	n := r.count(1)
	s.keys = planner.NewKeys(n)
	for range n {
		s.keys.AppendUnhashed(r.text(r.number()))
	}
	s.keys.HashAppended()
	s.level = list(&r, r.length(n, 4), (*reader).single)
	s.size = list(&r, r.count(8), (*reader).float)
	s.home = list(&r, r.count(1), func(r *reader) int32 { return int32(r.number() - 1) })
	r.errors(&s.series, n)
	if first == withResources {
		for n := r.count(2); n > 0 && !r.bad; n-- {
			s.resources = append(s.resources, r.resource(s))
		}
	}
	if r.bad || len(r.rest) > 0 || !s.sound() {
		return nil, ErrEncoding
	}
	s.each(func(x *series) { x.findPeriod() })
	return s, nil
}

// errors reads what a writer wrote of a series with so many keys.
func (r *reader) errors(x *series, keys int) {
	for range r.count(9) {
		v := innovation{rest: r.float()}
		for range r.count(5) {
			v.keys = append(v.keys, int32(r.number()))
			v.diff = append(v.diff, r.single())
		}
		x.recent = append(x.recent, v)
	}
	if x.config.Method != Combined {
		return
	}
	x.combination.averages = nil
	for range combinedAlphas {
		a := average{loss: r.float()}
		a.level = list(r, r.length(keys, 4), (*reader).single)
		x.combination.averages = append(x.combination.averages, a)
	}
	x.combination.losses = [2]float64{r.float(), r.float()}
}

func (r *reader) resource(s *State) *resource {
	name, from := string(r.text(r.number())), planner.AmountSource("")
	if i := int(r.byte()); i < len(sources) {
		from = sources[i]
	} else {
		r.bad = true
	}
	x := s.begun(name, from)
	if from == planner.FromCount {
		return x
	}
	x.intervals = r.number()
	for _, y := range x.noise.fields() {
		*y = r.float()
	}
	n := s.keys.Len()
	x.level = list(r, r.length(n, 4), (*reader).single)
	r.errors(&x.series, n)
	x.totals = list(r, r.count(8), (*reader).float)
	return x
}

// sound reports whether what was read fits together.
func (s *State) sound() bool {
	n := s.keys.Len()
	if s.config.Validate() != nil || s.size != nil && len(s.size) != n || s.home != nil && len(s.home) != n {
		return false
	}
	sound := true
	s.each(func(x *series) { sound = sound && x.sound(n) })
	for _, r := range s.resources {
		sound = sound && len(r.totals) <= remembered &&
			!slices.ContainsFunc(r.totals, func(x float64) bool { return !(x >= 0 && x <= math.MaxFloat64) })
	}
	return sound
}

// sound reports whether a series of so many keys fits together.
func (s *series) sound(n int) bool {
	if len(s.recent) > remembered || !(min(s.combination.losses[0], s.combination.losses[1]) >= 0) {
		return false
	}
	levels := [][]float32{s.level}
	for _, a := range s.combination.averages {
		if !(a.loss >= 0) || len(a.level) != n {
			return false
		}
		levels = append(levels, a.level)
	}
	for _, level := range slices.Concat(levels...) {
		if !(level >= 0 && level <= 1) {
			return false
		}
	}
	for _, v := range s.recent {
		last := int32(-1)
		for i, id := range v.keys {
			if id <= last || int(id) >= n || !(math.Abs(float64(v.diff[i])) <= 1) {
				return false
			}
			last = id
		}
		if !(v.rest >= 0 && v.rest <= 1) {
			return false
		}
	}
	return true
}

type writer struct{ buf []byte }

func (w *writer) number(n int) { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }

func (w *writer) float(x float64) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(x))
}

func (w *writer) single(x float32) {
	w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(x))
}

func (w *writer) singles(list []float32) {
	for _, x := range list {
		w.single(x)
	}
}

// reader reads what a writer wrote; bad stays true from the first thing on that is not so.
type reader struct {
	rest []byte
	bad  bool
}

// text returns the next n bytes.
func (r *reader) text(n int) []byte {
	if n < 0 || n > len(r.rest) || n > planner.MaxKeyBytes {
		r.bad = true
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.text(1); b != nil {
		return b[0]
	}
	return math.MaxUint8
}

func (r *reader) number() int {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 || x > math.MaxInt32+1 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return int(x)
}

// count is the length of a list whose elements take so many bytes at least.
func (r *reader) count(bytes int) int { return r.length(r.number(), bytes) }

// length is n, or 0 where so many elements cannot follow.
func (r *reader) length(n, bytes int) int {
	if r.bad || n > len(r.rest)/bytes {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) float() float64 {
	if b := r.text(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *reader) single() float32 {
	if b := r.text(4); b != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// list reads n elements; nil for none.
func list[T any](r *reader, n int, element func(*reader) T) []T {
	if n == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = element(r)
	}
	return out
}

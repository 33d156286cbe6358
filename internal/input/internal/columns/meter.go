package columns

import "reflect"

// Meter tells whoever accounts for memory what a decoder is about to hold. The
// zero value, or a nil one, tells nobody.
type Meter struct {
	Reserve func(bytes int64) error
	err     error // the first refusal; decoding ends with it
}

// Take reserves that many bytes, and reports whether they may be allocated.
func (m *Meter) Take(bytes int) bool {
	if m == nil || m.Reserve == nil {
		return true
	}
	if m.err == nil {
		m.err = m.Reserve(int64(bytes))
	}
	return m.err == nil
}

// Give says that so many bytes are no longer held.
func (m *Meter) Give(bytes int) {
	if m != nil && m.Reserve != nil && m.err == nil {
		_ = m.Reserve(-int64(bytes)) // giving back is never refused
	}
}

// Refused is the error of the first refusal, if there was one.
func (m *Meter) Refused() error {
	if m == nil {
		return nil
	}
	return m.err
}

// SizeOf is the size of n values, in bytes.
func SizeOf[T any](n int) int { return n * int(reflect.TypeFor[T]().Size()) }

package input

import "reflect"

// meter tells whoever accounts for memory what a decoder is about to hold. The
// zero value, or a nil one, tells nobody.
type meter struct {
	reserve func(bytes int64) error
	err     error // the first refusal; decoding ends with it
}

// take reserves that many bytes, and reports whether they may be allocated.
func (m *meter) take(bytes int) bool {
	if m == nil || m.reserve == nil {
		return true
	}
	if m.err == nil {
		m.err = m.reserve(int64(bytes))
	}
	return m.err == nil
}

// give says that so many bytes are no longer held.
func (m *meter) give(bytes int) {
	if m != nil && m.reserve != nil && m.err == nil {
		_ = m.reserve(-int64(bytes)) // giving back is never refused
	}
}

// refused is the error of the first refusal, if there was one.
func (m *meter) refused() error {
	if m == nil {
		return nil
	}
	return m.err
}

// sizeOf is the size of n values, in bytes.
func sizeOf[T any](n int) int { return n * int(reflect.TypeFor[T]().Size()) }

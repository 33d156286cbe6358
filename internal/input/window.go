package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	windowBytes = 128 << 10
	// sentinelBytes zero bytes follow the text in the window. Zero ends every
	// token, so parsers need no test for the end of the window at each byte, and
	// may load eight bytes, or compare a name, anywhere in the text.
	sentinelBytes = 32
)

// windowSize is what windows start with; only tests change it, down to 1.
var windowSize = windowBytes

// errUnitTooLong: a row or value exceeds the text that may be held for it.
var errUnitTooLong = errors.New("row or value too long")

// errTooManyBytes: the body exceeds Limits.Bytes.
var errTooManyBytes = errors.New("too many bytes")

var windows = sync.Pool{New: func() any { return new([windowBytes + sentinelBytes]byte) }}

// window is the part of a body that is in memory: buf[pos:end] is the text not
// yet parsed, and sentinelBytes zeros follow it.
type window struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the body
	limit    int64 // greatest offset that may be reached
	lines    int   // line breaks before buf[0]
	eof      bool  // nothing follows buf[:end]
	account  *meter
	pooled   *[windowBytes + sentinelBytes]byte
}

func (w *window) open(r io.Reader, limit int64) {
	w.pooled = windows.Get().(*[windowBytes + sentinelBytes]byte)
	w.r, w.buf, w.limit = r, w.pooled[:windowSize+sentinelBytes], limit
	clear(w.buf[:sentinelBytes])
}

// allow sets the limit of bytes, counted from the text not yet parsed.
func (w *window) allow(n int64) { w.limit = w.base + int64(w.pos) + n }

// close gives the memory back. Slices of buf must no longer be used.
func (w *window) close() {
	if w.pooled != nil {
		windows.Put(w.pooled)
	}
	w.pooled, w.buf = nil, nil
}

// more moves the unparsed text to the front of the window and reads until the
// window is full or the body ends. A window that is full of unparsed text is
// doubled first, up to unit bytes; what is unescaped from it may be as long.
func (w *window) more(unit int) error {
	room := len(w.buf) - sentinelBytes
	if w.pos == 0 && w.end == room {
		if room >= unit {
			return errUnitTooLong
		}
		room = min(2*room, unit)
		if !w.account.take(2 * room) {
			return w.account.refused()
		}
		if w.pooled == nil {
			defer w.account.give(2 * (len(w.buf) - sentinelBytes))
		}
		buf := make([]byte, room+sentinelBytes)
		copy(buf, w.buf[:w.end])
		w.close()
		w.buf = buf
	} else {
		w.lines += bytes.Count(w.buf[:w.pos], lineBreak)
		copy(w.buf, w.buf[w.pos:w.end])
		w.base += int64(w.pos)
		w.end -= w.pos
		w.pos = 0
	}
	err := w.read(room)
	clear(w.buf[w.end : w.end+sentinelBytes])
	if err == nil && w.base+int64(w.end) > w.limit {
		err = errTooManyBytes
	}
	return err
}

var lineBreak = []byte{'\n'}

// lineAt is the line that buf[i] is on, from 1.
func (w *window) lineAt(i int) int { return w.lines + bytes.Count(w.buf[:i], lineBreak) + 1 }

// read reads into buf[end:room] until it is full or the body ends.
func (w *window) read(room int) error {
	if w.eof {
		return nil
	}
	n, eof, err := readUpTo(w.r, w.buf[w.end:room])
	w.end += n
	w.eof = eof
	return err
}

// readUpTo reads until b is full or r has told that it is at its end.
func readUpTo(r io.Reader, b []byte) (n int, eof bool, err error) {
	for idle := 0; n < len(b) && !eof; {
		got, err := r.Read(b[n:])
		if got < 0 || got > len(b)-n {
			return n, false, errors.New("input: reader returned an impossible count")
		}
		n += got
		if err == io.EOF {
			eof = true
		} else if err != nil {
			return n, false, fmt.Errorf("reading statistics: %w", err)
		} else if got > 0 {
			idle = 0
		} else if idle++; idle == 100 {
			return n, false, fmt.Errorf("reading statistics: %w", io.ErrNoProgress)
		}
	}
	return n, eof, nil
}

// skipSpace moves pos behind white space, reading on as needed. Afterwards
// pos == end only at the end of the body.
func (w *window) skipSpace() error {
	for {
		w.pos = space(w.buf, w.pos)
		if w.pos < w.end || w.eof {
			return nil
		}
		if err := w.more(windowBytes); err != nil {
			return err
		}
	}
}

// space returns the first index from i on that holds no JSON white space.
func space(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t' {
		i++
	}
	return i
}

// Package window reads text of any format through a window of fixed size. It knows where in the
// text it is, reads numbers, and has what lies whole in the window parsed, again once the window
// has moved on; what the text means is for the packages of the formats.
package window

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"plannerd/internal/input/internal/columns"
)

const (
	windowBytes = 128 << 10
	// SentinelBytes zero bytes follow the text in the window. Zero ends every
	// token, so parsers need no test for the end of the window at each byte, and
	// may load eight bytes, or compare a name, anywhere in the text.
	SentinelBytes = 32
)

// Size is what windows start with; only tests change it, down to 1.
var Size = windowBytes

// errUnitTooLong: a row or value exceeds the text that may be held for it.
var errUnitTooLong = errors.New("row or value too long")

// errTooManyBytes: the body exceeds Limits.Bytes.
var errTooManyBytes = errors.New("too many bytes")

var windows = sync.Pool{New: func() any { return new([windowBytes + SentinelBytes]byte) }}

// Window is the part of a body that is in memory: Buf[Pos:End] is the text not
// yet parsed, and SentinelBytes zeros follow it.
type Window struct {
	Buf      []byte
	Pos, End int
	Base     int64 // offset of Buf[0] in the body
	EOF      bool  // nothing follows Buf[:End]

	r       io.Reader
	limit   int64 // greatest offset that may be reached
	lines   int   // line breaks before Buf[0]
	account *columns.Meter
	pooled  *[windowBytes + SentinelBytes]byte
}

func (w *Window) open(r io.Reader) {
	w.pooled = windows.Get().(*[windowBytes + SentinelBytes]byte)
	w.r, w.Buf = r, w.pooled[:Size+SentinelBytes]
	clear(w.Buf[:SentinelBytes])
}

// Allow sets the limit of bytes, counted from the text not yet parsed.
func (w *Window) Allow(n int64) { w.limit = w.Base + int64(w.Pos) + n }

// Close gives the memory back. Slices of Buf must no longer be used.
func (w *Window) Close() {
	if w.pooled != nil {
		windows.Put(w.pooled)
	}
	w.pooled, w.Buf = nil, nil
}

// more moves the unparsed text to the front of the window and reads until the
// window is full or the body ends. A window that is full of unparsed text is
// doubled first, up to unit bytes; what is unescaped from it may be as long.
func (w *Window) more(unit int) error {
	room := len(w.Buf) - SentinelBytes
	if w.Pos == 0 && w.End == room {
		if room >= unit {
			return errUnitTooLong
		}
		room = min(2*room, unit)
		if !w.account.Take(2 * room) {
			return w.account.Refused()
		}
		if w.pooled == nil {
			defer w.account.Give(2 * (len(w.Buf) - SentinelBytes))
		}
		buf := make([]byte, room+SentinelBytes)
		copy(buf, w.Buf[:w.End])
		w.Close()
		w.Buf = buf
	} else {
		w.lines += bytes.Count(w.Buf[:w.Pos], lineBreak)
		copy(w.Buf, w.Buf[w.Pos:w.End])
		w.Base += int64(w.Pos)
		w.End -= w.Pos
		w.Pos = 0
	}
	err := w.read(room)
	clear(w.Buf[w.End : w.End+SentinelBytes])
	if err == nil && w.Base+int64(w.End) > w.limit {
		err = errTooManyBytes
	}
	return err
}

var lineBreak = []byte{'\n'}

// lineAt is the line that Buf[i] is on, from 1.
func (w *Window) lineAt(i int) int { return w.lines + bytes.Count(w.Buf[:i], lineBreak) + 1 }

// read reads into Buf[End:room] until it is full or the body ends.
func (w *Window) read(room int) error {
	if w.EOF {
		return nil
	}
	n, eof, err := ReadUpTo(w.r, w.Buf[w.End:room])
	w.End += n
	w.EOF = eof
	return err
}

// ReadUpTo reads until b is full or r has told that it is at its end.
func ReadUpTo(r io.Reader, b []byte) (n int, eof bool, err error) {
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

// skipSpace moves Pos behind white space, reading on as needed. Afterwards
// Pos == End only at the end of the body.
func (w *Window) skipSpace() error {
	for {
		w.Pos = Space(w.Buf, w.Pos)
		if w.Pos < w.End || w.EOF {
			return nil
		}
		if err := w.more(windowBytes); err != nil {
			return err
		}
	}
}

// Space returns the first index from i on that holds no JSON white space.
func Space(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t' {
		i++
	}
	return i
}

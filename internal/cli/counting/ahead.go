package counting

import (
	"io"

	"plannerd/internal/input"
)

// ahead reads a text before it is asked for, so that it is decompressed while lines are counted.
type ahead struct {
	full  chan chunk
	empty chan []byte
	quit  chan struct{}
	now   chunk
	rest  []byte
}

// chunk is a part of a text, and the error behind it.
type chunk struct {
	text []byte
	err  error
}

// chunks of chunkBytes are read ahead.
const (
	chunks     = 4
	chunkBytes = 256 << 10
)

// readAhead begins to read a text, which it closes at its end, or some time after stop.
func readAhead(r io.ReadCloser) *ahead {
	a := &ahead{full: make(chan chunk, chunks), empty: make(chan []byte, chunks), quit: make(chan struct{})}
	for range chunks {
		a.empty <- make([]byte, chunkBytes)
	}
	go func() {
		defer r.Close()
		for {
			var c chunk
			select {
			case c.text = <-a.empty:
			case <-a.quit:
				return
			}
			n, eof, err := input.ReadUpTo(r, c.text[:chunkBytes])
			if c.text, c.err = c.text[:n], err; err == nil && eof {
				c.err = io.EOF
			}
			a.full <- c
			if c.err != nil {
				return
			}
		}
	}()
	return a
}

// stop ends reading ahead.
func (a *ahead) stop() { close(a.quit) }

// Read reads what was read ahead.
func (a *ahead) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.text != nil {
			a.empty <- a.now.text[:chunkBytes]
		}
		a.now = <-a.full
		a.rest = a.now.text
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

package job

import (
	"encoding/binary"
	"errors"
)

// event is a message of the stream that is counted: number n of its source and key.
type event struct {
	key  string
	n    uint64
	from uint64
}

// Frame is what a router appends at once: events, or a marker.
type Frame struct {
	Epoch, Marker int64
	// Floor is the position in its source up to which the router has appended everything.
	Floor  uint64
	events []event
}

// Encode encodes a frame.
func (f Frame) Encode() []byte {
	b := binary.AppendVarint(nil, f.Epoch)
	b = binary.AppendVarint(b, f.Marker)
	b = binary.AppendUvarint(b, f.Floor)
	return appendEvents(b, f.events)
}

func appendEvents(b []byte, events []event) []byte {
	b = binary.AppendUvarint(b, uint64(len(events)))
	for _, e := range events {
		b = binary.AppendUvarint(b, uint64(len(e.key)))
		b = append(b, e.key...)
		b = binary.AppendUvarint(b, e.n)
	}
	return b
}

// reader reads numbers and texts, until something is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) int() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) events() []event {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := make([]event, n)
	for i := range out {
		out[i] = event{key: r.text(), n: r.uint()}
	}
	return out
}

var errFrame = errors.New("a frame is broken")

// DecodeFrame reads what Encode wrote.
func DecodeFrame(b []byte) (Frame, error) {
	r := reader{b: b}
	f := Frame{Epoch: r.int(), Marker: r.int(), Floor: r.uint(), events: r.events()}
	if r.bad {
		return f, errFrame
	}
	return f, nil
}

func decodeEvents(b []byte) ([]event, error) {
	r := reader{b: b}
	out := r.events()
	if r.bad {
		return nil, errFrame
	}
	return out, nil
}

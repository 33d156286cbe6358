package arrowrows

import (
	"bytes"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/window"
)

// maxArrowMetadata bounds what describes one message of a stream.
const maxArrowMetadata = 4 << 20

// firstBodyBytes is how much of a message's body is believed before it comes.
const firstBodyBytes = 256 << 10

// messages reads the messages of an IPC stream for the library. It is its
// allocator as well, so that what it reads and what the library decodes count
// together, and are refused before memory is set aside: a few bytes of a compressed
// buffer may announce any length.
type messages struct {
	memory.Allocator
	meter  *columns.Meter
	r      io.Reader
	read   int64 // bytes of the stream
	limit  int64 // of read and of what was allocated
	used   int64 // of the limit
	bytes  int64 // Limits.Bytes, for the message
	accept func([]schemaField) error

	columns    []schemaField
	meta, body []byte // of the present message
	lasting    int    // bytes of dictionaries' bodies, which the meter knows of
	decoding   int    // bytes that the decompressor of the present message takes
	converting int    // bytes of columns in other types than they came in
	started    bool   // the schema was read
	ended      bool   // the end of the stream was read
	err        error  // why there are no more messages; nil at the end
}

// Message returns the next message, io.EOF behind the last one. It is valid
// until the next call, and what was read from it too, dictionaries aside.
func (m *messages) Message() (*ipc.Message, error) {
	if m.err != nil {
		return nil, m.err
	}
	if m.ended {
		return nil, io.EOF
	}
	msg, err := m.next()
	if err != nil && !m.ended {
		m.err = err
	}
	return msg, err
}

// Retain and Release do nothing: the garbage collector sees to messages.
func (m *messages) Retain() {}

// Release does nothing either.
func (m *messages) Release() {}

// Allocate sets memory aside unless that is beyond the limit, or the meter refuses to.
func (m *messages) Allocate(size int) []byte {
	err := m.use(int64(size))
	if err == nil && !m.meter.Take(size) {
		err = m.meter.Refused()
	}
	if err != nil {
		m.err = err
		panic(err) // the library recovers and ends
	}
	return m.Allocator.Allocate(size)
}

// Free tells the meter that the library no longer needs b.
func (m *messages) Free(b []byte) { m.meter.Give(cap(b)) }

// hold has a part of the reader's memory take n bytes from here on, unless the meter
// refuses to.
func (m *messages) hold(part *int, n int) error {
	if n > *part && !m.meter.Take(n-*part) {
		return m.meter.Refused()
	}
	m.meter.Give(max(0, *part-n))
	*part = n
	return nil
}

// release gives up what messages are read with.
func (m *messages) release() {
	m.meter.Give(cap(m.meta) + cap(m.body) + m.lasting + m.decoding + m.converting)
	m.meta, m.body, m.lasting, m.decoding, m.converting = nil, nil, 0, 0, 0
}

// Reallocate is as Allocate.
func (m *messages) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := m.Allocate(size)
	copy(grown, b)
	m.Free(b)
	return grown
}

// use counts n bytes that are wanted.
func (m *messages) use(n int64) error {
	if n < 0 || n > m.limit-m.used {
		return problem.One(problem.TooLarge, "", "more than "+strconv.FormatInt(m.bytes, 10)+" bytes")
	}
	m.used += n
	return nil
}

func (m *messages) malformed(why string) error {
	return problem.One(problem.Malformed, "", why+" at byte "+strconv.FormatInt(m.read, 10))
}

// next reads a message.
func (m *messages) next() (*ipc.Message, error) {
	size, err := m.prefix()
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, m.end()
	}
	if err := m.use(size); err != nil {
		return nil, err
	}
	if more := int(size) - cap(m.meta); more > 0 {
		if !m.meter.Take(more) {
			return nil, m.meter.Refused()
		}
		m.meta = make([]byte, size)
	}
	m.meta = m.meta[:size]
	if err := m.fill(m.meta); err != nil {
		return nil, err
	}
	f := flatbuffer{b: m.meta}
	h := f.header()
	if f.broken || m.started != (h.kind != schemaMessage) {
		return nil, m.malformed("not an Arrow message")
	}
	if h.kind == schemaMessage {
		m.started, m.columns = true, h.fields
		if err := m.accept(h.fields); err != nil {
			return nil, err
		}
	}
	body, err := m.readBody(h)
	if err != nil {
		return nil, err
	}
	if h.kind != schemaMessage {
		decoding, err := f.record(h.record, h.columnsOf(m.columns), body)
		if err != nil {
			return nil, err
		}
		if err := m.hold(&m.decoding, decoding); err != nil {
			return nil, err
		}
	}
	return ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(body)), nil
}

// prefix reads the length of a message's metadata; 0 marks the end.
func (m *messages) prefix() (int64, error) {
	var word [4]byte
	n, _, err := window.ReadUpTo(m.r, word[:1])
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, m.malformed("the stream ends without its end-of-stream marker")
	}
	m.read++
	if err := m.use(int64(len(word))); err != nil {
		return 0, err
	}
	if err := m.fill(word[1:]); err != nil {
		return 0, err
	}
	if !m.started && string(word[:]) == File[:4] {
		return 0, m.malformed("an Arrow file, not a stream: write it with the stream format of Arrow IPC")
	}
	if bytes.Equal(word[:], Continuation) { // older writers leave it out
		if err := m.use(int64(len(word))); err != nil {
			return 0, err
		}
		if err := m.fill(word[:]); err != nil {
			return 0, err
		}
	}
	size := int64(int32(binary.LittleEndian.Uint32(word[:])))
	if size < 0 || !m.started && (size < 8 || size > maxArrowMetadata) {
		return 0, m.malformed("not an Arrow IPC stream")
	}
	if size > maxArrowMetadata {
		return 0, problem.One(problem.TooLarge, "", "metadata of more than "+strconv.Itoa(maxArrowMetadata)+" bytes")
	}
	return size, nil
}

// Continuation stands before every message, File before an Arrow file,
// which is another format.
var (
	Continuation = []byte{0xff, 0xff, 0xff, 0xff}
	File         = "ARROW1"
)

// end sees to it that nothing follows the end of the stream.
func (m *messages) end() error {
	var more [1]byte
	n, _, err := window.ReadUpTo(m.r, more[:])
	if err != nil {
		return err
	}
	if n > 0 {
		return m.malformed("bytes after the end of the stream")
	}
	m.ended = true
	return io.EOF
}

// readBody reads the body of a message. Those of record batches share their
// memory, as one is done with before the next; dictionaries stay.
func (m *messages) readBody(h header) ([]byte, error) {
	if err := m.use(h.body); err != nil {
		return nil, err
	}
	n := int(h.body)
	if h.kind != recordMessage {
		body, err := m.growing(nil, n)
		m.lasting += cap(body)
		return body, err
	}
	var err error
	if m.body, err = m.growing(m.body[:0], n); err != nil {
		return nil, err
	}
	return m.body[:n:n], nil // nothing of a batch before can be reached
}

// growing reads n bytes into b, which grows as they come: a length alone does not
// bring memory with it.
func (m *messages) growing(b []byte, n int) ([]byte, error) {
	for len(b) < n {
		have := len(b)
		size := min(n, max(cap(b), firstBodyBytes, 4*have))
		if size > cap(b) {
			room := size + size/8 // the next is not of quite the same length
			if !m.meter.Take(room) {
				return b, m.meter.Refused()
			}
			m.meter.Give(cap(b))
			b = append(make([]byte, 0, room), b...)
		}
		b = b[:size]
		if err := m.fill(b[have:]); err != nil {
			return b, err
		}
	}
	return b, nil
}

// fill reads as many bytes as b has room for.
func (m *messages) fill(b []byte) error {
	n, _, err := window.ReadUpTo(m.r, b)
	m.read += int64(n)
	if err == nil && n < len(b) {
		err = m.malformed("unexpected end of the stream")
	}
	return err
}

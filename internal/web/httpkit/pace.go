package httpkit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Pace bounds how slowly clients may send and receive. Zero values mean the
// defaults.
type Pace struct {
	// BodyTimeout is how long a client may send nothing of a body, and how long it
	// may be slower than BodyRate. Defaults to 30 seconds.
	BodyTimeout time.Duration
	// BodyRate is the least average rate of a body and of an answer, in bytes a second, over
	// the time that the server waits for the client. Defaults to 16 KiB.
	BodyRate int64
	// ReadTime is how long a whole body may take. Defaults to 10 minutes.
	ReadTime time.Duration
	// WriteTimeout is how long a client may receive nothing of its answer, and how long it may
	// be slower than BodyRate. Defaults to a minute.
	WriteTimeout time.Duration
}

// WithDefaults returns the pace with defaults in place of zero values.
func (p Pace) WithDefaults() Pace {
	p.BodyTimeout = cmp.Or(max(0, p.BodyTimeout), 30*time.Second)
	p.BodyRate = cmp.Or(max(0, p.BodyRate), 16<<10)
	p.ReadTime = cmp.Or(max(0, p.ReadTime), 10*time.Minute)
	p.WriteTimeout = cmp.Or(max(0, p.WriteTimeout), time.Minute)
	return p
}

// ErrBodyTooSlow is the error of reading a body that comes more slowly than its
// [Pace] allows. It wraps os.ErrDeadlineExceeded.
var ErrBodyTooSlow = fmt.Errorf("the body came too slowly: %w", os.ErrDeadlineExceeded)

// Enforce is middleware that ends requests of clients that are slower than the
// pace, because they hold memory and connections. Defaults must be filled in.
func (p Pace) Enforce(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			body := &pacedBody{ReadCloser: r.Body, control: control, pace: p, end: time.Now().Add(p.ReadTime)}
			// The server reads the rest of a body that the handler leaves unread before it
			// sends the answer, so that a deadline has to stand already.
			body.setDeadline(time.Now().Add(p.BodyTimeout))
			r.Body = body
		}
		out := &pacedWriter{ResponseWriter: w, control: control, pace: p}
		if body, ok := r.Body.(*pacedBody); ok && r.ProtoMajor == 1 {
			defer func() { body.linger(out) }()
		}
		// The deadline of the previous request on the connection may still stand, and
		// what is buffered is written after the handler has returned.
		out.extendDeadline()
		defer out.extendDeadline()
		next.ServeHTTP(out, r)
	})
}

// pacedBody is a body that fails when it comes too slowly.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	pace    Pace
	end     time.Time
	waited  time.Duration // for the client
	read    int64
	ended   bool // there is no more to read, or no way to
}

// lingerTime is how long a client may send nothing of a body that was refused.
const lingerTime = 5 * time.Second

// linger reads what is left of a body that was refused, and drops it. A connection that is
// closed while its client still sends is reset, and the client never sees the answer.
func (b *pacedBody) linger(out *pacedWriter) {
	if b.ended || out.status < http.StatusBadRequest || b.control.SetReadDeadline(time.Time{}) != nil {
		return
	}
	out.Flush()
	b.pace.BodyTimeout, b.waited, b.read = min(b.pace.BodyTimeout, lingerTime), 0, 0
	_, _ = io.Copy(io.Discard, b)
}

// Close leaves the body open for [pacedBody.linger]; the server closes it.
func (b *pacedBody) Close() error { return nil }

// Read waits until the client has been silent for too long, its average rate is
// too low, or its time is up, whichever comes first. Only the time spent in Read
// counts, because between two reads it is the server that is busy.
func (b *pacedBody) Read(p []byte) (int, error) {
	begin := time.Now()
	earned := time.Duration(float64(b.read) / float64(b.pace.BodyRate) * float64(time.Second))
	slack := b.pace.BodyTimeout + earned - b.waited
	deadline := begin.Add(min(b.pace.BodyTimeout, slack))
	if deadline.After(b.end) {
		deadline = b.end
	}
	b.setDeadline(deadline)
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(begin)
	b.read += int64(n)
	b.ended = err != nil
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ErrBodyTooSlow
	case err != nil:
		// The server goes on reading from the connection, to notice when the client
		// hangs up; that read must not time out.
		b.setDeadline(time.Time{})
	}
	return n, err
}

// setDeadline sets the deadline of the next read. Only connections of tests know
// no deadlines.
func (b *pacedBody) setDeadline(at time.Time) { _ = b.control.SetReadDeadline(at) }

// writeChunk is how many bytes are written under one deadline: a client that
// receives that much in time is not too slow, however long the answer is.
const writeChunk = 64 << 10

// pacedWriter is an answer that fails when the client does not receive it.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    Pace
	status  int
	waited  time.Duration // for the client
	written int64
}

// WriteHeader begins the answer.
func (w *pacedWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for {
		w.extendDeadline()
		begin := time.Now()
		wrote, err := w.ResponseWriter.Write(p[n:min(len(p), n+writeChunk)])
		w.waited += time.Since(begin)
		w.written += int64(wrote)
		if n += wrote; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush sends what was written so far.
func (w *pacedWriter) Flush() {
	w.extendDeadline()
	_ = w.control.Flush() // an error here means that the client is gone
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extendDeadline lets the client receive nothing until it has for too long, or its average rate is
// too low: it would hold what its answer is made of.
func (w *pacedWriter) extendDeadline() {
	earned := time.Duration(float64(w.written) / float64(w.pace.BodyRate) * float64(time.Second))
	left := min(w.pace.WriteTimeout, w.pace.WriteTimeout+earned-w.waited)
	_ = w.control.SetWriteDeadline(time.Now().Add(left))
}

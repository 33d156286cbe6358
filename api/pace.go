package api

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"plannerd/api/wire"
)

// Pace is how slow clients may be. Zero values mean the defaults.
type Pace struct {
	// BodyTimeout is how long a client may send nothing of a body, and how long it
	// may be slower than BodyRate. Defaults to 30 seconds.
	BodyTimeout time.Duration
	// BodyRate is the least average rate of a body, in bytes a second, over the
	// time that the server waits for it. Defaults to 16 KiB.
	BodyRate int64
	// ReadTime is how long a whole body may take. Defaults to 10 minutes.
	ReadTime time.Duration
	// WriteTimeout is how long a client may take nothing of its answer. Defaults to
	// a minute.
	WriteTimeout time.Duration
}

func (p Pace) withDefaults() Pace {
	p.BodyTimeout = cmp.Or(max(0, p.BodyTimeout), 30*time.Second)
	p.BodyRate = cmp.Or(max(0, p.BodyRate), 16<<10)
	p.ReadTime = cmp.Or(max(0, p.ReadTime), 10*time.Minute)
	p.WriteTimeout = cmp.Or(max(0, p.WriteTimeout), time.Minute)
	return p
}

// paced cuts off clients that are too slow: they hold memory and connections.
func (p Pace) paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			body := &pacedBody{ReadCloser: r.Body, control: control, pace: p, end: time.Now().Add(p.ReadTime)}
			// Of a body that nobody reads the rest is awaited before the answer is sent.
			body.deadline(time.Now().Add(p.BodyTimeout))
			r.Body = body
		}
		out := &pacedWriter{ResponseWriter: w, control: control, timeout: p.WriteTimeout}
		// A deadline of the request before may still stand, and what is buffered is
		// written after this.
		out.renew()
		defer out.renew()
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
}

// Read waits until the client has been silent for too long, its average rate is
// too low, or its time is up, whichever comes first. Only the time that it is
// waited for counts: it may be the server that has something else to do.
func (b *pacedBody) Read(p []byte) (int, error) {
	begin := time.Now()
	slack := b.pace.BodyTimeout + time.Duration(float64(b.read)/float64(b.pace.BodyRate)*float64(time.Second)) - b.waited
	deadline := begin.Add(min(b.pace.BodyTimeout, slack))
	if deadline.After(b.end) {
		deadline = b.end
	}
	b.deadline(deadline)
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(begin)
	b.read += int64(n)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, tooSlow()
	case err != nil:
		// The connection goes on being read, to see whether the client hangs up.
		b.deadline(time.Time{})
	}
	return n, err
}

// deadline is for the next read. Connections that know none are those of tests.
func (b *pacedBody) deadline(at time.Time) { _ = b.control.SetReadDeadline(at) }

// tooSlow is the answer to a body that comes too slowly.
func tooSlow() *problem {
	return &problem{
		status: http.StatusRequestTimeout, code: wire.CodeTooSlow, hangUp: true,
		detail: "The body came too slowly: nothing for too long, or at too low a rate.",
	}
}

// writeChunk is how much is written under one deadline: a client that takes that
// much in time is not too slow, however long the answer.
const writeChunk = 64 << 10

// pacedWriter is an answer that fails when it is not taken.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for {
		w.renew()
		wrote, err := w.ResponseWriter.Write(p[n:min(len(p), n+writeChunk)])
		if n += wrote; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush sends what was written so far.
func (w *pacedWriter) Flush() {
	w.renew()
	_ = w.control.Flush() // an error here means that the client is gone
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) renew() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }

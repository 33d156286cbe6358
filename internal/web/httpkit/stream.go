package httpkit

import (
	"bufio"
	"errors"
	"net/http"
	"strconv"
	"sync"
)

// streamBytes is how much of an answer is gathered before it is sent. An answer
// that is not longer has a Content-Length.
const streamBytes = 64 << 10

var streamBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, streamBytes) }}

// errHeadOnly ends the body of an answer to HEAD.
var errHeadOnly = errors.New("the request asks for the header only")

// headerFirst writes the header of an answer before the first bytes of its body.
type headerFirst struct {
	w        http.ResponseWriter
	status   int
	headOnly bool
	begun    bool
}

func (h *headerFirst) begin() {
	if !h.begun {
		h.begun = true
		h.w.WriteHeader(h.status)
	}
}

func (h *headerFirst) Write(p []byte) (int, error) {
	h.begin()
	if h.headOnly {
		return 0, errHeadOnly
	}
	return h.w.Write(p)
}

// WriteStream answers with what body writes and sends it while it is written, so
// that a long answer is never in memory as a whole. Whatever may fail has to
// happen before: body may return the errors of its writer only, because by then
// the answer has begun and can only be cut.
func WriteStream(
	w http.ResponseWriter, r *http.Request, status int, contentType string, body func(*bufio.Writer) error,
) error {
	w.Header().Set("Content-Type", contentType)
	to := &headerFirst{w: w, status: status, headOnly: r.Method == http.MethodHead}
	out := streamBuffers.Get().(*bufio.Writer)
	out.Reset(to)
	defer func() {
		out.Reset(nil)
		streamBuffers.Put(out)
	}()
	err := body(out)
	if err == nil && isJSON(contentType) {
		err = out.WriteByte('\n')
	}
	if err == nil {
		if !to.begun {
			w.Header().Set("Content-Length", strconv.Itoa(out.Buffered()))
			to.begin()
		}
		err = out.Flush()
	}
	if errors.Is(err, errHeadOnly) {
		return nil
	}
	return err
}

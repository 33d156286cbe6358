package api

import (
	"bufio"
	"errors"
	"net/http"
	"strconv"
	"sync"
)

// streamBytes is how much of an answer is gathered before it is sent. One that is
// no longer has a Content-Length.
const streamBytes = 64 << 10

var streamBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, streamBytes) }}

// errHeadOnly ends the body of an answer that is to have none.
var errHeadOnly = errors.New("the request asks for the header only")

// onset gives out the header of an answer before the first bytes of its body.
type onset struct {
	w        http.ResponseWriter
	status   int
	headOnly bool
	begun    bool
}

func (o *onset) begin() {
	if !o.begun {
		o.begun = true
		o.w.WriteHeader(o.status)
	}
}

func (o *onset) Write(p []byte) (int, error) {
	o.begin()
	if o.headOnly {
		return 0, errHeadOnly
	}
	return o.w.Write(p)
}

// writeStream answers with what body writes, which is sent as it comes: a long
// answer is never in memory as a whole. Whatever may fail has to happen before
// body is called, which has no other errors than those of the writer: a long
// answer has begun by then and can only be cut.
func writeStream(w http.ResponseWriter, r *http.Request, status int, contentType string, body func(*bufio.Writer) error) error {
	w.Header().Set("Content-Type", contentType)
	to := &onset{w: w, status: status, headOnly: r.Method == http.MethodHead}
	out := streamBuffers.Get().(*bufio.Writer)
	out.Reset(to)
	defer func() {
		out.Reset(nil)
		streamBuffers.Put(out)
	}()
	err := body(out)
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

// writeAll writes pieces of an answer. The writer remembers its first error.
func writeAll(out *bufio.Writer, pieces ...[]byte) error {
	var err error
	for _, p := range pieces {
		_, err = out.Write(p)
	}
	return err
}

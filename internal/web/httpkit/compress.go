package httpkit

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the length from which a body is worth compressing, in bytes.
const minCompressed = 1024

// encoder is what gzip and zstd writers have in common.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
	Flush() error
}

// bufferedEncoder is an encoder that writes through a buffer, because gzip writes
// few bytes at a time.
type bufferedEncoder struct {
	encoder
	out *bufio.Writer
}

func newBufferedEncoder(e encoder, err error) *bufferedEncoder {
	if err != nil {
		panic(err) // the options are constants
	}
	return &bufferedEncoder{e, bufio.NewWriterSize(nil, 32<<10)}
}

// encoderPools holds idle encoders by content coding.
var encoderPools = map[string]*sync.Pool{
	"gzip": {New: func() any {
		e, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return newBufferedEncoder(e, err)
	}},
	"zstd": {New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
		return newBufferedEncoder(e, err)
	}},
}

// reset makes the encoder write to w; nil drops the reference to the last writer.
func (e *bufferedEncoder) reset(w io.Writer) {
	e.out.Reset(w)
	e.Reset(e.out)
}

// flush sends what was written so far.
func (e *bufferedEncoder) flush() error {
	if err := e.Flush(); err != nil {
		return err
	}
	return e.out.Flush()
}

// finish writes the end of the encoded body.
func (e *bufferedEncoder) finish() error {
	if err := e.Close(); err != nil {
		return err
	}
	return e.out.Flush()
}

// Compress is middleware that encodes answers with gzip or zstd as Accept-Encoding
// allows. A coding makes another representation, so it becomes part of the ETag.
// The answer to HEAD has the header that GET would have.
func Compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		coding, always := chooseCoding(r.Header.Values("Accept-Encoding"))
		if coding == "" {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w, coding: coding, always: always, headOnly: r.Method == http.MethodHead}
		next.ServeHTTP(c, r)
		c.close() // not after a panic: then the answer must look cut
	})
}

// chooseCoding returns gzip, zstd or "" for a list of codings with weights, and
// whether even a short body has to be encoded. Codings without weights are equal,
// and identity comes after them. A client that accepts none of the three gets
// identity.
func chooseCoding(headers []string) (best string, always bool) {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		weights[strings.ToLower(strings.TrimSpace(name))] = weightOf(params)
	}
	weight := weights["identity"]
	for _, name := range []string{"zstd", "gzip"} {
		q, named := weights[name]
		if !named {
			q = weights["*"]
		}
		if q > 0 && (q > weight || best == "" && q == weight) {
			best, weight = name, q
		}
	}
	plain, named := weights["identity"]
	if !named {
		plain, named = weights["*"]
	}
	return best, named && plain == 0
}

// compressor decides whether to encode when the header is written.
type compressor struct {
	http.ResponseWriter
	coding   string
	always   bool
	headOnly bool
	encoder  *bufferedEncoder // nil: the body is not encoded
	decided  bool
}

func (c *compressor) WriteHeader(status int) {
	if !c.decided {
		c.decided = true
		c.decide(status)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressor) decide(status int) {
	h := c.Header()
	if status == http.StatusNoContent || status == http.StatusNotModified || h.Get("Content-Encoding") != "" {
		return
	}
	if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil && n < minCompressed && !c.always {
		return
	}
	h.Del("Content-Length")
	h.Set("Content-Encoding", c.coding)
	if etag, ok := strings.CutSuffix(h.Get("ETag"), `"`); ok {
		h.Set("ETag", etag+"-"+c.coding+`"`) // another representation
	}
	if c.headOnly {
		return
	}
	c.encoder = encoderPools[c.coding].Get().(*bufferedEncoder)
	c.encoder.reset(c.ResponseWriter)
}

func (c *compressor) Write(b []byte) (int, error) {
	if !c.decided {
		c.WriteHeader(http.StatusOK)
	}
	if c.encoder != nil {
		return c.encoder.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// Flush sends what was written so far.
func (c *compressor) Flush() {
	if !c.decided {
		c.WriteHeader(http.StatusOK) // which must be decided before it is sent
	}
	if c.encoder != nil && c.encoder.flush() != nil {
		return // the next Write returns the error
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush() // not every writer can
}

// Unwrap is for http.ResponseController.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressor) close() {
	if c.encoder == nil {
		return
	}
	if c.encoder.finish() != nil {
		panic(http.ErrAbortHandler) // the client is gone, or sees a body that was cut
	}
	c.encoder.reset(nil)
	encoderPools[c.coding].Put(c.encoder)
}

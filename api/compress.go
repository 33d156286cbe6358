package api

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

// coder is an encoder and what it writes to: gzip writes few bytes at a time.
type coder struct {
	encoder
	out *bufio.Writer
}

func newCoder(e encoder) *coder { return &coder{e, bufio.NewWriterSize(nil, 32<<10)} }

var coders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		e, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		must(err)
		return newCoder(e)
	}},
	"zstd": {New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
		must(err)
		return newCoder(e)
	}},
}

// to makes the coder write to w; nil lets go of what it wrote to.
func (c *coder) to(w io.Writer) {
	c.out.Reset(w)
	c.Reset(c.out)
}

// flush sends what was written so far.
func (c *coder) flush() error {
	if err := c.Flush(); err != nil {
		return err
	}
	return c.out.Flush()
}

// end writes what ends the coded body.
func (c *coder) end() error {
	if err := c.Close(); err != nil {
		return err
	}
	return c.out.Flush()
}

// compress encodes answers as Accept-Encoding allows. To HEAD it gives the header
// that GET would have.
func compress(next http.Handler) http.Handler {
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
// whether even what is short has to be encoded. Without weights all are welcome,
// identity least; a client that takes none of the three is given identity.
func chooseCoding(headers []string) (best string, always bool) {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		weights[strings.ToLower(strings.TrimSpace(name))] = quality(params)
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

// quality returns the weight that "q=0.5" gives; 1 when none is given.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}

// compressor decides at the header whether to encode.
type compressor struct {
	http.ResponseWriter
	coding   string
	always   bool
	headOnly bool
	encoder  *coder // nil: not encoded
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
	c.encoder = coders[c.coding].Get().(*coder)
	c.encoder.to(c.ResponseWriter)
}

// plainETag takes the coding off an ETag that compressor gave out.
func plainETag(etag string) string {
	for coding := range coders {
		if plain, ok := strings.CutSuffix(etag, "-"+coding+`"`); ok {
			return plain + `"`
		}
	}
	return etag
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
		return // the next Write says so
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush() // not every writer can
}

// Unwrap is for http.ResponseController.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressor) close() {
	if c.encoder == nil {
		return
	}
	if c.encoder.end() != nil {
		panic(http.ErrAbortHandler) // the client is gone, or sees a body that was cut
	}
	c.encoder.to(nil)
	coders[c.coding].Put(c.encoder)
}

// plainTags is for handlers that know nothing of codings: they find the ETags in
// If-None-Match that they gave out, and 304 has the one that the client named.
func plainTags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const header = "If-None-Match"
		if r.Header.Get(header) == "" {
			next.ServeHTTP(w, r)
			return
		}
		var tags []string
		for tag := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
			tags = append(tags, plainETag(strings.TrimSpace(tag)))
		}
		plain := r.Clone(r.Context())
		plain.Header.Set(header, strings.Join(tags, ", "))
		next.ServeHTTP(&renamer{w, r}, plain)
	})
}

// renamer answers 304 with the ETag by which the request names it.
type renamer struct {
	http.ResponseWriter
	request *http.Request
}

func (n *renamer) WriteHeader(status int) {
	if named, has := has(n.request, n.Header().Get("ETag")); status == http.StatusNotModified && has && named != "" {
		n.Header().Set("ETag", named)
	}
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (n *renamer) Unwrap() http.ResponseWriter { return n.ResponseWriter }

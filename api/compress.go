package api

import (
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

var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		e, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		must(err)
		return e
	}},
	"zstd": {New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		must(err)
		return e
	}},
}

// compress encodes answers as Accept-Encoding allows.
func compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		coding := chooseCoding(r.Header.Values("Accept-Encoding"))
		if coding == "" || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w, coding: coding}
		next.ServeHTTP(c, r)
		c.close() // not after a panic: then the answer must look cut
	})
}

// chooseCoding returns gzip, zstd or "" for a list of codings with weights.
func chooseCoding(headers []string) string {
	best, weight := "", 0.0
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		weights[strings.ToLower(strings.TrimSpace(name))] = quality(params)
	}
	for _, name := range []string{"zstd", "gzip"} {
		q, named := weights[name]
		if !named {
			q = weights["*"]
		}
		if q > weight {
			best, weight = name, q
		}
	}
	return best
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
	coding  string
	encoder encoder // nil: not encoded
	decided bool
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
	if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil && n < minCompressed {
		return
	}
	h.Del("Content-Length")
	h.Set("Content-Encoding", c.coding)
	if etag, ok := strings.CutSuffix(h.Get("ETag"), `"`); ok {
		h.Set("ETag", etag+"-"+c.coding+`"`) // another representation
	}
	c.encoder = encoders[c.coding].Get().(encoder)
	c.encoder.Reset(c.ResponseWriter)
}

// plainETag takes the coding off an ETag that compressor gave out.
func plainETag(etag string) string {
	for coding := range encoders {
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
	if c.encoder != nil {
		_ = c.encoder.Flush()
	}
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressor) close() {
	if c.encoder == nil {
		return
	}
	_ = c.encoder.Close() // an error here means that the client is gone
	c.encoder.Reset(nil)
	encoders[c.coding].Put(c.encoder)
}

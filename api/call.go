package api

import (
	"context"
	"hash"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"

	"plannerd/internal/admission"
	"plannerd/internal/httpkit"
	"plannerd/internal/observe"
	"plannerd/internal/planning"
)

// shared is what the handlers of all resources have in common.
type shared struct {
	service  *planning.Service
	log      *slog.Logger
	errors   httpkit.ErrorHandler
	limits   Limits
	access   Access
	version  string
	now      func() time.Time
	observer *observe.Observer
	draining <-chan struct{}
	memory   *admission.Budget
	// collecting: a collection of what a large request left behind is running.
	collecting atomic.Bool
}

// call is one request on its way through a handler.
type call struct {
	*http.Request
	route *routers.Route
	query url.Values // checked against the contract
	media string     // the media type that Accept chose
	// memory is what the request holds of the budget, until its handler has returned.
	memory     *admission.Lease
	idempotent *idempotentRequest // nil: it has no idempotency key
}

// idempotentRequest is a request that its Idempotency-Key lets happen only once.
type idempotentRequest struct {
	planning.IdempotentRequest
	sum   hash.Hash // of the request, as far as its body was read
	reply *reply    // what the store keeps, once it was made
	done  bool      // the store has the answer
	// Of the claim; nil before begin:
	finish  func(ctx context.Context, status int, answer []byte) error
	release func(ctx context.Context, done bool)
}

type handler func(w http.ResponseWriter, c *call) error

func (c *call) param(name string) string { return chi.URLParam(c.Request, name) }

// pathNumber reads a number of the path, which is within the contract.
func pathNumber[T int32 | int64](c *call, name string) (T, error) {
	var v T
	if !parseScalar(c.param(name), &v) {
		return 0, invalid().WithParameter(name, outOfRange)
	}
	return v, nil
}

// bodySchema is that of a request's JSON body.
func (c *call) bodySchema() *openapi3.Schema {
	return c.route.Operation.RequestBody.Value.Content["application/json"].Schema.Value
}

// contentEncoding is the content encoding of a request, in lower case.
func (c *call) contentEncoding() string { return strings.ToLower(c.Header.Get("Content-Encoding")) }

// What reading bodies takes, in bytes, by the measure of package planning.
const (
	// readBytes is what reading any body of rows takes: a window and an answer.
	readBytes = 256 << 10
	// gzipBytes and zstdBytes are what decompressing takes besides; the latter is
	// the greatest window that is accepted, and blocks.
	gzipBytes = 64 << 10
	zstdBytes = 9 << 20
	// memberBytes is what a byte of a member of a JSON body becomes at most, while
	// it is read: a routing table with short keys, a tree of small numbers.
	memberBytes = 8
)

// textTimes is what a byte of a body makes a request hold at its peak, decoded
// and planned: a guess before anything is known. Rows of JSON are long.
var textTimes = map[string]int64{"application/json": 4, mediaNDJSON: 4, mediaCSV: 6, mediaText: 12, mediaArrow: 6}

// compressedTimes is how much longer a text of rows is than what it is compressed
// to, usually.
const compressedTimes = 4

// expect has a request hold what its body will probably take, before anything is
// read of it. A body of unknown length starts with little.
func (c *call) expect(media, encoding string) error {
	least, times := int64(readBytes), textTimes[media]
	switch encoding {
	case "gzip":
		least, times = least+gzipBytes, times*compressedTimes
	case "zstd":
		least, times = least+zstdBytes, times*compressedTimes
	}
	probably := least
	if c.ContentLength < 0 {
		c.memory.Open()
	} else {
		probably += min(c.ContentLength, 1<<40) * times
	}
	if err := c.memory.Expect(probably); err != nil {
		return err
	}
	return c.memory.Reserve(least)
}

// decoded says that the body was read, and what is left of it.
func (c *call) decoded(bytes int64, members map[string][]byte) error {
	for _, text := range members {
		bytes += int64(len(text)) * memberBytes
	}
	return c.memory.Settle(bytes)
}

// largeRequest is how much memory a request holds, in bytes, that is worth a
// collection when it ends.
const largeRequest = 32 << 20

// release gives back what a request held. What a large one leaves behind is
// collected at once: that takes little time, as little else is alive then, and the
// next large request need not grow the heap beside it.
func (s *shared) release(held *admission.Lease) {
	large := held.Used() >= largeRequest
	held.Release()
	if large && s.collecting.CompareAndSwap(false, true) {
		go func() {
			defer s.collecting.Store(false)
			runtime.GC()
		}()
	}
}

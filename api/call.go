package api

import (
	"context"
	"hash"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/web/admission"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/internal/web/observe"
)

// shared is what the handlers of all resources have in common.
type shared struct {
	service *service.Service
	log     *slog.Logger
	errors  *httpkit.ErrorHandler
	limits  Limits
	access  Access
	version string
	// configuration is the schema of an operator's configuration.
	configuration *openapi3.Schema
	now           func() time.Time
	observer      *observe.Observer
	draining      <-chan struct{}
	memory        *admission.Budget
	// collecting: a collection of what a large request left behind is running.
	collecting atomic.Bool
}

// call is one request on its way through a handler.
type call struct {
	*http.Request
	contract.Parameters
	op    *contract.Operation
	media string // the media type that Accept chose
	head  []byte // what a body of rows begins with
	// memory is what the request holds of the budget, until its handler has returned.
	memory     *admission.Lease
	idempotent *idempotentRequest // nil: it has no idempotency key
}

// idempotentRequest is a request that its Idempotency-Key lets happen only once.
type idempotentRequest struct {
	claim.Request
	sum     hash.Hash                            // of the request, as far as its body was read
	reply   *reply                               // what the store keeps, once it was made
	done    bool                                 // the store has the answer
	release func(ctx context.Context, done bool) // the claim; nil: it has none yet
}

type handler func(w http.ResponseWriter, c *call) error

func (c *call) param(name string) string { return c.Path[name] }

// keys returns the key encoding that a request asks for.
func (c *call) keys() keyCoder { return keyCoder{base64: c.Query.Get("key_encoding") == "base64"} }

// key returns bytes of keys that the query names; none if it does not.
func (c *call) key(name string) ([]byte, error) {
	key, ok := c.keys().decodeKey(c.Query.Get(name))
	if !ok {
		return nil, httpkit.Invalid().WithParameter(name, "must be in the encoding that key_encoding names")
	}
	return key, nil
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

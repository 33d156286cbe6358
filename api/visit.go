package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/trace"

	"plannerd/internal/access"
)

// requestID is the header by which a request is known.
const requestID = "X-Request-Id"

// visit is what is known of a request besides what it asks.
type visit struct {
	id     string
	caller *access.Caller // nil: nobody that the server knows
}

type visitKey struct{}

// visitOf returns the visit that a context is of.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return new(visit)
}

// maxRequestID is the length of the longest id that a request may bring along.
const maxRequestID = 128

// idOf returns the id that a request brings along if it is one to write into a
// header and a log, else a new one.
func idOf(r *http.Request) string {
	id := r.Header.Get(requestID)
	unfit := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._:/+=@-", c))
	}
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, unfit) {
		return rand.Text()
	}
	return id
}

// visited gives each request its id and writes it down when it is answered. What
// the log tells of it has none of the client's words but this id: no path, no query,
// no header, no body.
func (s *server) visited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		v := &visit{id: idOf(r)}
		w.Header().Set(requestID, v.id)
		r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			method, route, status := answerOf(wrapped, r)
			level := slog.LevelInfo
			if route == "/healthz" || route == "/readyz" || route == "/metrics" {
				level = slog.LevelDebug // they come every few seconds
			}
			attrs := []slog.Attr{
				slog.String("method", method), slog.String("route", route), slog.Int("status", status),
				slog.Float64("duration_ms", float64(time.Since(begin).Microseconds())/1000),
				slog.Int("bytes", wrapped.BytesWritten()), slog.String("remote", r.RemoteAddr),
			}
			if v.caller != nil {
				attrs = append(attrs, slog.String("caller", v.caller.Name))
			}
			s.log.LogAttrs(r.Context(), level, "request", attrs...)
		}()
		next.ServeHTTP(wrapped, r)
	})
}

// answerOf tells how a request was answered, in few words: those of the client must
// become neither labels nor lines of a log.
func answerOf(w middleware.WrapResponseWriter, r *http.Request) (method, route string, status int) {
	route = chi.RouteContext(r.Context()).RoutePattern()
	if route == "" {
		route = "none"
	}
	method = r.Method
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE":
	default:
		method = "other"
	}
	status = w.Status()
	if status == 0 && hungUp(r) {
		status = statusHungUp
	}
	return method, route, status
}

// visitLog adds the id of the request, and that of the trace that it is of, to what
// is logged while it is answered.
type visitLog struct{ slog.Handler }

func visitLogger(log *slog.Logger) *slog.Logger { return slog.New(visitLog{log.Handler()}) }

// Handle implements slog.Handler.
func (h visitLog) Handle(ctx context.Context, record slog.Record) error {
	if id := visitOf(ctx).id; id != "" {
		record.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h visitLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return visitLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h visitLog) WithGroup(name string) slog.Handler { return visitLog{h.Handler.WithGroup(name)} }

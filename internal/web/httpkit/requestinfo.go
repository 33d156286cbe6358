package httpkit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/trace"
)

// requestIDHeader is the header that carries the id of a request.
const requestIDHeader = "X-Request-Id"

// maxRequestID is the length of the longest id that a request may bring along.
const maxRequestID = 128

// requestInfo is what the log tells of a request besides what it asks.
type requestInfo struct {
	id     string
	caller string
}

type requestInfoKey struct{}

// infoOf returns what is known of the request that a context belongs to; never nil.
func infoOf(ctx context.Context) *requestInfo {
	if info, ok := ctx.Value(requestInfoKey{}).(*requestInfo); ok {
		return info
	}
	return new(requestInfo)
}

// SetCaller gives the request that a context belongs to the name of its caller,
// for the log.
func SetCaller(ctx context.Context, name string) { infoOf(ctx).caller = name }

// idOf returns the id that a request brings along if it may stand in a header and
// in a log, otherwise a new one.
func idOf(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	unfit := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._:/+=@-", c))
	}
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, unfit) {
		return rand.Text()
	}
	return id
}

// LogRequests is middleware that gives each request an id, which the answer carries,
// too, and logs the request when it is answered; requests to the routes of probes at
// level debug, because they come every few seconds. Of the client's own words the
// log has none but this id: no path, no query, no header, no body.
func LogRequests(log *slog.Logger, probes ...string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			info := &requestInfo{id: idOf(r)}
			w.Header().Set(requestIDHeader, info.id)
			r = r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, info))
			wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			defer func() {
				method, route, status := summarize(wrapped, r)
				level := slog.LevelInfo
				if slices.Contains(probes, route) {
					level = slog.LevelDebug
				}
				attrs := []slog.Attr{
					slog.String("method", method), slog.String("route", route), slog.Int("status", status),
					slog.Float64("duration_ms", float64(time.Since(begin).Microseconds())/1000),
					slog.Int("bytes", wrapped.BytesWritten()), slog.String("remote", r.RemoteAddr),
				}
				if info.caller != "" {
					attrs = append(attrs, slog.String("caller", info.caller))
				}
				log.LogAttrs(r.Context(), level, "request", attrs...)
			}()
			next.ServeHTTP(wrapped, r)
		})
	}
}

// statusClientGone stands for the status of a request whose client hung up before
// there was an answer. No client sees it; nginx uses the same number.
const statusClientGone = 499

// summarize returns how a request was answered, in a bounded number of words: those
// of the client must become neither labels of metrics nor lines of a log.
func summarize(w middleware.WrapResponseWriter, r *http.Request) (method, route string, status int) {
	route = chi.RouteContext(r.Context()).RoutePattern()
	if route == "" {
		route = "none"
	}
	method = r.Method
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE":
	default:
		method = "other"
	}
	status = w.Status()
	if status == 0 && ClientGone(r) {
		status = statusClientGone
	}
	return method, route, status
}

// RequestLogger returns a logger that adds to each record the id of the request and
// of the trace during which it is logged.
func RequestLogger(log *slog.Logger) *slog.Logger { return slog.New(requestLogHandler{log.Handler()}) }

type requestLogHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h requestLogHandler) Handle(ctx context.Context, record slog.Record) error {
	if id := infoOf(ctx).id; id != "" {
		record.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h requestLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestLogHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h requestLogHandler) WithGroup(name string) slog.Handler {
	return requestLogHandler{h.Handler.WithGroup(name)}
}

package httpkit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
)

// MeasureRequests is middleware that counts and times requests by the route that
// answers them, in metrics whose names begin with the namespace.
func MeasureRequests(registry prometheus.Registerer, namespace string) func(http.Handler) http.Handler {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "http_requests_total", Help: "Requests answered.",
	}, []string{"method", "route", "status"})
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds",
		Help:    "Time from a request to the end of its answer.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
	}, []string{"method", "route"})
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "http_requests_in_flight", Help: "Requests that are being answered.",
	})
	registry.MustRegister(requests, latency, inFlight)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			inFlight.Inc()
			wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			defer func() {
				inFlight.Dec()
				method, route, status := summarize(wrapped, r)
				requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
				latency.WithLabelValues(method, route).Observe(time.Since(begin).Seconds())
			}()
			next.ServeHTTP(wrapped, r)
		})
	}
}

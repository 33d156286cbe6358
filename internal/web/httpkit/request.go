package httpkit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// SecureHeaders is middleware that sets the headers that every answer has.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache") // ETags say whether what a client has is still true
		if r.TLS != nil && !isThisMachine(r.Host) {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// isThisMachine reports whether a host is this machine by one of its own names. To have
// browsers ask for HTTPS there would shut out all other servers of the machine.
func isThisMachine(host string) bool {
	name := hostname(host)
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

// hostname is a host without its port, in lower case.
func hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil { // no port
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(name)
}

// BearerToken returns the token of a request's Authorization (RFC 6750), "" if
// there is none or more than one.
func BearerToken(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) > 1 {
		return ""
	}
	return strings.TrimLeft(secret, " ")
}

// HostAllowed reports whether the Host of a request is one of the names, which are
// lower-case and have no port. Nil names allow any.
func HostAllowed(r *http.Request, names []string) bool {
	return names == nil || slices.Contains(names, hostname(r.Host))
}

// ClientGone reports whether the client of a request no longer waits for its answer.
func ClientGone(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// AllowedMethods lists the methods that routes have for a path, as Allow does.
func AllowedMethods(routes chi.Routes, path string) string {
	var out []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		routed := method
		if method == "HEAD" {
			routed = "GET" // see middleware.GetHead
		}
		if routes.Match(chi.NewRouteContext(), routed, path) {
			out = append(out, method)
		}
	}
	return strings.Join(out, ", ")
}

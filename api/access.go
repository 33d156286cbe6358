package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"plannerd/internal/service"
	"plannerd/internal/web/access"
	"plannerd/internal/web/admission"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/internal/web/reload"
	"plannerd/sdk/go/wire"
)

// Access says who may do what. The zero value lets everybody do everything.
type Access struct {
	// Tokens returns the tokens as they are now. Nil: there are none, and everybody
	// may do everything.
	Tokens func() *access.Tokens
	// Hosts are the names that requests may be for, lower-case and without a port.
	// Nil: any name. Where no token is needed it must not be: the page of a stranger
	// can bring its own name to lead here, and then act and read as its visitor.
	Hosts []string
	// OpenMetrics lets everybody read /metrics.
	OpenMetrics bool
	// Reloads counts how often tokens and certificates were read again. Nil: they never
	// are.
	Reloads *reload.Counts
}

// reloads are the counts, none if there are none.
func (a Access) reloads() *reload.Counts {
	if a.Reloads == nil {
		return new(reload.Counts)
	}
	return a.Reloads
}

type callerKey struct{}

// callerOf returns the caller of the request that a context belongs to; nil if the
// server does not know it, or needs no tokens.
func callerOf(ctx context.Context) *access.Caller {
	caller, _ := ctx.Value(callerKey{}).(*access.Caller)
	return caller
}

// requiredRole is what an operation requires of callers.
type requiredRole struct {
	role access.Role
	all  bool // they see every operator
}

// requiredRoleOf returns what the contract requires for an operation. An operation
// of which it says nothing is for admins, so that an omission opens nothing.
func requiredRoleOf(op *contract.Operation) (requiredRole, error) {
	d := requiredRole{role: access.Admin, all: op.Extensions["x-operators"] == "all"}
	said, ok := op.Extensions["x-role"]
	if !ok {
		return d, nil
	}
	name, _ := said.(string)
	if d.role = access.Role(name); !d.role.Known() {
		return d, fmt.Errorf("the contract asks for the role %v on %s %s", said, op.Method, op.Path)
	}
	return d, nil
}

// requiredRole returns what an operation requires on this server.
func (a Access) requiredRole(op *contract.Operation) (requiredRole, error) {
	d, err := requiredRoleOf(op)
	if a.OpenMetrics && op.Path == "/metrics" {
		d = requiredRole{role: access.Open}
	}
	return d, err
}

// foreignRequests refuse what comes from pages of other origins.
var foreignRequests = http.NewCrossOriginProtection()

// isForeign tells whether a page of another origin made the request. To see what has data they
// may not even ask; they may lead to the dashboard.
func isForeign(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/metrics" {
		asChange := *r
		asChange.Method = http.MethodPost // which is refused; asking by GET is not
		r = &asChange
	}
	return foreignRequests.Check(r) != nil
}

// identified finds out who the caller is. Of what may come from other pages it lets
// through only what says so: who has no token where one is needed is answered by the
// operation, which may be open.
func (a Access) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.Tokens != nil {
			caller := a.Tokens().Find(httpkit.BearerToken(r))
			if caller == nil {
				next.ServeHTTP(w, r)
				return
			}
			httpkit.SetCaller(r.Context(), caller.Name)
			ctx := context.WithValue(r.Context(), callerKey{}, caller)
			r = r.WithContext(admission.WithCaller(ctx, caller.Name))
		} else if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			r = r.WithContext(admission.WithCaller(r.Context(), host))
		}
		switch {
		case !httpkit.HostAllowed(r, a.Hosts):
			forbidden(wire.CodeHostForbidden, "The request is for a host that this server is not; "+
				"serve --allowed-hosts names those that it is.").Write(w)
		case isForeign(r):
			forbidden(wire.CodeCrossOrigin, "The request comes from a page of another origin.").Write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// lookAgain is how often it is looked whether the token of a request that waits is still known.
const lookAgain = time.Second

// whileKnown is the context of a request that waits. It ends when the token that made its caller
// known is removed, or the caller's role or operators are changed; done must be called.
func (a Access) whileKnown(r *http.Request) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	caller := callerOf(ctx)
	if caller == nil {
		return ctx, func() { cancel(nil) }
	}
	var known *access.Tokens // what the caller was found in may have been replaced since
	var look *time.Timer     // and no goroutine: very many requests may wait
	look = time.AfterFunc(math.MaxInt64, func() {
		if now := a.Tokens(); now != known {
			if found := now.Find(httpkit.BearerToken(r)); found == nil || !found.Same(*caller) {
				cancel(unauthenticated(r))
			}
			known = now
		}
		if ctx.Err() == nil {
			look.Reset(lookAgain)
		}
	})
	look.Reset(lookAgain)
	return ctx, func() {
		cancel(nil)
		look.Stop()
	}
}

// unknownSince is the problem of a request whose context of whileKnown ended; nil: it did not.
func unknownSince(ctx context.Context) error {
	if p, ok := errors.AsType[*httpkit.Problem](context.Cause(ctx)); ok {
		return p
	}
	return nil
}

// admit refuses callers who may not do what asks for need.
func (a Access) admit(r *http.Request, need requiredRole) error {
	if a.Tokens == nil || need.role == access.Open {
		return nil
	}
	caller := callerOf(r.Context())
	switch {
	case caller == nil:
		return unauthenticated(r)
	case !caller.Role.Grants(need.role):
		return forbidden(wire.CodeRoleForbidden,
			fmt.Sprintf("This asks for the role %s, and that of %s is %s.", need.role, caller.Name, caller.Role))
	case need.all && !caller.SeesAll():
		return forbidden(wire.CodeOperatorForbidden, "This is about all operators, and "+caller.Name+" sees only some.")
	}
	return nil
}

// unrouted answers what no operation does, to callers who may know that there is none.
func (a Access) unrouted(why func(*http.Request) *httpkit.Problem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.admit(r, requiredRole{role: access.Viewer}); err != nil {
			problemOf(err).Write(w)
			return
		}
		why(r).Write(w)
	}
}

// unauthenticated is the problem of a request that does not tell whose it is.
func unauthenticated(r *http.Request) *httpkit.Problem {
	challenge, detail := `Bearer realm="plannerd"`, "This needs a token: curl -H 'Authorization: Bearer …'."
	if r.Header.Get("Authorization") != "" {
		challenge, detail = challenge+`, error="invalid_token"`, "The token is none that this server knows."
	}
	p := newProblem(http.StatusUnauthorized, wire.CodeUnauthenticated, detail)
	p.Header = http.Header{"Www-Authenticate": {challenge}}
	return p
}

func forbidden(code wire.Code, detail string) *httpkit.Problem {
	return newProblem(http.StatusForbidden, code, detail)
}

// sees refuses operators that are closed to the caller, whether they exist or not.
func sees(ctx context.Context, operator string) error {
	if caller := callerOf(ctx); caller != nil && !caller.Sees(operator) {
		return forbidden(wire.CodeOperatorForbidden, fmt.Sprintf("The operator %q is closed to %s.", operator, caller.Name))
	}
	return nil
}

// attributed makes the caller the actor of a transition. An actor that the client
// names is then but a note in the reason.
func attributed(ctx context.Context, t service.Transition) service.Transition {
	caller := callerOf(ctx)
	if caller == nil {
		return t
	}
	if t.Actor != "" && t.Actor != caller.Name {
		t.Reason = strings.TrimSpace(t.Reason + " (as " + t.Actor + ")")
	}
	t.Actor = caller.Name
	return t
}

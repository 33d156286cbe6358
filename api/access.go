package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/routers"

	"plannerd/api/wire"
	"plannerd/internal/access"
	"plannerd/store"
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
}

// demand is what an operation asks of callers.
type demand struct {
	role access.Role
	all  bool // they see every operator
}

// demandOf returns what the contract says that an operation asks for. One of which
// it says nothing is for admins: forgetting opens nothing.
func demandOf(route *routers.Route) (demand, error) {
	d := demand{role: access.Admin, all: route.Operation.Extensions["x-operators"] == "all"}
	said, ok := route.Operation.Extensions["x-role"]
	if !ok {
		return d, nil
	}
	name, _ := said.(string)
	if d.role = access.Role(name); !d.role.Known() {
		return d, fmt.Errorf("the contract asks for the role %v on %s %s", said, route.Method, route.Path)
	}
	return d, nil
}

// demand returns what an operation asks for on this server.
func (s *server) demand(route *routers.Route) (demand, error) {
	d, err := demandOf(route)
	if s.access.OpenMetrics && route.Path == "/metrics" {
		d = demand{role: access.Open}
	}
	return d, err
}

// identified finds out who the caller is. Of what may come from other pages it lets
// through only what says so: who has no token where one is needed is answered by the
// operation, which may be open.
func (s *server) identified(next http.Handler) http.Handler {
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		if s.access.Tokens != nil {
			if v.caller = s.access.Tokens().Find(bearer(r)); v.caller == nil {
				next.ServeHTTP(w, r)
				return
			}
		}
		switch {
		case !s.access.serves(r.Host):
			forbidden(wire.CodeHostForbidden, "The request is for a host that this server is not; serve --allowed-hosts names those that it is.").write(w)
		case foreign.Check(r) != nil:
			forbidden(wire.CodeCrossOrigin, "The request comes from a page of another origin.").write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// callerView is a caller as the API shows it.
type callerView struct {
	Access    bool        `json:"access"`
	Name      *string     `json:"name"`
	Role      access.Role `json:"role"`
	Operators *[]string   `json:"operators"` // nil: all
}

// getCaller tells callers who they are.
func (s *server) getCaller(w http.ResponseWriter, c *call) error {
	caller := visitOf(c.Context()).caller
	if caller == nil { // there are no tokens
		return writeJSON(w, callerView{Role: access.Admin})
	}
	out := callerView{Access: true, Name: &caller.Name, Role: caller.Role}
	if !caller.SeesAll() {
		out.Operators = &caller.Operators
	}
	return writeJSON(w, out)
}

// bearer returns the token of a request, "" if there is none.
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) > 1 {
		return ""
	}
	return strings.TrimLeft(secret, " ")
}

// serves reports whether host, the Host of a request, is one of the server's.
func (a Access) serves(host string) bool {
	if a.Hosts == nil {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil { // no port
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return slices.Contains(a.Hosts, strings.ToLower(name))
}

// admit refuses callers who may not do what asks for need.
func (s *server) admit(r *http.Request, need demand) error {
	if s.access.Tokens == nil || need.role == access.Open {
		return nil
	}
	caller := visitOf(r.Context()).caller
	switch {
	case caller == nil:
		return unauthenticated(r)
	case !caller.Role.Grants(need.role):
		return forbidden(wire.CodeRoleForbidden, fmt.Sprintf("This asks for the role %s, and that of %s is %s.", need.role, caller.Name, caller.Role))
	case need.all && !caller.SeesAll():
		return forbidden(wire.CodeOperatorForbidden, "This is about all operators, and "+caller.Name+" sees only some.")
	}
	return nil
}

// unrouted answers what no operation does, to callers who may know that there is none.
func (s *server) unrouted(why func(*http.Request) *problem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.admit(r, demand{role: access.Viewer}); err != nil {
			problemOf(err).write(w)
			return
		}
		why(r).write(w)
	}
}

// unauthenticated is the problem of a request that does not tell whose it is.
func unauthenticated(r *http.Request) *problem {
	p := &problem{status: http.StatusUnauthorized, code: wire.CodeUnauthenticated, challenge: `Bearer realm="plannerd"`,
		detail: "This needs a token: curl -H 'Authorization: Bearer …'."}
	if r.Header.Get("Authorization") != "" {
		p.challenge += `, error="invalid_token"`
		p.detail = "The token is none that this server knows."
	}
	return p
}

func forbidden(code wire.Code, detail string) *problem {
	return &problem{status: http.StatusForbidden, code: code, detail: detail}
}

// sees refuses operators that are closed to the caller, whether they exist or not.
func sees(ctx context.Context, operator string) error {
	if caller := visitOf(ctx).caller; caller != nil && !caller.Sees(operator) {
		return forbidden(wire.CodeOperatorForbidden, fmt.Sprintf("The operator %q is closed to %s.", operator, caller.Name))
	}
	return nil
}

// seesNamed refuses what is in the path of a request and closed to its caller: an
// operator, or a plan of one, which then does not exist.
func (s *server) seesNamed(c *call) error {
	caller := visitOf(c.Context()).caller
	if caller == nil || caller.SeesAll() {
		return nil
	}
	if name := c.param("operator"); name != "" {
		return sees(c.Context(), name)
	}
	id := c.param("id")
	if id == "" {
		return nil
	}
	p, err := s.store.Plan(c.Context(), id)
	if err == nil && !caller.Sees(p.Operator) {
		err = store.ErrNotFound
	}
	return aboutPlan(id, err)
}

// attributed makes the caller the actor of a transition. An actor that the client
// names is then but a note in the reason.
func attributed(ctx context.Context, t store.Transition) store.Transition {
	caller := visitOf(ctx).caller
	if caller == nil {
		return t
	}
	if t.Actor != "" && t.Actor != caller.Name {
		t.Reason = strings.TrimSpace(t.Reason + " (as " + t.Actor + ")")
	}
	t.Actor = caller.Name
	return t
}

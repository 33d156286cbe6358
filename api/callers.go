package api

import (
	"errors"
	"net/http"

	"plannerd/internal/refusal"
	"plannerd/internal/web/access"
	"plannerd/internal/web/httpkit"
)

// callers answers who callers are.
type callers struct{}

// callerView is a caller as the API shows it.
type callerView struct {
	Access    bool        `json:"access"`
	Name      *string     `json:"name"`
	Role      access.Role `json:"role"`
	Operators *[]string   `json:"operators"` // nil: all
}

// getCaller tells callers who they are.
func (callers) get(w http.ResponseWriter, c *call) error {
	caller := callerOf(c.Context())
	if caller == nil { // there are no tokens
		return httpkit.WriteJSON(w, http.StatusOK, callerView{Role: access.Admin})
	}
	out := callerView{Access: true, Name: &caller.Name, Role: caller.Role}
	if !caller.SeesAll() {
		out.Operators = &caller.Operators
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}

// seesNamed refuses what is in the path of a request and closed to its caller: an
// operator, or a plan of one, which then does not exist.
func (s *shared) seesNamed(c *call) error {
	caller := callerOf(c.Context())
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
	p, err := s.service.Plan(c.Context(), id)
	var refused *refusal.Error
	purged := errors.As(err, &refused) && refused.Reason == refusal.Purged // of which operator, nobody knows
	if purged || err == nil && !caller.Sees(p.Operator) {
		err = refusal.NoPlan(id)
	}
	return err
}

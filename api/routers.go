package api

import (
	"net/http"
	"time"

	"plannerd/internal/parameters"
	"plannerd/internal/service/feed"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// routers answers what is asked about the routers of an engine.
type routers struct{ *shared }

// put registers a router. It takes no idempotency key: once more does no harm, as a router
// may have any number of epochs.
func (s routers) put(w http.ResponseWriter, c *call) error {
	var in struct {
		Lease parameters.Duration `json:"lease"`
		Epoch *int64              `json:"epoch"`
	}
	if err := c.readJSON(w, &in); err != nil {
		return err
	}
	r, err := s.service.RegisterRouter(c.Context(), c.param("operator"), c.param("router"), in.Epoch,
		time.Duration(in.Lease))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if r.Created {
		status = http.StatusCreated
	}
	return httpkit.WriteJSON(w, status, routerOut(r))
}

func (s routers) list(w http.ResponseWriter, c *call) error {
	operator := c.param("operator")
	all, err := s.service.Routers(c.Context(), operator)
	if err != nil {
		return err
	}
	out := wire.RouterList{Operator: operator, Routers: make([]wire.Router, len(all))}
	for i, r := range all {
		out.Routers[i] = routerOut(r)
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}

func (s routers) delete(w http.ResponseWriter, c *call) error {
	if err := s.service.RemoveRouter(c.Context(), c.param("operator"), c.param("router")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func routerOut(r feed.Router) wire.Router {
	return wire.Router{
		Router: r.Name, Epoch: r.Epoch, RegisteredAt: r.RegisteredAt.UTC(), ExpiresAt: r.ExpiresAt.UTC(), Expired: r.Expired,
	}
}

package api

import (
	"net/http"

	"plannerd/internal/service"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// freezes hold operators, or all where the path names none.
type freezes struct{ *shared }

func (s freezes) put(w http.ResponseWriter, c *call) error {
	var in wire.FreezeRequest
	if err := c.readJSON(w, &in); err != nil {
		return err
	}
	by := attributed(c.Context(), service.Transition{Actor: or(in.Actor, ""), Reason: in.Reason})
	f, err := s.service.Freeze(c.Context(), c.param("operator"),
		service.Freeze{Until: in.Until, Actor: by.Actor, Reason: by.Reason})
	if err != nil {
		return err
	}
	return httpkit.WriteJSON(w, http.StatusOK, freezeOut(&f))
}

func (s freezes) delete(w http.ResponseWriter, c *call) error {
	if err := s.service.Unfreeze(by(c), c.param("operator")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func freezeOut(f *service.Freeze) *wire.Freeze {
	if f == nil {
		return nil
	}
	return &wire.Freeze{Until: f.Until.UTC(), Since: f.Since.UTC(), Actor: f.Actor, Reason: f.Reason, All: f.All}
}

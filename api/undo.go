package api

import (
	"net/http"
	"strconv"

	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// undos bring earlier tables back.
type undos struct{ *shared }

// preview answers what an undo would move.
func (s undos) preview(w http.ResponseWriter, c *call) error {
	var version *int64
	if c.Query.Has("to_version") { // the contract has checked it
		v, err := strconv.ParseInt(c.Query.Get("to_version"), 10, 64)
		if err != nil {
			return err
		}
		version = &v
	}
	c.memory.Open() // as of an analysis
	u, err := s.service.Undo(c.Context(), c.param("operator"), version, c.memory)
	if err != nil {
		return aboutParameter(err, "to_version")
	}
	f, err := u.Figures()
	if err != nil {
		return err
	}
	return httpkit.WriteTaggedJSON(w, c.Request, wire.UndoPreview{
		ToVersion: u.ToVersion, LeftKeys: u.LeftKeys, BaseVersion: u.Base, Interval: u.Interval(),
		Balanced: &u.Balanced, Theta: wire.Comparison{Before: f.ThetaBefore, After: f.ThetaAfter}, Migration: migrationOut(f),
	})
}

// propose makes the plan that brings an earlier table back.
func (s undos) propose(w http.ResponseWriter, c *call) error {
	var in wire.UndoRequest
	if err := c.readJSON(w, &in); err != nil {
		return err
	}
	c.memory.Open()
	return once(s.shared, w, c, planReply, func(held *claim.Claim[storedPlan]) (storedPlan, error) {
		u, err := s.service.Undo(c.Context(), c.param("operator"), in.ToVersion, c.memory)
		if err != nil {
			return nil, err
		}
		by := attributed(c.Context(), service.Transition{Actor: or(in.Actor, ""), Reason: or(in.Reason, "")})
		return u.Propose(c.Context(), by, held, c.memory)
	})
}

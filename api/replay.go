package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input"
	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/propose"
	"plannerd/internal/web/access"
)

// noRows points at what a request without rows says besides.
var noRows = &statisticsRequest{members: &members{}, document: &input.Document{}}

// replay answers what would have come of the statistics of a plan, or proposes it.
func (s plans) replay(w http.ResponseWriter, c *call) error {
	m, err := readReplay(w, c)
	if err != nil {
		return err
	}
	c.memory.Open() // as of an analysis
	if string(m.raw["propose"]) == "true" {
		return once(s.shared, w, c, planReply, func(held *claim.Claim[storedPlan]) (storedPlan, error) {
			r, asked, err := s.readReplayed(c, m)
			if err != nil {
				return nil, err
			}
			if err := s.access.admit(c.Request, requiredRole{role: access.Approver}); err != nil {
				return nil, err
			}
			p, err := r.Propose(c.Context(), propose.ReplayProposal{
				Trial: asked.trials[0], By: attributed(c.Context(), asked.by), Replace: asked.replace, Claim: held,
			})
			return p, noRows.problemOf(err)
		})
	}
	r, asked, err := s.readReplayed(c, m)
	if err != nil {
		return err
	}
	results, front, err := r.Try(c.Context(), asked.trials, asked.lists)
	if err != nil {
		return noRows.problemOf(err)
	}
	in := propose.WhatIf{Statistics: r.Statistics, Trials: asked.trials, Lists: asked.lists}
	return writeTrials(w, c, in, &r.Interval, results, front)
}

// readReplay reads the members of a request to replay a plan; it may have no body.
func readReplay(w http.ResponseWriter, c *call) (*members, error) {
	said := map[string]jsontext.Value{}
	if err := c.readJSON(w, &said); err != nil {
		return nil, err
	}
	raw := make(map[string][]byte, len(said))
	for name, text := range said {
		raw[name] = text
	}
	m := newMembers(c, raw)
	m.read = true
	return m, nil
}

// replayRequest is what is to be planned in place of a plan.
type replayRequest struct {
	trials  []propose.Trial
	lists   bool
	replace bool
	by      service.Transition
}

// readReplayed reads a plan, and what is to be planned in its place.
func (s plans) readReplayed(c *call, m *members) (r *propose.Replay, asked replayRequest, err error) {
	if r, err = s.service.Replay(c.Context(), c.param("id"), c.memory); err != nil {
		return nil, asked, err
	}
	under, err := r.Parameters()
	if err != nil {
		return nil, asked, err
	}
	asked.trials = readTrials(m, r.Statistics.Records != nil, r.Strategy, under, s.limits.PlanTime)
	asked.lists = optional(m, "plans", false)
	asked.by = service.Transition{Actor: optional(m, "actor", ""), Reason: optional(m, "reason", "")}
	asked.replace = optional(m, "replace", false)
	switch propose := optional(m, "propose", false); {
	case propose && len(asked.trials) > 1:
		m.refuse("propose", "is for one strategy and one value of each parameter")
	case asked.replace && !propose:
		m.refuse("replace", "means nothing without propose")
	}
	err = m.problem()
	return r, asked, err
}

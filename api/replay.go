package api

import (
	"net/http"
	"slices"

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
			r, asked, err := s.readReplayed(c, c.param("id"), m)
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
	return s.tryAgain(w, c, c.param("id"), m)
}

// tryAgain answers what would have come of the statistics of a plan.
func (s plans) tryAgain(w http.ResponseWriter, c *call, id string, m *members) error {
	r, asked, err := s.readReplayed(c, id, m)
	if err != nil {
		return err
	}
	results, front, err := r.Try(c.Context(), asked.trials, asked.lists)
	if err != nil {
		return noRows.problemOf(err)
	}
	in := propose.WhatIf{Statistics: r.Statistics, Trials: asked.trials, Lists: asked.lists}
	if in.Lists && c.media == mediaCSV {
		m.refuse("plans", listsInCSV)
		return m.problem()
	}
	return writeTrials(w, c, in, &r.Interval, results, front)
}

// whatIfOf answers what would come of the newest statistics of an operator.
func (s plans) whatIfOf(w http.ResponseWriter, c *call) error {
	name := c.Query.Get("operator")
	c.Query.Del("operator") // the rest is as for the replay of its newest plan
	m, err := queriedMembers(c, c.op.Component("ReplayRequest"), false)
	if err != nil {
		return err
	}
	id, err := s.service.NewestPlan(c.Context(), name)
	if err != nil {
		return err
	}
	c.memory.Open() // as of an analysis
	return s.tryAgain(w, c, id, m)
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
func (s plans) readReplayed(c *call, id string, m *members) (r *propose.Replay, asked replayRequest, err error) {
	if r, err = s.service.Replay(c.Context(), id, c.memory); err != nil {
		return nil, asked, err
	}
	under, err := r.Parameters()
	if err != nil {
		return nil, asked, err
	}
	asked.trials = readTrials(m, r.Statistics.Records != nil, r.Configuration(), r.Strategy, under, s.limits.PlanTime)
	asked.lists = optional(m, "plans", false)
	asked.by = service.Transition{Actor: optional(m, "actor", ""), Reason: optional(m, "reason", "")}
	asked.replace = optional(m, "replace", false)
	m.checkTargets(propose.WhatIf{Statistics: r.Statistics, Configuration: r.Configuration(), Trials: asked.trials})
	switch proposes := optional(m, "propose", false); {
	case proposes && slices.ContainsFunc(asked.trials, propose.Trial.Retargets):
		m.refuse("propose", "is for the instances, rules and resources of the operator: change its configuration first")
	case proposes && len(asked.trials) > 1:
		m.refuse("propose", "is for one strategy and one value of each parameter")
	case asked.replace && !proposes:
		m.refuse("replace", "means nothing without propose")
	}
	err = m.problem()
	return r, asked, err
}

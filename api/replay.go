package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/access"
	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/internal/statsio"
)

// noRows points at what a request without rows says besides.
var noRows = &statisticsRequest{members: &members{}, document: &statsio.Document{}}

// replay answers what would have come of the statistics of a plan, or proposes it.
func (s plans) replay(w http.ResponseWriter, c *call) error {
	m, err := readReplay(w, c)
	if err != nil {
		return err
	}
	var claim *planning.Claim[planning.StoredPlan]
	if string(m.raw["propose"]) == "true" { // else nothing is changed
		if claim, err = begin(s.shared, c, planReply); err != nil {
			return err
		}
	}
	r, err := s.service.Replay(c.Context(), c.param("id"), c.memory)
	if err != nil {
		return err
	}
	asked, err := readReplayed(m, r, s.limits)
	if err != nil {
		return err
	}
	if asked.propose {
		if err := s.access.admit(c.Request, requiredRole{role: access.Approver}); err != nil {
			return err
		}
		p, err := r.Propose(c.Context(), asked.trials[0], attributed(c.Context(), asked.by), claim)
		if err != nil {
			return noRows.problemOf(err)
		}
		return finish(w, c, *p, planReply)
	}
	results, front, err := r.Try(c.Context(), asked.trials, asked.lists)
	if err != nil {
		return noRows.problemOf(err)
	}
	in := planning.WhatIf{Statistics: r.Statistics, Trials: asked.trials, Lists: asked.lists}
	answer, err := renderTrials(in, &r.Interval, results, front)
	if err != nil {
		return err
	}
	return httpkit.WriteStream(w, c.Request, http.StatusOK, mediaJSON, answer.write)
}

// readReplay reads the members of a request to replay a plan; it may have no body.
func readReplay(w http.ResponseWriter, c *call) (*members, error) {
	said := map[string]jsontext.Value{}
	if _, err := c.op.Read(w, c.Request, &said); err != nil {
		return nil, err
	}
	raw := make(map[string][]byte, len(said))
	for name, text := range said {
		raw[name] = text
	}
	return newMembers(c, raw), nil
}

// replayRequest is what is to be planned in place of a plan.
type replayRequest struct {
	trials         []planning.Trial
	lists, propose bool
	by             planning.Transition
}

// readReplayed reads what is to be planned in place of the plan.
func readReplayed(m *members, r *planning.Replay, limits Limits) (asked replayRequest, err error) {
	under, err := r.Parameters()
	if err != nil {
		return asked, err
	}
	asked.trials = readTrials(m, r.Statistics.Records != nil, r.Strategy, under, limits.PlanTime)
	asked.lists, asked.propose = optional(m, "plans", false), optional(m, "propose", false)
	asked.by = planning.Transition{Actor: optional(m, "actor", ""), Reason: optional(m, "reason", "")}
	if asked.propose && len(asked.trials) > 1 {
		m.refuse("propose", "is for one strategy and one value of each parameter")
	}
	return asked, m.problem()
}

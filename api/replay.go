package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api/wire"
	"plannerd/internal/access"
	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/internal/statsio"
)

// noRows points at what a request without rows says besides.
var noRows = &statisticsRequest{document: &statsio.Document{}}

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
	if _, err := readSmall(w, c.Request, c.route, &said); err != nil {
		return nil, err
	}
	m := &members{schema: c.bodySchema(), raw: make(map[string][]byte, len(said)), bad: invalid()}
	for name, text := range said {
		m.raw[name] = text
	}
	return m, nil
}

// replayRequest is what is to be planned in place of a plan.
type replayRequest struct {
	trials         []planning.Trial
	lists, propose bool
	by             planning.Transition
}

// readReplayed reads what is to be planned in place of the plan.
func readReplayed(m *members, r *planning.Replay, limits Limits) (asked replayRequest, err error) {
	m.records = r.Statistics.Records != nil
	under, err := r.Parameters()
	if err != nil {
		return asked, err
	}
	asked.trials = m.trials(m.strategies(r.Strategy), under, limits.PlanTime)
	asked.lists, asked.propose = or(member[bool](m, "plans"), false), or(member[bool](m, "propose"), false)
	said := wire.Transition{Actor: member[string](m, "actor"), Reason: member[string](m, "reason")}
	if err := checkRules(said, ""); err != nil {
		m.add(err)
	}
	asked.by = planning.Transition{Actor: or(said.Actor, ""), Reason: or(said.Reason, "")}
	if asked.propose && len(asked.trials) > 1 {
		m.refuse("propose", "is for one strategy and one value of each parameter")
	}
	return asked, m.problem()
}

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// never is when an operation ends of which no answer came.
const never = math.MaxInt64

// history is what is known of an operator when its clients have stopped.
type history struct {
	operator string
	records  []record // in no order
	bodies   []*statistics
	model    *model
}

// settle makes the history that the checker takes. It leaves out what changed
// nothing and told nothing, and what an unknown outcome was where the plans that
// the service has in the end tell:
//   - Statistics without an answer made one of the plans that no answer was the
//     first to show, or nothing.
//   - A verb without an answer did nothing to a plan that ended otherwise. If the
//     plan ended as the verb would have it, the verb was over, or changed nothing
//     any more, when somebody saw that.
//
// All other operations without an answer may take effect until the very end. The
// faults are contradictions that need no checker.
func (h *history) settle() (operations []porcupine.Operation, faults []string) {
	operations, faults = h.unanswered()
	for i := range h.records {
		r := &h.records[i]
		end := r.end
		switch a := &r.answer; {
		case a.outcome == unsent || a.outcome == declined:
			continue
		case a.outcome == unknown && (r.request.kind.reads() || r.request.kind == createPlan):
			continue
		case a.outcome == unknown:
			if end = h.latest(r); end < r.call {
				continue
			}
		case h.overtaken(r):
			if !h.contended(r) {
				faults = append(faults, fmt.Sprintf("%v was refused with %s, and nothing happened meanwhile", r.request, a.code))
			}
			continue
		}
		operations = append(operations, operation(r.client, r.request, &r.answer, r.call, end))
	}
	slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return operations, faults
}

func operation(client int, q request, a *answer, call, end int64) porcupine.Operation {
	return porcupine.Operation{ClientId: client, Input: q, Output: a, Call: call, Return: end}
}

// reads reports whether requests of this kind never change anything.
func (k kind) reads() bool {
	return k == readPlan || k == listPlans || k == readTable || k == readOperator
}

// unanswered finds for each plan that no answer was the first to show the
// request that made it.
func (h *history) unanswered() (operations []porcupine.Operation, faults []string) {
	born := map[string]bool{}
	lost := map[*statistics][]*record{} // requests without an answer, in order
	for i := range h.records {
		r := &h.records[i]
		switch {
		case r.request.kind != createPlan:
		case r.answer.outcome == unknown:
			lost[r.request.body] = append(lost[r.request.body], r)
		case r.answer.outcome == answered && r.answer.status == 201:
			born[r.answer.plan.ID] = true
		}
	}
	for _, records := range lost {
		slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.call, b.call) })
	}
	for i := range h.model.plans {
		p := &h.model.plans[i]
		if born[p.ID] {
			continue
		}
		at := slices.IndexFunc(h.bodies, func(b *statistics) bool { return b.isOf(p) })
		switch {
		case at < 0:
			faults = append(faults, fmt.Sprintf("plan %v was never asked for", p))
		case len(lost[h.bodies[at]]) == 0:
			faults = append(faults, fmt.Sprintf("plan %v was made of statistics that were refused, not sent, or answered with another plan", p))
		default:
			r := lost[h.bodies[at]][0]
			lost[h.bodies[at]] = lost[h.bodies[at]][1:]
			operations = append(operations, operation(r.client, r.request, &answer{status: 201, plan: h.atBirth(p)}, r.call, never))
		}
	}
	return operations, faults
}

// atBirth is a plan as it was when it was made: waiting, unless nobody ever saw
// it so. Whom no answer told of a plan cannot have changed it.
func (h *history) atBirth(p *plan) *plan {
	first := *p
	if p.Status == noAction || p.Status == committed && !h.seen(p.ID, approved) {
		return &first
	}
	first.Status, first.Version = approved, nil
	return &first
}

// seen reports whether an answer showed the plan in that status.
func (h *history) seen(id, status string) bool {
	for i := range h.records {
		if h.records[i].answer.shows(id, status) {
			return true
		}
	}
	return false
}

func (a *answer) shows(id, status string) bool {
	is := func(p plan) bool { return p.ID == id && p.Status == status }
	return a.outcome == answered && (a.plan != nil && is(*a.plan) || slices.ContainsFunc(a.plans, is))
}

// latest is when a change of unknown outcome was over at the latest; before its
// beginning, if it changed nothing.
func (h *history) latest(r *record) int64 {
	v, ok := verbs[r.request.kind]
	if !ok {
		return never
	}
	n, ok := h.model.number[r.request.plan]
	if !ok {
		return -1
	}
	final := h.model.plans[n].Status
	switch {
	case final != v.to && over[v.to]:
		return -1
	case final != v.to:
		return never
	}
	end := int64(never)
	for i := range h.records {
		if s := &h.records[i]; s.answer.shows(r.request.plan, v.to) {
			end = min(end, s.end)
		}
	}
	return end
}

// overtaken: the service gave up because others were faster each time.
func (h *history) overtaken(r *record) bool {
	return r.request.kind == createPlan && (r.answer.refused(409, "base_changed") || r.answer.refused(409, "configuration_changed"))
}

// contended reports whether a change was on its way at the same time.
func (h *history) contended(r *record) bool {
	return slices.ContainsFunc(h.records, func(s record) bool {
		changes := !s.request.kind.reads() && (s.answer.outcome == unknown || s.answer.outcome == answered && s.answer.status < 300)
		return changes && s.call <= r.end && (s.end >= r.call || s.answer.outcome == unknown)
	})
}

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"plannerd/sdk/go/wire"
)

// never is when an operation ends of which no answer came.
const never = math.MaxInt64

// history is what is known of an operator when its clients have stopped.
type history struct {
	operator string
	records  []record // in no order
	bodies   []*statistics
	model    *model
	sights   []sight // what the answers tell
}

// newHistory takes what clients did and the plans that there are in the end.
func newHistory(o *operator, plans []plan) *history {
	h := &history{operator: o.name, records: o.records, bodies: o.bodies, model: newModel(plans)}
	h.look()
	return h
}

// settle makes the history that the checker takes. It leaves out what changed
// nothing and told nothing. What an unknown outcome was is looked up where the
// answers and the plans in the end tell:
//   - Statistics without an answer made one of the plans that no answer was the
//     first to show, or nothing.
//   - A verb without an answer did nothing to a plan that ended otherwise.
//   - A configuration without an answer is a version that was shown with it, or
//     one that was never shown, or nothing.
//
// When somebody saw what such an operation may have done, it was over, or changed
// nothing any more; without that it may take effect until the very end. The
// faults are contradictions that need no checker.
func (h *history) settle() (operations []porcupine.Operation, faults []string) {
	operations, faults = h.unanswered()
	configured := h.configured()
	for i := range h.records {
		r := &h.records[i]
		q, end := r.request, r.end
		switch a := &r.answer; {
		case a.outcome == unsent || a.outcome == declined:
			continue
		case a.outcome == unknown && (q.kind.reads() || q.kind == createPlan):
			continue
		case a.outcome == unknown && q.kind == configure:
			q.made, end = configured.of(q.config)
			if end == never {
				end = h.seen(func(s sight) bool { return s.config >= slices.Max(slices.Collect(maps.Keys(q.made))) })
			}
		case a.outcome == unknown:
			end = h.latest(q)
		case h.overtaken(r):
			if !h.contended(r) {
				faults = append(faults, fmt.Sprintf("%v was refused with %s, and nothing happened meanwhile", q, a.code))
			}
			continue
		}
		if end >= r.call {
			operations = append(operations, operation(r.client, q, &r.answer, r.call, end))
		}
	}
	slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return operations, faults
}

// sight is what an answer tells of how far the operator has come.
type sight struct {
	end     int64
	config  int64 // a configuration version that there was, as all before it
	version int64 // a table version that there was
	plan    int   // a plan that there was, as all made before it; -1: none
	id      string
	status  wire.PlanStatus
	theta   float64 // of the configuration
}

// look collects what the answers tell.
func (h *history) look() {
	for i := range h.records {
		r := &h.records[i]
		a := &r.answer
		if a.outcome != answered {
			continue
		}
		if a.table != nil {
			h.sights = append(h.sights, sight{end: r.end, config: a.table.ConfigVersion, version: a.table.Version, plan: -1})
		}
		if o := a.operator; o != nil {
			h.sights = append(h.sights, sight{end: r.end, config: o.ConfigVersion, version: o.TableVersion, plan: -1,
				theta: o.ThetaMax})
		}
		if a.plan != nil {
			h.lookAt(a.plan, r.end)
		}
		for i := range a.plans {
			h.lookAt(&a.plans[i], r.end)
		}
	}
}

func (h *history) lookAt(p *plan, end int64) {
	s := sight{end: end, config: p.ConfigVersion, version: p.BaseVersion, plan: -1, id: p.Id, status: p.Status,
		theta: p.Parameters.ThetaMax}
	if p.Version != nil {
		s.version = *p.Version
	}
	if n, ok := h.model.number[p.Id]; ok {
		s.plan = n
	}
	h.sights = append(h.sights, s)
}

// seen is the end of the first answer that tells something; never, if none does.
func (h *history) seen(tells func(sight) bool) int64 {
	end := int64(never)
	for _, s := range h.sights {
		if s.end < end && tells(s) {
			end = s.end
		}
	}
	return end
}

// configurations are versions by what they were shown with; 0: they were not.
type configurations []float64

func (h *history) configured() configurations {
	c := configurations{0, 0}
	for _, s := range h.sights {
		for int64(len(c)) <= s.config {
			c = append(c, 0)
		}
		if s.theta != 0 {
			c[s.config] = s.theta
		}
	}
	return c
}

// of returns the versions that may be the configuration, and when that was over
// at the latest as far as this tells: never, or long ago.
func (c configurations) of(q *configuration) (versions map[int64]bool, end int64) {
	versions = map[int64]bool{}
	for v := 2; v < len(c); v++ {
		if c[v] == 0 || c[v] == q.ThetaMax {
			versions[int64(v)] = true
		}
	}
	if len(versions) == 0 {
		return nil, -1
	}
	return versions, never
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
			born[r.answer.plan.Id] = true
		}
	}
	for _, records := range lost {
		slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.call, b.call) })
	}
	for i := range h.model.plans {
		p := &h.model.plans[i]
		if born[p.Id] {
			continue
		}
		at := slices.IndexFunc(h.bodies, func(b *statistics) bool { return b.isOf(p) })
		switch {
		case at < 0:
			faults = append(faults, fmt.Sprintf("plan %v was never asked for", p))
		case len(lost[h.bodies[at]]) == 0:
			faults = append(faults, fmt.Sprintf("plan %v was made of statistics that were refused, not sent, or answered with "+
				"another plan", p))
		default:
			r := lost[h.bodies[at]][0]
			lost[h.bodies[at]] = lost[h.bodies[at]][1:]
			end := h.seen(func(s sight) bool { return s.plan >= i })
			if end < r.call {
				faults = append(faults, fmt.Sprintf("plan %v was there before it was asked for", p))
				continue
			}
			operations = append(operations, operation(r.client, r.request,
				&answer{status: 201, plan: h.atBirth(p)}, r.call, end))
		}
	}
	return operations, faults
}

// atBirth is a plan as it was when it was made: waiting, unless nobody ever saw
// it so. Whom no answer told of a plan cannot have changed it.
func (h *history) atBirth(p *plan) *plan {
	first := *p
	first.Version = nil
	switch {
	case p.Status == noAction:
	case len(p.WaitsFor) > 0 || h.seen(func(s sight) bool { return s.id == p.Id && s.status == proposed }) < never:
		first.Status = proposed
	default:
		first.Status = approved
	}
	return &first
}

// latest is when a verb of unknown outcome was over at the latest; long ago, if
// it changed nothing.
func (h *history) latest(q request) int64 {
	n, ok := h.model.number[q.plan]
	if !ok {
		return -1
	}
	p := &h.model.plans[n]
	if q.kind == commitPlan && p.Status != committed || q.kind == rejectPlan && p.Status != rejected {
		return -1
	}
	return h.seen(func(s sight) bool { return s.id == p.Id && over[s.status] || s.version > p.BaseVersion })
}

// overtaken: the service gave up because others were faster each time.
func (h *history) overtaken(r *record) bool {
	return r.request.kind == createPlan && (r.answer.refused(409, "base_changed") ||
		r.answer.refused(409, "configuration_changed"))
}

// contended reports whether a change was on its way at the same time.
func (h *history) contended(r *record) bool {
	return slices.ContainsFunc(h.records, func(s record) bool {
		changes := !s.request.kind.reads() && (s.answer.outcome == unknown || s.answer.outcome == answered &&
			s.answer.status < 300)
		return changes && s.call <= r.end && (s.end >= r.call || s.answer.outcome == unknown)
	})
}

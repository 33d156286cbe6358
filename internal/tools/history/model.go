package main

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"plannerd/api/wire"
)

// state is an operator as the contract tells it, between two operations. It is
// comparable: what is long is a string.
type state struct {
	config     int64  // the newest configuration version
	configured string // what it says
	version    int64  // of the committed table
	pinned     int64  // the configuration version of that table
	table      string // for each key its instance, or nowhere
	epoch      int64  // the newest with a plan; -1 before the first
	interval   int64  // the newest of that epoch
	plans      string // for each plan the letter of its status, in the order of creation
}

// nowhere is the instance of a key without an entry.
const nowhere = '-'

// letters stand for the status of a plan.
var letters = map[wire.PlanStatus]byte{noAction: 'n', approved: 'a', committed: 'c', aborted: 'x', superseded: 's'}

// verb is a step in the life of a plan. Where the plan is there already, nothing
// changes.
type verb struct {
	from    []wire.PlanStatus
	to      wire.PlanStatus
	commits bool // it makes the plan's table the operator's
}

// takes reports whether a plan of that status can take the step.
func (v verb) takes(letter byte) bool {
	return slices.ContainsFunc(v.from, func(status wire.PlanStatus) bool { return letters[status] == letter })
}

// verbs are those that clients know. Another one needs a line here and in
// choices, a new status one in letters and, if it is a last one, in over.
var verbs = map[kind]verb{
	commitPlan: {from: []wire.PlanStatus{approved}, to: committed, commits: true},
	abortPlan:  {from: []wire.PlanStatus{approved}, to: aborted},
}

// model is the contract of one operator whose plans are known from what the
// service has in the end. It decides neither what is in a plan nor its id; all
// else of an answer follows from the state.
type model struct {
	plans  []plan // in the order of creation
	number map[string]int
}

// newModel takes the plans as listed: newest first.
func newModel(newestFirst []plan) *model {
	m := &model{number: map[string]int{}}
	for i := len(newestFirst) - 1; i >= 0; i-- {
		m.number[newestFirst[i].Id] = len(m.plans)
		m.plans = append(m.plans, newestFirst[i])
	}
	return m
}

func initial() state {
	return state{
		config: 1, configured: firstConfiguration.String(), pinned: 1,
		table: strings.Repeat(string(nowhere), keyCount), epoch: -1, interval: math.MinInt64,
	}
}

// porcupine is the model as the checker takes it.
func (m *model) porcupine() porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return initial() },
		Step: func(s, q, a any) (bool, any) {
			ok, next := m.step(s.(state), q.(request), a.(*answer))
			return ok, next
		},
		Hash:              func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
		DescribeOperation: func(q, a any) string { return q.(request).String() + ": " + a.(*answer).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
}

// step reports whether a request may be answered like that in a state, and
// returns the state after it.
func (m *model) step(s state, q request, a *answer) (bool, state) {
	if v, ok := verbs[q.kind]; ok {
		return m.change(s, v, q.plan, a)
	}
	switch q.kind {
	case createPlan:
		return m.create(s, q.body, a)
	case configure:
		return s.configure(q, a)
	case readPlan:
		n, ok := m.number[q.plan]
		if !ok || n >= len(s.plans) {
			return a.refused(http.StatusNotFound, "plan_not_found"), s
		}
		return a.status == http.StatusOK && m.shows(s, n, a.plan), s
	case listPlans:
		return a.status == http.StatusOK && m.lists(s, a.plans), s
	case readTable:
		return a.status == http.StatusOK && s.holds(a.table), s
	case readOperator:
		return a.status == http.StatusOK && m.stands(s, a.operator), s
	}
	return false, s
}

// create: statistics that were sent before have their plan. Others are refused of
// an engine that another one with a higher epoch has replaced, for an interval
// that has a plan, and for an old one.
func (m *model) create(s state, b *statistics, a *answer) (bool, state) {
	taken := m.taken(s, b)
	fenced := b.epoch < s.epoch
	old := fenced || b.epoch == s.epoch && b.interval < s.interval
	if taken || old {
		if n, ok := m.made(s, b, taken && !fenced); ok {
			return a.status == http.StatusOK && m.shows(s, n, a.plan), s
		}
	}
	switch {
	case fenced:
		return a.refused(http.StatusConflict, "fenced"), s
	case taken:
		return a.refused(http.StatusConflict, "interval_planned"), s
	case old:
		return a.refused(http.StatusConflict, "interval_outdated"), s
	case b.version != nil && *b.version > s.version:
		return a.refused(http.StatusConflict, "table_version_ahead"), s
	}
	if a.status != http.StatusCreated || !m.fits(s, b, a.plan) {
		return false, s
	}
	n := len(s.plans)
	s.epoch, s.interval = b.epoch, b.interval
	if a.plan.Status == committed {
		s.plans += string(letters[approved])
		s = m.commit(s, n)
	} else {
		s.plans += string(letters[a.plan.Status])
	}
	return m.shows(s, n, a.plan), s
}

// taken reports whether the interval has a plan that was not given up.
func (m *model) taken(s state, b *statistics) bool {
	for n := range len(s.plans) {
		if p := &m.plans[n]; p.Epoch == b.epoch && p.Interval == b.interval && !s.ended(n) {
			return true
		}
	}
	return false
}

// ended reports whether a plan was given up.
func (s state) ended(n int) bool {
	return s.plans[n] == letters[aborted] || s.plans[n] == letters[superseded]
}

// made finds the newest plan that was made of these statistics under the
// configuration as it is. living: one that was given up does not count, because the
// interval has another one.
func (m *model) made(s state, b *statistics, living bool) (n int, ok bool) {
	for n = len(s.plans) - 1; n >= 0; n-- {
		if p := &m.plans[n]; b.isOf(p) && p.ConfigVersion == s.config && !(living && s.ended(n)) {
			return n, true
		}
	}
	return 0, false
}

// isOf reports whether a plan is one of these statistics.
func (b *statistics) isOf(p *plan) bool {
	return p.Epoch == b.epoch && p.Interval == b.interval && p.InputHash == b.hash
}

// fits reports whether the next plan may be this one.
func (m *model) fits(s state, b *statistics, p *plan) bool {
	n, ok := m.number[p.Id]
	if !ok || n != len(s.plans) || !b.isOf(p) || p.BaseVersion != s.version || p.ConfigVersion != s.config {
		return false
	}
	after, ok := changed(s.table, p)
	changes := len(p.RoutingTable.Set) + len(p.RoutingTable.Unset)
	switch {
	case !ok || p.RoutingTable.SizeBefore != size(s.table) || p.RoutingTable.SizeAfter != size(after):
		return false
	case p.Status == noAction:
		return changes == 0 && p.Migration.Keys == 0
	case p.Status == committed:
		return changes > 0 && p.Migration.Keys == 0
	}
	return p.Status == approved
}

// changed is a table after a plan; ok: the plan changes what there is.
func changed(before string, p *plan) (after string, ok bool) {
	t := []byte(before)
	for _, e := range p.RoutingTable.Set {
		i, ok := keyNumber(e.Key)
		if !ok || e.Instance < 0 || e.Instance > 9 || t[i] == '0'+byte(e.Instance) {
			return "", false
		}
		t[i] = '0' + byte(e.Instance)
	}
	for _, key := range p.RoutingTable.Unset {
		i, ok := keyNumber(key)
		if !ok || t[i] == nowhere {
			return "", false
		}
		t[i] = nowhere
	}
	return string(t), true
}

func size(table string) int64 { return int64(keyCount - strings.Count(table, string(nowhere))) }

// change takes a plan a step on. Of an unknown outcome it may have done so.
func (m *model) change(s state, v verb, id string, a *answer) (bool, state) {
	n, ok := m.number[id]
	if !ok || n >= len(s.plans) {
		return a.outcome == unknown || a.refused(http.StatusNotFound, "plan_not_found"), s
	}
	switch {
	case s.plans[n] == letters[v.to]:
		return a.outcome == unknown || a.status == http.StatusOK && m.shows(s, n, a.plan), s
	case !v.takes(s.plans[n]):
		return a.outcome == unknown || a.refused(http.StatusConflict, "transition_not_allowed"), s
	case v.commits && m.plans[n].BaseVersion != s.version:
		return a.outcome == unknown || a.refused(http.StatusConflict, "base_changed"), s
	case v.commits:
		s = m.commit(s, n)
	default:
		s.plans = s.plans[:n] + string(letters[v.to]) + s.plans[n+1:]
	}
	return a.outcome == unknown || a.status == http.StatusOK && m.shows(s, n, a.plan), s
}

// commit makes a plan's table the operator's; others that wait are superseded.
func (m *model) commit(s state, n int) state {
	s.table, _ = changed(s.table, &m.plans[n]) // fits has looked
	s.version++
	s.pinned = m.plans[n].ConfigVersion
	plans := []byte(strings.ReplaceAll(s.plans, string(letters[approved]), string(letters[superseded])))
	plans[n] = letters[committed]
	s.plans = string(plans)
	return s
}

// configure: what differs from the newest configuration is a new version.
func (s state) configure(q request, a *answer) (bool, state) {
	if text := q.config.String(); text != s.configured && (a.outcome == answered || q.made[s.config+1]) {
		s.config, s.configured = s.config+1, text
	}
	return a.outcome == unknown || a.status == http.StatusOK && a.operator.ConfigVersion == s.config &&
		a.operator.TableVersion == s.version, s
}

// String describes a state.
func (s state) String() string {
	return fmt.Sprintf("table %d %s of configuration %d, configuration %d (%s), interval %d of epoch %d, plans %s",
		s.version, s.table, s.pinned, s.config, s.configured, s.interval, s.epoch, s.plans)
}

// shows reports whether a plan is answered as it is.
func (m *model) shows(s state, n int, p *plan) bool {
	if p.Id != m.plans[n].Id || letters[p.Status] != s.plans[n] {
		return false
	}
	if p.Status == committed {
		return p.Version != nil && *p.Version == m.plans[n].BaseVersion+1
	}
	return p.Version == nil
}

// lists reports whether these are the newest plans, newest first.
func (m *model) lists(s state, newest []plan) bool {
	if len(newest) != min(len(s.plans), listLength) {
		return false
	}
	for i := range newest {
		if !m.shows(s, len(s.plans)-1-i, &newest[i]) {
			return false
		}
	}
	return true
}

// holds reports whether a table is the committed one.
func (s state) holds(t *table) bool {
	text, ok := t.text()
	return ok && t.Version == s.version && t.ConfigVersion == s.pinned && text == s.table
}

// text is the table as a state has it; ok: no key is in it twice, and no other.
func (t *table) text() (string, bool) {
	var p plan
	p.RoutingTable.Set = t.Entries
	text, ok := changed(initial().table, &p)
	return text, ok && size(text) == int64(len(t.Entries))
}

// stands reports whether the operator is answered as it is.
func (m *model) stands(s state, o *standing) bool {
	if o.ConfigVersion != s.config || o.TableVersion != s.version || o.TableConfigVersion != s.pinned ||
		o.TableSize != size(s.table) {
		return false
	}
	current := strings.LastIndexByte(s.plans, letters[approved])
	if (o.CurrentPlan == nil) != (current < 0) || current >= 0 && *o.CurrentPlan != m.plans[current].Id {
		return false
	}
	if s.epoch < 0 {
		return o.LastEpoch == nil && o.LastInterval == nil
	}
	return o.LastEpoch != nil && o.LastInterval != nil && *o.LastEpoch == s.epoch && *o.LastInterval == s.interval
}

package main

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"strings"

	"github.com/anishathalye/porcupine"

	"plannerd/sdk/go/wire"
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
	// Who carries out the plan that is in flight, and who has acknowledged it.
	executor      string
	executorEpoch int64
	acked         uint64
}

// nowhere is the instance of a key without an entry.
const nowhere = '-'

// letters stand for the status of a plan.
var letters = map[wire.PlanStatus]byte{
	noAction: 'n', proposed: 'p', approved: 'a', applying: 'g', aborting: 'b', committed: 'c', aborted: 'x',
	superseded: 's',
	rejected:   'r',
}

// inFlight reports whether an executor is at work on a plan of that letter.
func inFlight(letter byte) bool { return letter == letters[applying] || letter == letters[aborting] }

// verb is a step in the life of a plan: the code of its refusal, or the state after it.
// Where the plan is there already, nothing changes.
type verb func(m *model, s state, q request, n int) (code string, after state)

// The codes of refusals that several verbs have.
const (
	notAllowed  = "transition_not_allowed"
	baseChanged = "base_changed"
	isInFlight  = "plan_in_flight"
	fenced      = "fenced"
)

// verbs are those that clients know. Another one needs a line here and in
// choices, a new status one in letters and, if it is a last one, in over.
var verbs = map[kind]verb{
	approvePlan: decided(approved),
	rejectPlan:  decided(rejected),
	startPlan:   (*model).start,
	ackPlan:     (*model).acknowledge,
	commitPlan:  (*model).carryOut,
	abortPlan:   (*model).abort,
}

// decided is a decision about a proposed plan.
func decided(to wire.PlanStatus) verb {
	return func(_ *model, s state, _ request, n int) (string, state) {
		switch s.plans[n] {
		case letters[to]:
		case letters[proposed]:
			if to == approved {
				s = s.replaceApproved()
			}
			s = s.with(n, to)
		default:
			return notAllowed, s
		}
		return "", s
	}
}

// with is the state with a plan in another status.
func (s state) with(n int, status wire.PlanStatus) state {
	s.plans = s.plans[:n] + string(letters[status]) + s.plans[n+1:]
	return s
}

// start: an approved plan gets an executor; one that is in flight a successor with a
// higher epoch.
func (m *model) start(s state, q request, n int) (string, state) {
	switch {
	case inFlight(s.plans[n]) && s.executor == q.executor && s.executorEpoch == q.epoch:
		return "", s
	case inFlight(s.plans[n]) && q.epoch < s.executorEpoch:
		return fenced, s
	case inFlight(s.plans[n]) && q.epoch == s.executorEpoch:
		return "other_executor", s
	case inFlight(s.plans[n]):
	case s.plans[n] != letters[approved]:
		return notAllowed, s
	default:
		if code := m.ready(s, n); code != "" {
			return code, s
		}
		s = s.with(n, applying)
		s.acked = 0
	}
	s.executor, s.executorEpoch = q.executor, q.epoch
	return "", s
}

// ready reports why a plan can be neither started nor committed, whatever its status.
func (m *model) ready(s state, n int) string {
	switch {
	case m.plans[n].BaseVersion != s.version:
		return baseChanged
	case !inFlight(s.plans[n]) && strings.ContainsFunc(s.plans, func(r rune) bool { return inFlight(byte(r)) }):
		return isInFlight
	}
	return ""
}

// held reports why an executor with an epoch may not touch a plan.
func (s state) held(n int, epoch int64) string {
	switch {
	case !inFlight(s.plans[n]) || epoch == s.executorEpoch:
		return ""
	case epoch < s.executorEpoch:
		return fenced
	}
	return "other_executor"
}

// acknowledge: once all that are awaited have acknowledged the plan is committed.
func (m *model) acknowledge(s state, q request, n int) (string, state) {
	if code := s.held(n, q.epoch); code != "" {
		return code, s
	}
	if s.plans[n] != letters[applying] && s.plans[n] != letters[committed] {
		return notAllowed, s
	}
	awaited, acked := setOf(m.plans[n].Awaits), setOf(q.instances)
	switch {
	case acked&^awaited != 0:
		return "not_awaited", s
	case s.plans[n] == letters[committed]:
		return "", s
	}
	if s.acked |= acked; s.acked == awaited {
		s = m.commit(s, n)
	}
	return "", s
}

// setOf is a set of instances as bits.
func setOf(ids []int32) (bits uint64) {
	for _, id := range ids {
		bits |= 1 << id
	}
	return bits
}

// acked are the instances that have acknowledged, as an answer has them.
func (p *plan) acked() (bits uint64) {
	for _, a := range p.Acked {
		bits |= 1 << a.Instance
	}
	return bits
}

// carryOut commits a plan that was approved, by an engine that has stopped, or one that
// nobody has to acknowledge any more.
func (m *model) carryOut(s state, _ request, n int) (string, state) {
	switch s.plans[n] {
	case letters[committed]:
		return "", s
	case letters[approved]:
	case letters[applying]:
		if s.acked != setOf(m.plans[n].Awaits) {
			return "acks_missing", s
		}
	default:
		return notAllowed, s
	}
	if code := m.ready(s, n); code != "" {
		return code, s
	}
	return "", m.commit(s, n)
}

// abort: a plan in flight is given up in two steps, of which the second makes a table
// version.
func (m *model) abort(s state, q request, n int) (string, state) {
	if code := s.held(n, q.epoch); code != "" {
		return code, s
	}
	switch letter := s.plans[n]; {
	case letter == letters[aborted], letter == letters[aborting] && !q.rolledBack:
	case letter == letters[approved]:
		s = s.with(n, aborted)
	case letter == letters[applying] && !q.rolledBack:
		s = s.with(n, aborting)
	case letter == letters[aborting]:
		s = s.supersede().with(n, aborted)
		s.version++
	default:
		return notAllowed, s
	}
	return "", s
}

// supersede ends the plans that wait.
func (s state) supersede() state {
	s.plans = strings.NewReplacer(string(letters[approved]), string(letters[superseded]),
		string(letters[proposed]), string(letters[superseded])).Replace(s.plans)
	return s
}

// replaceApproved ends the approved plan that waits, as another one is approved.
func (s state) replaceApproved() state {
	s.plans = strings.ReplaceAll(s.plans, string(letters[approved]), string(letters[superseded]))
	return s
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
		return m.change(s, v, q, a)
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
	if a.plan.Status == approved {
		s = s.replaceApproved()
	}
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
	return strings.ContainsRune("xsr", rune(s.plans[n]))
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
	blocked := strings.ContainsAny(s.plans, "pgb") // one waits for approval, or is in flight
	switch {
	case !ok || p.RoutingTable.SizeBefore != size(s.table) || p.RoutingTable.SizeAfter != size(after):
		return false
	case p.Status == noAction:
		return changes == 0 && p.Migration.Keys == 0
	case p.Status == committed:
		return changes > 0 && p.Migration.Keys == 0
	}
	return !blocked && (p.Status == approved || p.Status == proposed)
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
func (m *model) change(s state, v verb, q request, a *answer) (bool, state) {
	n, ok := m.number[q.plan]
	if !ok || n >= len(s.plans) {
		return a.outcome == unknown || a.refused(http.StatusNotFound, "plan_not_found"), s
	}
	if q.kind == startPlan && s.plans[n] == letters[approved] && a.refused(http.StatusConflict, "limits_changed") {
		return true, s // newer statistics say so, which the model does not read
	}
	code, s := v(m, s, q, n)
	if code != "" {
		return a.outcome == unknown || a.refused(http.StatusConflict, code), s
	}
	return a.outcome == unknown || a.status == http.StatusOK && m.shows(s, n, a.plan), s
}

// commit makes a plan's table the operator's; others that wait are superseded.
func (m *model) commit(s state, n int) state {
	s.table, _ = changed(s.table, &m.plans[n]) // fits has looked
	s.version++
	s.pinned = m.plans[n].ConfigVersion
	return s.supersede().with(n, committed)
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
	return fmt.Sprintf("table %d %s of configuration %d, configuration %d (%s), interval %d of epoch %d, plans %s, "+
		"executor %s of epoch %d, acked %b", s.version, s.table, s.pinned, s.config, s.configured, s.interval, s.epoch,
		s.plans, s.executor, s.executorEpoch, s.acked)
}

// shows reports whether a plan is answered as it is.
func (m *model) shows(s state, n int, p *plan) bool {
	if p.Id != m.plans[n].Id || letters[p.Status] != s.plans[n] {
		return false
	}
	if inFlight(s.plans[n]) && p.Executor != nil && (*p.Executor != s.executor || *p.ExecutorEpoch != s.executorEpoch ||
		p.Acked != nil && p.acked() != s.acked) {
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
	current := strings.IndexFunc(s.plans, func(r rune) bool { return inFlight(byte(r)) })
	for _, waiting := range []wire.PlanStatus{approved, proposed} {
		if current < 0 {
			current = strings.LastIndexByte(s.plans, letters[waiting])
		}
	}
	if (o.CurrentPlan == nil) != (current < 0) || current >= 0 && *o.CurrentPlan != m.plans[current].Id {
		return false
	}
	if s.epoch < 0 {
		return o.LastEpoch == nil && o.LastInterval == nil
	}
	return o.LastEpoch != nil && o.LastInterval != nil && *o.LastEpoch == s.epoch && *o.LastInterval == s.interval
}

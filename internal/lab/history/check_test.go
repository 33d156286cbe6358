package main

import (
	"strings"
	"testing"
	"time"

	"plannerd/sdk/go/wire"
)

// teller writes a history by hand: each line is an operation that begins after
// the one before it has ended, unless it is told otherwise.
type teller struct {
	operator
	clock  int64
	stored []plan // in the order of creation
}

func newTeller() *teller { return &teller{operator: *newOperator("told")} }

// tells adds an operation.
func (l *teller) tells(q request, a answer) *record {
	l.clock += 10
	l.records = append(l.records, record{request: q, answer: a, call: l.clock, end: l.clock + 5})
	return &l.records[len(l.records)-1]
}

// posts are statistics for an interval whose plan, if there is one, sets a key.
func (l *teller) posts(interval int64) request {
	b := &statistics{interval: interval, hash: strings.Repeat("0", int(interval))}
	l.bodies = append(l.bodies, b)
	return request{kind: createPlan, body: b}
}

// makes is the plan of statistics as it is made; ends is its status in the end.
func (l *teller) makes(q request, base int64, ends wire.PlanStatus) plan {
	p := plan{
		Id: "plan-" + q.body.hash, Interval: q.body.interval, InputHash: q.body.hash, BaseVersion: base, ConfigVersion: 1,
		Status:     approved,
		Migrations: []wire.PlanMigration{{Migration: wire.Migration{Key: keyName(0), From: 1, To: int32(q.body.interval)}}},
	}
	p.Migration.Keys = 1
	p.RoutingTable.Set = []wire.RoutingTableEntry{{Key: keyName(0), Instance: int32(q.body.interval)}}
	p.RoutingTable.SizeBefore, p.RoutingTable.SizeAfter = min(base, 1), 1
	final := p
	if final.Status = ends; ends == committed {
		final = done(final)
	}
	l.stored = append(l.stored, final)
	return p
}

// givenUp is a plan that was aborted, and the statistics that it was made of.
func (l *teller) givenUp() (plan, request) {
	q := l.posts(1)
	p := l.makes(q, 0, aborted)
	l.tells(q, shown(201, p))
	l.tells(do(abortPlan, p), shown(200, in(p, aborted)))
	return p, q
}

// other are different statistics for the interval of a plan, whose plan is stored.
func (l *teller) other(p plan) request {
	b := &statistics{interval: p.Interval, hash: "other"}
	l.bodies = append(l.bodies, b)
	l.makes(request{kind: createPlan, body: b}, 0, approved)
	return request{kind: createPlan, body: b}
}

// done is a plan when it is committed.
func done(p plan) plan {
	version := p.BaseVersion + 1
	p.Status, p.Version = committed, &version
	return p
}

func in(p plan, status wire.PlanStatus) plan { p.Status = status; return p }

func shown(status int, p plan) answer { return answer{status: status, plan: &p} }

func refusal(status int, code string) answer { return answer{status: status, code: code} }

func do(k kind, p plan) request { return request{kind: k, plan: p.Id} }

// at is a table in which the one key is on an instance.
func at(version int64, instance int32) answer {
	t := &table{Version: version, ConfigVersion: 1}
	if version > 0 {
		t.Entries = []wire.RoutingTableEntry{{Key: keyName(0), Instance: instance}}
	}
	return answer{status: 200, table: t}
}

var (
	tableRead = request{kind: readTable}
	lost      = answer{outcome: unknown}
)

// histories are told; those that are wrong must be found out.
var histories = map[string]struct {
	wrong bool
	tell  func(l *teller)
}{
	"committed": {false, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(tableRead, at(0, 0))
		l.tells(do(commitPlan, p), shown(200, done(p)))
		l.tells(do(commitPlan, p), shown(200, done(p)))
		l.tells(do(abortPlan, p), refusal(409, "transition_not_allowed"))
		l.tells(tableRead, at(1, 1))
	}},
	"old table": {true, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p)))
		l.tells(tableRead, at(0, 0))
	}},
	"overlapping table": {false, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p))).end += 20
		l.tells(tableRead, at(0, 0))
	}},
	"other entry": {true, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p)))
		l.tells(tableRead, at(1, 2))
	}},
	"lost commit, done later": {false, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), lost)
		l.tells(tableRead, at(0, 0))
		l.tells(tableRead, at(1, 1))
	}},
	"lost commit, done and undone": {true, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), lost)
		l.tells(tableRead, at(1, 1))
		l.tells(tableRead, at(0, 0))
	}},
	"lost commit, not done": {false, func(l *teller) {
		p := l.make(1, 0, aborted)
		l.tells(do(commitPlan, p), lost)
		l.tells(do(abortPlan, p), shown(200, in(p, aborted)))
	}},
	"lost abort": {false, func(l *teller) {
		p := l.make(1, 0, aborted)
		l.tells(do(abortPlan, p), lost)
		l.tells(do(commitPlan, p), refusal(409, "transition_not_allowed"))
	}},
	"commit of nobody": {true, func(l *teller) {
		l.make(1, 0, committed)
		l.tells(tableRead, at(0, 0))
		l.tells(tableRead, at(1, 1))
	}},
	"two commits on one table": {true, func(l *teller) {
		p, q := l.make(1, 0, committed), l.make(2, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p))).end += 20
		l.tells(do(commitPlan, q), shown(200, done(q)))
	}},
	"given up, another lives": {false, func(l *teller) {
		p, again := l.givenUp()
		l.tells(l.other(p), answer{status: 201, plan: &l.stored[1]})
		l.tells(again, refusal(409, "interval_planned"))
	}},
	"given up, shown beside another": {true, func(l *teller) {
		p, again := l.givenUp()
		l.tells(l.other(p), answer{status: 201, plan: &l.stored[1]})
		l.tells(again, shown(200, in(p, aborted)))
	}},
	"superseded": {false, func(l *teller) {
		p, q := l.make(1, 0, superseded), l.make(2, 0, committed)
		l.tells(do(commitPlan, q), shown(200, done(q)))
		l.tells(do(commitPlan, p), refusal(409, "transition_not_allowed"))
		l.tells(do(readPlan, p), shown(200, in(p, superseded)))
	}},
	"not superseded": {true, func(l *teller) {
		p, q := l.make(1, 0, superseded), l.make(2, 0, committed)
		l.tells(do(commitPlan, q), shown(200, done(q)))
		l.tells(do(readPlan, p), shown(200, p))
	}},
	"wrong code": {true, func(l *teller) {
		p := l.make(1, 0, aborted)
		l.tells(do(abortPlan, p), shown(200, in(p, aborted)))
		l.tells(do(commitPlan, p), refusal(409, "base_changed"))
	}},
	"repeated": {false, func(l *teller) {
		q := l.posts(1)
		p := l.makes(q, 0, committed)
		l.tells(q, lost)
		l.tells(q, shown(200, p))
		l.tells(do(commitPlan, p), shown(200, done(p)))
		l.tells(q, shown(200, done(p)))
	}},
	"repeated, another plan": {true, func(l *teller) {
		q := l.posts(1)
		p := l.makes(q, 0, approved)
		l.tells(q, shown(201, p))
		p = l.makes(q, 0, approved)
		l.stored[1].Id, p.Id = "plan-other", "plan-other"
		l.tells(q, shown(201, p))
	}},
	"planned, but not": {true, func(l *teller) { l.tells(l.posts(1), refusal(409, "interval_planned")) }},
	"planned": {false, func(l *teller) {
		l.make(1, 0, approved)
		l.tells(l.posts(1), refusal(409, "interval_planned")).request.body.hash = "f"
	}},
	"outdated": {false, func(l *teller) {
		l.make(2, 0, approved)
		l.tells(l.posts(1), refusal(409, "interval_outdated"))
	}},
	"of a lower epoch": {false, func(l *teller) {
		l.make(1, 0, approved)
		newer := l.posts(2)
		newer.body.epoch = 1
		p := l.makes(newer, 0, approved)
		p.Epoch, l.stored[1].Epoch = 1, 1
		l.tells(newer, shown(201, p))
		l.tells(l.posts(1), refusal(409, "fenced")).request.body.hash = "f"
	}},
	"refused, stored": {true, func(l *teller) {
		l.make(2, 0, approved)
		q := l.posts(1)
		l.makes(q, 0, approved)
		l.tells(q, refusal(409, "interval_outdated"))
	}},
	"not sent, stored": {true, func(l *teller) {
		q := l.posts(1)
		l.makes(q, 0, approved)
		l.tells(q, answer{outcome: unsent})
	}},
	"lost plan": {true, func(l *teller) {
		l.make(1, 0, approved)
		l.stored = nil
	}},
	"overtaken by nobody": {true, func(l *teller) { l.tells(l.posts(1), refusal(409, "base_changed")) }},
	"overtaken": {false, func(l *teller) {
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p))).end += 20
		l.tells(l.posts(2), refusal(409, "base_changed"))
	}},
	"lost configuration": {false, func(l *teller) {
		l.tells(request{kind: configure, config: &configuration{3, 0.25, approvals[0]}}, lost)
		l.tells(request{kind: readOperator}, answer{status: 200,
			operator: &standing{ConfigVersion: 1, TableConfigVersion: 1, ThetaMax: 0.5}})
		l.tells(request{kind: readOperator}, answer{status: 200,
			operator: &standing{ConfigVersion: 2, TableConfigVersion: 1, ThetaMax: 0.25}})
	}},
	"configuration of nobody": {true, func(l *teller) {
		l.tells(request{kind: readOperator}, answer{status: 200,
			operator: &standing{ConfigVersion: 2, TableConfigVersion: 1, ThetaMax: 0.25}})
	}},
	"short list": {true, func(l *teller) {
		l.make(1, 0, approved)
		l.tells(request{kind: listPlans}, answer{status: 200})
	}},
}

// make posts statistics and makes their plan.
func (l *teller) make(interval, base int64, ends wire.PlanStatus) plan {
	q := l.posts(interval)
	p := l.makes(q, base, ends)
	l.tells(q, shown(201, p))
	return p
}

// examined returns the faults of what was told.
func (l *teller) examined(t *testing.T) string {
	t.Helper()
	var newestFirst []plan
	for i := range l.stored {
		newestFirst = append(newestFirst, l.stored[len(l.stored)-1-i])
	}
	h := newHistory(&l.operator, newestFirst)
	operations, faults := h.settle()
	fault, err := h.check(operations, time.Minute, "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(faults, fault), "\n")
}

func TestHistories(t *testing.T) {
	for name, c := range histories {
		l := newTeller()
		c.tell(l)
		if faults := strings.TrimSpace(l.examined(t)); (faults != "") != c.wrong {
			t.Errorf("%s: wrong is %v, but: %s", name, c.wrong, faults)
		}
	}
}

// TestBrokenModel: a model by which an abort supersedes does not explain what is
// right.
func TestBrokenModel(t *testing.T) {
	right := verbs[abortPlan]
	defer func() { verbs[abortPlan] = right }()
	verbs[abortPlan] = func(_ *model, s state, _ request, n int) (string, state) { return "", s.with(n, superseded) }
	l := newTeller()
	p := l.make(1, 0, aborted)
	l.tells(do(abortPlan, p), shown(200, in(p, aborted)))
	if l.examined(t) == "" {
		t.Error("an abort that supersedes explains one that aborts")
	}
}

// TestExplanation: a violation is shown by how far an order goes, and what cannot follow.
func TestExplanation(t *testing.T) {
	l := newTeller()
	p := l.make(1, 0, committed)
	l.tells(do(commitPlan, p), shown(200, done(p)))
	l.tells(tableRead, at(0, 0))
	text := l.examined(t)
	for _, want := range []string{"an order of 2 of 3 operations", "table 1 1", "read table: 200 version 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestAudit: the stored state contradicts an answer, or itself.
func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(l *teller, s *stored)
		want   string
	}{
		"fine":   {func(*teller, *stored) {}, ""},
		"lost":   {func(_ *teller, s *stored) { s.plans = s.plans[:0] }, "is lost"},
		"undone": {func(_ *teller, s *stored) { s.plans[0].Status, s.plans[0].Version = approved, nil }, "is now"},
		"lists":  {func(_ *teller, s *stored) { s.plans[0].Migrations[0].From = 3 }, "was answered with set"},
		"cut":    {func(_ *teller, s *stored) { s.plans[0].Migrations = nil }, "says 1 migrations and has 0"},
		"head":   {func(_ *teller, s *stored) { s.plans[0].ConfigVersion = 2 }, "was answered with epoch"},
		"table":  {func(_ *teller, s *stored) { s.tables[1].Entries[0].Instance = 3 }, "the plans make 1"},
		"doubled": {func(_ *teller, s *stored) { s.tables[1].Entries = append(s.tables[1].Entries, s.tables[1].Entries[0]) },
			"the plans make 1"},
		"version": {func(_ *teller, s *stored) { s.tables = append(s.tables, table{Version: 2}) },
			"version 2 was made by no plan"},
		"makers": {func(_ *teller, s *stored) { s.plans = append(s.plans, s.plans[0]) }, "was made by plan"},
		"no delta": {func(_ *teller, s *stored) { s.plans[0].RoutingTable.Unset = []string{keyName(3)} },
			"changes what is not in version 0"},
		"failed": {func(l *teller, _ *stored) { l.tells(tableRead, answer{outcome: unknown, status: 500}) },
			"was answered with 500"},
	} {
		l := newTeller()
		p := l.make(1, 0, committed)
		l.tells(do(commitPlan, p), shown(200, done(p)))
		s := stored{plans: []plan{done(p)}, tables: []table{*at(0, 0).table, *at(1, 1).table}}
		s.plans[0].Migrations = []wire.PlanMigration{p.Migrations[0]}
		c.tamper(l, &s)
		if got := strings.Join(audit(l.records, s), "\n"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: no %q in %q", name, c.want, got)
		}
	}
}

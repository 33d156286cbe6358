package main

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/sdk/go/wire"
)

// kind is what a client asks of the service: one of these, or the name of a verb.
type kind string

const (
	createPlan   kind = "create plan"
	readPlan     kind = "read plan"
	listPlans    kind = "list plans"
	readTable    kind = "read table"
	readOperator kind = "read operator"
	configure    kind = "configure"
	approvePlan  kind = "approve"
	rejectPlan   kind = "reject"
	startPlan    kind = "start"
	ackPlan      kind = "acks"
	commitPlan   kind = "commit"
	abortPlan    kind = "abort"
)

// request is one operation as a client sends it.
type request struct {
	kind   kind
	plan   string         // its id, of readPlan and verbs
	body   *statistics    // of createPlan
	config *configuration // of configure
	// executor and its epoch are those of startPlan; the epoch is that of ackPlan and of
	// abortPlan, too.
	executor   string
	epoch      int64
	instances  []int32 // of ackPlan
	rolledBack bool    // of abortPlan
	// made are the configuration versions that this request, without an answer, may
	// have made. The check fills it in.
	made map[int64]bool
}

// outcome is what a client knows of a request.
type outcome uint8

const (
	answered outcome = iota
	unknown          // the connection broke, or the service does not know itself: it may have happened
	unsent           // there was no connection
	declined         // the service had no room: nothing happened
)

// answer is what came of a request.
type answer struct {
	outcome  outcome
	status   int // 0 without an answer
	code     string
	plan     *plan
	plans    []plan // newest first
	table    *table
	operator *standing
}

// refused: the service said no, with this status and code.
func (a *answer) refused(status int, code string) bool { return a.status == status && a.code == code }

// record is an operation in a history. Times are nanoseconds of one clock.
type record struct {
	client    int
	request   request
	answer    answer
	call, end int64
}

// plan is a plan as the service answers it.
type plan wire.Plan

// The status of plans.
const (
	noAction   = "no_action"
	proposed   = "proposed"
	rejected   = "rejected"
	applying   = "applying"
	aborting   = "aborting"
	approved   = "approved"
	committed  = "committed"
	aborted    = "aborted"
	superseded = "superseded"
)

// over are those that a plan keeps.
var over = map[wire.PlanStatus]bool{noAction: true, committed: true, aborted: true, superseded: true, rejected: true}

// head is what never changes about a plan, without its lists.
func (p *plan) head() string {
	return fmt.Sprintf("epoch %d, interval %d, base version %d, config version %d, input %s, %d migrations, table size "+
		"%d to %d",
		p.Epoch, p.Interval, p.BaseVersion, p.ConfigVersion, p.InputHash, p.Migration.Keys, p.RoutingTable.SizeBefore,
		p.RoutingTable.SizeAfter)
}

// lists are the long parts of a plan, which never change either.
func (p *plan) lists() string {
	return fmt.Sprintf("set %v unset %q migrations %v", p.RoutingTable.Set, p.RoutingTable.Unset, p.Migrations)
}

// table is a version of the routing table.
type table struct {
	Version       int64                    `json:"version"`
	ConfigVersion int64                    `json:"config_version"`
	Entries       []wire.RoutingTableEntry `json:"entries"`
}

// standing is how an operator stands.
type standing struct {
	ThetaMax           float64 `json:"theta_max"`
	ConfigVersion      int64   `json:"config_version"`
	TableVersion       int64   `json:"table_version"`
	TableConfigVersion int64   `json:"table_config_version"`
	TableSize          int64   `json:"table_size"`
	LastEpoch          *int64  `json:"last_epoch"`
	LastInterval       *int64  `json:"last_interval"`
	CurrentPlan        *string `json:"current_plan"`
}

// String describes a request.
func (q request) String() string {
	switch {
	case q.body != nil:
		return fmt.Sprintf("%s %v", q.kind, q.body)
	case q.config != nil:
		return fmt.Sprintf("%s %v", q.kind, *q.config)
	case q.kind == startPlan:
		return fmt.Sprintf("%s %s as %s, epoch %d", q.kind, short(q.plan), q.executor, q.epoch)
	case q.kind == ackPlan:
		return fmt.Sprintf("%s %s of %v, epoch %d", q.kind, short(q.plan), q.instances, q.epoch)
	case q.kind == abortPlan:
		return fmt.Sprintf("%s %s, epoch %d, rolled back %v", q.kind, short(q.plan), q.epoch, q.rolledBack)
	case q.plan != "":
		return fmt.Sprintf("%s %s", q.kind, short(q.plan))
	}
	return string(q.kind)
}

// String describes an answer.
func (a answer) String() string {
	switch a.outcome {
	case unsent:
		return "not sent"
	case declined:
		return fmt.Sprintf("%d, declined", a.status)
	case unknown:
		if a.status > 0 {
			return fmt.Sprintf("%d %s, unknown", a.status, a.code)
		}
		return "unknown"
	}
	text := []string{strconv.Itoa(a.status)}
	if a.code != "" {
		text = append(text, a.code)
	}
	for _, p := range a.plans {
		text = append(text, p.String())
	}
	if a.plan != nil {
		text = append(text, a.plan.String())
	}
	if a.table != nil {
		text = append(text, fmt.Sprintf("version %d of configuration %d: %v", a.table.Version, a.table.ConfigVersion,
			a.table.Entries))
	}
	if o := a.operator; o != nil {
		text = append(text, fmt.Sprintf("configuration %d, table %d of configuration %d with %d entries, interval %s of "+
			"epoch %s, current plan %s",
			o.ConfigVersion, o.TableVersion, o.TableConfigVersion, o.TableSize, show(o.LastInterval), show(o.LastEpoch),
			show(o.CurrentPlan)))
	}
	return strings.Join(text, " ")
}

// String names a plan and says where it is in its life.
func (p *plan) String() string {
	text := fmt.Sprintf("%s %s on %d", short(p.Id), p.Status, p.BaseVersion)
	if inFlight(letters[p.Status]) && p.Executor != nil {
		text += fmt.Sprintf(" by %s, epoch %s, acked %b", *p.Executor, show(p.ExecutorEpoch), p.acked())
	}
	if p.Version != nil {
		text += fmt.Sprintf(" as %d", *p.Version)
	}
	return text
}

// short is the end of an id, where those made at the same time differ.
func short(id string) string { return id[max(0, len(id)-6):] }

func show[T any](x *T) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprint(*x)
}

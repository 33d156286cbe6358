package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api/wire"
	"plannerd/internal/access"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// replay is a stored plan, what it was made of, and what to plan in its place.
type replay struct {
	store.Plan
	*base
	whatIfRequest
	propose bool
	by      store.Transition
}

func (s *server) replayPlan(w http.ResponseWriter, c *call) error {
	m, err := readReplay(w, c)
	if err != nil {
		return err
	}
	kept := &lists{}
	if string(m.raw["propose"]) == "true" { // else nothing is changed
		if err := s.begin(c, plannedReply(kept)); err != nil {
			return err
		}
	}
	id := c.param("id")
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	if scheme := schemeOf(p.Strategy); scheme != wire.SchemeTable {
		return conflict(wire.CodeNoRoutingTable, "Under the scheme "+string(scheme)+" plans change no routing table, and only those are replayed.")
	}
	r, err := s.readHistory(c.Context(), p, c.memory)
	if err != nil {
		return err
	}
	if err := r.ask(m, s); err != nil {
		return err
	}
	if r.propose {
		if err := s.admit(c.Request, demand{role: access.Approver}); err != nil {
			return err
		}
		r.kept = kept
		p, err := s.propose(c, r)
		if errors.Is(err, errTwin) {
			p, err = s.propose(c, r)
		}
		if err != nil {
			return err
		}
		return s.finish(w, c, p.reply)
	}
	answer, err := s.try(c, &r.whatIfRequest, r.material)
	if err != nil {
		return err
	}
	return writeStream(w, c.Request, http.StatusOK, "application/json", answer.write)
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

// readHistory reads what a stored plan was made of.
func (s *server) readHistory(ctx context.Context, p store.Plan, memory *admission.Lease) (*replay, error) {
	r := &replay{Plan: p}
	var err error
	if r.base, err = s.baseOf(ctx, p, memory); err != nil {
		return nil, err
	}
	begin := s.now()
	if r.statistics, err = s.inputOf(ctx, p, memory); err != nil {
		return nil, err
	}
	r.decode = s.now().Sub(begin)
	return r, nil
}

// baseOf reads what a stored plan started from, into memory that the lease holds.
func (s *server) baseOf(ctx context.Context, p store.Plan, memory *admission.Lease) (*base, error) {
	op, err := s.store.Operator(ctx, p.Operator)
	if err != nil {
		return nil, aboutOperator(p.Operator, err)
	}
	b := &base{op: op, stop: ended(ctx)}
	b.op.TableVersion, b.op.ConfigVersion = p.BaseVersion, p.ConfigVersion
	if err := memory.Reserve(p.TableBefore * entryBytes); err != nil {
		return nil, err
	}
	table, err := s.store.Table(ctx, p.Operator, &p.BaseVersion)
	if err != nil {
		return nil, aboutVersion(p.Operator, p.BaseVersion, err)
	}
	b.op.TableConfigVersion = table.ConfigVersion
	if b.newest, err = s.configured(ctx, p.Operator, p.ConfigVersion); err != nil {
		return nil, err
	}
	if b.pinned, err = s.configured(ctx, p.Operator, table.ConfigVersion); err != nil {
		return nil, err
	}
	b.changed = !samePlacement(b.pinned.configuration, b.newest.configuration)
	if b.engineHolds() {
		return b, nil
	}
	b.table, err = plannerTable(table.Entries)
	return b, err
}

// configured returns a version of an operator's configuration.
func (s *server) configured(ctx context.Context, operator string, version int64) (*placement, error) {
	c, err := s.store.Configuration(ctx, operator, version)
	if err != nil {
		return nil, aboutOperator(operator, err)
	}
	return s.placement.get(ctx, c.Config)
}

// inputOf reads the statistics that a stored plan was made of.
func (s *server) inputOf(ctx context.Context, p store.Plan, memory *admission.Lease) (*statistics, error) {
	blob, err := s.store.Input(ctx, p.ID)
	if err != nil {
		return nil, aboutPlan(p.ID, err)
	}
	if blob == nil {
		return nil, &problem{status: http.StatusGone, code: wire.CodePurged, detail: "The input of the plan was not stored: store_inputs was false."}
	}
	in := &statistics{interval: &p.Interval, epoch: p.Epoch, document: &statsio.Document{}, memory: memory}
	if statsio.IsCompact(blob) {
		if in.records, err = statsio.DecodeCompact(blob); err != nil {
			return nil, fmt.Errorf("reading the stored input of plan %s: %w", p.ID, err)
		}
		in.Statistics = &planner.Statistics{Partial: in.records.Partial, Residual: in.records.Residual}
		return in, memory.Reserve(int64(len(blob)) + int64(len(in.records.Records))*storedRowBytes)
	}
	if err := memory.Reserve(int64(len(blob)) + int64(statsio.InputRows(blob))*storedRowBytes); err != nil {
		return nil, err
	}
	if in.Statistics, err = statsio.DecodeInput(blob); err != nil {
		return nil, fmt.Errorf("reading the stored input of plan %s: %w", p.ID, err)
	}
	if ofOutdated(p.Fingerprint) {
		older := p.BaseVersion - 1
		in.tableVersion = &older
	}
	return in, nil
}

// ask reads what is to be planned in place of the plan.
func (r *replay) ask(m *members, s *server) error {
	m.records = r.records != nil
	under, err := r.under()
	if err != nil {
		return err
	}
	r.config = r.newest.configuration
	r.trials = m.trials(m.strategies(r.Plan.Strategy), under, s.limits.PlanTime)
	r.plans, r.propose = or(member[bool](m, "plans"), false), or(member[bool](m, "propose"), false)
	said := wire.Transition{Actor: member[string](m, "actor"), Reason: member[string](m, "reason")}
	if err := checkRules(said, ""); err != nil {
		m.add(err)
	}
	r.by = store.Transition{Actor: or(said.Actor, ""), Reason: or(said.Reason, "")}
	if r.propose && len(r.trials) > 1 {
		m.refuse("propose", "is for one strategy and one value of each parameter")
	}
	r.adjust = r.mark
	return m.problem()
}

// under are the parameters of the plan. One that its deadline cut off did as much
// work as it says.
func (r *replay) under() (parameters, error) {
	var p parameters
	if err := json.Unmarshal(r.Parameters, &p); err != nil {
		return p, fmt.Errorf("reading the stored parameters of plan %s: %w", r.ID, err)
	}
	if r.EndReason == string(planner.EndStopped) {
		p.Deadline, p.WorkBudget = nil, max(1, r.WorkUnits)
	}
	return p, nil
}

// material is what the plan was made of.
func (r *replay) material() (*material, error) {
	m, err := r.base.material(r.statistics)
	if err == nil {
		m.Drifted = r.DriftedKeys // reports count more of them than the table tells
	}
	return m, err
}

// mark makes of a result what would be stored of it.
func (r *replay) mark(o *outcome) {
	r.size(o)
	o.settle(r.changed)
	if slices.Contains(r.Causes, string(causeCarried)) {
		o.Causes = append(o.Causes, causeCarried)
	}
}

// propose makes the one result a plan of the operator.
func (s *server) propose(c *call, r *replay) (*made, error) {
	ctx, t := c.Context(), r.trials[0]
	fingerprint, err := r.fingerprint(t)
	if err != nil {
		return nil, err
	}
	// What another request proposes meanwhile may be why this one is refused: so the
	// same plan is looked for afterwards.
	refused := s.proposable(ctx, r.Plan)
	p, err := s.store.FindPlan(ctx, r.Operator, r.Epoch, r.Interval, fingerprint)
	switch {
	case err == nil:
		return s.load(ctx, p)
	case !isNotFound(err):
		return nil, aboutOperator(r.Operator, err)
	case refused != nil:
		return nil, refused
	}
	if err := c.memory.Settle(c.memory.Used() + r.planBytes()); err != nil {
		return nil, err
	}
	begin := s.now()
	stuff, err := r.material()
	if err != nil {
		return nil, r.inputProblem(err)
	}
	out, err := s.run(ctx, t.strategy, stuff, t.parameters)
	if err != nil {
		return nil, r.inputProblem(err)
	}
	r.mark(out)
	if err := c.memory.Reserve(out.answerBytes()); err != nil {
		return nil, err
	}
	return s.keep(ctx, r.base, r.statistics, draft{
		outcome: out, parameters: t.parameters, hash: r.InputHash, fingerprint: fingerprint, reports: r.Reports,
		took: s.now().Sub(begin), by: r.by,
	})
}

// proposable refuses what the store would refuse too, before it is planned.
func (s *server) proposable(ctx context.Context, p store.Plan) error {
	op, err := s.store.Operator(ctx, p.Operator)
	switch {
	case err != nil:
		return aboutOperator(p.Operator, err)
	case op.TableVersion != p.BaseVersion:
		return aboutPlan(p.ID, store.ErrBaseChanged)
	case op.ConfigVersion != p.ConfigVersion:
		return conflict(wire.CodeConfigurationChanged, "The plan was made under an older configuration of the operator.")
	}
	return aboutOperator(p.Operator, s.store.CheckInterval(ctx, p.Operator, p.Epoch, p.Interval))
}

// fingerprint identifies what a replay makes of the plan's statistics.
func (r *replay) fingerprint(t trial) (string, error) {
	text, err := t.encode()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	of, _, _ := strings.Cut(r.Fingerprint, replayed)
	return of + replayed + t.strategy + "-" + hex.EncodeToString(sum[:16]), nil
}

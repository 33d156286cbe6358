package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/planner"
	"plannerd/store"
)

// Causes of plans that another one is in the way of.
const (
	causePendingApproval planner.Cause = "pending_approval"
	causePlanInFlight    planner.Cause = "plan_in_flight"
)

// obstacle is a plan in the way of another as the contract shows it.
type obstacle struct {
	Plan    string           `json:"plan"`
	Status  store.Status     `json:"status"`
	Figures *obstacleFigures `json:"figures"` // nil: they cannot be told
}

// obstacleFigures are what would come of its moves.
type obstacleFigures struct {
	Balanced  bool                  `json:"balanced"`
	Theta     wire.Comparison       `json:"theta"`
	Underload wire.Comparison       `json:"underload"`
	Skewness  wire.Comparison       `json:"skewness"`
	Migration wire.MigrationFigures `json:"migration"`
}

func obstacleFiguresOf(p *planner.Plan) *obstacleFigures {
	between := func(c planner.Comparison) wire.Comparison { return wire.Comparison{Before: c.Before, After: c.After} }
	return &obstacleFigures{
		Balanced: p.Balanced, Theta: between(p.Theta), Underload: between(p.Underload), Skewness: between(p.Skewness),
		Migration: wire.MigrationFigures{
			Keys: p.Migration.Keys, State: p.Migration.State, Fraction: p.Migration.Fraction, Objective: p.Migration.Objective,
		},
	}
}

// cause is why nothing is planned beside the obstacle.
func (o *obstacle) cause() planner.Cause {
	if o.Status == store.StatusApplying {
		return causePlanInFlight
	}
	return causePendingApproval
}

// inTheWay returns the plan that forbids to make another one now, if there is one:
// that which is being carried out, or waits for approval and is to be kept.
func (s *server) inTheWay(ctx context.Context, b *base) (*store.Plan, error) {
	id := b.op.CurrentPlan
	switch {
	case id == "":
		return nil, nil
	case b.op.CurrentStatus == store.StatusApplying:
	case b.newest.onPending() == store.PendingReplace:
		return nil, nil
	case b.op.CurrentStatus == store.StatusApproved: // an older one may wait beside it
		waiting, _, err := s.store.Plans(ctx, store.PlanFilter{Operator: b.op.Name, Status: store.StatusProposed, Limit: 1})
		if err != nil || len(waiting) == 0 {
			return nil, aboutOperator(b.op.Name, err)
		}
		id = waiting[0].ID
	}
	p, err := s.store.Plan(ctx, id)
	if err != nil {
		return nil, aboutPlan(id, err)
	}
	if p.Status != store.StatusApplying && p.Status != store.StatusProposed {
		return nil, nil // since the operator was read
	}
	return &p, nil
}

// standStill is the plan that leaves everything where it is because another one is
// in the way. It tells what would come of that one.
func (s *server) standStill(ctx context.Context, b *base, in *statistics, other *store.Plan) (*outcome, error) {
	found := &obstacle{Plan: other.ID, Status: other.Status}
	var out *outcome
	var foreseen *planner.Plan
	var err error
	if b.layout != nil {
		out, foreseen, err = s.standScheme(ctx, b, in, other, found.cause())
	} else {
		out, foreseen, err = s.standTable(ctx, b, in, other, found.cause())
	}
	if err != nil {
		return nil, err
	}
	if foreseen != nil {
		found.Figures = obstacleFiguresOf(foreseen)
	}
	out.obstacle = found
	return out, nil
}

// standTable is standStill for a routing table.
func (s *server) standTable(ctx context.Context, b *base, in *statistics, other *store.Plan, cause planner.Cause) (*outcome, *planner.Plan, error) {
	m, err := b.material(in)
	if err != nil {
		return nil, nil, err
	}
	p := in.over(b.newest.parameters)
	p.Certificate = planner.CertificateOff
	still, err := s.compute(ctx, planner.Inspect, m.Snapshot, p)
	if err != nil {
		return nil, nil, err
	}
	still.Strategy, still.Causes = b.newest.Strategy, []planner.Cause{cause}
	leaveTable(still)
	foreseen, err := s.foresee(ctx, b, m, in, other)
	return m.outcome(still), foreseen, err
}

// standScheme is standStill under the schemes ring and ranges.
func (s *server) standScheme(ctx context.Context, b *base, in *statistics, other *store.Plan, cause planner.Cause) (*outcome, *planner.Plan, error) {
	stay, err := b.stay(in)
	if err != nil {
		return nil, nil, err
	}
	out, err := b.unmoved(stay, cause)
	if err != nil {
		return nil, nil, err
	}
	foreseen, err := s.foreseeScheme(ctx, b, in, other)
	return out, foreseen, err
}

// leaveTable has a plan that moves nothing leave the table alone, too.
func leaveTable(p *planner.Plan) {
	p.Set, p.Unset, p.TableAfter = nil, nil, p.TableBefore
	p.TableWithinLimit = p.Options.TableLimit == nil || p.TableAfter <= *p.Options.TableLimit
}

// untouched reports whether a plan leaves everything alone, whatever there would be
// to do.
func untouched(causes []planner.Cause) bool {
	return slices.ContainsFunc(causes, func(c planner.Cause) bool {
		return c == causeUnfinished || c == causePendingApproval || c == causePlanInFlight
	})
}

// foresee works out what the moves of a plan come to under other statistics than it
// was made of; nil when that cannot be told.
func (s *server) foresee(ctx context.Context, b *base, m *material, in *statistics, other *store.Plan) (*planner.Plan, error) {
	if other.Classes || m.classes != nil {
		return nil, nil
	}
	config, p, err := s.terms(ctx, other)
	if err != nil {
		return nil, err
	}
	changes, err := s.changes(ctx, *other)
	if err != nil {
		return nil, err
	}
	f := &forecast{material: m, in: in, config: config, changed: !samePlacement(b.pinned.configuration, config.configuration)}
	if f.routed, err = routes(changes); err != nil {
		return nil, fmt.Errorf("reading the stored changes of plan %s: %w", other.ID, err)
	}
	moved, err := f.statistics(ctx)
	if err != nil {
		return nil, unforeseen(err)
	}
	snapshot, err := planner.NewSnapshot(moved, planner.Configuration{Instances: config.planner.Instances},
		planner.Base{Configuration: planner.Configuration{Instances: b.pinned.planner.Instances}, HashChanged: true, Stop: b.stop})
	if err != nil {
		return nil, unforeseen(err)
	}
	return s.compute(ctx, planner.Rehash, snapshot, p)
}

// unforeseen takes it that statistics which do not fit the other plan's
// configuration tell nothing about it: they fit the newest.
func unforeseen(err error) error {
	var input *planner.InputError
	if errors.As(err, &input) {
		return nil
	}
	return err
}

// terms are the configuration and the parameters that a stored plan was made under.
func (s *server) terms(ctx context.Context, p *store.Plan) (*placement, parameters, error) {
	var under parameters
	if err := json.Unmarshal(p.Parameters, &under); err != nil {
		return nil, under, fmt.Errorf("reading the stored parameters of plan %s: %w", p.ID, err)
	}
	config, err := s.configured(ctx, p.Operator, p.ConfigVersion)
	return config, under, err
}

// routes are changes by their keys.
func routes(changes []store.Change) (*planner.RoutingTable, error) {
	entries := make([]planner.Entry, len(changes))
	for i, c := range changes {
		entries[i] = planner.Entry{Key: c.Key, Instance: c.New}
	}
	return planner.NewRoutingTable(entries)
}

// forecast brings statistics where a plan would have their keys go.
type forecast struct {
	*material
	in      *statistics
	config  *placement            // of the plan
	routed  *planner.RoutingTable // what it changes; NoInstance: to the hash instance
	changed bool                  // the plan follows a change of the hash
}

// statistics returns the statistics with each key where it is, and where it would
// be in place of its hash instance.
func (f *forecast) statistics(ctx context.Context) (*planner.Statistics, error) {
	n := f.in.Len()
	out := *f.in.Statistics
	out.Instance, out.HashInstance = make([]int32, n), make([]int32, n)
	for i := range n {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		out.Instance[i] = f.Instances[f.Current[i]].ID
		if out.HashInstance[i], err = f.goes(i, out.Instance[i]); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// goes is where a key would be that is at an instance.
func (f *forecast) goes(row int, at int32) (int32, error) {
	if e := f.routed.Find(f.in.Keys.At(row), f.in.Keys.Hash(row)); e >= 0 {
		if to := f.routed.At(e).Instance; to != planner.NoInstance {
			return to, nil
		}
		return f.home(row)
	}
	switch {
	case !f.changed:
		return at, nil
	case f.Entry != nil && f.Entry[row] >= 0:
		return f.Table.At(int(f.Entry[row])).Instance, nil
	}
	return f.home(row)
}

// home is the hash instance of a key under the plan's configuration.
func (f *forecast) home(row int) (int32, error) {
	if h := f.config.planner.Hash; h != nil {
		return h.Instance(f.in.Keys.At(row), f.in.Keys.Hash(row))
	}
	if f.in.HashInstance == nil {
		return 0, &planner.InputError{Row: row, Field: "hash_instance", Detail: "is needed"}
	}
	return f.in.HashInstance[row], nil
}

// foreseeScheme is foresee under the schemes ring and ranges.
func (s *server) foreseeScheme(ctx context.Context, b *base, in *statistics, other *store.Plan) (*planner.Plan, error) {
	config, p, err := s.terms(ctx, other)
	if err != nil {
		return nil, err
	}
	changes, err := s.store.Changes(ctx, other.ID)
	if err != nil {
		return nil, aboutPlan(other.ID, err)
	}
	after, err := readLayout(config.configuration, changed(b.stored, changes))
	if err != nil {
		return nil, err
	}
	under, before := *b, b.layout
	under.newest = config
	created := before.size() == 0 // nobody owns anything
	if created {
		before = after
	}
	snapshot, err := under.snapshot(in, before, after)
	if err != nil {
		return nil, unforeseen(err)
	}
	out, err := s.compute(ctx, planner.Rehash, snapshot, p)
	if err == nil && created {
		fromNobody(out)
	}
	return out, err
}

// changed returns what changes make of stored entries; both are in ascending bytes of
// their keys.
func changed(entries []store.Entry, changes []store.Change) []store.Entry {
	out := make([]store.Entry, 0, len(entries)+len(changes))
	for _, c := range changes {
		i, held := slices.BinarySearchFunc(entries, c.Key, func(e store.Entry, key []byte) int { return bytes.Compare(e.Key, key) })
		out = append(out, entries[:i]...)
		if entries = entries[i:]; held {
			entries = entries[1:]
		}
		if c.New != store.NoInstance {
			out = append(out, store.Entry{Key: c.Key, Instance: c.New})
		}
	}
	return append(out, entries...)
}

// obstacleText is what is in the way of a plan as JSON; nil when nothing is.
func (o *outcome) obstacleText() ([]byte, error) {
	if o.obstacle == nil {
		return nil, nil
	}
	return json.Marshal(o.obstacle)
}

// awaited returns the instances that a plan's migrations affect, in ascending order.
func (o *outcome) awaited() []int32 {
	affected := map[int32]bool{}
	if o.shift != nil {
		o.shift.affects(func(id int32) { affected[id] = true })
	} else {
		for _, m := range o.Moves {
			affected[o.Snapshot.Instances[m.From].ID], affected[o.Snapshot.Instances[m.To].ID] = true, true
		}
	}
	out := make([]int32, 0, len(affected))
	for id := range affected {
		if id != planner.NoInstance {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

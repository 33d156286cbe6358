package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// PutOperator implements [store.Store].
func (s *Store) PutOperator(
	ctx context.Context, name string, config []byte, at time.Time, guards ...store.OperatorGuard,
) (op store.Operator, created bool, err error) {
	if !storable(name) {
		return op, false, fmt.Errorf("store: operator %q: the name must be UTF-8 without NUL", name)
	}
	err = s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		op, created, err = putOperator(ctx, q, name, config, at, guards)
		return store.Outcome{Operator: op, Created: created}, err
	})
	if err != nil {
		return store.Operator{}, false, fmt.Errorf("putting operator %q: %w", name, err)
	}
	return op, created, nil
}

func putOperator(
	ctx context.Context, q statements.Statements, name string, config []byte, at time.Time, guards []store.OperatorGuard,
) (op store.Operator, created bool, err error) {
	row, err := q.Lock(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		if err = q.Reserve(ctx, name, at); err == nil {
			row, err = q.Lock(ctx, name)
		}
	}
	if err != nil {
		return op, false, err
	}
	created = row.DeletedAt != nil
	if err := guardOperator(ctx, q, row, at, guards); err != nil {
		return op, false, err
	}
	if created {
		err = create(ctx, q, row, config, at)
	} else {
		err = configure(ctx, q, row, config, at)
	}
	if err != nil {
		return op, false, err
	}
	op, err = q.Operator(ctx, name, at)
	return op, created, err
}

// guardOperator asks what guards say of an operator that is locked.
func guardOperator(ctx context.Context, q statements.Statements, row statements.Row, at time.Time,
	guards []store.OperatorGuard) error {
	if len(guards) == 0 {
		return nil
	}
	var current *store.Operator
	if row.DeletedAt == nil {
		op, err := q.Operator(ctx, row.Name, at)
		if err != nil {
			return err
		}
		current = &op
	}
	for _, guard := range guards {
		if err := guard(current); err != nil {
			return err
		}
	}
	return nil
}

// create gives a deleted operator its first configuration and an empty table,
// counting on from the versions that its name ever had.
func create(ctx context.Context, q statements.Statements, row statements.Row, config []byte, at time.Time) error {
	row = statements.Row{
		ID: row.ID, Name: row.Name,
		ConfigVersion: row.ConfigVersion + 1, TableVersion: row.TableVersion + 1, TableConfigVersion: row.ConfigVersion + 1,
		CreatedAt: at, UpdatedAt: at,
	}
	if err := q.InsertConfiguration(ctx, row.ID, store.Configuration{Version: row.ConfigVersion, Config: config,
		CreatedAt: at, Actor: repair(store.ActorOf(ctx))}); err != nil {
		return err
	}
	empty := statements.TableVersion{Version: row.TableVersion, ConfigVersion: row.ConfigVersion, CreatedAt: at,
		Checksum: checksumOf(nil).stored()}
	if err := q.InsertTableVersion(ctx, row.ID, empty); err != nil {
		return err
	}
	if err := q.SetInstanceNames(ctx, row.ID, nil); err != nil { // those of an operator that was deleted
		return err
	}
	if err := noteInstances(ctx, q, &row, config); err != nil {
		return err
	}
	if err := q.Save(ctx, row); err != nil {
		return err
	}
	return q.Tell(ctx, row.Name)
}

// configure gives an operator a new configuration version if config is new.
func configure(ctx context.Context, q statements.Statements, row statements.Row, config []byte, at time.Time) error {
	newest, err := q.Configuration(ctx, row.Name, row.ConfigVersion)
	if err != nil || bytes.Equal(newest.Config, config) {
		return err
	}
	row.ConfigVersion++
	row.UpdatedAt = at
	if err := q.InsertConfiguration(ctx, row.ID, store.Configuration{Version: row.ConfigVersion, Config: config,
		CreatedAt: at, Actor: repair(store.ActorOf(ctx))}); err != nil {
		return err
	}
	if err := noteInstances(ctx, q, &row, config); err != nil {
		return err
	}
	if err := q.Save(ctx, row); err != nil {
		return err
	}
	return q.PurgeConfigurations(ctx, row.ID, row.ConfigVersion-store.KeptConfigurations)
}

// withInstanceNames is the version of the schema from which on instances may have names.
const withInstanceNames = 22

// instancesOf are the instances of a configuration that have ids.
func instancesOf(config []byte) []instance {
	var of struct{ Instances []instance }
	if json.Unmarshal(config, &of) != nil { // whoever reads configurations says so
		return nil
	}
	return of.Instances
}

type instance struct {
	ID   int64
	Name string
}

// noteInstances notes which ids and names the instances of a new configuration have. Programs that
// do not know names refuse to serve from the first one on: they would forget it.
func noteInstances(ctx context.Context, q statements.Statements, row *statements.Row, config []byte) error {
	var named []instance
	for _, d := range instancesOf(config) {
		row.NextInstance = max(row.NextInstance, d.ID+1)
		if d.Name != "" {
			named = append(named, d)
		}
	}
	if named == nil {
		return nil
	}
	ids, err := q.InstanceNames(ctx, row.ID)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = make(map[string]int32, len(named))
	}
	before := len(ids)
	for _, d := range named {
		ids[d.Name] = int32(d.ID)
	}
	if len(ids) == before {
		return nil
	}
	if err := q.RaiseOldestProgram(ctx, withInstanceNames); err != nil {
		return err
	}
	return q.SetInstanceNames(ctx, row.ID, ids)
}

// InstanceNames implements [store.Store].
func (s *Store) InstanceNames(ctx context.Context, operator string) (out store.InstanceNames, err error) {
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) error {
		newest, err := q.Configuration(ctx, operator, r.ConfigVersion)
		if err != nil {
			return err
		}
		out = store.InstanceNames{ConfigVersion: r.ConfigVersion, Next: r.NextInstance}
		for _, d := range instancesOf(newest.Config) { // which an older program may have stored
			out.Next = max(out.Next, d.ID+1)
		}
		out.IDs, err = q.InstanceNames(ctx, r.ID)
		return err
	}))
	return out, err
}

// Operator implements [store.Store].
func (s *Store) Operator(ctx context.Context, name string) (op store.Operator, err error) {
	err = s.about(ctx, name, func(q statements.Statements) error {
		op, err = q.Operator(ctx, name, s.now())
		return err
	})
	return op, err
}

// Operators implements [store.Store].
func (s *Store) Operators(ctx context.Context, after string, limit int) (ops []store.Operator, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.db.Read(ctx, func(q statements.Statements) error {
		ops, err = q.Operators(ctx, repair(after), limit, s.now())
		return err
	})
	return ops, err
}

// RecentPlans implements [store.Store].
func (s *Store) RecentPlans(ctx context.Context, operators []store.Operator, most int) ([]store.Recent, error) {
	if len(operators) == 0 || most <= 0 {
		return make([]store.Recent, len(operators)), nil
	}
	now := s.now()
	var brief []statements.BriefPlan
	var plans []statements.PlanRow
	err := s.db.Read(ctx, func(q statements.Statements) (err error) {
		if brief, err = q.RecentPlans(ctx, operators, most); err != nil {
			return err
		}
		plans, err = q.PlansOf(ctx, shownPlans(operators, brief))
		return err
	})
	if err != nil {
		return nil, err
	}
	places := make(map[string]int, len(operators))
	for i, op := range operators {
		places[op.Name] = i
	}
	out := make([]store.Recent, len(operators))
	for _, p := range brief {
		r := &out[places[p.OperatorName]]
		r.Brief = append(r.Brief, p.BriefPlan)
	}
	for _, p := range plans {
		r := &out[places[p.Operator]]
		r.Plans = append(r.Plans, asOf(p.Plan, now))
	}
	return out, nil
}

// shownPlans are the ids of the newest and the current plan of each operator, no id twice.
func shownPlans(operators []store.Operator, brief []statements.BriefPlan) (ids []string) {
	for i, p := range brief {
		if i == len(brief)-1 || brief[i+1].OperatorName != p.OperatorName {
			ids = append(ids, p.ID)
		}
	}
	for _, op := range operators {
		if op.CurrentPlan != "" {
			ids = append(ids, op.CurrentPlan)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// DeleteOperator implements [store.Store].
func (s *Store) DeleteOperator(ctx context.Context, name string, at time.Time, guards ...store.OperatorGuard) error {
	err := s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		return store.Outcome{}, deleteOperator(ctx, q, name, at, guards)
	})
	if err != nil {
		return fmt.Errorf("deleting operator %q: %w", name, err)
	}
	return nil
}

func deleteOperator(ctx context.Context, q statements.Statements, name string, at time.Time,
	guards []store.OperatorGuard) error {
	row, err := lock(ctx, q, name)
	if err != nil {
		return err
	}
	if err := guardOperator(ctx, q, row, at, guards); err != nil {
		return err
	}
	if err := q.DeleteHistory(ctx, row.ID, at); err != nil {
		return err
	}
	if err := q.ForgetFreezes(ctx, name); err != nil {
		return err
	}
	row.TableSize, row.Epoch, row.Interval = 0, nil, nil
	row.UpdatedAt, row.DeletedAt = at, &at
	if err := q.Save(ctx, row); err != nil {
		return err
	}
	return q.Tell(ctx, row.Name)
}

// Configuration implements [store.Store].
func (s *Store) Configuration(ctx context.Context, operator string, version int64) (c store.Configuration, err error) {
	err = s.about(ctx, operator, func(q statements.Statements) error {
		c, err = q.Configuration(ctx, operator, version)
		return err
	})
	if err != nil {
		return store.Configuration{}, fmt.Errorf("configuration %d: %w", version, err)
	}
	return c, nil
}

// Configurations implements [store.Store].
func (s *Store) Configurations(ctx context.Context, operator string, before int64, limit int) (
	all []store.Configuration, err error,
) {
	before = cmp.Or(before, math.MaxInt64)
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, _ statements.Row) error {
		all, err = q.Configurations(ctx, operator, before, limit)
		return err
	}))
	return all, err
}

// OperatorChanges implements [store.Store].
func (s *Store) OperatorChanges(ctx context.Context, operator string, since time.Time, steps int) (
	out store.OperatorChanges, err error,
) {
	out.Until = s.now()
	err = s.db.Snapshot(ctx, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) error {
		if err := q.StepsSince(ctx, r.ID, since, steps, &out); err != nil {
			return err
		}
		if out.Configured, err = q.ConfiguredSince(ctx, operator, since); err != nil {
			return err
		}
		if len(out.Configured) > 0 {
			before, err := q.Configurations(ctx, operator, out.Configured[0].Version, 1)
			if err != nil {
				return err
			}
			if len(before) > 0 {
				out.Before = &before[0]
			}
		}
		out.Freezes, err = q.FreezesSince(ctx, operator, since)
		return err
	}))
	if err != nil {
		return store.OperatorChanges{}, fmt.Errorf("changes of operator %q: %w", operator, err)
	}
	return out, nil
}

// Route implements [store.Store].
func (s *Store) Route(ctx context.Context, operator string, key []byte) (
	op store.Operator, entry *store.Entry, err error,
) {
	err = s.about(ctx, operator, func(q statements.Statements) error {
		op, entry, err = q.Route(ctx, operator, key, s.now())
		return err
	})
	return op, entry, err
}

// about reads something of one operator and names the operator in errors.
func (s *Store) about(ctx context.Context, operator string, f func(statements.Statements) error) error {
	if !storable(operator) {
		return fmt.Errorf("operator %q: %w", operator, store.ErrNotFound)
	}
	if err := s.db.Read(ctx, f); err != nil {
		return fmt.Errorf("operator %q: %w", operator, err)
	}
	return nil
}

// ofRow runs f with the row of an operator, which must be there.
func ofRow(ctx context.Context, operator string, f func(statements.Statements, statements.Row) error) func(
	statements.Statements) error {
	return func(q statements.Statements) error {
		r, err := row(ctx, q, operator)
		if err != nil {
			return err
		}
		return f(q, r)
	}
}

// row returns the row of an operator that is there.
func row(ctx context.Context, q statements.Statements, name string) (statements.Row, error) {
	return present(ctx, name, q.Row)
}

// lock is row and keeps others from changing anything of the operator.
func lock(ctx context.Context, q statements.Statements, name string) (statements.Row, error) {
	return present(ctx, name, q.Lock)
}

func present(ctx context.Context, name string, find func(context.Context, string) (statements.Row, error)) (
	statements.Row, error) {
	if !storable(name) {
		return statements.Row{}, store.ErrNotFound
	}
	r, err := find(ctx, name)
	if err == nil && r.DeletedAt != nil {
		err = store.ErrNotFound
	}
	return r, err
}

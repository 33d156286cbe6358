package planning

import (
	"context"
	"errors"
	"fmt"

	"plannerd/internal/absence"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// loadBase reads what a plan of the operator starts from, into memory that the lease
// holds.
func loadBase(ctx context.Context, r *reading.Reader, name string, memory *admission.Lease) (*base, error) {
	op, err := r.StoredOperator(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := reading.HoldTable(memory, op); err != nil {
		return nil, err
	}
	b := &base{op: op, stop: ended(ctx)}
	if b.newest, err = r.Newest(ctx, op); err != nil {
		return nil, err
	}
	if b.pinned, err = r.Pinned(ctx, op); err != nil {
		return nil, err
	}
	return b, schemeNamed(b.newest.Scheme).read(ctx, r, b)
}

// baseOf reads what a stored plan of a routing table started from, into memory that the
// lease holds.
func baseOf(ctx context.Context, r *reading.Reader, p store.Plan, memory *admission.Lease) (*base, error) {
	op, err := r.StoredOperator(ctx, p.Operator)
	if err != nil {
		return nil, err
	}
	b := &base{op: op, stop: ended(ctx)}
	b.op.TableVersion, b.op.ConfigVersion = p.BaseVersion, p.ConfigVersion
	if err := memory.Reserve(p.TableBefore * reading.EntryBytes); err != nil {
		return nil, err
	}
	table, err := r.Store.Table(ctx, p.Operator, &p.BaseVersion)
	if err != nil {
		return nil, refusal.AboutVersion(p.Operator, p.BaseVersion, err)
	}
	b.op.TableConfigVersion = table.ConfigVersion
	if b.newest, err = r.Placement(ctx, p.Operator, p.ConfigVersion); err != nil {
		return nil, err
	}
	if b.pinned, err = r.Placement(ctx, p.Operator, table.ConfigVersion); err != nil {
		return nil, err
	}
	b.changed = !operator.SamePlacement(b.pinned.Configuration, b.newest.Configuration)
	if b.filling, err = figures.FilledBy(p); b.engineHolds() || err != nil {
		return b, err
	}
	if b.table, err = reading.PlannerTable(table.Entries); err != nil {
		return nil, err
	}
	b.pinned = b.pinned.Knowing(b.table)
	b.absences.before, err = absencesAfter(ctx, r, p)
	b.absences.counted = true
	return b, err
}

// absencesAfter reads how long keys were absent when a plan was made, its own interval
// included.
func absencesAfter(ctx context.Context, r *reading.Reader, p store.Plan) (absence.Counts, error) {
	data, err := r.Store.Absences(ctx, p.ID)
	if errors.Is(err, store.ErrPurged) {
		return nil, nil // it begins anew
	}
	if err != nil {
		return nil, refusal.AboutPlan(p.ID, err)
	}
	counts, err := absence.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading what plan %s keeps: %w", p.ID, err)
	}
	return counts, nil
}

// admit refuses statistics that do not fit the table and the configuration.
func admit(b *base, st *Statistics) error {
	if st.ahead(b.op.TableVersion) {
		return tableAhead(*st.TableVersion, b.op.TableVersion)
	}
	if err := st.byConfiguration(b.op.ConfigVersion); err != nil {
		return err
	}
	if st.Queues {
		return b.admitQueues(st)
	}
	return schemeNamed(b.newest.Scheme).admit(b, st)
}

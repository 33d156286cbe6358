package schemes

import (
	"context"
	"errors"

	"plannerd/internal/absence"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// Load reads what a plan of the operator starts from, into memory that the lease
// holds.
func Load(ctx context.Context, r *reading.Reader, name string, memory *admission.Lease) (*scheme.Base, error) {
	op, err := r.StoredOperator(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := reading.HoldTable(memory, op); err != nil {
		return nil, err
	}
	b := &scheme.Base{Op: op, Stop: scheme.Ended(ctx)}
	if b.Newest, err = r.Newest(ctx, op); err != nil {
		return nil, err
	}
	if b.Pinned, err = r.Pinned(ctx, op); err != nil {
		return nil, err
	}
	return b, Named(b.Newest.Scheme).Read(ctx, r, b)
}

// LoadAgain reads what a stored plan of a routing table started from, into memory that the
// lease holds.
func LoadAgain(ctx context.Context, r *reading.Reader, p store.Plan, memory *admission.Lease) (*scheme.Base, error) {
	op, err := r.StoredOperator(ctx, p.Operator)
	if err != nil {
		return nil, err
	}
	b := &scheme.Base{Op: op, Stop: scheme.Ended(ctx)}
	b.Op.TableVersion, b.Op.ConfigVersion = p.BaseVersion, p.ConfigVersion
	if err := memory.Reserve(p.TableBefore * reading.EntryBytes); err != nil {
		return nil, err
	}
	table, err := r.Store.Table(ctx, p.Operator, &p.BaseVersion)
	if err != nil {
		return nil, refusal.AboutVersion(p.Operator, p.BaseVersion, err)
	}
	b.Op.TableConfigVersion = table.ConfigVersion
	if b.Newest, err = r.Placement(ctx, p.Operator, p.ConfigVersion); err != nil {
		return nil, err
	}
	if b.Pinned, err = r.Placement(ctx, p.Operator, table.ConfigVersion); err != nil {
		return nil, err
	}
	b.Changed = !operator.SamePlacement(b.Pinned.Configuration, b.Newest.Configuration)
	if b.Filling, err = figures.FilledBy(p); b.EngineHolds() || err != nil {
		return b, err
	}
	if b.Table, err = reading.PlannerTable(table.Entries); err != nil {
		return nil, err
	}
	b.Pinned = b.Pinned.Knowing(b.Table)
	b.Absences.Before, err = AbsencesAfter(ctx, r, p)
	b.Absences.Counted = true
	return b, err
}

// AbsencesAfter reads how long keys were absent when a plan was made, its own interval
// included.
func AbsencesAfter(ctx context.Context, r *reading.Reader, p store.Plan) (absence.Counts, error) {
	data, err := r.Store.Absences(ctx, p.ID)
	if errors.Is(err, store.ErrPurged) {
		return nil, nil // it begins anew
	}
	if err != nil {
		return nil, refusal.AboutPlan(p.ID, err)
	}
	counts, err := absence.Decode(data)
	if err != nil {
		return nil, store.Unreadable("what plan "+p.ID+" keeps", err)
	}
	return counts, nil
}

// Admit refuses statistics that do not fit the table and the configuration.
func Admit(b *scheme.Base, st *scheme.Statistics) error {
	if err := st.OfCommitted(b.Op); err != nil {
		return err
	}
	if err := st.ByConfiguration(b.Op.ConfigVersion); err != nil {
		return err
	}
	if st.Queues {
		return b.AdmitQueues(st)
	}
	return Named(b.Newest.Scheme).Admit(b, st)
}

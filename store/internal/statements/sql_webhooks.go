package statements

import (
	"context"
	"time"

	"plannerd/store"
)

// HoldReceiver inserts a receiver, or notes that it is there still, and returns who holds it.
func (s webhookStatements) HoldReceiver(ctx context.Context, name, holder string, until, now time.Time) (
	string, error,
) {
	const free = `CASE WHEN w.holder = $2 OR w.held_until <= $4 THEN `
	return get[string](ctx, s.base, `INSERT INTO webhook_receivers AS w (name, holder, held_until, seen_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET holder = `+free+`$2 ELSE w.holder END,
			held_until = `+free+`$3 ELSE w.held_until END, seen_at = $4 RETURNING holder`,
		name, holder, s.at(&until), s.at(&now))
}

// PendingEvents lists the oldest events of a receiver, without operators of which one waits.
func (s webhookStatements) PendingEvents(ctx context.Context, receiver string, most int, now time.Time) (
	[]store.WebhookEvent, error,
) {
	return collect(ctx, s.base, func(row Scanner) (e store.WebhookEvent, err error) {
		err = row.Scan(&e.Seq, &e.ID, &e.Type, &e.Operator, &e.Plan, s.at(&e.At), JSON{P: &e.Data}, &e.Tries, &e.Dropped)
		return e, err
	}, `SELECT e.seq, e.id, e.type, e.operator, e.plan, e.at, e.data, e.tries, r.dropped
		FROM webhook_events e JOIN webhook_receivers r ON r.name = e.receiver
		WHERE e.receiver = $1 AND e.operator NOT IN (
			SELECT operator FROM webhook_events WHERE receiver = $1 AND retry_at > $2)
		ORDER BY e.seq LIMIT $3`, receiver, s.at(&now), most)
}

// RemoveEvent removes an event that was delivered.
func (s webhookStatements) RemoveEvent(ctx context.Context, seq int64) error {
	return s.exec(ctx, `DELETE FROM webhook_events WHERE seq = $1`, seq)
}

// DelayEvent notes a delivery in vain.
func (s webhookStatements) DelayEvent(ctx context.Context, seq int64, until time.Time) error {
	return s.exec(ctx, `UPDATE webhook_events SET tries = tries + 1, retry_at = $2 WHERE seq = $1`, seq, s.at(&until))
}

// NoteAnnounced notes that an event is announced, and tells whether it was not before.
func (s webhookStatements) NoteAnnounced(ctx context.Context, id string, at time.Time) (bool, error) {
	return s.changed(ctx, `INSERT INTO webhook_announced (id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, s.at(&at))
}

// InsertEvent adds an event for each receiver.
func (s webhookStatements) InsertEvent(ctx context.Context, e store.WebhookEvent) error {
	return s.exec(ctx, `INSERT INTO webhook_events (receiver, id, type, operator, plan, at, data)
		SELECT name, $1, $2, $3, $4, $5, $6 FROM webhook_receivers`,
		e.ID, e.Type, e.Operator, e.Plan, s.at(&e.At), string(e.Data))
}

// Receivers lists all receivers.
func (s webhookStatements) Receivers(ctx context.Context) ([]store.Receiver, error) {
	return collect(ctx, s.base, func(row Scanner) (r store.Receiver, err error) {
		err = row.Scan(&r.Name, &r.Dropped, &r.Pending, s.Instant(&r.Oldest))
		return r, err
	}, `SELECT r.name, r.dropped, count(e.seq), min(e.at)
		FROM webhook_receivers r LEFT JOIN webhook_events e ON e.receiver = r.name GROUP BY r.name, r.dropped ORDER BY r.name`)
}

// PurgeEvents removes the events of a receiver that happened before then, and all but the newest so many.
func (s webhookStatements) PurgeEvents(ctx context.Context, receiver string, before *time.Time, most int) error {
	const old = ` AND (at < $2 OR seq <= (SELECT seq FROM webhook_events WHERE receiver = $1
		ORDER BY seq DESC LIMIT 1 OFFSET $3))`
	n, err := s.Exec(ctx, `DELETE FROM webhook_events WHERE receiver = $1`+old, receiver, s.Instant(&before), most)
	if err != nil || n == 0 {
		return err
	}
	return s.exec(ctx, `UPDATE webhook_receivers SET dropped = dropped + $2 WHERE name = $1`, receiver, n)
}

// PurgeReceivers removes the receivers that nobody has asked for since then, with their events.
func (s webhookStatements) PurgeReceivers(ctx context.Context, before time.Time) error {
	return s.exec(ctx, `DELETE FROM webhook_receivers WHERE seen_at < $1`, s.at(&before))
}

// ForgetAnnounced forgets what was announced before then.
func (s webhookStatements) ForgetAnnounced(ctx context.Context, before time.Time) error {
	return s.exec(ctx, `DELETE FROM webhook_announced WHERE at < $1`, s.at(&before))
}

// WaitingPlans lists the plans that are proposed or approved and have not expired.
func (s webhookStatements) WaitingPlans(ctx context.Context, now time.Time) ([]store.WaitingPlan, error) {
	return collect(ctx, s.base, func(row Scanner) (w store.WaitingPlan, err error) {
		var p PlanRow
		err = row.Scan(append(planTargets(&p, SummaryFields(&p.Plan, s.Instant)), s.at(&w.Since))...)
		w.Plan = p.Plan
		return w, aboutPlan(p.ID, err)
	}, `SELECT `+summaryColumns+`, coalesce((SELECT max(at) FROM transitions WHERE plan_seq = p.seq AND to_status = p.status),
			p.created_at) FROM `+planTables+`
		WHERE p.status IN ('proposed', 'approved') AND (p.expires_at IS NULL OR p.expires_at > $1) ORDER BY p.seq`, s.at(&now))
}

package statements

import (
	"context"
	"time"

	"plannerd/store"
)

// WithRouters is the version of the schema from which on there are routers.
const WithRouters = 14

const routerColumns = `name, epoch, registered_at, expires_at`

func (s routerStatements) scanRouter(row Scanner) (r store.Router, err error) {
	err = row.Scan(&r.Name, &r.Epoch, s.at(&r.RegisteredAt), s.at(&r.ExpiresAt))
	return r, err
}

// Router returns a router of an operator.
func (s routerStatements) Router(ctx context.Context, operator int64, name string) (store.Router, error) {
	return one(ctx, s.base, s.scanRouter, `SELECT `+routerColumns+` FROM routers WHERE operator_id = $1 AND name = $2`,
		operator, name)
}

// Routers lists the routers of an operator by their names.
func (s routerStatements) Routers(ctx context.Context, operator int64) ([]store.Router, error) {
	return collect(ctx, s.base, s.scanRouter, `SELECT `+routerColumns+` FROM routers WHERE operator_id = $1 ORDER BY name`,
		operator)
}

// NextRouterEpoch returns an epoch that no router of the operator has had.
func (s routerStatements) NextRouterEpoch(ctx context.Context, operator int64) (int64, error) {
	return get[int64](ctx, s.base, `UPDATE operators SET router_epoch = router_epoch + 1 WHERE id = $1 RETURNING router_epoch`,
		operator)
}

// SaveRouter adds a router, or writes it back.
func (s routerStatements) SaveRouter(ctx context.Context, operator int64, r store.Router) error {
	return s.exec(ctx, `INSERT INTO routers (operator_id, `+routerColumns+`) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (operator_id, name) DO UPDATE SET epoch = excluded.epoch, registered_at = excluded.registered_at,
			expires_at = excluded.expires_at`, operator, r.Name, r.Epoch, s.at(&r.RegisteredAt), s.at(&r.ExpiresAt))
}

// DeleteRouter removes a router and tells whether there was one.
func (s routerStatements) DeleteRouter(ctx context.Context, operator int64, name string) (bool, error) {
	return s.changed(ctx, `DELETE FROM routers WHERE operator_id = $1 AND name = $2`, operator, name)
}

// PurgeRouters removes routers whose leases ran out before then, where no plan that is under way may
// name them.
func (s routerStatements) PurgeRouters(ctx context.Context, before time.Time) error {
	return s.exec(ctx, `DELETE FROM routers WHERE expires_at < $1 AND operator_id NOT IN (
		SELECT operator_id FROM plans WHERE status IN ('applying', 'aborting'))`, s.at(&before))
}

// SetRouters notes the routers that a plan was started with.
func (s routerStatements) SetRouters(ctx context.Context, seq int64, routers map[string]int64) error {
	return s.exec(ctx, `UPDATE plans SET routers = $2 WHERE seq = $1`, seq, epochs(&routers))
}

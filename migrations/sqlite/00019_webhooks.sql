-- +goose Up

-- The receivers of webhooks. holder is the process that delivers to a receiver, until held_until, and
-- seen_at when a process said last that there is the receiver. dropped is how many events were removed
-- that it did not get.
CREATE TABLE webhook_receivers (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    dropped    INTEGER NOT NULL DEFAULT 0
) STRICT;
-- What receivers have yet to get. Events of an operator are written while it is locked, so that seq is their
-- order. retry_at is of one that could not be delivered: all of its operator wait until then.
CREATE TABLE webhook_events (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    receiver TEXT NOT NULL REFERENCES webhook_receivers (name) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    type     TEXT NOT NULL,
    operator TEXT NOT NULL,
    plan     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    data     TEXT NOT NULL CHECK (json_valid(data)),
    tries    INTEGER NOT NULL DEFAULT 0,
    retry_at INTEGER
) STRICT;
CREATE INDEX webhook_events_oldest ON webhook_events (receiver, seq);
CREATE INDEX webhook_events_delayed ON webhook_events (receiver, operator) WHERE retry_at IS NOT NULL;
-- What was announced that no step of a plan says, so that it is once.
CREATE TABLE webhook_announced (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_announced_at ON webhook_announced (at);

-- Steps are announced by whatever program takes them, also by one that knows of no webhooks, if there is
-- anybody to be told.
-- +goose StatementBegin
CREATE TRIGGER transitions_announced AFTER INSERT ON transitions
WHEN NEW.from_status <> NEW.to_status AND NEW.to_status <> 'no_action' AND EXISTS (SELECT 1 FROM webhook_receivers)
BEGIN
    INSERT INTO webhook_events (receiver, id, type, operator, plan, at, data)
    SELECT r.name, p.id || '-' || NEW.n, 'plannerd.plan.' || NEW.to_status, o.name, p.id, NEW.at, json_object(
        'epoch', p.epoch, 'interval', p.interval, 'base_version', p.base_version,
        'from', NEW.from_status, 'actor', NEW.actor, 'reason', NEW.reason,
        'expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', p.expires_at / 1000000.0, 'unixepoch'),
        'waits_for', json(p.waits_for), 'theta_before', p.theta_before, 'theta_after', p.theta_after,
        'migration_keys', p.migration_keys, 'migration_state', p.migration_state,
        'migration_fraction', p.migration_fraction)
    FROM plans p JOIN operators o ON o.id = p.operator_id CROSS JOIN webhook_receivers r WHERE p.seq = NEW.plan_seq;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER transitions_announced;
DROP TABLE webhook_announced;
DROP TABLE webhook_events;
DROP TABLE webhook_receivers;

-- +goose Up

-- The receivers of webhooks. holder is the process that delivers to a receiver, until held_until, and
-- seen_at when a process said last that there is the receiver. dropped is how many events were removed
-- that it did not get.
CREATE TABLE webhook_receivers (
    name       text PRIMARY KEY,
    holder     text NOT NULL,
    held_until timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    dropped    bigint NOT NULL DEFAULT 0
);
-- What receivers have yet to get. Events of an operator are written while it is locked, so that seq is their
-- order. retry_at is of one that could not be delivered: all of its operator wait until then.
CREATE TABLE webhook_events (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receiver text NOT NULL REFERENCES webhook_receivers (name) ON DELETE CASCADE,
    id       text NOT NULL,
    type     text NOT NULL,
    operator text NOT NULL,
    plan     text NOT NULL,
    at       timestamptz NOT NULL,
    data     text NOT NULL,
    tries    bigint NOT NULL DEFAULT 0,
    retry_at timestamptz
);
CREATE INDEX webhook_events_oldest ON webhook_events (receiver, seq);
CREATE INDEX webhook_events_delayed ON webhook_events (receiver, operator) WHERE retry_at IS NOT NULL;
-- What was announced that no step of a plan says, so that it is once.
CREATE TABLE webhook_announced (
    id text PRIMARY KEY,
    at timestamptz NOT NULL
);
CREATE INDEX webhook_announced_at ON webhook_announced (at);

-- Steps are announced by whatever program takes them, also by one that knows of no webhooks, if there is
-- anybody to be told.
-- +goose StatementBegin
CREATE FUNCTION announce_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_events (receiver, id, type, operator, plan, at, data)
    SELECT r.name, p.id || '-' || NEW.n, 'plannerd.plan.' || NEW.to_status, o.name, p.id, NEW.at, json_build_object(
        'epoch', p.epoch, 'interval', p.interval, 'base_version', p.base_version,
        'from', NEW.from_status, 'actor', NEW.actor, 'reason', NEW.reason,
        'expires_at', to_char(p.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'waits_for', p.waits_for, 'theta_before', p.theta_before, 'theta_after', p.theta_after,
        'migration_keys', p.migration_keys, 'migration_state', p.migration_state,
        'migration_fraction', p.migration_fraction)::text
    FROM plans p JOIN operators o ON o.id = p.operator_id CROSS JOIN webhook_receivers r WHERE p.seq = NEW.plan_seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER transitions_announced AFTER INSERT ON transitions FOR EACH ROW
    WHEN (NEW.from_status <> NEW.to_status AND NEW.to_status <> 'no_action') EXECUTE FUNCTION announce_transition();

-- +goose Down

DROP TRIGGER transitions_announced ON transitions;
DROP FUNCTION announce_transition();
DROP TABLE webhook_announced;
DROP TABLE webhook_events;
DROP TABLE webhook_receivers;

-- +goose Up

-- A plan may wait for approval, be rejected or expire, and be applied by an
-- engine before it is committed. executor: who applies it. awaited: the instances
-- that its migrations affect. pending: the plan that was in the way of this one.
-- NULL: none.
ALTER TABLE plans
    DROP CONSTRAINT plans_status_check,
    ADD CONSTRAINT plans_status_check CHECK (status IN ('no_action', 'proposed', 'approved', 'applying', 'committed',
        'rejected', 'aborted', 'superseded', 'expired')),
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN executor text NOT NULL DEFAULT '',
    ADD COLUMN pending json,
    ADD COLUMN awaited json;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired');
-- An operator has one plan that is being applied.
CREATE UNIQUE INDEX plans_applying ON plans (operator_id) WHERE status = 'applying';
CREATE INDEX plans_expiring ON plans (expires_at) WHERE status = 'proposed';

-- The instances that have finished the migrations of a plan.
CREATE TABLE acks (
    plan_seq bigint NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    instance integer NOT NULL CHECK (instance >= 0),
    actor    text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (plan_seq, instance)
);

-- Requests that are made at most once. name is a digest of whose key it is and of
-- the key, body one of the request. A request that has no answer yet is held by
-- the token until the lease ends.
CREATE TABLE idempotency_keys (
    name         bytea NOT NULL PRIMARY KEY,
    body         bytea NOT NULL,
    token        text NOT NULL,
    leased_until timestamptz NOT NULL,
    began_at     timestamptz NOT NULL,
    status       integer,
    answer       bytea,
    CHECK (status IS NOT NULL OR answer IS NULL)
);
CREATE INDEX idempotency_keys_began ON idempotency_keys (began_at);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE acks;

-- What the schema before this one has no word for is given up.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold the plan', now()
    FROM plans p WHERE p.status IN ('proposed', 'applying', 'rejected', 'expired');
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'applying', 'rejected', 'expired');
DROP INDEX plans_expiring;
DROP INDEX plans_applying;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('aborted', 'superseded');
ALTER TABLE plans
    DROP COLUMN awaited,
    DROP COLUMN pending,
    DROP COLUMN executor,
    DROP COLUMN expires_at,
    DROP CONSTRAINT plans_status_check,
    ADD CONSTRAINT plans_status_check CHECK (status IN ('no_action', 'approved', 'committed', 'aborted', 'superseded'));

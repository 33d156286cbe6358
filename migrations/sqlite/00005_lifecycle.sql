-- +goose Up

-- A plan may wait for approval, be rejected or expire, and be applied by an
-- engine before it is committed. SQLite changes a CHECK only in the text of the
-- schema; doing so is safe where what the table holds stays valid.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    '''no_action'', ''approved'', ''committed'', ''aborted'', ''superseded''',
    '''no_action'', ''proposed'', ''approved'', ''applying'', ''committed'', ''rejected'', ''aborted'', ''superseded'', ''expired''')
    WHERE type = 'table' AND name = 'plans';
PRAGMA writable_schema = RESET;

-- executor: who applies it. awaited: the instances that its migrations affect.
-- NULL: none. pending: the plan that was in the way of this one. NULL: none.
ALTER TABLE plans ADD COLUMN expires_at INTEGER;
ALTER TABLE plans ADD COLUMN executor TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN pending TEXT CHECK (json_valid(pending));
-- Lists of plans read them, so the columns that may be long move behind them.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (json_valid(long_hot_keys));
ALTER TABLE plans ADD COLUMN long_reports TEXT CHECK (json_valid(long_reports));
UPDATE plans SET long_instances = instances, long_hot_keys = hot_keys, long_reports = reports;
ALTER TABLE plans DROP COLUMN instances;
ALTER TABLE plans DROP COLUMN hot_keys;
ALTER TABLE plans DROP COLUMN reports;
ALTER TABLE plans RENAME COLUMN long_instances TO instances;
ALTER TABLE plans RENAME COLUMN long_hot_keys TO hot_keys;
ALTER TABLE plans RENAME COLUMN long_reports TO reports;
ALTER TABLE plans ADD COLUMN awaited TEXT CHECK (json_valid(awaited));
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired');
-- An operator has one plan that is being applied.
CREATE UNIQUE INDEX plans_applying ON plans (operator_id) WHERE status = 'applying';
CREATE INDEX plans_expiring ON plans (expires_at) WHERE status = 'proposed';

-- The instances that have finished the migrations of a plan.
CREATE TABLE acks (
    plan_seq INTEGER NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    instance INTEGER NOT NULL CHECK (instance >= 0),
    actor    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (plan_seq, instance)
) STRICT, WITHOUT ROWID;

-- Requests that are made at most once. name is a digest of whose key it is and of
-- the key, body one of the request. A request that has no answer yet is held by
-- the token until the lease ends.
CREATE TABLE idempotency_keys (
    name         BLOB NOT NULL PRIMARY KEY,
    body         BLOB NOT NULL,
    token        TEXT NOT NULL,
    leased_until INTEGER NOT NULL,
    began_at     INTEGER NOT NULL,
    status       INTEGER,
    answer       BLOB,
    CHECK (status IS NOT NULL OR answer IS NULL)
) STRICT;
CREATE INDEX idempotency_keys_began ON idempotency_keys (began_at);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE acks;

-- What the schema before this one has no word for is given up.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold the plan', CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    FROM plans p WHERE p.status IN ('proposed', 'applying', 'rejected', 'expired');
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'applying', 'rejected', 'expired');
DROP INDEX plans_expiring;
DROP INDEX plans_applying;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('aborted', 'superseded');
ALTER TABLE plans DROP COLUMN awaited;
ALTER TABLE plans DROP COLUMN pending;
ALTER TABLE plans DROP COLUMN executor;
ALTER TABLE plans DROP COLUMN expires_at;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    '''no_action'', ''proposed'', ''approved'', ''applying'', ''committed'', ''rejected'', ''aborted'', ''superseded'', ''expired''',
    '''no_action'', ''approved'', ''committed'', ''aborted'', ''superseded''')
    WHERE type = 'table' AND name = 'plans';
PRAGMA writable_schema = RESET;

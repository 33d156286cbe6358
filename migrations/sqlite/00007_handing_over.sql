-- +goose Up

-- A plan that is being applied is given up in two steps: while it is aborting no ack
-- counts, and the engine takes the state back.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''applying'', ''committed''', '''applying'', ''aborting'', ''committed''')
    WHERE type = 'table' AND name = 'plans';
-- absences: how long the keys of table entries have been absent.
UPDATE sqlite_schema SET sql = replace(sql, '''migrations'', ''input''', '''migrations'', ''input'', ''absences''')
    WHERE type = 'table' AND name = 'plan_blobs';
PRAGMA writable_schema = RESET;
DROP INDEX plans_applying;
-- An operator has one plan that an engine is at work on.
CREATE UNIQUE INDEX plans_in_flight ON plans (operator_id) WHERE status IN ('applying', 'aborting');

-- executor_epoch: a successor of the executor has a higher one. executor_since: when the
-- executor started the plan, or took it over. NULL: it is not known.
ALTER TABLE plans ADD COLUMN executor_epoch INTEGER NOT NULL DEFAULT 0 CHECK (executor_epoch >= 0);
ALTER TABLE plans ADD COLUMN executor_since INTEGER;
-- idle_entries: table entries of keys that have been absent for long.
ALTER TABLE plans ADD COLUMN idle_entries INTEGER NOT NULL DEFAULT 0;
UPDATE plans SET executor_since = (SELECT max(at) FROM transitions WHERE plan_seq = plans.seq AND to_status = 'applying')
    WHERE executor <> '';
-- Lists of plans read them, so the columns that may be long move behind them.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (json_valid(long_hot_keys));
ALTER TABLE plans ADD COLUMN long_reports TEXT CHECK (json_valid(long_reports));
ALTER TABLE plans ADD COLUMN long_awaited TEXT CHECK (json_valid(long_awaited));
UPDATE plans SET long_instances = instances, long_hot_keys = hot_keys, long_reports = reports, long_awaited = awaited;
ALTER TABLE plans DROP COLUMN instances;
ALTER TABLE plans DROP COLUMN hot_keys;
ALTER TABLE plans DROP COLUMN reports;
ALTER TABLE plans DROP COLUMN awaited;
ALTER TABLE plans RENAME COLUMN long_instances TO instances;
ALTER TABLE plans RENAME COLUMN long_hot_keys TO hot_keys;
ALTER TABLE plans RENAME COLUMN long_reports TO reports;
ALTER TABLE plans RENAME COLUMN long_awaited TO awaited;

-- +goose Down

-- The schema before this one has no word for a plan that is being aborted: its engine
-- goes on taking the state back.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'applying',
        'migration', 'this version of the schema cannot hold the status', CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    FROM plans p WHERE p.status = 'aborting';
UPDATE plans SET status = 'applying' WHERE status = 'aborting';
DELETE FROM plan_blobs WHERE kind = 'absences';
ALTER TABLE plans DROP COLUMN idle_entries;
ALTER TABLE plans DROP COLUMN executor_since;
ALTER TABLE plans DROP COLUMN executor_epoch;
DROP INDEX plans_in_flight;
CREATE UNIQUE INDEX plans_applying ON plans (operator_id) WHERE status = 'applying';
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''applying'', ''aborting'', ''committed''', '''applying'', ''committed''')
    WHERE type = 'table' AND name = 'plans';
UPDATE sqlite_schema SET sql = replace(sql, '''migrations'', ''input'', ''absences''', '''migrations'', ''input''')
    WHERE type = 'table' AND name = 'plan_blobs';
PRAGMA writable_schema = RESET;

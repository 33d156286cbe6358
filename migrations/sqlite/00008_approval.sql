-- +goose Up

-- waits_for: why a plan was proposed, not approved. forced_keys, forced_state: what it has
-- to move. leaves_open: its statistics are too small, so its interval takes others.
-- superseded_by: the id of the plan that took its place. latest: how it does under newer
-- statistics, and limits_changed: it breaks limits there that nobody has agreed to.
ALTER TABLE plans ADD COLUMN waits_for TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(waits_for));
ALTER TABLE plans ADD COLUMN forced_keys INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plans ADD COLUMN forced_state REAL NOT NULL DEFAULT 0;
ALTER TABLE plans ADD COLUMN leaves_open INTEGER NOT NULL DEFAULT 0 CHECK (leaves_open IN (0, 1));
ALTER TABLE plans ADD COLUMN superseded_by TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN limits_changed INTEGER NOT NULL DEFAULT 0 CHECK (limits_changed IN (0, 1));
ALTER TABLE plans ADD COLUMN latest TEXT CHECK (latest IS NULL OR json_valid(latest));
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired') AND NOT leaves_open;
-- Lists of plans read them, so the columns that may be long move behind them.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (long_instances IS NULL OR json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (long_hot_keys IS NULL OR json_valid(long_hot_keys));
ALTER TABLE plans ADD COLUMN long_reports TEXT CHECK (long_reports IS NULL OR json_valid(long_reports));
ALTER TABLE plans ADD COLUMN long_awaited TEXT CHECK (long_awaited IS NULL OR json_valid(long_awaited));
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

-- The schema before this one allows one plan of an interval that counts.
UPDATE plans SET status = 'superseded' WHERE leaves_open;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired');
ALTER TABLE plans DROP COLUMN latest;
ALTER TABLE plans DROP COLUMN limits_changed;
ALTER TABLE plans DROP COLUMN superseded_by;
ALTER TABLE plans DROP COLUMN leaves_open;
ALTER TABLE plans DROP COLUMN forced_state;
ALTER TABLE plans DROP COLUMN forced_keys;
ALTER TABLE plans DROP COLUMN waits_for;

-- +goose Up

-- waits_for: why a plan was proposed, not approved. forced_keys, forced_state: what it has
-- to move. leaves_open: its statistics are too small, so its interval takes others.
-- superseded_by: the id of the plan that took its place. latest: how it does under newer
-- statistics, and limits_changed: it breaks limits there that nobody has agreed to.
ALTER TABLE plans
    ADD COLUMN waits_for json NOT NULL DEFAULT '[]',
    ADD COLUMN forced_keys bigint NOT NULL DEFAULT 0,
    ADD COLUMN forced_state double precision NOT NULL DEFAULT 0,
    ADD COLUMN leaves_open boolean NOT NULL DEFAULT false,
    ADD COLUMN superseded_by text NOT NULL DEFAULT '',
    ADD COLUMN limits_changed boolean NOT NULL DEFAULT false,
    ADD COLUMN latest json;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired') AND NOT leaves_open;

-- +goose Down

-- The schema before this one allows one plan of an interval that counts.
UPDATE plans SET status = 'superseded' WHERE leaves_open;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired');
ALTER TABLE plans
    DROP COLUMN latest,
    DROP COLUMN limits_changed,
    DROP COLUMN superseded_by,
    DROP COLUMN leaves_open,
    DROP COLUMN forced_state,
    DROP COLUMN forced_keys,
    DROP COLUMN waits_for;

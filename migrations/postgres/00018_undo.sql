-- +goose Up

-- undo: which version of the table the plan brings back. Such a plan may be beside the one that
-- its interval has.
ALTER TABLE plans ADD COLUMN undo json;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired') AND NOT leaves_open AND undo IS NULL;

-- +goose Down

-- The schema before this one allows one plan of an interval that counts, and nobody would know
-- what is under way here.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold an undo', now()
    FROM plans p WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND p.undo IS NOT NULL;
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting') AND undo IS NOT NULL;
UPDATE plans SET status = 'superseded', version = NULL WHERE status = 'committed' AND undo IS NOT NULL;
DROP INDEX plans_live_interval;
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('rejected', 'aborted', 'superseded', 'expired') AND NOT leaves_open;
ALTER TABLE plans DROP COLUMN undo;

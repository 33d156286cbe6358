-- +goose Up

-- A plan that is being applied is given up in two steps: while it is aborting no ack
-- counts, and the engine takes the state back. executor_epoch: a successor of the
-- executor has a higher one. executor_since: when the executor started the plan, or took
-- it over. NULL: it is not known.
ALTER TABLE plans
    DROP CONSTRAINT plans_status_check,
    ADD CONSTRAINT plans_status_check CHECK (status IN ('no_action', 'proposed', 'approved', 'applying', 'aborting',
        'committed', 'rejected', 'aborted', 'superseded', 'expired')),
    ADD COLUMN executor_epoch bigint NOT NULL DEFAULT 0 CHECK (executor_epoch >= 0),
    ADD COLUMN executor_since timestamptz,
    ADD COLUMN idle_entries bigint NOT NULL DEFAULT 0;
-- idle_entries: table entries of keys that have been absent for long. absences: how long
-- the keys of entries have been absent.
ALTER TABLE plan_blobs
    DROP CONSTRAINT plan_blobs_kind_check,
    ADD CONSTRAINT plan_blobs_kind_check CHECK (kind IN ('migrations', 'input', 'absences'));
UPDATE plans SET executor_since = (SELECT max(at) FROM transitions WHERE plan_seq = plans.seq AND to_status = 'applying')
    WHERE executor <> '';
DROP INDEX plans_applying;
-- An operator has one plan that an engine is at work on.
CREATE UNIQUE INDEX plans_in_flight ON plans (operator_id) WHERE status IN ('applying', 'aborting');

-- +goose Down

-- The schema before this one has no word for a plan that is being aborted: its engine
-- goes on taking the state back.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'applying',
        'migration', 'this version of the schema cannot hold the status', now()
    FROM plans p WHERE p.status = 'aborting';
UPDATE plans SET status = 'applying' WHERE status = 'aborting';
DROP INDEX plans_in_flight;
CREATE UNIQUE INDEX plans_applying ON plans (operator_id) WHERE status = 'applying';
DELETE FROM plan_blobs WHERE kind = 'absences';
ALTER TABLE plan_blobs
    DROP CONSTRAINT plan_blobs_kind_check,
    ADD CONSTRAINT plan_blobs_kind_check CHECK (kind IN ('migrations', 'input'));
ALTER TABLE plans
    DROP COLUMN idle_entries,
    DROP COLUMN executor_since,
    DROP COLUMN executor_epoch,
    DROP CONSTRAINT plans_status_check,
    ADD CONSTRAINT plans_status_check CHECK (status IN ('no_action', 'proposed', 'approved', 'applying', 'committed',
        'rejected', 'aborted', 'superseded', 'expired'));

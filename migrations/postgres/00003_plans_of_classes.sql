-- +goose Up

-- classes: the plan moves classes of keys, and which keys they are is known once
-- it is resolved: resolved_keys, the number of them, is NULL until then.
-- engine_table: the engine holds the routing table, and committing the plan
-- stores no entries. compaction: how its statistics were compacted. NULL: they
-- were not.
ALTER TABLE plans
    ADD COLUMN classes boolean NOT NULL DEFAULT false,
    ADD COLUMN engine_table boolean NOT NULL DEFAULT false,
    ADD COLUMN resolved_keys bigint CHECK (resolved_keys >= 0),
    ADD COLUMN compaction json,
    -- The build before this one shares the database for a while and would commit
    -- a plan of classes as one that changes nothing.
    ADD CONSTRAINT plans_resolved
        CHECK (status <> 'committed' OR NOT classes OR engine_table OR resolved_keys IS NOT NULL);

-- +goose Down

-- Without the columns a plan whose keys are not known would be committed as one
-- that changes nothing, and one of the engine's table would be applied.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), 'approved', 'aborted',
        'migration', 'this version of the schema cannot hold the plan', now()
    FROM plans p WHERE p.status = 'approved' AND (p.engine_table OR p.classes AND p.resolved_keys IS NULL);
UPDATE plans SET status = 'aborted'
    WHERE status = 'approved' AND (engine_table OR classes AND resolved_keys IS NULL);
ALTER TABLE plans
    DROP CONSTRAINT plans_resolved,
    DROP COLUMN compaction,
    DROP COLUMN resolved_keys,
    DROP COLUMN engine_table,
    DROP COLUMN classes;

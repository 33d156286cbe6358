-- +goose Up

-- classes: the plan moves classes of keys, and which keys they are is known once
-- it is resolved: resolved_keys, the number of them, is NULL until then.
-- engine_table: the engine holds the routing table, and committing the plan
-- stores no entries. compaction: how its statistics were compacted. NULL: they
-- were not.
ALTER TABLE plans ADD COLUMN classes INTEGER NOT NULL DEFAULT 0 CHECK (classes IN (0, 1));
ALTER TABLE plans ADD COLUMN engine_table INTEGER NOT NULL DEFAULT 0 CHECK (engine_table IN (0, 1));
-- The build before this one shares the database for a while and would commit a
-- plan of classes as one that changes nothing.
ALTER TABLE plans ADD COLUMN resolved_keys INTEGER CHECK (resolved_keys >= 0)
    CHECK (status <> 'committed' OR NOT classes OR engine_table OR resolved_keys IS NOT NULL);
ALTER TABLE plans ADD COLUMN compaction TEXT CHECK (json_valid(compaction));
-- Lists of plans read them, so the columns that may be long move behind them.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (json_valid(long_hot_keys));
UPDATE plans SET long_instances = instances, long_hot_keys = hot_keys;
ALTER TABLE plans DROP COLUMN instances;
ALTER TABLE plans DROP COLUMN hot_keys;
ALTER TABLE plans RENAME COLUMN long_instances TO instances;
ALTER TABLE plans RENAME COLUMN long_hot_keys TO hot_keys;

-- +goose Down

-- Without the columns a plan whose keys are not known would be committed as one
-- that changes nothing, and one of the engine's table would be applied.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), 'approved', 'aborted',
        'migration', 'this version of the schema cannot hold the plan', CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    FROM plans p WHERE p.status = 'approved' AND (p.engine_table OR p.classes AND p.resolved_keys IS NULL);
UPDATE plans SET status = 'aborted'
    WHERE status = 'approved' AND (engine_table OR classes AND resolved_keys IS NULL);
ALTER TABLE plans DROP COLUMN compaction;
ALTER TABLE plans DROP COLUMN resolved_keys;
ALTER TABLE plans DROP COLUMN engine_table;
ALTER TABLE plans DROP COLUMN classes;

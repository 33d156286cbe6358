-- +goose Up

-- parts: where a key goes that goes to several instances, as the program encodes it; its
-- instance is that of its heaviest part. NULL: it goes to its instance alone.
ALTER TABLE table_entries ADD COLUMN parts bytea;
-- splits: the keys that a plan has go to several instances. merges: how many parts they have
-- beyond the first of each.
ALTER TABLE plans ADD COLUMN splits json;
ALTER TABLE plans ADD COLUMN merges bigint NOT NULL DEFAULT 0;

-- +goose Down

-- What was under way with keys that go to several instances cannot be carried out, nor can
-- versions before it be rebuilt. Such keys go to the instance of their heaviest part.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold split keys', now()
    FROM plans p JOIN diffs d ON d.id = p.diff_id
    WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND get_byte(d.data, 0) = 2;
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting')
    AND diff_id IN (SELECT id FROM diffs d WHERE get_byte(d.data, 0) = 2);
DELETE FROM table_versions WHERE version < (SELECT max(v.version) FROM table_versions v JOIN diffs d ON d.id = v.diff_id
    WHERE v.operator_id = table_versions.operator_id AND get_byte(d.data, 0) = 2);
UPDATE table_versions SET diff_id = NULL WHERE diff_id IN (SELECT id FROM diffs d WHERE get_byte(d.data, 0) = 2);
UPDATE plans SET diff_id = NULL WHERE diff_id IN (SELECT id FROM diffs d WHERE get_byte(d.data, 0) = 2);
DELETE FROM diffs d WHERE get_byte(d.data, 0) = 2;
UPDATE oldest_program SET version = 8 WHERE version = 13;
ALTER TABLE table_entries DROP COLUMN parts;
ALTER TABLE plans DROP COLUMN splits;
ALTER TABLE plans DROP COLUMN merges;

-- +goose Up

-- Statistics in compact form may name some keys: a table that none does yet needs no change.
SELECT 1;

-- +goose Down

-- Programs that know no named keys can neither read such statistics nor carry out plans that were
-- made of them.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema knows no keys beside records', CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    FROM plans p JOIN plan_blobs b ON b.plan_seq = p.seq
    WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND substr(b.data, 1, 4) = CAST('PLNM' AS BLOB);
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting')
    AND seq IN (SELECT plan_seq FROM plan_blobs WHERE substr(data, 1, 4) = CAST('PLNM' AS BLOB));
-- What they moved is no longer known: the blob is that of no moves.
UPDATE plan_blobs SET data = x'504c434d0151537d5200' WHERE substr(data, 1, 4) = CAST('PLNM' AS BLOB);
UPDATE plans SET input_state = 'purged'
    WHERE seq IN (SELECT plan_seq FROM plan_blobs WHERE kind = 'input' AND substr(data, 1, 4) = CAST('PLCN' AS BLOB));
DELETE FROM plan_blobs WHERE kind = 'input' AND substr(data, 1, 4) = CAST('PLCN' AS BLOB);
DELETE FROM reports WHERE substr(data, 1, 4) = CAST('PLCN' AS BLOB);
UPDATE oldest_program SET version = 15 WHERE version = 16;

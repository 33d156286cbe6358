-- +goose Up

-- Statistics in compact form may name some keys: a table that none does yet needs no change.
SELECT 1;

-- +goose Down

-- Programs that know no named keys can neither read such statistics nor carry out plans that were
-- made of them.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema knows no keys beside records', now()
    FROM plans p JOIN plan_blobs b ON b.plan_seq = p.seq
    WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND substring(b.data FROM 1 FOR 4) = 'PLNM'::bytea;
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting')
    AND seq IN (SELECT plan_seq FROM plan_blobs WHERE substring(data FROM 1 FOR 4) = 'PLNM'::bytea);
-- What they moved is no longer known: the blob is that of no moves.
UPDATE plan_blobs SET data = '\x504c434d0151537d5200'::bytea WHERE substring(data FROM 1 FOR 4) = 'PLNM'::bytea;
UPDATE plans SET input_state = 'purged'
    WHERE seq IN (SELECT plan_seq FROM plan_blobs WHERE kind = 'input' AND substring(data FROM 1 FOR 4) = 'PLCN'::bytea);
DELETE FROM plan_blobs WHERE kind = 'input' AND substring(data FROM 1 FOR 4) = 'PLCN'::bytea;
DELETE FROM reports WHERE substring(data FROM 1 FOR 4) = 'PLCN'::bytea;
UPDATE oldest_program SET version = 15 WHERE version = 16;

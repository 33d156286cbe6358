-- +goose Up

-- scheme: by which keys are placed. source_fingerprint: the fingerprint of the plan
-- that the statistics came for, which is another one in a replay. outdated: the
-- statistics are of an older table than base_version.
ALTER TABLE plans
    ADD COLUMN scheme text NOT NULL DEFAULT 'table',
    ADD COLUMN source_fingerprint text NOT NULL DEFAULT '',
    ADD COLUMN outdated boolean NOT NULL DEFAULT false;
-- Until now the name of the strategy told the first, and the fingerprint the others.
UPDATE plans SET
    scheme = CASE
        WHEN strategy IN ('halving', 'doubling', 'fitted') THEN 'ring'
        WHEN strategy IN ('quantile', 'min_movement') THEN 'ranges'
        ELSE 'table' END,
    source_fingerprint = split_part(fingerprint, '/replay-', 1),
    outdated = strpos(fingerprint, '/outdated-true') > 0;

-- +goose Down
ALTER TABLE plans
    DROP COLUMN outdated,
    DROP COLUMN source_fingerprint,
    DROP COLUMN scheme;

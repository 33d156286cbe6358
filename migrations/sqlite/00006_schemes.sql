-- +goose Up

-- scheme: by which keys are placed. source_fingerprint: the fingerprint of the plan
-- that the statistics came for, which is another one in a replay. outdated: the
-- statistics are of an older table than base_version.
ALTER TABLE plans ADD COLUMN scheme TEXT NOT NULL DEFAULT 'table';
ALTER TABLE plans ADD COLUMN source_fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN outdated INTEGER NOT NULL DEFAULT 0 CHECK (outdated IN (0, 1));
-- Until now the name of the strategy told the first, and the fingerprint the others.
UPDATE plans SET
    scheme = CASE
        WHEN strategy IN ('halving', 'doubling', 'fitted') THEN 'ring'
        WHEN strategy IN ('quantile', 'min_movement') THEN 'ranges'
        ELSE 'table' END,
    source_fingerprint = substr(fingerprint, 1, instr(fingerprint || '/replay-', '/replay-') - 1),
    outdated = instr(fingerprint, '/outdated-true') > 0;
-- Lists of plans read them, so the columns that may be long move behind them.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (json_valid(long_hot_keys));
ALTER TABLE plans ADD COLUMN long_reports TEXT CHECK (json_valid(long_reports));
ALTER TABLE plans ADD COLUMN long_awaited TEXT CHECK (json_valid(long_awaited));
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
ALTER TABLE plans DROP COLUMN outdated;
ALTER TABLE plans DROP COLUMN source_fingerprint;
ALTER TABLE plans DROP COLUMN scheme;

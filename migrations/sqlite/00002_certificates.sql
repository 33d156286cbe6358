-- +goose Up

-- What is proven of each plan. NULL: nothing was asked to be.
ALTER TABLE plans ADD COLUMN certificate TEXT CHECK (json_valid(certificate));
-- Lists of plans read it, so the columns that may be long move behind it: SQLite
-- reads through whatever is in front of what it wants.
ALTER TABLE plans ADD COLUMN long_instances TEXT CHECK (json_valid(long_instances));
ALTER TABLE plans ADD COLUMN long_hot_keys TEXT CHECK (json_valid(long_hot_keys));
UPDATE plans SET long_instances = instances, long_hot_keys = hot_keys;
ALTER TABLE plans DROP COLUMN instances;
ALTER TABLE plans DROP COLUMN hot_keys;
ALTER TABLE plans RENAME COLUMN long_instances TO instances;
ALTER TABLE plans RENAME COLUMN long_hot_keys TO hot_keys;

-- +goose Down
ALTER TABLE plans DROP COLUMN certificate;

-- +goose Up

-- affinity: how many keys the statistics of a plan named, and how many routed keys; NULL: keys are routed as
-- they are.
ALTER TABLE plans ADD COLUMN affinity json;

-- +goose Down

UPDATE oldest_program SET version = 22 WHERE version = 23;
ALTER TABLE plans DROP COLUMN affinity;

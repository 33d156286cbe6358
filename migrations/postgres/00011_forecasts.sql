-- +goose Up

-- theta_realised: the θ of the loads that came, where the plan is made of others, those
-- that are expected. NULL: it is theta_before. forecast: what is expected of the next
-- interval, and by which policy the plan was made.
ALTER TABLE plans
    ADD COLUMN theta_realised double precision,
    ADD COLUMN forecast json;
-- forecast: what a forecast remembers of the intervals up to the plan's.
ALTER TABLE plan_blobs
    DROP CONSTRAINT plan_blobs_kind_check,
    ADD CONSTRAINT plan_blobs_kind_check CHECK (kind IN ('migrations', 'input', 'absences', 'forecast'));

-- +goose Down
DELETE FROM plan_blobs WHERE kind = 'forecast';
ALTER TABLE plan_blobs
    DROP CONSTRAINT plan_blobs_kind_check,
    ADD CONSTRAINT plan_blobs_kind_check CHECK (kind IN ('migrations', 'input', 'absences'));
ALTER TABLE plans
    DROP COLUMN forecast,
    DROP COLUMN theta_realised;

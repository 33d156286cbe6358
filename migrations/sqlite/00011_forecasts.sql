-- +goose Up

-- theta_realised: the θ of the loads that came, where the plan is made of others, those
-- that are expected. NULL: it is theta_before. forecast: what is expected of the next
-- interval, and by which policy the plan was made.
ALTER TABLE plans ADD COLUMN theta_realised REAL;
ALTER TABLE plans ADD COLUMN forecast TEXT CHECK (forecast IS NULL OR json_valid(forecast));
-- forecast: what a forecast remembers of the intervals up to the plan's.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''input'', ''absences''', '''input'', ''absences'', ''forecast''')
    WHERE type = 'table' AND name = 'plan_blobs';
PRAGMA writable_schema = RESET;

-- +goose Down
DELETE FROM plan_blobs WHERE kind = 'forecast';
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''input'', ''absences'', ''forecast''', '''input'', ''absences''')
    WHERE type = 'table' AND name = 'plan_blobs';
PRAGMA writable_schema = RESET;
ALTER TABLE plans DROP COLUMN forecast;
ALTER TABLE plans DROP COLUMN theta_realised;

-- +goose Up

-- resources: what a plan does in each resource; NULL: cost is all that counts.
ALTER TABLE plans ADD COLUMN resources TEXT CHECK (resources IS NULL OR json_valid(resources));

-- +goose Down

-- The program before this one passes over resources: its plans are of cost alone.
UPDATE oldest_program SET version = 23 WHERE version = 24;
ALTER TABLE plans DROP COLUMN resources;

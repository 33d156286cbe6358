-- +goose Up

-- The oldest program that may serve this schema, by the version of the schema that it
-- knows. A migration under which older programs would do something wrong raises it.
CREATE TABLE oldest_program (version bigint NOT NULL);
INSERT INTO oldest_program (version) VALUES (8);

-- purged_at: when the plan was purged. NULL: by a program that did not note it.
ALTER TABLE purged_plans ADD COLUMN purged_at timestamptz;
UPDATE purged_plans SET purged_at = now();
CREATE INDEX purged_plans_at ON purged_plans (purged_at);

-- +goose Down
DROP INDEX purged_plans_at;
ALTER TABLE purged_plans DROP COLUMN purged_at;
DROP TABLE oldest_program;

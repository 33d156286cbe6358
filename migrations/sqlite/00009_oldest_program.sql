-- +goose Up

-- The oldest program that may serve this schema, by the version of the schema that it
-- knows. A migration under which older programs would do something wrong raises it.
CREATE TABLE oldest_program (version INTEGER NOT NULL) STRICT;
INSERT INTO oldest_program (version) VALUES (8);

-- purged_at: when the plan was purged. NULL: by a program that did not note it.
ALTER TABLE purged_plans ADD COLUMN purged_at INTEGER;
UPDATE purged_plans SET purged_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000;
CREATE INDEX purged_plans_at ON purged_plans (purged_at);

-- To SQLite before 3.42, NULL is no valid JSON.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
    'CHECK (json_valid(parameters))', 'CHECK (parameters IS NULL OR json_valid(parameters))'),
    'CHECK (json_valid(certificate))', 'CHECK (certificate IS NULL OR json_valid(certificate))'),
    'CHECK (json_valid(compaction))', 'CHECK (compaction IS NULL OR json_valid(compaction))'),
    'CHECK (json_valid(pending))', 'CHECK (pending IS NULL OR json_valid(pending))')
    WHERE type = 'table' AND name = 'plans';
PRAGMA writable_schema = RESET;

-- +goose Down
DROP INDEX purged_plans_at;
ALTER TABLE purged_plans DROP COLUMN purged_at;
DROP TABLE oldest_program;

-- +goose Up

-- next_instance is the least id above all that instances of the operator ever had. instance_names is an
-- object of the ids by all names that they ever had; NULL: they had none.
ALTER TABLE operators ADD COLUMN next_instance INTEGER NOT NULL DEFAULT 0 CHECK (next_instance >= 0);
ALTER TABLE operators ADD COLUMN instance_names TEXT CHECK (instance_names IS NULL OR json_valid(instance_names));
UPDATE operators SET next_instance = coalesce((
    SELECT max(json_extract(c.config, i.fullkey || '.id')) + 1 FROM configurations c, json_each(c.config, '$.instances') i
    WHERE c.operator_id = operators.id AND i.type = 'object'), 0);

-- +goose Down

-- The program before this one passes over names: it knows instances by their ids.
UPDATE oldest_program SET version = 21 WHERE version = 22;
ALTER TABLE operators DROP COLUMN instance_names;
ALTER TABLE operators DROP COLUMN next_instance;

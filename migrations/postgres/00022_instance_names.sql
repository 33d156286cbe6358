-- +goose Up

-- next_instance is the least id above all that instances of the operator ever had. instance_names is an
-- object of the ids by all names that they ever had; NULL: they had none.
ALTER TABLE operators ADD COLUMN next_instance bigint NOT NULL DEFAULT 0 CHECK (next_instance >= 0);
ALTER TABLE operators ADD COLUMN instance_names json;
UPDATE operators SET next_instance = coalesce((
    SELECT max((i.value ->> 'id')::bigint) + 1
    FROM configurations c CROSS JOIN LATERAL json_array_elements(
        CASE json_typeof(c.config -> 'instances') WHEN 'array' THEN c.config -> 'instances' ELSE '[]' END) i
    WHERE c.operator_id = operators.id), 0);

-- +goose Down

-- The program before this one passes over names: it knows instances by their ids.
UPDATE oldest_program SET version = 21 WHERE version = 22;
ALTER TABLE operators DROP COLUMN instance_names;
ALTER TABLE operators DROP COLUMN next_instance;

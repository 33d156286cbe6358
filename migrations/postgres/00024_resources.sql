-- +goose Up

-- resources: what a plan does in each resource; NULL: cost is all that counts.
ALTER TABLE plans ADD COLUMN resources json;

-- +goose Down

-- The program before this one passes over resources: its plans are of cost alone. It cannot read statistics
-- with amounts of them, whose flags follow the header of nine bytes.
UPDATE plans SET input_state = 'purged' WHERE seq IN (SELECT plan_seq FROM plan_blobs WHERE kind = 'input'
    AND substring(data FROM 1 FOR 4) = 'PLIN'::bytea AND substring(data FROM 10 FOR 1) >= '\x80'::bytea
    AND substring(data FROM 11 FOR 1) BETWEEN '\x04'::bytea AND '\x07'::bytea);
DELETE FROM plan_blobs WHERE kind = 'input' AND substring(data FROM 1 FOR 4) = 'PLIN'::bytea AND substring(data FROM 10 FOR 1) >= '\x80'::bytea
    AND substring(data FROM 11 FOR 1) BETWEEN '\x04'::bytea AND '\x07'::bytea;
DELETE FROM reports WHERE substring(data FROM 1 FOR 4) = 'PLRP'::bytea AND substring(data FROM 10 FOR 1) BETWEEN '\x08'::bytea AND '\x0f'::bytea;
UPDATE oldest_program SET version = 23 WHERE version = 24;
ALTER TABLE plans DROP COLUMN resources;

-- +goose Up

-- resources: what a plan does in each resource; NULL: cost is all that counts.
ALTER TABLE plans ADD COLUMN resources TEXT CHECK (resources IS NULL OR json_valid(resources));

-- +goose Down

-- The program before this one passes over resources: its plans are of cost alone. It cannot read statistics
-- with amounts of them, whose flags follow the header of nine bytes.
UPDATE plans SET input_state = 'purged' WHERE seq IN (SELECT plan_seq FROM plan_blobs WHERE kind = 'input'
    AND substr(data, 1, 4) = CAST('PLIN' AS BLOB) AND substr(data, 10, 1) >= x'80'
    AND substr(data, 11, 1) BETWEEN x'04' AND x'07');
DELETE FROM plan_blobs WHERE kind = 'input' AND substr(data, 1, 4) = CAST('PLIN' AS BLOB) AND substr(data, 10, 1) >= x'80'
    AND substr(data, 11, 1) BETWEEN x'04' AND x'07';
DELETE FROM reports WHERE substr(data, 1, 4) = CAST('PLRP' AS BLOB) AND substr(data, 10, 1) BETWEEN x'08' AND x'0f';
UPDATE oldest_program SET version = 23 WHERE version = 24;
ALTER TABLE plans DROP COLUMN resources;

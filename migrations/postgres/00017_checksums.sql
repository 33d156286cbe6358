-- +goose Up

-- checksum: a sum over the entries of the table of that version. NULL: a program made the
-- version that knew of none.
ALTER TABLE table_versions ADD COLUMN checksum bigint;

-- +goose Down

ALTER TABLE table_versions DROP COLUMN checksum;

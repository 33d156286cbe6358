-- +goose Up

-- returned_state: what of the state that a plan moves goes back to an instance that it left
-- within the last intervals. Of plans made before it is taken to be none.
ALTER TABLE plans ADD COLUMN returned_state REAL NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE plans DROP COLUMN returned_state;

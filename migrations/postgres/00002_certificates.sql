-- +goose Up

-- What is proven of each plan. NULL: nothing was asked to be.
ALTER TABLE plans ADD COLUMN certificate json;

-- +goose Down
ALTER TABLE plans DROP COLUMN certificate;

-- +goose Up

-- What single instances report of an interval, until the plan of the interval
-- is made of it; the last report of each instance is kept longer, as it may
-- stand in for one that is missing. id is its revision: a report that replaces
-- another one has another id.
CREATE TABLE reports (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator_id   bigint NOT NULL REFERENCES operators (id),
    epoch         bigint NOT NULL,
    interval      bigint NOT NULL,
    instance      integer NOT NULL CHECK (instance >= 0),
    table_version bigint NOT NULL CHECK (table_version >= 0),
    row_count     bigint NOT NULL CHECK (row_count >= 0),
    at            timestamptz NOT NULL,
    data          bytea NOT NULL,
    UNIQUE (operator_id, instance, epoch, interval)
);
-- They are compressed already.
ALTER TABLE reports ALTER COLUMN data SET STORAGE EXTERNAL;

-- reports: which of them a plan was made of. NULL: of none.
ALTER TABLE plans ADD COLUMN reports json;

-- +goose Down
ALTER TABLE plans DROP COLUMN reports;
DROP TABLE reports;

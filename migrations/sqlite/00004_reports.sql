-- +goose Up

-- What single instances report of an interval, until the plan of the interval
-- is made of it; the last report of each instance is kept longer, as it may
-- stand in for one that is missing. id is its revision: a report that replaces
-- another one has another id. data is last, as it is long.
CREATE TABLE reports (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    operator_id   INTEGER NOT NULL REFERENCES operators (id),
    epoch         INTEGER NOT NULL,
    interval      INTEGER NOT NULL,
    instance      INTEGER NOT NULL CHECK (instance >= 0),
    table_version INTEGER NOT NULL CHECK (table_version >= 0),
    row_count     INTEGER NOT NULL CHECK (row_count >= 0),
    at            INTEGER NOT NULL,
    data          BLOB NOT NULL,
    UNIQUE (operator_id, instance, epoch, interval)
) STRICT;

-- reports: which of them a plan was made of. NULL: of none. It is last, as it
-- may be long and lists of plans do not read it.
ALTER TABLE plans ADD COLUMN reports TEXT CHECK (json_valid(reports));

-- +goose Down
ALTER TABLE plans DROP COLUMN reports;
DROP TABLE reports;

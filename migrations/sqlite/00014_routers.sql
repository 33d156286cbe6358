-- +goose Up

-- The routers of an engine that end the messages of a pending plan by markers. epoch is
-- raised whenever a router is registered, so that it tells one that was taken for lost
-- from its successor.
CREATE TABLE routers (
    operator_id   INTEGER NOT NULL REFERENCES operators (id),
    name          TEXT NOT NULL,
    epoch         INTEGER NOT NULL CHECK (epoch > 0),
    registered_at INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    PRIMARY KEY (operator_id, name)
) STRICT;
-- router_epoch: the newest epoch of any router that the operator has had. None is given
-- twice, whatever is deleted in between.
ALTER TABLE operators ADD COLUMN router_epoch INTEGER NOT NULL DEFAULT 0;
-- routers: the routers that there were when the plan was started, with their epochs. NULL:
-- there were none. It is last, as it may be long and lists of plans do not read it.
ALTER TABLE plans ADD COLUMN routers TEXT CHECK (routers IS NULL OR json_valid(routers));

-- +goose Down

ALTER TABLE plans DROP COLUMN routers;
ALTER TABLE operators DROP COLUMN router_epoch;
DROP TABLE routers;
-- Split keys need a program that knows version 13.
UPDATE oldest_program SET version = CASE WHEN EXISTS (SELECT 1 FROM diffs d WHERE substr(d.data, 1, 1) = x'02')
    OR EXISTS (SELECT 1 FROM table_entries WHERE parts IS NOT NULL) THEN 13 ELSE 8 END WHERE version = 14;

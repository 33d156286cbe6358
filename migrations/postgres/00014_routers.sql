-- +goose Up

-- The routers of an engine that end the messages of a pending plan by markers. epoch is
-- raised whenever a router is registered, so that it tells one that was taken for lost
-- from its successor.
CREATE TABLE routers (
    operator_id   bigint NOT NULL REFERENCES operators (id),
    name          text COLLATE "C" NOT NULL,
    epoch         bigint NOT NULL CHECK (epoch > 0),
    registered_at timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (operator_id, name)
);
-- router_epoch: the newest epoch of any router that the operator has had. None is given
-- twice, whatever is deleted in between.
ALTER TABLE operators ADD COLUMN router_epoch bigint NOT NULL DEFAULT 0;
-- routers: the routers that there were when the plan was started, with their epochs. NULL:
-- there were none.
ALTER TABLE plans ADD COLUMN routers json;

-- +goose Down

ALTER TABLE plans DROP COLUMN routers;
ALTER TABLE operators DROP COLUMN router_epoch;
DROP TABLE routers;
-- Split keys need a program that knows version 13.
UPDATE oldest_program SET version = CASE WHEN EXISTS (SELECT 1 FROM diffs d WHERE get_byte(d.data, 0) = 2)
    OR EXISTS (SELECT 1 FROM table_entries WHERE parts IS NOT NULL) THEN 13 ELSE 8 END WHERE version = 14;

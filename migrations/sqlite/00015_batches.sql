-- +goose Up

-- batch_count: in how many batches the plan is handed over; 0: at once. batches_done: how
-- many have been. stopping: it ends after the batch that is being handed over.
ALTER TABLE plans ADD COLUMN batch_count INTEGER NOT NULL DEFAULT 0 CHECK (batch_count >= 0);
ALTER TABLE plans ADD COLUMN batches_done INTEGER NOT NULL DEFAULT 0 CHECK (batches_done >= 0);
ALTER TABLE plans ADD COLUMN stopping INTEGER NOT NULL DEFAULT 0;
-- The batches of a plan, from 1. seconds: how long the busiest instance transfers state. version: the table version that it became. changes are those
-- of table entries, held the keys besides that are held back while it is handed over.
CREATE TABLE plan_batches (
    plan_seq    INTEGER NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    n           INTEGER NOT NULL CHECK (n > 0),
    key_count   INTEGER NOT NULL,
    state       REAL NOT NULL,
    busiest     REAL NOT NULL,
    seconds     REAL,
    theta_after REAL NOT NULL,
    table_after INTEGER NOT NULL,
    version     INTEGER,
    awaited     TEXT CHECK (awaited IS NULL OR json_valid(awaited)),
    held        BLOB NOT NULL,
    changes     BLOB NOT NULL,
    PRIMARY KEY (plan_seq, n)
) STRICT;

-- +goose Down

-- What is under way in batches cannot be carried out by a program that does not know them.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold batches', CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    FROM plans p WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND p.batch_count > 0;
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting') AND batch_count > 0;
DROP TABLE plan_batches;
ALTER TABLE plans DROP COLUMN batch_count;
ALTER TABLE plans DROP COLUMN batches_done;
ALTER TABLE plans DROP COLUMN stopping;
-- Reports in compact form and sketches are nothing but damaged reports to older programs.
DELETE FROM reports WHERE substr(data, 1, 4) IN (CAST('PLCS' AS BLOB), CAST('PLSK' AS BLOB));
-- Routers need a program that knows version 14, split keys one that knows 13.
UPDATE oldest_program SET version = CASE WHEN EXISTS (SELECT 1 FROM operators WHERE router_epoch > 0) THEN 14
    WHEN EXISTS (SELECT 1 FROM diffs d WHERE substr(d.data, 1, 1) = x'02')
        OR EXISTS (SELECT 1 FROM table_entries WHERE parts IS NOT NULL) THEN 13 ELSE 8 END WHERE version = 15;

-- +goose Up

-- batch_count: in how many batches the plan is handed over; 0: at once. batches_done: how
-- many have been. stopping: it ends after the batch that is being handed over.
ALTER TABLE plans
    ADD COLUMN batch_count bigint NOT NULL DEFAULT 0 CHECK (batch_count >= 0),
    ADD COLUMN batches_done bigint NOT NULL DEFAULT 0 CHECK (batches_done >= 0),
    ADD COLUMN stopping boolean NOT NULL DEFAULT false;
-- The batches of a plan, from 1. seconds: how long the busiest instance transfers state. version: the table version that it became. changes are those
-- of table entries, held the keys besides that are held back while it is handed over.
CREATE TABLE plan_batches (
    plan_seq    bigint NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    n           bigint NOT NULL CHECK (n > 0),
    key_count   bigint NOT NULL,
    state       double precision NOT NULL,
    busiest     double precision NOT NULL,
    seconds     double precision,
    theta_after double precision NOT NULL,
    table_after bigint NOT NULL,
    version     bigint,
    awaited     json,
    held        bytea NOT NULL,
    changes     bytea NOT NULL,
    PRIMARY KEY (plan_seq, n)
);

-- +goose Down

-- What is under way in batches cannot be carried out by a program that does not know them.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema cannot hold batches', now()
    FROM plans p WHERE p.status IN ('proposed', 'approved', 'applying', 'aborting') AND p.batch_count > 0;
UPDATE plans SET status = 'aborted' WHERE status IN ('proposed', 'approved', 'applying', 'aborting') AND batch_count > 0;
DROP TABLE plan_batches;
ALTER TABLE plans DROP COLUMN batch_count, DROP COLUMN batches_done, DROP COLUMN stopping;
-- Reports in compact form and sketches are nothing but damaged reports to older programs.
DELETE FROM reports WHERE substring(data FROM 1 FOR 4) IN ('PLCS'::bytea, 'PLSK'::bytea);
-- Routers need a program that knows version 14, split keys one that knows 13.
UPDATE oldest_program SET version = CASE WHEN EXISTS (SELECT 1 FROM operators WHERE router_epoch > 0) THEN 14
    WHEN EXISTS (SELECT 1 FROM diffs d WHERE get_byte(d.data, 0) = 2)
        OR EXISTS (SELECT 1 FROM table_entries WHERE parts IS NOT NULL) THEN 13 ELSE 8 END WHERE version = 15;

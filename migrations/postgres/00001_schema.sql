-- +goose Up

-- One row for each operator name that ever was. Deleting an operator sets
-- deleted_at, removes its history and keeps the row, so that configuration and
-- table versions go on counting if the name comes back. Every transaction that
-- changes anything of an operator first locks this row.
CREATE TABLE operators (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                 text COLLATE "C" NOT NULL UNIQUE,
    config_version       bigint NOT NULL CHECK (config_version >= 0),
    table_version        bigint NOT NULL CHECK (table_version >= -1),
    table_config_version bigint NOT NULL CHECK (table_config_version <= config_version),
    table_size           bigint NOT NULL CHECK (table_size >= 0),
    newest_epoch         bigint,
    newest_interval      bigint,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    deleted_at           timestamptz,
    CHECK ((newest_epoch IS NULL) = (newest_interval IS NULL)),
    CHECK (deleted_at IS NOT NULL OR (config_version >= 1 AND table_version >= 0))
);

-- The type is json, not jsonb: configurations are compared and returned byte
-- for byte.
CREATE TABLE configurations (
    operator_id bigint NOT NULL REFERENCES operators (id),
    version     bigint NOT NULL CHECK (version >= 1),
    config      json NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (operator_id, version)
);

-- Reversible table changes (key, old, new), compressed. A plan and the table
-- version that it became share one; it goes when both have gone.
CREATE TABLE diffs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator_id bigint NOT NULL REFERENCES operators (id),
    data        bytea NOT NULL
);
CREATE INDEX diffs_operator ON diffs (operator_id);

CREATE TABLE plans (
    seq                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id                 text COLLATE "C" NOT NULL UNIQUE,
    operator_id        bigint NOT NULL REFERENCES operators (id),
    epoch              bigint NOT NULL,
    interval           bigint NOT NULL,
    status             text NOT NULL CHECK (status IN ('no_action', 'approved', 'committed', 'aborted', 'superseded')),
    strategy           text NOT NULL,
    parameters         json,
    base_version       bigint NOT NULL CHECK (base_version >= 0),
    version            bigint CHECK (version > base_version),
    config_version     bigint NOT NULL,
    fingerprint        text NOT NULL,
    created_at         timestamptz NOT NULL,
    diff_id            bigint REFERENCES diffs (id),
    input_state        text NOT NULL CHECK (input_state IN ('none', 'kept', 'purged')),
    end_reason         text NOT NULL,
    causes             json NOT NULL,
    balanced           boolean NOT NULL,
    table_within_limit boolean NOT NULL,
    theta_before       double precision NOT NULL,
    theta_after        double precision NOT NULL,
    underload_before   double precision NOT NULL,
    underload_after    double precision NOT NULL,
    skewness_before    double precision NOT NULL,
    skewness_after     double precision NOT NULL,
    table_before       bigint NOT NULL,
    table_after        bigint NOT NULL,
    migration_keys     bigint NOT NULL,
    migration_state    double precision NOT NULL,
    migration_fraction double precision NOT NULL,
    objective          double precision NOT NULL,
    drifted_keys       bigint NOT NULL,
    input_hash         text NOT NULL,
    planner_revision   text NOT NULL,
    work_units         bigint NOT NULL,
    decode_ms          double precision NOT NULL,
    plan_ms            double precision NOT NULL,
    -- Last, as they may be long: what lists of plans read is in front of them.
    instances          json,
    hot_keys           json,
    FOREIGN KEY (operator_id, config_version) REFERENCES configurations (operator_id, version),
    CHECK ((status = 'committed') = (version IS NOT NULL))
);
-- An interval has one plan that counts.
CREATE UNIQUE INDEX plans_live_interval ON plans (operator_id, epoch, interval)
    WHERE status NOT IN ('aborted', 'superseded');
CREATE UNIQUE INDEX plans_version ON plans (operator_id, version) WHERE version IS NOT NULL;
CREATE INDEX plans_newest ON plans (operator_id, seq);
CREATE INDEX plans_by_status ON plans (operator_id, status, seq);
CREATE INDEX plans_by_interval ON plans (operator_id, interval, seq);
CREATE INDEX plans_with_input ON plans (operator_id, seq) WHERE input_state = 'kept';
CREATE INDEX plans_diff ON plans (diff_id) WHERE diff_id IS NOT NULL;

CREATE TABLE transitions (
    plan_seq    bigint NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    n           integer NOT NULL CHECK (n >= 1),
    from_status text NOT NULL,
    to_status   text NOT NULL,
    actor       text NOT NULL,
    reason      text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (plan_seq, n)
);

-- The long parts of a plan that only its callers understand.
CREATE TABLE plan_blobs (
    plan_seq bigint NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    kind     text NOT NULL CHECK (kind IN ('migrations', 'input')),
    data     bytea NOT NULL,
    PRIMARY KEY (plan_seq, kind)
);

-- Plans that retention or their operator's deletion removed.
CREATE TABLE purged_plans (
    id text COLLATE "C" NOT NULL PRIMARY KEY
);

-- plan_id names the plan, which may have been purged. The first version of an
-- operator has neither plan nor diff.
CREATE TABLE table_versions (
    operator_id    bigint NOT NULL REFERENCES operators (id),
    version        bigint NOT NULL CHECK (version >= 0),
    config_version bigint NOT NULL,
    plan_id        text COLLATE "C",
    diff_id        bigint REFERENCES diffs (id),
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (operator_id, version),
    FOREIGN KEY (operator_id, config_version) REFERENCES configurations (operator_id, version)
);
CREATE INDEX table_versions_diff ON table_versions (diff_id) WHERE diff_id IS NOT NULL;

-- The committed tables. There is no foreign key to operators, whose rows never
-- go: checking it takes more than twice the time of writing the entries.
CREATE TABLE table_entries (
    operator_id bigint NOT NULL,
    key         bytea NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 1024),
    instance    integer NOT NULL CHECK (instance >= 0),
    PRIMARY KEY (operator_id, key)
);

-- +goose Down
DROP TABLE table_entries;
DROP TABLE table_versions;
DROP TABLE purged_plans;
DROP TABLE plan_blobs;
DROP TABLE transitions;
DROP TABLE plans;
DROP TABLE diffs;
DROP TABLE configurations;
DROP TABLE operators;

-- +goose Up

-- Times are microseconds since 1970-01-01 UTC. Text compares as bytes (BINARY).

-- One row for each operator name that ever was. Deleting an operator sets
-- deleted_at, removes its history and keeps the row, so that configuration and
-- table versions go on counting if the name comes back. Every transaction that
-- changes anything of an operator first reads this row under the write lock.
CREATE TABLE operators (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    name                 TEXT NOT NULL UNIQUE,
    config_version       INTEGER NOT NULL CHECK (config_version >= 0),
    table_version        INTEGER NOT NULL CHECK (table_version >= -1),
    table_config_version INTEGER NOT NULL CHECK (table_config_version <= config_version),
    table_size           INTEGER NOT NULL CHECK (table_size >= 0),
    newest_epoch         INTEGER,
    newest_interval      INTEGER,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    deleted_at           INTEGER,
    CHECK ((newest_epoch IS NULL) = (newest_interval IS NULL)),
    CHECK (deleted_at IS NOT NULL OR (config_version >= 1 AND table_version >= 0))
) STRICT;

-- Configurations are compared and returned byte for byte.
CREATE TABLE configurations (
    operator_id INTEGER NOT NULL REFERENCES operators (id),
    version     INTEGER NOT NULL CHECK (version >= 1),
    config      TEXT NOT NULL CHECK (json_valid(config)),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (operator_id, version)
) STRICT;

-- Reversible table changes (key, old, new), compressed. A plan and the table
-- version that it became share one; it goes when both have gone.
CREATE TABLE diffs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    operator_id INTEGER NOT NULL REFERENCES operators (id),
    data        BLOB NOT NULL
) STRICT;
CREATE INDEX diffs_operator ON diffs (operator_id);

CREATE TABLE plans (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT,
    id                 TEXT NOT NULL UNIQUE,
    operator_id        INTEGER NOT NULL REFERENCES operators (id),
    epoch              INTEGER NOT NULL,
    interval           INTEGER NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('no_action', 'approved', 'committed', 'aborted', 'superseded')),
    strategy           TEXT NOT NULL,
    parameters         TEXT CHECK (json_valid(parameters)),
    base_version       INTEGER NOT NULL CHECK (base_version >= 0),
    version            INTEGER CHECK (version > base_version),
    config_version     INTEGER NOT NULL,
    fingerprint        TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    diff_id            INTEGER REFERENCES diffs (id),
    input_state        TEXT NOT NULL CHECK (input_state IN ('none', 'kept', 'purged')),
    end_reason         TEXT NOT NULL,
    causes             TEXT NOT NULL CHECK (json_valid(causes)),
    balanced           INTEGER NOT NULL CHECK (balanced IN (0, 1)),
    table_within_limit INTEGER NOT NULL CHECK (table_within_limit IN (0, 1)),
    theta_before       REAL NOT NULL,
    theta_after        REAL NOT NULL,
    underload_before   REAL NOT NULL,
    underload_after    REAL NOT NULL,
    skewness_before    REAL NOT NULL,
    skewness_after     REAL NOT NULL,
    table_before       INTEGER NOT NULL,
    table_after        INTEGER NOT NULL,
    migration_keys     INTEGER NOT NULL,
    migration_state    REAL NOT NULL,
    migration_fraction REAL NOT NULL,
    objective          REAL NOT NULL,
    drifted_keys       INTEGER NOT NULL,
    input_hash         TEXT NOT NULL,
    planner_revision   TEXT NOT NULL,
    work_units         INTEGER NOT NULL,
    decode_ms          REAL NOT NULL,
    plan_ms            REAL NOT NULL,
    -- Last, as they may be long: what lists of plans read is in front of them.
    instances          TEXT CHECK (json_valid(instances)),
    hot_keys           TEXT CHECK (json_valid(hot_keys)),
    FOREIGN KEY (operator_id, config_version) REFERENCES configurations (operator_id, version),
    CHECK ((status = 'committed') = (version IS NOT NULL))
) STRICT;
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
    plan_seq    INTEGER NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    n           INTEGER NOT NULL CHECK (n >= 1),
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (plan_seq, n)
) STRICT, WITHOUT ROWID;

-- The long parts of a plan that only its callers understand.
CREATE TABLE plan_blobs (
    plan_seq INTEGER NOT NULL REFERENCES plans (seq) ON DELETE CASCADE,
    kind     TEXT NOT NULL CHECK (kind IN ('migrations', 'input')),
    data     BLOB NOT NULL,
    PRIMARY KEY (plan_seq, kind)
) STRICT;

-- Plans that retention or their operator's deletion removed.
CREATE TABLE purged_plans (
    id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- plan_id names the plan, which may have been purged. The first version of an
-- operator has neither plan nor diff.
CREATE TABLE table_versions (
    operator_id    INTEGER NOT NULL REFERENCES operators (id),
    version        INTEGER NOT NULL CHECK (version >= 0),
    config_version INTEGER NOT NULL,
    plan_id        TEXT,
    diff_id        INTEGER REFERENCES diffs (id),
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (operator_id, version),
    FOREIGN KEY (operator_id, config_version) REFERENCES configurations (operator_id, version)
) STRICT;
CREATE INDEX table_versions_diff ON table_versions (diff_id) WHERE diff_id IS NOT NULL;

-- The committed tables.
CREATE TABLE table_entries (
    operator_id INTEGER NOT NULL REFERENCES operators (id),
    key         BLOB NOT NULL CHECK (length(key) BETWEEN 1 AND 1024),
    instance    INTEGER NOT NULL CHECK (instance >= 0),
    PRIMARY KEY (operator_id, key)
) STRICT, WITHOUT ROWID;

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

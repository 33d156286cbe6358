-- +goose Up

-- actor: who configured.
ALTER TABLE configurations ADD COLUMN actor text NOT NULL DEFAULT '';
-- kind: 'comment' and 'approval', by one of several people, leave the status as it is; '' is any other step.
ALTER TABLE transitions ADD COLUMN kind text NOT NULL DEFAULT '';
CREATE INDEX transitions_at ON transitions (at);
-- approvers: how many different people have to approve the plan; approved_by: those who have.
ALTER TABLE plans
    ADD COLUMN approvers bigint NOT NULL DEFAULT 1,
    ADD COLUMN approved_by json NOT NULL DEFAULT '[]';

-- What happened to freezes: data has who began or ended one, of an operator, or of all for the name ''.
CREATE TABLE freeze_events (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL,
    data     json NOT NULL
);
CREATE INDEX freeze_events_of ON freeze_events (operator, at);

DROP TRIGGER transitions_announced ON transitions;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION announce_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_events (receiver, id, type, operator, plan, at, data)
    SELECT r.name, p.id || '-' || NEW.n, 'plannerd.plan.' || coalesce(nullif(NEW.kind, ''), NEW.to_status), o.name, p.id, NEW.at,
        json_build_object(
        'epoch', p.epoch, 'interval', p.interval, 'base_version', p.base_version,
        'from', NEW.from_status, 'actor', NEW.actor, 'reason', NEW.reason,
        'expires_at', to_char(p.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'waits_for', p.waits_for, 'theta_before', p.theta_before, 'theta_after', p.theta_after,
        'migration_keys', p.migration_keys, 'migration_state', p.migration_state,
        'migration_fraction', p.migration_fraction)::text
    FROM plans p JOIN operators o ON o.id = p.operator_id CROSS JOIN webhook_receivers r WHERE p.seq = NEW.plan_seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER transitions_announced AFTER INSERT ON transitions FOR EACH ROW
    WHEN (NEW.kind <> '' OR NEW.from_status <> NEW.to_status AND NEW.to_status <> 'no_action')
    EXECUTE FUNCTION announce_transition();

-- +goose Down

-- The schema before this one would have one person approve what two have to.
INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
    SELECT p.seq, (SELECT coalesce(max(n), 0) + 1 FROM transitions WHERE plan_seq = p.seq), p.status, 'aborted',
        'migration', 'this version of the schema knows no second approver', now()
    FROM plans p WHERE p.status = 'proposed' AND p.approvers > 1;
UPDATE plans SET status = 'aborted' WHERE status = 'proposed' AND approvers > 1;
DROP TRIGGER transitions_announced ON transitions;
DELETE FROM transitions WHERE kind <> '';
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION announce_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_events (receiver, id, type, operator, plan, at, data)
    SELECT r.name, p.id || '-' || NEW.n, 'plannerd.plan.' || NEW.to_status, o.name, p.id, NEW.at, json_build_object(
        'epoch', p.epoch, 'interval', p.interval, 'base_version', p.base_version,
        'from', NEW.from_status, 'actor', NEW.actor, 'reason', NEW.reason,
        'expires_at', to_char(p.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'waits_for', p.waits_for, 'theta_before', p.theta_before, 'theta_after', p.theta_after,
        'migration_keys', p.migration_keys, 'migration_state', p.migration_state,
        'migration_fraction', p.migration_fraction)::text
    FROM plans p JOIN operators o ON o.id = p.operator_id CROSS JOIN webhook_receivers r WHERE p.seq = NEW.plan_seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER transitions_announced AFTER INSERT ON transitions FOR EACH ROW
    WHEN (NEW.from_status <> NEW.to_status AND NEW.to_status <> 'no_action') EXECUTE FUNCTION announce_transition();
DROP TABLE freeze_events;
ALTER TABLE plans DROP COLUMN approved_by, DROP COLUMN approvers;
DROP INDEX transitions_at;
ALTER TABLE transitions DROP COLUMN kind;
ALTER TABLE configurations DROP COLUMN actor;
UPDATE oldest_program SET version = 16 WHERE version = 21;

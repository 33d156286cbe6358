-- +goose Up

-- What is approved expires, too, if nobody starts it. Of plans that were approved before
-- that nobody was told so: they do not.
UPDATE plans SET expires_at = NULL WHERE status = 'approved';
DROP INDEX plans_expiring;
CREATE INDEX plans_expiring ON plans (expires_at) WHERE status IN ('proposed', 'approved');

-- +goose Down
DROP INDEX plans_expiring;
CREATE INDEX plans_expiring ON plans (expires_at) WHERE status = 'proposed';

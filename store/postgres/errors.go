package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"plannerd/store"
)

// The SQLSTATE codes that are treated on their own.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	undefinedTable       = "42P01"
	diskFull             = "53100"
	dataCorrupted        = "XX001"
	indexCorrupted       = "XX002"
)

// unavailableStates are those that say that nothing is wrong with the request:
// the database is not there, not migrated or not able to take it now. TestStates has all
// codes of the classes that they are of.
var unavailableStates = map[string]bool{
	serializationFailure: true, // after the last attempt
	deadlockDetected:     true,
	"40003":              true, // nobody knows whether the statement was completed
	undefinedTable:       true,
	"42703":              true, // undefined column: not migrated far enough
	"3D000":              true, // no such database
	"3F000":              true, // no such schema
	"25006":              true, // read only: a standby, or one that became one
	"25P03":              true, // the transaction was idle for too long: this process was paused
	"25P04":              true, // the transaction took too long
	"55000":              true, // not in that state: a standby, a slot or a server that recovers
	"55006":              true, // in use by another
	"55P03":              true, // lock not available within lock_timeout
}

// unavailableClasses are the first two characters of codes: connection exception, invalid
// authorization, insufficient resources, operator intervention, system error, and what the
// server says of itself, such as damaged data.
var unavailableClasses = map[string]bool{"08": true, "28": true, "53": true, "57": true, "58": true, "XX": true}

// explain turns the driver's errors into the store's: the server's by their
// code, never by their text.
func explain(ctx context.Context, err error) error {
	var server *pgconn.PgError
	var column pgx.ScanArgError // a value of another type
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		// pgx closes the connection under a statement whose context ends, which
		// can look like any failure.
		if errors.Is(err, ctx.Err()) {
			return err
		}
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case hasCode(err, diskFull):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case errors.As(err, &column), hasCode(err, dataCorrupted), hasCode(err, indexCorrupted):
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	case errors.As(err, &server):
		if unavailableStates[server.Code] || unavailableClasses[class(server.Code)] {
			return unavailable(err)
		}
	case isConnectionFailure(err):
		return unavailable(err)
	}
	return err
}

func isConnectionFailure(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err)
}

// retryable tells whether the server gave a transaction up so that another one
// could go on.
func retryable(err error) bool {
	return hasCode(err, serializationFailure) || hasCode(err, deadlockDetected)
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}

func class(code string) string { return code[:min(2, len(code))] }

func unavailable(err error) error { return fmt.Errorf("%w: %w", store.ErrUnavailable, err) }

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// channel is what transactions notify with the name of an operator.
const channel = "plannerd_tables"

// maxPayload is less than what Postgres takes in a notification, 8000 bytes.
const maxPayload = 4000

// Watch implements [engine.Database]. It takes a connection of its own, outside
// the pool; a connection pooler between must keep sessions together.
func (d *database) Watch(ctx context.Context) (<-chan store.Event, error) {
	if d.watching.Err() != nil {
		return nil, fmt.Errorf("%w: it is closed", store.ErrUnavailable)
	}
	conn, err := d.listen(ctx)
	if err != nil {
		return nil, explain(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.watching, cancel)
	box, events := engine.NewMailbox(), make(chan store.Event)
	d.watchers.Go(func() { box.Deliver(ctx, events) })
	d.watchers.Go(func() {
		defer stop()
		defer cancel()
		d.follow(ctx, conn, box)
	})
	return events, nil
}

// listen opens a connection that is notified.
func (d *database) listen(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		hangUp(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// follow puts what a connection is notified of into a mailbox until ctx ends. When
// the connection is lost it opens another one; what happened between the two may
// be anything.
func (d *database) follow(ctx context.Context, conn *pgx.Conn, box *engine.Mailbox) {
	for {
		n, err := d.notification(ctx, conn)
		if err == nil {
			if n != nil {
				box.Put(n.Payload)
			}
			continue
		}
		hangUp(ctx, conn)
		if conn = d.listenAgain(ctx); conn == nil {
			return
		}
		box.Put("")
	}
}

// notification waits for the next notification; nil: there was none for a while, but the
// connection lives. The network does not tell of packets that it swallows, so a connection
// that is silent has to be asked.
func (d *database) notification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	silence, cancel := context.WithTimeout(ctx, d.heartbeat)
	defer cancel()
	n, err := conn.WaitForNotification(silence)
	if err == nil || ctx.Err() != nil || silence.Err() == nil {
		return n, err
	}
	answer, cancel := context.WithTimeout(ctx, d.heartbeat)
	defer cancel()
	return nil, conn.Ping(answer)
}

// listenAgain is listen until it succeeds. It returns nil when ctx ended.
func (d *database) listenAgain(ctx context.Context) *pgx.Conn {
	for attempt := 1; pause(ctx, attempt); attempt = min(attempt+1, maxAttempts) {
		if conn, err := d.listen(ctx); err == nil {
			return conn
		}
	}
	return nil
}

// hangUp closes a connection; that it may be lost already does not matter.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	_ = conn.Close(context.WithoutCancel(ctx))
}

func (s session) Tell(ctx context.Context, operator string) error {
	if len(operator) > maxPayload {
		operator = ""
	}
	_, err := s.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, operator)
	return err
}

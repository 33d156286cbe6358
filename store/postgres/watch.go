package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// channel is what transactions notify with the name of an operator.
const channel = "plannerd_tables"

// maxPayload is less than what Postgres takes in a notification, 8000 bytes.
const maxPayload = 4000

// pollEvery is how often is looked what others have committed where the server does not tell,
// because a connection pooler does not keep sessions together.
const pollEvery = time.Second

// listener is a connection that is notified.
type listener struct {
	*pgx.Conn
	alive string // a channel that is notified of nothing but that it is heard
	heard bool   // it was, and not too long ago
}

// Watch implements [engine.Database]. It takes a connection of its own, outside
// the pool.
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
func (d *database) listen(ctx context.Context) (*listener, error) {
	ctx, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.listening)
	if err != nil {
		return nil, err
	}
	l := &listener{Conn: conn, alive: "plannerd_alive_" + strings.ToLower(rand.Text())}
	if _, err := conn.Exec(ctx, "LISTEN "+channel+"; LISTEN "+l.alive); err != nil {
		hangUp(ctx, conn)
		return nil, err
	}
	return l, nil
}

// follow puts what a connection is notified of into a mailbox until ctx ends. When
// the connection is lost it opens another one; what happened between the two may
// be anything.
func (d *database) follow(ctx context.Context, conn *listener, box *engine.Mailbox) {
	for {
		n, err := d.notification(ctx, conn)
		if err == nil {
			if n.Channel == channel {
				box.Put(n.Payload)
			}
			continue
		}
		hangUp(ctx, conn.Conn)
		if conn = d.listenAgain(ctx); conn == nil {
			return
		}
		box.Put("")
	}
}

// notification waits for the next notification. A connection that is silent is tried by a
// notification from another one: the network does not tell of packets that it swallows, nor a
// connection pooler of sessions that it gave to others. If the connection lives but does not hear,
// anything may have happened, which the notification that is returned then says.
func (d *database) notification(ctx context.Context, l *listener) (*pgconn.Notification, error) {
	patience := pollEvery
	if l.heard {
		patience = d.heartbeat
		if n, err := l.wait(ctx, patience); n != nil || err != nil {
			return n, err
		}
	}
	tried := d.connected(ctx, func(conn *pgxpool.Conn) error {
		_, err := session{conn, d.heartbeat}.Exec(ctx, "NOTIFY "+l.alive)
		return err
	})
	if n, err := l.wait(ctx, patience); n != nil || err != nil {
		l.heard = err == nil
		return n, err
	}
	l.heard = l.heard && tried != nil // else nobody knows
	answer, cancel := context.WithTimeout(ctx, d.heartbeat)
	defer cancel()
	return &pgconn.Notification{Channel: channel}, l.Ping(answer)
}

// wait returns the next notification; nil: there was none for so long.
func (l *listener) wait(ctx context.Context, patience time.Duration) (*pgconn.Notification, error) {
	silence, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err := l.WaitForNotification(silence)
	if err != nil && ctx.Err() == nil && silence.Err() != nil {
		return nil, nil
	}
	return n, err
}

// listenAgain is listen until it succeeds. It returns nil when ctx ended.
func (d *database) listenAgain(ctx context.Context) *listener {
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

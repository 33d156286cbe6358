package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// mostPrepared is how many statements are kept at most: the text of some depends on how many
// values they have.
const mostPrepared = 256

// prepared are the statements that connections have parsed before: parsing takes longer
// than most of them take to run.
type prepared struct {
	db  *sql.DB
	mu  sync.Mutex
	all map[string]*sql.Stmt // by their texts
}

func newPrepared(db *sql.DB) *prepared { return &prepared{db: db, all: map[string]*sql.Stmt{}} }

func (p *prepared) find(text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[text]
}

// lacks reports whether a statement is to be prepared.
func (p *prepared) lacks(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[text] == nil && len(p.all) < mostPrepared
}

// add prepares statements for the next time. It needs a connection, so that it comes after
// a transaction, and others that have one must not wait for it. Whatever hinders it,
// statements run as they are.
func (p *prepared) add(ctx context.Context, texts []string) {
	for _, text := range texts {
		if !p.lacks(text) {
			continue
		}
		statement, err := p.db.PrepareContext(ctx, text)
		if err != nil {
			return
		}
		p.keep(text, statement)
	}
}

func (p *prepared) keep(text string, statement *sql.Stmt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[text] != nil { // another was faster
		_ = statement.Close()
		return
	}
	p.all[text] = statement
}

// runner runs statements in a transaction, or outside of any, as they were prepared.
type runner struct {
	known *prepared
	tx    *sql.Tx  // nil: none
	fresh []string // texts of statements that were not
}

// queryer is what [sql.DB] and [sql.Tx] have in common.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// direct is what runs statements that are not prepared.
func (r *runner) direct() queryer {
	if r.tx != nil {
		return r.tx
	}
	return r.known.db
}

// find returns the statement of a text; nil: it is not prepared.
func (r *runner) find(ctx context.Context, text string) *sql.Stmt {
	statement := r.known.find(text)
	switch {
	case statement == nil:
		r.fresh = append(r.fresh, text)
	case r.tx != nil:
		return r.tx.StmtContext(ctx, statement)
	}
	return statement
}

func (r *runner) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if statement := r.find(ctx, text); statement != nil { //nolint:sqlclosecheck // it is kept
		return statement.ExecContext(ctx, args...)
	}
	return r.direct().ExecContext(ctx, text, args...)
}

func (r *runner) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if statement := r.find(ctx, text); statement != nil { //nolint:sqlclosecheck // it is kept
		return statement.QueryContext(ctx, args...)
	}
	return r.direct().QueryContext(ctx, text, args...)
}

func (r *runner) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	if statement := r.find(ctx, text); statement != nil { //nolint:sqlclosecheck // it is kept
		return statement.QueryRowContext(ctx, args...)
	}
	return r.direct().QueryRowContext(ctx, text, args...)
}

// prepare returns a statement of the transaction, to be closed after its last use.
func (r *runner) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if statement := r.find(ctx, text); statement != nil {
		return statement, nil
	}
	return r.tx.PrepareContext(ctx, text)
}

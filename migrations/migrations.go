// Package migrations holds the schema of plannerd's database as numbered SQL,
// up and down, in one folder per dialect. Both folders have the same numbers.
//
// A migration must leave the schema usable by the build before it: while
// several replicas are being replaced, old and new ones share one database. One under
// which programs before some version would do wrong says so in the table
// oldest_program: they refuse to serve then.
package migrations

import (
	"embed"
	"io/fs"
)

// Latest is the number of the newest migration.
const Latest int64 = 24

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Postgres returns the migrations for PostgreSQL.
func Postgres() fs.FS { return folder("postgres") }

// SQLite returns the migrations for SQLite.
func SQLite() fs.FS { return folder("sqlite") }

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // the name is not a valid path: impossible for the two above
	}
	return sub
}

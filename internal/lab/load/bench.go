package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/lab/measure"
	"plannerd/internal/lab/pgserver"
	"plannerd/internal/lab/process"
)

// The kinds of store.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

var stores = []string{onSQLite, onPostgres}

// bench is what all experiments need: the program, stores for it, the yardstick.
type bench struct {
	out, log io.Writer

	databaseURL string // of a server to use; empty: one is started
	volatile    bool
	program     string // empty: it is built
	arguments   words  // more of plannerd serve
	tempDir     string
	seed        uint64

	dir       string // temporary, for everything
	postgres  *pgserver.Server
	yardstick times
}

// words is a flag that may be given several times.
type words []string

func (w *words) String() string     { return strings.Join(*w, " ") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

func (b *bench) flags(f *flag.FlagSet) {
	f.StringVar(&b.databaseURL, "database-url", "",
		"URL of a PostgreSQL server on which databases may be created (default: one is started)")
	f.BoolVar(&b.volatile, "volatile", false, "start the PostgreSQL server with fsync off")
	f.StringVar(&b.program, "plannerd", "", "program to measure (default: go build ./cmd/plannerd)")
	f.Var(&b.arguments, "serve", "one more argument of plannerd serve, such as --serve=--max-plans=4; may be repeated")
	f.StringVar(&b.tempDir, "temp", "",
		"folder for SQLite files and large bodies (default: the system's temporary folder)")
	f.Uint64Var(&b.seed, "seed", 1, "of the statistics")
}

// measure prepares the run, runs e, and removes all that was made.
func (b *bench) measure(ctx context.Context, e experiment) (err error) {
	if b.dir, err = os.MkdirTemp(b.tempDir, "plannerd-load-"); err != nil {
		return err
	}
	defer func() {
		if b.postgres != nil {
			b.postgres.Stop()
		}
		err = errors.Join(err, os.RemoveAll(b.dir))
	}()
	if b.program == "" {
		b.progress("go build plannerd/cmd/plannerd")
		if b.program, err = process.Build(ctx, b.dir); err != nil {
			return err
		}
	}
	b.sort()
	b.sort()
	if err := e.run(ctx, b); err != nil {
		return err
	}
	b.sort()
	fmt.Fprintf(b.out, "\n%s\n", b.machine())
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.log, format+"\n", args...)
}

func (b *bench) printf(format string, args ...any) { fmt.Fprintf(b.out, format, args...) }

// sort takes one more sample of the yardstick.
func (b *bench) sort() { b.yardstick = append(b.yardstick, measure.SortTime()) }

// machine describes what was measured on.
func (b *bench) machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load average " + strings.Join(strings.Fields(string(text))[:3], " ") + " at the end"
	}
	postgres := ""
	if b.postgres != nil {
		postgres = "; PostgreSQL with fsync on"
		if b.volatile {
			postgres = "; PostgreSQL with fsync off"
		}
	}
	return fmt.Sprintf("%s, %d processors%s%s. Sorting a million random `float64`, the yardstick: %s (median of %d; %s "+
		"to %s).",
		runtime.Version(), runtime.NumCPU(), load, postgres,
		ms(b.yardstick.median()), len(b.yardstick), ms(b.yardstick.least()), ms(b.yardstick.greatest()))
}

// database makes an empty database and returns its URL. The function it returns
// removes it.
func (b *bench) database(ctx context.Context, kind string) (url string, remove func() error, err error) {
	if kind == onSQLite {
		folder, err := os.MkdirTemp(b.dir, "sqlite-")
		return "sqlite:" + filepath.Join(folder, "plannerd.db"), func() error { return os.RemoveAll(folder) }, err
	}
	server, err := b.postgresURL()
	if err != nil {
		return "", nil, err
	}
	name := "plannerd_load_" + strings.ToLower(rand.Text())
	if url, err = pgserver.WithDatabase(server, name); err != nil {
		return "", nil, err
	}
	remove = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return pgserver.DropDatabase(ctx, server, name)
	}
	return url, remove, pgserver.CreateDatabase(ctx, server, name)
}

// postgresURL returns that of the server to use, and starts it if need be.
func (b *bench) postgresURL() (string, error) {
	if b.databaseURL != "" {
		return b.databaseURL, nil
	}
	if b.postgres == nil {
		b.progress("starting PostgreSQL")
		var settings []string
		if b.volatile {
			settings = pgserver.Volatile
		}
		var err error
		if b.postgres, err = pgserver.Start(settings...); err != nil {
			return "", err
		}
	}
	return b.postgres.URL(), nil
}

// with calls measure with a fresh server on an empty store.
func (b *bench) with(ctx context.Context, kind string, limit int64, arguments []string,
	measure func(*server) error) (err error) {
	url, remove, err := b.database(ctx, kind)
	if remove != nil {
		defer func() { err = errors.Join(err, remove()) }()
	}
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, url, limit, append(append([]string{}, b.arguments...), arguments...))
	if err != nil {
		return err
	}
	defer func() {
		if stopped := s.stop(); err != nil || stopped != nil {
			err = errors.Join(err, stopped, s.process.Said())
		}
	}()
	return measure(s)
}

// short writes a number like 1e6 where that is exact.
func short(n int) string {
	for zeros, rest := 0, n; ; zeros, rest = zeros+1, rest/10 {
		if rest == 0 || rest%10 != 0 {
			if zeros < 3 {
				return strconv.Itoa(n)
			}
			return strconv.Itoa(rest) + "e" + strconv.Itoa(zeros)
		}
	}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plannerd/internal/lab/pgtest"
	"plannerd/internal/lab/tcpproxy"
	"plannerd/migrations"
	"plannerd/store"
	"plannerd/store/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// opening opens a store on one database, which may be open several times at once.
type opening func(t testing.TB, options ...store.Option) *postgres.Store

func fresh(t testing.TB) opening { return opener(pgtest.NewDatabase(t)) }

func opener(url string) opening {
	return func(t testing.TB, options ...store.Option) *postgres.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), url, options...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// Replicas start together and each migrates.
func TestMigratingTogether(t *testing.T) {
	open := fresh(t)
	stores := []*postgres.Store{open(t), open(t), open(t)}
	for _, s := range stores {
		defer s.Close()
	}
	migrateTogether(t, stores...)
}

func migrateTogether(t *testing.T, stores ...*postgres.Store) {
	t.Helper()
	var all sync.WaitGroup
	for _, s := range stores {
		all.Go(func() {
			version, err := s.Migrator().Up(t.Context())
			if err == nil {
				err = s.Ready(t.Context())
			}
			if err != nil || version != migrations.Latest {
				t.Errorf("version %d, error %v", version, err)
			}
		})
	}
	all.Wait()
}

// The database gives up the first transactions that insert a plan, as it does
// for the sake of others. The sequence counts them: it is not rolled back.
func TestGivenUpTransactionsAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		code   string
		times  int
		want   error
		called int
	}{
		{"40001", 3, nil, 4},
		{"40P01", 1, nil, 2},
		{"40001", 1_000_000, store.ErrUnavailable, 8},
		{"55P03", 1, store.ErrUnavailable, 1}, // not for the sake of another one
	} {
		t.Run(fmt.Sprint(c.code, " ", c.times), func(t *testing.T) {
			url := pgtest.NewDatabase(t)
			s := migrated(t, url)
			conn := connect(t, url)
			execute(t, conn, `CREATE SEQUENCE given_up`)
			execute(t, conn, fmt.Sprintf(`CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('given_up') <= %d THEN RAISE EXCEPTION 'given up' USING ERRCODE = '%s'; END IF;
				RETURN NEW; END $$`, c.times, c.code))
			execute(t, conn, `CREATE TRIGGER give_up BEFORE INSERT ON plans FOR EACH ROW EXECUTE FUNCTION give_up()`)
			_, created, err := s.CreatePlan(t.Context(), aPlan(), store.Transition{Actor: "x"})
			if created != (c.want == nil) || !errors.Is(err, c.want) {
				t.Errorf("created = %v, error %v, want %v", created, err, c.want)
			}
			var called int
			if err := conn.QueryRow(t.Context(), `SELECT last_value FROM given_up`).Scan(&called); err != nil {
				t.Fatal(err)
			}
			if called != c.called {
				t.Errorf("tried %d times, want %d", called, c.called)
			}
		})
	}
}

// A transaction whose connection is cut fails as unavailable, leaves nothing
// behind, and the next one gets another connection.
func TestCutConnection(t *testing.T) {
	url := pgtest.NewDatabase(t)
	s := migrated(t, url)
	conn := connect(t, url)
	execute(t, conn, `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`)
	execute(t, conn, `CREATE TRIGGER cut BEFORE INSERT ON plans FOR EACH ROW EXECUTE FUNCTION cut()`)
	if _, _, err := s.CreatePlan(t.Context(), aPlan(), store.Transition{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, store.ErrUnavailable)
	}
	execute(t, conn, `DROP TRIGGER cut ON plans`)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, created, err := s.CreatePlan(t.Context(), aPlan(), store.Transition{}); err != nil || !created {
		t.Errorf("created = %v, error %v", created, err)
	}
}

// A transaction of a process that was paused, which the server has ended meanwhile, is unavailable.
func TestPausedTransaction(t *testing.T) {
	settings := []string{"idle_in_transaction_session_timeout=100"}
	var version int
	row := connect(t, pgtest.NewDatabase(t)).QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int")
	if err := row.Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version >= 170_000 {
		settings = append(settings, "transaction_timeout=100")
	}
	for _, setting := range settings {
		direct := pgtest.NewDatabase(t)
		in := aPlan()
		in.Status = store.StatusApproved
		p, _, err := migrated(t, direct).CreatePlan(t.Context(), in, store.Transition{})
		if err != nil {
			t.Fatal(err)
		}
		s := opener(direct + "&" + setting)(t)
		paused := func(store.Plan) error {
			time.Sleep(time.Second / 2)
			return nil
		}
		_, _, err = s.CommitPlan(t.Context(), p.ID, store.Transition{}, store.Retention{}, paused)
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: error %v, want %v", setting, err, store.ErrUnavailable)
		}
		if err := errors.Join(s.Ready(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenWhatIsNotThere(t *testing.T) {
	there := pgtest.NewDatabase(t)
	parsed, err := url.Parse(there)
	if err != nil {
		t.Fatal(err)
	}
	closed, noDatabase, stranger := *parsed, *parsed, *parsed
	closed.Host = "127.0.0.1:1"
	noDatabase.Path = "/plannerd_test_there_is_none"
	stranger.User = url.UserPassword("plannerd_test_nobody", "wrong-secret")
	for what, u := range map[string]url.URL{"no server": closed, "no database": noDatabase, "an unknown user": stranger} {
		_, err := postgres.Open(t.Context(), u.String())
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: error %v, want %v", what, err, store.ErrUnavailable)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", what, err)
		}
	}
	_, err = postgres.Open(t.Context(), "postgres://u:secret@h/db?pool_max_conns=none")
	if err == nil || errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("an impossible URL: error %v", err)
	}
}

func migrated(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s := opener(url)(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{}`), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	return s
}

func aPlan() store.NewPlan {
	return store.NewPlan{
		Plan:    store.Plan{ID: "plan", Operator: "clicks", Status: store.StatusCommitted, ConfigVersion: 1},
		Changes: []store.Change{{Key: []byte("a"), Old: store.NoInstance, New: 1}},
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// A watcher is told of what other processes commit. When its connection is lost
// it gets another one, and says that anything may have happened.
func TestWatcherOutlivesItsConnection(t *testing.T) {
	url := pgtest.NewDatabase(t)
	s := migrated(t, url)
	other := opener(url)(t)
	defer other.Close()
	conn := connect(t, url)
	events, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := func(operator string) {
		t.Helper()
		select {
		case e := <-events:
			if e.Operator != operator {
				t.Fatalf("an event of %q, want one of %q", e.Operator, operator)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event of %q", operator)
		}
	}
	for _, name := range []string{"one", "two"} {
		if _, _, err := other.PutOperator(t.Context(), name, []byte(`{}`), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		want(name)
		var cut int
		err := conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&cut)
		if err != nil || cut != 1 {
			t.Fatalf("%d connections were cut, error %v; want 1", cut, err)
		}
		want("")
	}
	long := strings.Repeat("long", 3000)
	if _, _, err := other.PutOperator(t.Context(), long, []byte(`{}`), time.Unix(0, 0)); err == nil {
		want("") // no notification holds the name
	}
}

// proxied returns the URL of a database behind a network that a test can break.
func proxied(t *testing.T, database string) (through string, network *tcpproxy.Proxy) {
	t.Helper()
	parsed, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if network, err = tcpproxy.New(parsed.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	parsed.Host = network.Addr()
	return parsed.String(), network
}

// hasty opens a store that gives up soon.
func hasty(t *testing.T, url string) *postgres.Store {
	t.Helper()
	for {
		s, err := postgres.Open(t.Context(), url, store.WithTimeout(time.Second))
		if err == nil {
			return s
		}
		if !errors.Is(err, store.ErrUnavailable) || t.Context().Err() != nil { // the machine may be slow
			t.Fatal(err)
		}
	}
}

// The network loses the connection of a watcher without a word: the watcher looks, and says
// that anything may have happened.
func TestWatcherNoticesSilence(t *testing.T) {
	direct := pgtest.NewDatabase(t)
	other := migrated(t, direct)
	through, network := proxied(t, direct)
	s := hasty(t, through)
	defer s.Close()
	events, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	network.Forget()
	if _, _, err := other.PutOperator(t.Context(), "unheard", []byte(`{}`), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		if e.Operator != "" {
			t.Errorf("an event of %q", e.Operator)
		}
	case <-time.After(time.Minute):
		t.Error("no event")
	}
}

// A network that swallows packets makes the store unavailable, wherever an operation is just
// then, and keeps nobody for ever.
func TestSwallowedPackets(t *testing.T) {
	direct := pgtest.NewDatabase(t)
	migrated(t, direct)
	through, network := proxied(t, direct)
	s := hasty(t, through)
	defer s.Close()
	at := time.Unix(0, 0)
	swallowed := errors.New("swallowed")
	for what, call := range map[string]func() error{
		"within a transaction": func() error {
			_, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{"v": 2}`), at, func(*store.Operator) error {
				network.Swallow()
				return nil
			})
			return err
		},
		"within one that is refused": func() error {
			_, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{"v": 2}`), at, func(*store.Operator) error {
				network.Swallow()
				return swallowed
			})
			if errors.Is(err, swallowed) {
				err = store.ErrUnavailable // it says what was refused
			}
			return err
		},
		"before a read": func() error {
			network.Swallow()
			_, err := s.Operator(t.Context(), "clicks")
			return err
		},
		"before a transaction": func() error {
			network.Swallow()
			return s.DeleteOperator(t.Context(), "clicks", at)
		},
		"before readiness": func() error {
			network.Swallow()
			return s.Ready(t.Context())
		},
		"before a watch": func() error {
			network.Swallow()
			_, err := s.Watch(t.Context())
			return err
		},
	} {
		for err := s.Ready(t.Context()); err != nil; err = s.Ready(t.Context()) { // until the network is back
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
		if err := call(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: error %v, want %v", what, err, store.ErrUnavailable)
		}
		network.Pass()
	}
}

// A transaction whose connection is lost without a word does not keep an operator from others.
func TestForgottenTransaction(t *testing.T) {
	direct := pgtest.NewDatabase(t)
	other := migrated(t, direct)
	through, network := proxied(t, direct)
	s := hasty(t, through)
	defer s.Close()
	put := func(s store.Store, guards ...store.OperatorGuard) error {
		_, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{"v": 2}`), time.Unix(0, 0), guards...)
		return err
	}
	lost := func(*store.Operator) error {
		network.Forget()
		return nil
	}
	if err := put(s, lost); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, store.ErrUnavailable)
	}
	if err := put(other); err != nil {
		t.Error(err)
	}
}

// The clock of the database is the one that counts, for what reads too.
func TestTheDatabasesClockCounts(t *testing.T) {
	direct := pgtest.NewDatabase(t)
	migrated(t, direct)
	conn := connect(t, direct)
	execute(t, conn, `CREATE SCHEMA skewed`)
	execute(t, conn, `CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql
		AS $$ SELECT pg_catalog.clock_timestamp() + interval '10 hours' $$`)
	s := opener(direct + "&search_path=skewed,pg_catalog,public")(t)
	defer s.Close()
	now, err := s.Now(t.Context())
	if early, late := 9*time.Hour, 11*time.Hour; err != nil || time.Until(now) < early || time.Until(now) > late {
		t.Errorf("now is %v, error %v", now, err)
	}
	for id, left := range map[string]time.Duration{"lapsed": -time.Hour, "waits": time.Hour} {
		if _, _, err := s.PutOperator(t.Context(), id, []byte(`{}`), now); err != nil {
			t.Fatal(err)
		}
		p, expires := aPlan(), now.Add(left)
		p.ID, p.Operator, p.Status, p.ExpiresAt = id, id, store.StatusProposed, &expires
		if _, _, err := s.CreatePlan(t.Context(), p, store.Transition{At: now.Add(-2 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	again := opener(direct + "&search_path=skewed,pg_catalog,public")(t) // which has not been asked for the time
	defer again.Close()
	for id, want := range map[string]store.Status{"lapsed": store.StatusExpired, "waits": store.StatusProposed} {
		if p, err := again.Plan(t.Context(), id); err != nil || p.Status != want {
			t.Errorf("plan %s is %s, error %v; want %s", id, p.Status, err, want)
		}
	}
}

// A server that only reads, as a standby does, is not ready, and takes nothing.
func TestReadOnlyServer(t *testing.T) {
	url := pgtest.NewDatabase(t)
	migrated(t, url)
	s := opener(url + "&default_transaction_read_only=on")(t)
	defer s.Close()
	if op, err := s.Operator(t.Context(), "clicks"); err != nil || op.Name != "clicks" {
		t.Errorf("reading: %+v, error %v", op, err)
	}
	_, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{"v": 2}`), time.Unix(0, 0))
	for what, err := range map[string]error{"readiness": s.Ready(t.Context()), "writing": err} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: error %v, want %v", what, err, store.ErrUnavailable)
		}
	}
}

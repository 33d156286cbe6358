package serving

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/web/reload"
)

func TestAccessFlags(t *testing.T) {
	const beyond, local = "0.0.0.0:80", "127.0.0.1:80"
	tokens := accessFlags{TokensFile: "tokens"}
	for _, c := range []struct {
		address string
		flags   accessFlags
		token   string
		want    string // in the error; "": none
	}{
		{local, accessFlags{}, "", ""},
		{"127.8.9.1:0", accessFlags{}, "", ""},
		{"[::1]:8080", accessFlags{}, "", ""},
		{"localhost:8080", accessFlags{}, "", ""},
		{"10.0.0.1:8080", accessFlags{}, "", "without tokens"},
		{"[::ffff:10.0.0.1]:80", accessFlags{}, "", "without tokens"},
		{":0", accessFlags{}, "", "without tokens"},
		{beyond, accessFlags{}, "", "without tokens"},
		{beyond, accessFlags{InsecureHTTP: true}, "", "without tokens"},
		{beyond, accessFlags{TLSCert: "a", TLSKey: "b", TLSClientCA: "c"}, "", "without tokens"},
		{beyond, tokens, "", "in the clear"},
		{beyond, accessFlags{}, "x", "in the clear"},
		{beyond, accessFlags{InsecureHTTP: true}, "x", ""},
		{beyond, accessFlags{TLSCert: "a", TLSKey: "b"}, "x", ""},
		{"nonsense", tokens, "", "host:port"},
		{local, accessFlags{TLSCert: "a"}, "", "go together"},
		{local, accessFlags{TLSKey: "a"}, "", "go together"},
		{local, accessFlags{TLSClientCA: "a"}, "", "needs --tls-cert"},
		{local, accessFlags{AllowedHosts: []string{"a.example", "::1", "10.0.0.1"}}, "", ""},
		{local, accessFlags{AllowedHosts: []string{"http://a"}}, "", "without scheme"},
		{local, accessFlags{AllowedHosts: []string{"a:80"}}, "", "without scheme"},
		{local, accessFlags{AllowedHosts: []string{"*.a"}}, "", "without scheme"},
	} {
		err := c.flags.check(t.Context(), c.address, func(string) string { return c.token })
		var usage cli.UsageError
		if (err == nil) != (c.want == "") || err != nil &&
			(!errors.As(err, &usage) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %+v: %v, want %q", c.address, c.flags, err, c.want)
		}
	}
}

// The token of the environment is that of an admin.
func TestTokenOfEnvironment(t *testing.T) {
	secret := strings.Repeat("ab", 32)
	tokens, err := (&accessFlags{}).readTokens(func(string) string { return secret + "\n" })
	if err != nil {
		t.Fatal(err)
	}
	if c := tokens.Find(secret); c == nil || c.Name != "environment" || c.Role != "admin" || !c.SeesAll() {
		t.Errorf("%+v", c)
	}
}

// The names of this machine are served whatever others are; with tokens and without
// names, all are.
func TestHosts(t *testing.T) {
	machine := []string{"localhost", "127.0.0.1", "::1"}
	given := accessFlags{AllowedHosts: []string{"Planner.example"}}
	for _, c := range []struct {
		address string
		flags   accessFlags
		token   string
		want    []string
	}{
		{"127.8.9.1:80", accessFlags{}, "", append(machine, "127.8.9.1")},
		{"[::1]:80", given, "", append(machine, "::1", "planner.example")},
		{":80", accessFlags{}, "x", nil},
		{"10.0.0.1:80", accessFlags{TokensFile: "tokens"}, "", nil},
		{"Here.example:80", given, "x", append(machine, "here.example", "planner.example")},
		{":80", given, "x", append(machine, "planner.example")},
		{"0.0.0.0:80", given, "x", append(machine, "planner.example")},
		{"[::]:80", given, "x", append(machine, "planner.example")},
	} {
		if got := c.flags.hostsOf(c.address, func(string) string { return c.token }); !slices.Equal(got, c.want) {
			t.Errorf("%s %+v, token %q: %q, want %q", c.address, c.flags, c.token, got, c.want)
		}
	}
}

// refreshes records how it is called.
type refreshes struct{ forced []bool }

func (r *refreshes) Refresh(force bool) (bool, error) {
	r.forced = append(r.forced, force)
	return true, errors.New("half of it")
}

// Files are looked at again and again, and read in any case on SIGHUP.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log strings.Builder
		var files refreshes
		hangups := make(chan os.Signal)
		c := accessFlags{reloads: new(reload.Counts)}
		go c.refresh(ctx, slog.New(slog.NewTextHandler(&log, nil)), hangups, &files)
		time.Sleep(2*watchEvery + 1)
		hangups <- syscall.SIGHUP
		time.Sleep(watchEvery)
		cancel()
		synctest.Wait()
		if want := []bool{false, false, true, false}; !slices.Equal(files.forced, want) {
			t.Errorf("refreshed %v, want %v", files.forced, want)
		}
		if strings.Count(log.String(), "read again") != 4 || strings.Count(log.String(), "half of it") != 4 {
			t.Error(log.String())
		}
		if ok, failed := c.reloads.OK.Load(), c.reloads.Failed.Load(); ok != 4 || failed != 4 {
			t.Errorf("%d reloads went well, %d failed", ok, failed)
		}
	})
}

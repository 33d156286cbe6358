package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// newToken makes a token on the command line.
func newToken(t *testing.T, args ...string) (secret, line string) {
	t.Helper()
	r := exec(t, nil, nil, append([]string{"token", "new"}, args...)...)
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	if r.code != exitOK || len(lines) != 2 || strings.Contains(r.stdout, lines[1]) {
		t.Fatalf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	return lines[1], r.stdout
}

func TestTokenNew(t *testing.T) {
	secret, line := newToken(t, "--name", "job-manager", "--role", "engine", "--operators", "team-a.*,shared")
	if !strings.HasPrefix(line, "job-manager engine team-a.*,shared sha256:") || !strings.HasPrefix(secret, "plannerd_") ||
		len(secret) != 52 {
		t.Errorf("%s %s", secret, line)
	}
	if again, _ := newToken(t, "--name", "a", "--role", "viewer"); again == secret {
		t.Error("two tokens are the same")
	}
	for _, args := range [][]string{
		{"--name", "a b", "--role", "viewer"}, {"--name", "a", "--role", "root"}, {"--role", "viewer"}, {"--name", "a"},
		{"--name", "a", "--role", "viewer", "--operators", "a,"}, {"--name", "a", "--role", "viewer", "--operators", "[a]"},
	} {
		if r := exec(t, nil, nil, append([]string{"token", "new"}, args...)...); r.code != exitUsage || r.stdout != "" {
			t.Errorf("token new %q: exit %d, %q, %q", args, r.code, r.stdout, r.stderr)
		}
	}
}

// get asks for a path with a token and returns the status.
func get(t *testing.T, client *http.Client, url, secret string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil {
		t.Fatal(err)
	}
	return a.StatusCode
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatal(what)
		}
	}
}

// hangUp sends SIGHUP to this process, which a running server waits for.
func hangUp(t *testing.T) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Who has a token of the file gets in; the file is read again on SIGHUP, and one that
// is wrong changes nothing.
func TestServeWithTokens(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	file := filepath.Join(t.TempDir(), "tokens")
	first, line := newToken(t, "--name", "first", "--role", "viewer")
	write(t, file, line)
	s := serve(t, "--tokens-file", file, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	status := func(secret string) int { return get(t, http.DefaultClient, s.url+"/v1/operators", secret) }
	if a, b, c := status(""), status("plannerd_x"), status(first); a != 401 || b != 401 || c != 200 {
		t.Errorf("none %d, wrong %d, right %d", a, b, c)
	}
	if open := get(t, http.DefaultClient, s.url+"/healthz", ""); open != 200 {
		t.Errorf("healthz: %d", open)
	}
	second, line := newToken(t, "--name", "second", "--role", "viewer")
	write(t, file, "# the first one is gone\n"+line)
	hangUp(t)
	eventually(t, "the new token does not get in", func() bool { return status(second) == 200 })
	if old := status(first); old != 401 {
		t.Errorf("the token that is gone: %d", old)
	}
	write(t, file, "nonsense")
	hangUp(t)
	eventually(t, "nothing is said of a bad file",
		func() bool { return strings.Contains(s.stderr.String(), "line 1: write: name role") })
	if status(second) != 200 {
		t.Error("a bad file locks everybody out")
	}
	if strings.Contains(s.stderr.String(), first) || strings.Contains(s.stderr.String(), second) {
		t.Error("the log has a token")
	}
	s.stop(t)
}

// The first token comes from the environment.
func TestBadTokenOfEnvironment(t *testing.T) {
	vars := map[string]string{"PLANNERD_TOKEN": "short"}
	r := exec(t, nil, vars, "serve", "--listen", "127.0.0.1:0", "--database-url", "sqlite:"+
		filepath.Join(t.TempDir(), "data.db"))
	if r.code != exitFailed || !strings.Contains(r.stderr, "PLANNERD_TOKEN: ") || strings.Contains(r.stderr, "short") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
}

// A name that leads here from elsewhere is not served, with tokens or without.
func TestServeHosts(t *testing.T) {
	for _, token := range []string{"", strings.Repeat("ab", 32)} {
		serveHosts(t, token)
	}
}

func serveHosts(t *testing.T, token string) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	s := serveWith(t, map[string]string{"PLANNERD_TOKEN": token, "PLANNERD_DATABASE_URL": "sqlite:" +
		filepath.Join(t.TempDir(), "data.db")},
		"--allowed-hosts", "Planner.example")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:80": 200, "127.0.0.1": 200, "[::1]": 200, "[::1]:80": 200, "planner.example:80": 200,
		"evil.example": 403, "0.0.0.0": 403, "10.0.0.1": 403,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/operators", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != want {
			t.Errorf("%s, token %q: %s", host, token, a.Status)
		}
	}
	s.stop(t)
}

// authority signs certificates.
type authority struct {
	*testing.T
	dir    string
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	issued int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.key, a.cert = a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes a key and a certificate to name.key and name.crt.
func (a *authority) issue(name string, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	a.issued++
	template.SerialNumber, template.Subject = big.NewInt(a.issued), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	write(a.T, a.file(name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(a.T, a.file(name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return key, cert
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// server issues a certificate for 127.0.0.1.
func (a *authority) server() {
	a.Helper()
	a.issue("server", &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client trusts the authority and shows the certificate of that name, if any.
func (a *authority) client(name string) *http.Client {
	a.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.cert)
	if name != "" {
		cert, err := tls.LoadX509KeyPair(a.file(name+".crt"), a.file(name+".key"))
		if err != nil {
			a.Fatal(err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true,
		DisableKeepAlives: true}}
}

// connection tells what a connection to the server is like.
func connection(t *testing.T, client *http.Client, url string) (proto string, serial int64, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("status %s", a.Status)
	}
	return a.Proto, a.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// HTTPS with HTTP/2, no old TLS, and a certificate that can be renewed.
func TestServeTLS(t *testing.T) {
	a := newAuthority(t)
	a.server()
	s := serve(t, "--tls-cert", a.file("server.crt"), "--tls-key", a.file("server.key"), "--database-url", "sqlite:"+
		filepath.Join(t.TempDir(), "data.db"))
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("the first line: %s", s.line)
	}
	client := a.client("")
	proto, before, err := connection(t, client, s.url)
	if err != nil || proto != "HTTP/2.0" {
		t.Fatalf("%s, %v", proto, err)
	}
	old := a.client("")
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if _, _, err := connection(t, old, s.url); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	a.server()
	hangUp(t)
	eventually(t, "the certificate stays the old one", func() bool {
		_, serial, err := connection(t, client, s.url)
		return err == nil && serial == before+1
	})
	s.stop(t)
}

// Mutual TLS: who has no certificate of the authority does not get in.
func TestServeMutualTLS(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	a.server()
	for _, by := range []*authority{a, stranger} {
		by.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	s := serve(t, "--tls-cert", a.file("server.crt"), "--tls-key", a.file("server.key"), "--tls-client-ca",
		a.file("ca.crt"),
		"--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	if _, _, err := connection(t, a.client("client"), s.url); err != nil {
		t.Error(err)
	}
	if _, _, err := connection(t, a.client(""), s.url); err == nil {
		t.Error("a client without a certificate gets in")
	}
	forged := a.client("")
	forged.Transport.(*http.Transport).TLSClientConfig.Certificates = stranger.client("client").
		Transport.(*http.Transport).TLSClientConfig.Certificates
	if _, _, err := connection(t, forged, s.url); err == nil {
		t.Error("a client with a certificate of another authority gets in")
	}
	s.stop(t)
}

// A file that is missing or wrong ends the program before it serves.
func TestServeAccessErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	a := newAuthority(t)
	a.server()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no such file", []string{"--tokens-file", filepath.Join(dir, "none")}},
		{"line 2: ", []string{"--tokens-file", file("bad", "# name role operators hash\na root * x\n")}},
		{"--tls-cert", []string{"--tls-cert", file("crt", "x"), "--tls-key", file("key", "x")}},
		{"no certificate in it", []string{"--tls-cert", a.file("server.crt"), "--tls-key", a.file("server.key"),
			"--tls-client-ca", file("ca", "x")}},
	} {
		database := filepath.Join(t.TempDir(), "data.db")
		r := exec(t, nil, nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--database-url", "sqlite:" + database},
			c.args...)...)
		if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %q, want %q", c.args, r.code, r.stderr, c.want)
		}
		if _, err := os.Stat(database); err == nil {
			t.Errorf("%v: the database was made", c.args)
		}
	}
}

package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"plannerd/api"
	"plannerd/internal/cli"
	"plannerd/internal/web/access"
	"plannerd/internal/web/reload"
)

// accessFlags say who may talk to the server, and how.
type accessFlags struct {
	TokensFile   string   `placeholder:"FILE" help:"File of the tokens that let callers in, one a line: name, role, operators, hash; \"plannerd token new\" makes them. Read again when it changes and on SIGHUP. A token in PLANNERD_TOKEN, which has no flag, is that of an admin (default: none)."`
	OpenMetrics  bool     `group:"Tuning" help:"Let everybody read /metrics, also without a token."`
	AllowedHosts []string `group:"Tuning" placeholder:"HOST" help:"Names that requests may be for (Host), besides localhost, 127.0.0.1, [::1] and the host of --listen; with tokens any name will do, unless some are given here (default: none)."`
	TLSCert      string   `name:"tls-cert" placeholder:"FILE" help:"Certificate and its chain, PEM, to serve HTTPS (default: none). Read again when it changes and on SIGHUP."`
	TLSKey       string   `name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert, PEM (default: none)."`
	TLSClientCA  string   `name:"tls-client-ca" group:"Tuning" placeholder:"FILE" help:"Authorities, PEM: only clients with a certificate of one of them may connect, besides needing a token (default: none)."`
	InsecureHTTP bool     `name:"insecure-http" help:"Listen beyond loopback without TLS: tokens and data are sent in the clear. For networks that encrypt by themselves, and behind proxies."`

	// What callers and the server prove themselves by:
	hosts   []string
	tokens  *reload.Value[*access.Tokens] // nil: everybody gets in
	tls     *reload.Value[*tls.Config]    // nil: plain HTTP
	reloads *reload.Counts
}

// TokenVariable is the environment variable of the first token. There is no flag for
// it: other users of the machine see the arguments of a program.
const TokenVariable = "PLANNERD_TOKEN"

// secured reports whether the flags and the environment name tokens.
func (f *accessFlags) secured(getenv func(string) string) bool {
	return f.TokensFile != "" || getenv(TokenVariable) != ""
}

// check refuses to let strangers in, or to send tokens where they can be read.
func (f *accessFlags) check(ctx context.Context, address string, getenv func(string) string) error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return cli.Usagef("--tls-cert and --tls-key go together")
	}
	if f.TLSClientCA != "" && f.TLSCert == "" {
		return cli.Usagef("--tls-client-ca needs --tls-cert and --tls-key")
	}
	for _, host := range f.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/[] *") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return cli.Usagef("--allowed-hosts %q: write names or addresses, without scheme and port", host)
		}
	}
	beyond, err := BeyondLoopback(ctx, address)
	switch {
	case err != nil || !beyond:
		return err
	case !f.secured(getenv):
		return cli.Usagef("--listen %s lets other machines in, and without tokens everybody there may do everything: "+
			"give --tokens-file or %s (see plannerd token new), or listen on 127.0.0.1", address, TokenVariable)
	case f.TLSCert == "" && !f.InsecureHTTP:
		return cli.Usagef("--listen %s without TLS sends tokens and data in the clear: give --tls-cert and --tls-key, "+
			"or --insecure-http where the network encrypts by itself or a proxy does", address)
	}
	return nil
}

// BeyondLoopback reports whether other machines can reach what listens on an address.
func BeyondLoopback(ctx context.Context, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, cli.Usagef("--listen %q: write host:port, such as 127.0.0.1:8080", address)
	}
	if host == "" {
		return true, nil // all interfaces
	}
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsLoopback(), nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false, cli.Usagef("--listen %s: %w", address, err)
	}
	for _, ip := range ips {
		if !ip.IP.IsLoopback() {
			return true, nil
		}
	}
	return false, nil
}

// load reads the files that the flags name.
func (f *accessFlags) load(address string, getenv func(string) string) (err error) {
	f.hosts, f.reloads = f.hostsOf(address, getenv), new(reload.Counts)
	if f.secured(getenv) {
		var files []string
		if f.TokensFile != "" {
			files = append(files, f.TokensFile)
		}
		if f.tokens, err = reload.New(func() (*access.Tokens, error) { return f.readTokens(getenv) }, files...); err != nil {
			return err
		}
	}
	if f.TLSCert != "" {
		files := []string{f.TLSCert, f.TLSKey}
		if f.TLSClientCA != "" {
			files = append(files, f.TLSClientCA)
		}
		f.tls, err = reload.New(f.readTLS, files...)
	}
	return err
}

// hostsOf are the names that requests may be for; nil: any, which is so where a token
// is needed and no name is given. Those of this machine are always among them.
func (f *accessFlags) hostsOf(address string, getenv func(string) string) []string {
	if f.secured(getenv) && len(f.AllowedHosts) == 0 {
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && host != "" && !ip.IsUnspecified() {
		hosts = append(hosts, strings.ToLower(host))
	}
	for _, host := range f.AllowedHosts {
		hosts = append(hosts, strings.ToLower(host))
	}
	return hosts
}

func (f *accessFlags) readTokens(getenv func(string) string) (*access.Tokens, error) {
	tokens := new(access.Tokens)
	if secret := strings.TrimSpace(getenv(TokenVariable)); secret != "" {
		admin := access.Caller{Name: "environment", Role: access.Admin, Operators: []string{access.Everywhere}}
		if err := tokens.Add(secret, admin); err != nil {
			return nil, fmt.Errorf("%s: %w", TokenVariable, err)
		}
	}
	if f.TokensFile == "" {
		return tokens, nil
	}
	file, err := os.Open(f.TokensFile)
	if err != nil {
		return nil, fmt.Errorf("--tokens-file: %w", err)
	}
	err = tokens.Read(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("--tokens-file %s: %w", f.TokensFile, err)
	}
	return tokens, nil
}

func (f *accessFlags) readTLS() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{certificate},
	}
	if f.TLSClientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(f.TLSClientCA)
	if err != nil {
		return nil, fmt.Errorf("--tls-client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tls-client-ca %s: there is no certificate in it", f.TLSClientCA)
	}
	return config, nil
}

// access is what the API has to know.
func (f *accessFlags) access() api.Access {
	a := api.Access{Hosts: f.hosts, OpenMetrics: f.OpenMetrics, Reloads: f.reloads}
	if f.tokens != nil {
		a.Tokens = f.tokens.Get
	}
	return a
}

// scheme is that of the server's URLs.
func (f *accessFlags) scheme() string {
	if f.tls != nil {
		return "https"
	}
	return "http"
}

// answer answers the requests that come to a listener.
func (f *accessFlags) answer(server *http.Server, listener net.Listener) error {
	if f.tls == nil {
		return server.Serve(listener)
	}
	server.TLSConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.tls.Get(), nil },
	}
	return server.ServeTLS(listener, "", "")
}

// watchEvery is how often files are looked at.
const watchEvery = 2 * time.Second

// watch reads files again when they change and on SIGHUP, until the function that it
// returns is called.
func (f *accessFlags) watch(logger *slog.Logger) (stop func()) {
	var files reload.All
	if f.tokens != nil {
		files = append(files, f.tokens)
		logger.Info("tokens", "number", f.tokens.Get().Len())
	}
	if f.tls != nil {
		files = append(files, f.tls)
	}
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		f.refresh(ctx, logger, hangups, files)
	}()
	return func() {
		signal.Stop(hangups)
		cancel()
		<-done
	}
}

// refresh reads files again until ctx ends. Where that fails, what was read before
// stands.
func (f *accessFlags) refresh(
	ctx context.Context, logger *slog.Logger, hangups <-chan os.Signal, files reload.Refresher,
) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		force := false
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			force = true
		case <-tick.C:
		}
		loaded, err := files.Refresh(force)
		if loaded {
			f.reloads.OK.Add(1)
			logger.Info("tokens and certificates were read again")
		}
		if err != nil {
			f.reloads.Failed.Add(1)
			logger.Error("tokens or certificates cannot be read; those from before stand", "error", err)
		}
	}
}

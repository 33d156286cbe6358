package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"plannerd/internal/cli"
)

// Healthcheck is the command that asks a server whether it is well.
type Healthcheck struct {
	Listen  string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that the server listens on, as serve was told (default 127.0.0.1:8080)."`
	Ready   bool          `help:"Ask whether it can serve, /readyz, and not only whether it is alive, /healthz."`
	Timeout time.Duration `least:"1" own:"" default:"3s" help:"Time to wait for the answer."`

	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Ask over HTTPS, as serve was told. To a server that wants a certificate (--tls-client-ca), this one is shown (default: none)."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert (default: none)."`
}

// Run asks the server.
func (c *Healthcheck) Run(env *cli.Environment) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.Ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return cli.Usagef("--listen %q: %w", c.Listen, err)
	}
	// No proxy: it is this machine that is asked.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: c.tls()}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", url, err)
	}
	_ = response.Body.Close() // the status says it all
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// tls trusts whoever answers: nothing is told to the server, and all that is learned
// of it is whether it is well.
func (c *Healthcheck) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if c.TLSKey == "" {
				return new(tls.Certificate), nil // none
			}
			certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
			return &certificate, err
		},
	}
}

// url is what to ask. A server that listens on all addresses is on loopback too.
func (c *Healthcheck) url() (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", cli.Usagef("--listen %q: write host:port, such as 127.0.0.1:8080", c.Listen)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	scheme := "http://"
	if c.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(cmp.Or(host, "localhost"), port) + path, nil
}

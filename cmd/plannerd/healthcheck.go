package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

type healthcheckCmd struct {
	Listen  string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that the server listens on, as serve was told (default 127.0.0.1:8080)."`
	Ready   bool          `help:"Ask whether it can serve, /readyz, and not only whether it is alive, /healthz."`
	Timeout time.Duration `default:"3s" help:"Time to wait for the answer."`
}

// Help shows examples.
func (*healthcheckCmd) Help() string {
	return `Exit code 0 if the server says that it is well, else 1. For containers without a shell.

Examples:

    plannerd healthcheck
    plannerd healthcheck --ready --listen 127.0.0.1:9000`
}

// Run asks the server.
func (c *healthcheckCmd) Run(env *environment) error {
	if c.Timeout <= 0 {
		return usagef("--timeout: must be > 0s")
	}
	url, err := c.url()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return usagef("--listen %q: %w", c.Listen, err)
	}
	// No proxy: it is this machine that is asked.
	transport := &http.Transport{DisableKeepAlives: true}
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

// url is what to ask. A server that listens on all addresses is on loopback too.
func (c *healthcheckCmd) url() (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", usagef("--listen %q: write host:port, such as 127.0.0.1:8080", c.Listen)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	return "http://" + net.JoinHostPort(cmp.Or(host, "localhost"), port) + path, nil
}

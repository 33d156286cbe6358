package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Config is what a client may be told. Its zero value calls a server without tokens.
type Config struct {
	// Token returns the bearer token of a request; nil: it has none. It is asked before
	// each attempt, so that tokens can be exchanged while the client is in use.
	Token func(context.Context) (string, error)
	// HTTP makes the requests. Defaults to [http.DefaultClient]. It should have no Timeout:
	// calls end with their contexts, and planning may take its time.
	HTTP *http.Client
	// Retry says how often calls are repeated, and after which time.
	Retry Retry
	// UserAgent names the program in the server's log.
	UserAgent string
}

// StaticToken always returns the same token.
func StaticToken(token string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return token, nil }
}

// Client calls one plannerd.
type Client struct {
	base   string // without a slash at its end
	config Config
}

// New returns a client of the server at an address such as "https://plannerd:8443". It
// may have a path, below which the server is.
func New(address string, c Config) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("client: the address must begin with http:// or https:// and name a host")
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("client: the address must have neither a query nor a fragment")
	}
	c.HTTP = cmp.Or(c.HTTP, http.DefaultClient)
	c.Retry = c.Retry.withDefaults()
	return &Client{strings.TrimRight(base.String(), "/"), c}, nil
}

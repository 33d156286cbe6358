package store

import "time"

// Options are how a store is opened.
type Options struct {
	// Now is the store's clock. Nil: the clock that all who use the database share.
	Now func() time.Time
	// Timeout bounds one operation of a store behind a network, besides what it takes to
	// get a connection. Defaults to 30 seconds.
	Timeout time.Duration
	// ListenURL is where a Postgres store listens for the commits of others, past a connection
	// pooler that does not keep sessions together. Defaults to the URL of the store.
	ListenURL string
}

// Option is one of [Options].
type Option func(*Options)

// WithClock gives a store another clock.
func WithClock(now func() time.Time) Option { return func(o *Options) { o.Now = now } }

// WithTimeout sets [Options].Timeout.
func WithTimeout(timeout time.Duration) Option { return func(o *Options) { o.Timeout = timeout } }

// WithListenURL sets [Options].ListenURL.
func WithListenURL(url string) Option { return func(o *Options) { o.ListenURL = url } }

// NewOptions returns the options with all defaults in place.
func NewOptions(options ...Option) Options {
	o := Options{Timeout: 30 * time.Second}
	for _, set := range options {
		set(&o)
	}
	return o
}

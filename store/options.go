package store

import "time"

// Options are how a store is opened.
type Options struct {
	// Now is the clock of what only reads. Defaults to time.Now.
	Now func() time.Time
}

// Option is one of [Options].
type Option func(*Options)

// WithClock gives a store another clock than the system's.
func WithClock(now func() time.Time) Option { return func(o *Options) { o.Now = now } }

// NewOptions returns the options with all defaults in place.
func NewOptions(options ...Option) Options {
	o := Options{Now: time.Now}
	for _, set := range options {
		set(&o)
	}
	return o
}

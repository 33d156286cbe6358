package browsertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"plannerd/internal/demo"
	"plannerd/internal/lab/process"
	"plannerd/internal/web/access"
)

// Site is a running server with something to show.
type Site struct {
	*Server
	Plans demo.Filled
}

// servers are those of a test binary. Each part is made when it is first asked
// for.
type servers struct {
	program         func() (string, error)
	filled, secured func() (*Site, error)
	mu              sync.Mutex
	shared          []*Site
}

// prepare says how they are made.
func (s *servers) prepare(folder string) {
	s.program = sync.OnceValues(func() (string, error) { return process.Build(context.Background(), folder) })
	share := func(secured bool) func() (*Site, error) {
		return sync.OnceValues(func() (*Site, error) {
			site, err := s.site(context.Background(), secured)
			if err == nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.shared = append(s.shared, site)
			}
			return site, err
		})
	}
	s.filled, s.secured = share(false), share(true)
}

// stop ends those that are shared.
func (s *servers) stop() (err error) {
	for _, site := range s.shared {
		err = errors.Join(err, site.Stop())
	}
	return err
}

func (s *servers) serve(ctx context.Context, secured bool) (*Server, error) {
	program, err := s.program()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, program, secured)
}

// site starts a server and fills it.
func (s *servers) site(ctx context.Context, secured bool) (*Site, error) {
	server, err := s.serve(ctx, secured)
	if err != nil {
		return nil, err
	}
	plans, err := demo.Fill(ctx, server.URL, server.Tokens[access.Admin])
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &Site{server, plans}, nil
}

// Filled returns a server that the tests of a binary share: they must leave it as
// it is.
func Filled(t testing.TB) *Site {
	t.Helper()
	return siteOr(t, binary.servers.filled)
}

// Secured is [Filled] by a server that asks for tokens.
func Secured(t testing.TB) *Site {
	t.Helper()
	return siteOr(t, binary.servers.secured)
}

// NewEmpty returns a server without any operator, for this test alone.
func NewEmpty(t testing.TB, secured bool) *Server {
	t.Helper()
	ready(t)
	s, err := binary.servers.serve(t.Context(), secured)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, s)
	return s
}

func siteOr(t testing.TB, make func() (*Site, error)) *Site {
	t.Helper()
	ready(t)
	site, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return site
}

func stopAfter(t testing.TB, s *Server) {
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
}

//go:build !unix

package pgserver

// start knows only how Unix runs a server.
func start([]string) (*Server, error) { return nil, ErrNotInstalled }

func (*Server) duplicate(string, []string) (*Server, error) { return nil, ErrNotInstalled }

type guard struct{}

func (*guard) restart(string) error { return ErrNotInstalled }

func (*guard) stop() {}

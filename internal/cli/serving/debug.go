package serving

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/web/httpkit"
)

// forHosts refuses requests for other hosts: the page of a stranger can have its own name
// lead to this machine, and would read what its visitor may.
func forHosts(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !httpkit.HostAllowed(r, hosts) {
			http.Error(w, "profiles are for this machine only: ask 127.0.0.1", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// startDebugging serves profiles, if that is asked for. It returns what ends that.
// The command line is not served: it may have the password of the database.
func (c *Serve) startDebugging(env *cli.Environment, logger *slog.Logger) (stop func(), err error) {
	if c.DebugListen == "" {
		return func() {}, nil
	}
	address, err := net.ResolveTCPAddr("tcp", c.DebugListen)
	if err != nil {
		return nil, cli.Usagef("--debug-listen %q: %w", c.DebugListen, err)
	}
	if !address.IP.IsLoopback() {
		return nil, cli.Usagef("--debug-listen %s: profiles are for this machine only, such as 127.0.0.1:6060", c.DebugListen)
	}
	var config net.ListenConfig
	listener, err := config.Listen(env.Ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	server := &http.Server{
		Handler: forHosts(mux, address.IP.String(), "localhost", "127.0.0.1", "::1"), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // always ErrServerClosed: nothing else closes the listener
	}()
	logger.Info("profiles are served", "address", listener.Addr().String())
	return func() {
		_ = server.Close() // there is nothing to save
		<-ended
	}, nil
}

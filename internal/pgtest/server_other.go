//go:build !unix

package pgtest

// startServer knows only how Unix runs a server.
func startServer() (string, error) { return "", errNoServer }

func stopServer() {}

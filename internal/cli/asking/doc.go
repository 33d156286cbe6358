// Package asking has the commands that ask a running server for something, and what others need to ask
// one. It knows the server's HTTP API by the client alone.
package asking

// Package serving has the commands that run a server and look after it: its process, its
// database, its tokens, and whether it is well. It plans nothing.
package serving

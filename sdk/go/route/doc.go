// Package route says where a message goes: by the routing table of plannerd, and for a
// key that has no entry there by a hash function. The server uses the same functions, so
// that what it plans for and what routers do cannot differ.
//
// A [Table] is immutable. A router keeps the newest in a [Current], looks keys up in it
// from any number of goroutines, and replaces it as the feed of the server tells:
//
//	at, err := current.Lookup(key)
//	if err != nil { … }
//	if at.Paused { hold the message until the next table }
//	send it to at.Next()
//
// The package is pure: it knows no clock, no input and no output.
package route

// Package router keeps the routing table of an operator current at a router, as the
// server's feed tells it.
//
//	follower, err := router.Open(router.Config{
//		Source: client, Operator: "clicks", Router: "router-1", File: "/var/lib/engine/clicks.table",
//	})
//	if err != nil { … }
//	go follower.Run(ctx)
//	if err := follower.Ready(ctx); err != nil { … }
//	…
//	at, err := follower.Lookup(key)
//
// Looking up never waits for the server. While it is away, keys go where the last table
// says; and where that is kept in a file, also after the router was restarted meanwhile.
// What is pending is kept with the table, so that keys whose state is moving stay paused.
package router

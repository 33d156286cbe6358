// Package client calls plannerd over HTTP: a method for each operation of the contract,
// with the types of package wire.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Config{})
//	if err != nil { … }
//	plan, err := c.CreatePlan(ctx, "clicks", wire.PlanRequest{Interval: 7, Keys: rows})
//
// # Retries
//
// Calls are repeated where that is safe and may help: when the connection fails, and when
// the server says that it cannot answer now. Reading is safe. What changes something
// carries an Idempotency-Key, which is the same in all attempts of one call, so that it
// happens once, whatever becomes of the answers. See [Retry].
//
// # Errors
//
// What the server refuses is an [*Error] with all members of its problem, and each code
// is an error itself:
//
//	if errors.Is(err, wire.CodePlanInFlight) { … }
//
// # Concurrency
//
// A [Client] may be used by any number of goroutines. All calls end with their context,
// and none leaves a goroutine behind.
package client

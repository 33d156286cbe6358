// Package ring balances the load of a token ring, as in "DPA Load Balancer". The ring
// itself is plannerd/sdk/go/route's, by which routers send messages.
package ring

import "plannerd/sdk/go/route"

type (
	// Ring is an immutable token ring.
	Ring = route.TokenRing
	// Node is a node of the ring and the number of tokens it holds.
	Node = route.Node
	// Token is a token of a node and where it lies.
	Token = route.Token
)

// New builds the ring of the given nodes, whose IDs are distinct; see
// [route.NewTokenRing].
func New(nodes []Node) *Ring { return route.NewTokenRing(nodes) }

// Position returns where key lies on the ring.
func Position(key []byte) uint32 { return route.RingPosition(key) }

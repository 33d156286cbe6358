package route

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Node is a node of the ring and the number of tokens it holds.
type Node struct {
	ID     int32 // ≥ 0
	Tokens int   // ≥ 0: tokens 0…Tokens−1
}

// Token is a token of a node and where it lies.
type Token struct {
	Position uint32
	Node     int32 // ID of its node
	Index    int32 // j, from 0
}

// TokenRing is the token ring of consistent hashing, as in "DPA Load Balancer" §4.2.
//
// Every node holds tokens 0, 1, …, T−1. Token j of node i lies at [RingPosition] of
// "token-{i}-{j}" on a circle of 2³² positions, a key at that of its bytes. A key
// belongs to the node of the first token at or after its position, wrapping round. Of
// tokens at the same position the one of the lower node counts, then the lower token.
//
// A ring is immutable. Its methods may be called at the same time.
type TokenRing struct {
	// tokens in ring order, and after them the first once more at the highest
	// position: a search upward always ends, and wraps round by itself.
	tokens []Token
	// first[b] is the index of the first token whose position has the top bits b
	// or higher.
	first []int32
	shift uint // of a position, to get b
}

// The index has 2^spareBits to 2^(spareBits+1) buckets for every token, so that
// most lookups end at the first token they see and the processor foresees it:
// with one bucket a token they took half as long again. maxTopBits keeps the
// index of enormous rings below 64 MiB.
const (
	spareBits  = 2
	maxTopBits = 24
)

// NewTokenRing builds the ring of the given nodes, whose IDs are distinct. Their order
// does not matter. It panics when there is no token at all: such a ring could
// not place any key.
func NewTokenRing(nodes []Node) *TokenRing {
	tokens := place(nodes)
	if len(tokens) == 0 {
		panic("route: no node has a token")
	}
	topBits := min(uint(bits.Len(uint(len(tokens)-1)))+spareBits, maxTopBits)
	r := &TokenRing{shift: 32 - topBits}
	r.first = make([]int32, 1<<topBits+1)
	for _, t := range tokens {
		r.first[t.Position>>r.shift+1]++
	}
	for b := 1; b < len(r.first); b++ {
		r.first[b] += r.first[b-1]
	}
	r.tokens = make([]Token, len(tokens), len(tokens)+1)
	r.distribute(tokens)
	last := r.tokens[0]
	last.Position = math.MaxUint32
	r.tokens = append(r.tokens, last)
	return r
}

// place returns the tokens of all nodes, node by node.
func place(nodes []Node) []Token {
	n := 0
	for _, node := range nodes {
		n += max(node.Tokens, 0)
	}
	tokens := make([]Token, 0, n)
	for _, node := range nodes {
		tokens = AppendTokens(tokens, node.ID, 0, node.Tokens)
	}
	return tokens
}

// distribute brings tokens into ring order: into their buckets by counting,
// then into order within each, which takes time linear in the tokens.
func (r *TokenRing) distribute(tokens []Token) {
	next := slices.Clone(r.first)
	for _, t := range tokens {
		b := t.Position >> r.shift
		r.tokens[next[b]] = t
		next[b]++
	}
	for b := range len(r.first) - 1 {
		slices.SortFunc(r.tokens[r.first[b]:r.first[b+1]], compare)
	}
}

func compare(a, b Token) int {
	return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index))
}

// Lookup returns the ID of the node that key belongs to.
func (r *TokenRing) Lookup(key []byte) int32 { return r.At(RingPosition(key)) }

// At returns the ID of the node that a position belongs to.
func (r *TokenRing) At(position uint32) int32 { return r.tokens[r.tokenAt(position)].Node }

// TokenAt returns the index into Tokens of the token that a position belongs to.
func (r *TokenRing) TokenAt(position uint32) int32 {
	if i := r.tokenAt(position); int(i) < len(r.tokens)-1 {
		return i
	}
	return 0
}

func (r *TokenRing) tokenAt(p uint32) int32 {
	i := r.first[p>>r.shift]
	for r.tokens[i].Position < p {
		i++
	}
	return i
}

// Instance implements [Function]: a node is an instance.
func (r *TokenRing) Instance(key []byte, _ uint64) (int32, error) {
	return r.At(RingPosition(key)), nil
}

// Tokens returns all tokens in ring order. The slice is shared: it must not be
// changed.
func (r *TokenRing) Tokens() []Token {
	n := len(r.tokens) - 1
	return r.tokens[:n:n]
}

// AppendTokens appends tokens from…to−1 of a node.
func AppendTokens(tokens []Token, node int32, from, to int) []Token {
	if from >= to {
		return tokens
	}
	name := append(strconv.AppendInt([]byte("token-"), int64(node), 10), '-')
	prefix := len(name)
	for j := from; j < to; j++ {
		name = strconv.AppendInt(name[:prefix], int64(j), 10)
		tokens = append(tokens, Token{RingPosition(name), node, int32(j)})
	}
	return tokens
}

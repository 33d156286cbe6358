package ring

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	spaolacci "github.com/spaolacci/murmur3"
	"pgregory.net/rapid"
)

// Values of murmur3_x86_32 with seed 0 that others have published.
func TestPositionOfKnownKeys(t *testing.T) {
	for key, want := range map[string]uint32{"": 0, "hello": 613153351, "test": 0xba6bd213, "Hello, world!": 0xc0363e43} {
		if got := Position([]byte(key)); got != want {
			t.Errorf("Position(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestPositionAgreesWithAnotherImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buffer := rapid.SliceOfN(rapid.Byte(), 8, 80).Draw(t, "bytes")
		key := buffer[rapid.IntRange(0, 7).Draw(t, "offset"):] // aligned or not
		digest := spaolacci.New32()
		digest.Write(key)
		if got, want := Position(key), digest.Sum32(); got != want {
			t.Fatalf("Position(%x) = %d, spaolacci has %d", key, got, want)
		}
	})
}

// compare is the order of tokens on the ring.
func compare(a, b Token) int {
	return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index))
}

// naiveOwner goes through all tokens in no particular order.
func naiveOwner(nodes []Node, p uint32) int32 {
	best, bestDistance, owner := Token{}, uint32(math.MaxUint32), int32(-1)
	for _, n := range nodes {
		for j := range n.Tokens {
			name := []byte("token-" + strconv.Itoa(int(n.ID)) + "-" + strconv.Itoa(j))
			token := Token{Position: Position(name), Node: n.ID, Index: int32(j)}
			distance := token.Position - p // modulo 2³²: the way upward, wrapping round
			if owner < 0 || distance < bestDistance || distance == bestDistance && compare(token, best) < 0 {
				best, bestDistance, owner = token, distance, n.ID
			}
		}
	}
	return owner
}

func drawNodes(t *rapid.T) []Node {
	nodes := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Node {
		return Node{ID: rapid.Int32Range(0, 1000).Draw(t, "id"), Tokens: rapid.IntRange(0, 20).Draw(t, "tokens")}
	}), 1, 8, func(n Node) int32 { return n.ID }).Draw(t, "nodes")
	nodes[0].Tokens++
	return nodes
}

func TestLookupAgreesWithNaiveSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t)
		r := New(nodes)
		for range 20 {
			key := rapid.SliceOfN(rapid.Byte(), 1, 24).Draw(t, "key")
			if got, want := r.Lookup(key), naiveOwner(nodes, Position(key)); got != want {
				t.Fatalf("Lookup(%x) = %d, want %d", key, got, want)
			}
			if got, err := r.Instance(key, 0); err != nil || got != r.Lookup(key) {
				t.Fatalf("Instance(%x) = %d, %v; Lookup has %d", key, got, err, r.Lookup(key))
			}
		}
		// The borders are where a search goes wrong, so every one of them.
		for _, token := range r.Tokens() {
			for _, p := range []uint32{token.Position - 1, token.Position, token.Position + 1, 0, math.MaxUint32} {
				if got, want := r.At(p), naiveOwner(nodes, p); got != want {
					t.Fatalf("position %d belongs to %d, want %d", p, got, want)
				}
			}
		}
	})
}

func TestTokensAreCompleteAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t)
		r := New(nodes)
		if !slices.IsSortedFunc(r.Tokens(), compare) {
			t.Fatal("tokens are not in ring order")
		}
		held := map[int32]map[int32]bool{}
		for _, token := range r.Tokens() {
			if held[token.Node] == nil {
				held[token.Node] = map[int32]bool{}
			}
			held[token.Node][token.Index] = true
		}
		total := 0
		for _, n := range nodes {
			if total += n.Tokens; len(held[n.ID]) != n.Tokens {
				t.Fatalf("node %d holds %d tokens, want %d", n.ID, len(held[n.ID]), n.Tokens)
			}
		}
		if len(r.Tokens()) != total {
			t.Fatalf("%d tokens, want %d", len(r.Tokens()), total)
		}
		shuffled := slices.Clone(nodes)
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled),
			func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if !slices.Equal(New(shuffled).Tokens(), r.Tokens()) {
			t.Fatal("the ring depends on the order of its nodes")
		}
	})
}

func TestWrapAround(t *testing.T) {
	r := New([]Node{{ID: 3, Tokens: 2}, {ID: 9, Tokens: 2}})
	tokens := r.Tokens()
	first, last := tokens[0], tokens[len(tokens)-1]
	if last.Position == math.MaxUint32 {
		t.Fatal("these nodes leave no room after the last token")
	}
	for _, p := range []uint32{last.Position + 1, math.MaxUint32, 0, first.Position} {
		if got := r.At(p); got != first.Node {
			t.Errorf("position %d belongs to %d, want node %d of the first token", p, got, first.Node)
		}
	}
	if got := r.At(last.Position); got != last.Node {
		t.Errorf("the last token's own position belongs to %d, want %d", got, last.Node)
	}
}

func TestSingleTokenOwnsEverything(t *testing.T) {
	r := New([]Node{{ID: 5, Tokens: 1}, {ID: 6, Tokens: 0}})
	for _, p := range []uint32{0, 1, r.Tokens()[0].Position, r.Tokens()[0].Position + 1, math.MaxUint32} {
		if got := r.At(p); got != 5 {
			t.Errorf("position %d belongs to %d, want 5", p, got)
		}
	}
}

// With a few hundred thousand tokens some do fall on the same position; the
// lower node must come first, whatever the order in which nodes are given.
func TestTokensAtTheSamePosition(t *testing.T) {
	nodes := make([]Node, 100)
	for i := range nodes {
		nodes[i] = Node{ID: int32(len(nodes) - 1 - i), Tokens: 3000}
	}
	r := New(nodes)
	between, within := 0, 0
	for i, b := range r.Tokens()[1:] {
		a := r.Tokens()[i]
		if a.Position != b.Position {
			continue
		}
		if a.Node == b.Node {
			within++
		} else {
			between++
		}
		if a.Node > b.Node || a.Node == b.Node && a.Index > b.Index {
			t.Errorf("%v stands before %v", a, b)
		}
		if i > 0 && r.Tokens()[i-1].Position != a.Position && r.At(a.Position) != a.Node {
			t.Errorf("position %d belongs to %d, want the lower node %d", a.Position, r.At(a.Position), a.Node)
		}
	}
	if between == 0 {
		t.Error("no two nodes share a position: nothing was tested")
	}
	t.Logf("%d pairs of different nodes, %d of the same node", between, within)
}

// What makes the hash consistent: a node that leaves gives up its own keys only.
func TestRemovedNodeMovesOnlyItsKeys(t *testing.T) {
	nodes := []Node{{ID: 0, Tokens: 64}, {ID: 1, Tokens: 64}, {ID: 2, Tokens: 64}, {ID: 3, Tokens: 64}}
	before, after := New(nodes), New(nodes[:3])
	for i := range 10_000 {
		key := strconv.AppendInt([]byte("user:"), int64(i), 10)
		if was, is := before.Lookup(key), after.Lookup(key); was != 3 && was != is {
			t.Fatalf("%s moved from %d to %d although 3 left", key, was, is)
		}
	}
}

// The ring of the paper's experiments: four nodes of 16 tokens (halving) or one
// token (doubling), and where its workloads put their 100 messages.
func TestLettersOfThePaper(t *testing.T) {
	ringOf := func(tokens int) *Ring {
		return New([]Node{{ID: 0, Tokens: tokens}, {ID: 1, Tokens: tokens}, {ID: 2, Tokens: tokens}, {ID: 3, Tokens: tokens}})
	}
	halving, doubling := ringOf(16), ringOf(1)
	for _, w := range []struct {
		name              string
		letters           map[string]int
		halving, doubling float64
	}{
		{"WL1", map[string]int{"b": 25, "e": 25, "i": 25, "p": 25}, 0, 1},
		{"WL2", map[string]int{"b": 25, "c": 25, "l": 25, "v": 25}, 0, 0},
		{"WL3", map[string]int{"a": 100}, 1, 1},
		{"WL4", map[string]int{"b": 15, "e": 23, "l": 62}, 0.80, 0.49},
		{"WL5", map[string]int{"a": 26, "b": 14, "i": 20, "l": 40}, 0.20, 0.55},
	} {
		skew := func(r *Ring) float64 {
			messages := make([]int, 4)
			for letter, n := range w.letters {
				messages[r.Lookup([]byte(letter))] += n
			}
			return float64(slices.Max(messages)-25) / (100 - 25)
		}
		if h, d := skew(halving), skew(doubling); math.Abs(h-w.halving) > 0.005 || math.Abs(d-w.doubling) > 0.005 {
			t.Errorf("%s: S = %.2f/%.2f, want %.2f/%.2f", w.name, h, d, w.halving, w.doubling)
		}
	}
}

func TestNewPanicsWithoutTokens(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New([]Node{{ID: 1}})
}

func benchmarkKeys(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = []byte("user:" + strconv.FormatUint(1e10+rng.Uint64N(9e10), 10))
	}
	return keys
}

// One operation is one key of 16 bytes.
func BenchmarkLookup(b *testing.B) {
	keys := benchmarkKeys(1 << 16)
	for _, instances := range []int{4, 40, 1000} {
		b.Run("tokens=128/instances="+strconv.Itoa(instances), func(b *testing.B) {
			nodes := make([]Node, instances)
			for i := range nodes {
				nodes[i] = Node{ID: int32(i), Tokens: 128}
			}
			r := New(nodes)
			var sum int32
			for i := 0; b.Loop(); i++ {
				sum += r.Lookup(keys[i&(len(keys)-1)])
			}
			benchmarkSum = uint32(sum)
		})
	}
}

// The reason for the choice of hash.
func BenchmarkPosition(b *testing.B) {
	keys := benchmarkKeys(1 << 10)
	digest := spaolacci.New32()
	for _, hash := range []struct {
		name string
		sum  func([]byte) uint32
	}{
		{"twmb", Position},
		{"spaolacci", spaolacci.Sum32},
		{"spaolacci-digest", func(key []byte) uint32 { digest.Reset(); digest.Write(key); return digest.Sum32() }},
	} {
		b.Run("hash="+hash.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				benchmarkSum += hash.sum(keys[i&(len(keys)-1)])
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	nodes := make([]Node, 40)
	for i := range nodes {
		nodes[i] = Node{ID: int32(i), Tokens: 128}
	}
	b.Run("tokens=128/instances=40", func(b *testing.B) {
		for b.Loop() {
			benchmarkSum += New(nodes).Tokens()[0].Position
		}
	})
}

var benchmarkSum uint32

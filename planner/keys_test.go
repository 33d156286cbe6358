package planner_test

import (
	"testing"

	spaolacci "github.com/spaolacci/murmur3"
	"pgregory.net/rapid"

	"plannerd/planner"
)

// TestKeyHash checks the hash against another implementation, at every
// alignment, since both read the key by words.
func TestKeyHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "bytes")
		from := rapid.IntRange(0, min(8, len(b))).Draw(t, "from")
		if got, want := planner.KeyHash(b[from:]), spaolacci.Sum64(b[from:]); got != want {
			t.Fatalf("KeyHash(%x) = %x, want %x", b[from:], got, want)
		}
	})
}

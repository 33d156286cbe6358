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

// What is appended to a clone, or to the list itself, is not in the other.
func TestKeysClone(t *testing.T) {
	keys := planner.KeysOf("a", "b")
	clone := keys.Clone()
	keys.Append([]byte("c"))
	clone.Append([]byte("d"))
	if keys.Len() != 3 || clone.Len() != 3 || string(keys.At(2)) != "c" || string(clone.At(2)) != "d" ||
		!keys.Same(1, clone, 1) || keys.Same(2, clone, 2) || keys.Same(0, clone, 1) {
		t.Errorf("%q and %q", keys.At(2), clone.At(2))
	}
	var none *planner.Keys
	if none.Clone().Len() != 0 {
		t.Error("the clone of no list has keys")
	}
}

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample has every kind of change, and keys that try the codec: shared
// prefixes, a prefix of another key, NUL, bytes that are no UTF-8, 1 KiB.
func sample() []Change {
	long := bytes.Repeat([]byte("k"), MaxKeyBytes)
	return []Change{
		{Key: []byte("\x00"), Old: NoInstance, New: 0},
		{Key: []byte("\x00\x00"), Old: 0, New: NoInstance},
		{Key: []byte("User:1"), Old: 1, New: 2},
		{Key: long[:MaxKeyBytes-1], Old: 3, New: math.MaxInt32},
		{Key: long, Old: math.MaxInt32, New: NoInstance},
		{Key: []byte("user:1"), Old: 7, New: 0},
		{Key: []byte("user:1 "), Old: NoInstance, New: 300},
		{Key: []byte("é"), Old: NoInstance, New: 1},
		{Key: []byte("\xf0\x9f\x98\x80"), Old: 2, New: 1},
		{Key: []byte("\xff\xfe"), Old: 1, New: 2},
	}
}

// parted is sample with entries of keys that go to several instances.
func parted() []Change {
	changes := sample()
	changes[0].NewParts = "\x00"
	changes[1].OldParts = "both"
	changes[5].OldParts, changes[5].NewParts, changes[5].New = "before", "after", changes[5].Old
	return changes
}

func TestChangesSurviveTheCodec(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, want := range map[string][]Change{
		"none": nil, "sample": sample(), "parts": parted(), "one": sample()[:1], "many": randomChanges(random, 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			data, err := EncodeChanges(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeChanges(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A database outlives the program: what version 1 wrote must stay readable,
// whatever a newer compressor would write.
func TestDecodeChangesWrittenEarlier(t *testing.T) {
	data, err := os.ReadFile("testdata/changes.v1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeChanges(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

func TestEncodeChangesRefusesImpossibleChanges(t *testing.T) {
	a, b := []byte("a"), []byte("b")
	for name, changes := range map[string][]Change{
		"descending keys":     {{Key: b, Old: 0, New: 1}, {Key: a, Old: 0, New: 1}},
		"a key twice":         {{Key: a, Old: 0, New: 1}, {Key: a, Old: 1, New: 2}},
		"no key":              {{Old: 0, New: 1}},
		"a key too long":      {{Key: make([]byte, MaxKeyBytes+1), Old: 0, New: 1}},
		"nothing changes":     {{Key: a, Old: 1, New: 1}},
		"nothing to nothing":  {{Key: a, Old: NoInstance, New: NoInstance}},
		"a negative instance": {{Key: a, Old: -2, New: 1}},
		"the same parts":      {{Key: a, Old: 1, OldParts: "p", New: 1, NewParts: "p"}},
		"parts of nothing":    {{Key: a, Old: 1, New: NoInstance, NewParts: "p"}},
		"parts before it was": {{Key: a, Old: NoInstance, OldParts: "p", New: 1}},
		"too many parts":      {{Key: a, Old: 1, New: 1, NewParts: strings.Repeat("p", MaxPartsBytes+1)}},
	} {
		if _, err := EncodeChanges(changes); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDecodeChangesRefusesDamage(t *testing.T) {
	for _, changes := range [][]Change{sample(), parted()} {
		refusesDamage(t, changes)
	}
}

func refusesDamage(t *testing.T, changes []Change) {
	data, err := EncodeChanges(changes)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := DecodeChanges(data[:n]); !errors.Is(err, errCorrupt) {
			t.Errorf("the first %d of %d bytes: error %v", n, len(data), err)
		}
	}
	for bit := range 8 * len(data) {
		damaged := slices.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		got, err := DecodeChanges(damaged)
		if err == nil && !cmp.Equal(got, changes) {
			t.Errorf("bit %d flipped: other changes and no error", bit)
		}
	}
	if _, err := DecodeChanges(append(slices.Clone(data), 0)); !errors.Is(err, errCorrupt) {
		t.Errorf("a byte appended: error %v", err)
	}
	bomb := binary.AppendUvarint([]byte{formatColumns}, 1<<40)
	if _, err := DecodeChanges(append(bomb, data[3:]...)); !errors.Is(err, errCorrupt) {
		t.Errorf("a length of a terabyte: error %v", err)
	}
}

func FuzzDecodeChanges(f *testing.F) {
	for _, changes := range [][]Change{sample(), parted()} {
		data, err := EncodeChanges(changes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, err := DecodeChanges(data)
		if err != nil {
			return
		}
		if err := checkChanges(changes); err != nil {
			t.Fatalf("decoded changes are impossible: %v", err)
		}
	})
}

// The body is fuzzed by itself: hardly any mutation passes the checksum.
func FuzzDecodeColumns(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 0, 1, 0, 1, 'a'})
	f.Add([]byte{2, 0, 1, 1, 1, 0, 1, 1, 0, 'a', 'b'})
	f.Add([]byte{1, 0, 1, 1, 1, 'a', 0, 0, 1, 'p'})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, parts := range []bool{false, true} {
			changes, err := decodeColumns(body, parts)
			if err != nil {
				continue
			}
			data, err := EncodeChanges(changes)
			if err != nil {
				t.Fatalf("decoded changes do not encode: %v", err)
			}
			again, err := DecodeChanges(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(changes, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes differ (-first +again):\n%s", diff)
			}
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	changes := randomChanges(rand.New(rand.NewPCG(1, 2)), 100_000)
	data, err := EncodeChanges(changes)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode/changes=1e5", func(b *testing.B) {
		for b.Loop() {
			if _, err := EncodeChanges(changes); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(data))/float64(len(changes)), "bytes/change")
	})
	b.Run("decode/changes=1e5", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeChanges(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// randomChanges returns n changes in ascending order of their keys.
func randomChanges(random *rand.Rand, n int) []Change {
	changes := make([]Change, n)
	for i := range changes {
		from := random.Int32N(41) - 1
		to := random.Int32N(40) - 1
		if to >= from {
			to++
		}
		changes[i] = Change{Key: fmt.Appendf(nil, "user:%08d", i*7+random.IntN(7)), Old: from, New: to}
	}
	return changes
}

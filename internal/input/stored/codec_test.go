package stored

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

// encodeList encodes migrations by way of a plan that has just them.
func encodeList(m *Migrations) []byte {
	s := &planner.Snapshot{Keys: m.keys, Cost: m.cost, State: m.state}
	p := &planner.Plan{Snapshot: s}
	index := func(id int32) int32 {
		s.Instances = append(s.Instances, planner.Instance{ID: id})
		return int32(len(s.Instances) - 1)
	}
	for i := range m.Len() {
		p.Moves = append(p.Moves, planner.Move{Item: int32(i), From: index(m.from[i]), To: index(m.to[i]),
			Reason: m.reason[i]})
	}
	return EncodeMigrations(p)
}

func mustDecodeMigrations(t *testing.T, encoded []byte) *Migrations {
	t.Helper()
	m, err := DecodeMigrations(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sameMigration(x, y lists.Migration) bool {
	return bytes.Equal(x.Key, y.Key) && x.From == y.From && x.To == y.To && x.Reason == y.Reason &&
		math.Float64bits(x.Cost) == math.Float64bits(y.Cost) && math.Float64bits(x.State) == math.Float64bits(y.State)
}

func sameMigrations(a, b *Migrations) bool {
	return slices.EqualFunc(slices.Collect(iter.Seq[lists.Migration](a.All())),
		slices.Collect(iter.Seq[lists.Migration](b.All())), sameMigration)
}

func TestMigrationsRoundTrip(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(200_000))
	for _, n := range []int{0, 1, 1000, 100_000} {
		for _, state := range [][]float64{nil, s.State} {
			p := planOf(s, max(n, 1))
			p.Moves = p.Moves[:n]
			p.Snapshot.State = state
			m := mustDecodeMigrations(t, EncodeMigrations(p))
			want := slices.Collect(iter.Seq[lists.Migration](lists.MigrationsOf(p)))
			if m.Len() != n || len(want) != n {
				t.Fatalf("%d migrations, want %d", m.Len(), n)
			}
			for i, w := range want {
				if g := m.At(i); !sameMigration(w, g) {
					t.Fatalf("migration %d is %+v, want %+v", i, g, w)
				}
			}
		}
	}
}

func TestInputRoundTrip(t *testing.T) {
	big := inputtest.StatisticsOf(inputtest.ZipfRows(200_000)) // several blocks by rows
	big.HashInstance = slices.Repeat([]int32{planner.NoInstance, math.MaxInt32}, 100_000)
	long := &planner.Statistics{Keys: planner.NewKeys(0)} // several blocks by bytes
	r := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		k := make([]byte, 1+r.IntN(1024))
		for i := range k {
			k[i] = byte(r.Uint32())
		}
		long.Keys.Append(k)
		long.Cost = append(long.Cost, math.Float64frombits(r.Uint64()>>1))
	}
	rest := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{5e-324}, Partial: true}
	for i := range 70_000 {
		rest.Residual = append(rest.Residual, planner.Residual{Instance: int32(i), Cost: r.Float64(), State: r.Float64(),
			Keys: r.Int64()})
	}
	little := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{2}, PartialOn: []int32{3}}
	for i := range int32(70_000) { // several blocks
		little.Frozen = append(little.Frozen, 7+2*i)
	}
	frozen := &planner.Statistics{Keys: planner.NewKeys(0), Frozen: []int32{0, math.MaxInt32}}
	resources := inputtest.StatisticsOf(inputtest.ZipfRows(70_000)) // several blocks, and smaller ones
	for i := range 16 {
		resources.Costs = append(resources.Costs, planner.Amounts{Name: fmt.Sprint("r", i), Rows: resources.State})
	}
	empty := &planner.Statistics{Keys: planner.NewKeys(0)}
	for name, s := range map[string]*planner.Statistics{
		"many": big, "long keys": long, "residual": rest, "little known": little, "frozen": frozen, "empty": empty,
		"shares": {Keys: planner.KeysOf("a"), Cost: []float64{5}, State: []float64{3},
			Shares: []planner.Share{{Instance: 1, State: 1}, {Instance: 4, State: 2}}},
		"resources": resources, "resources and no rows": {Keys: planner.NewKeys(0), Partial: true,
			Residual: []planner.Residual{{Instance: 1}}, Costs: []planner.Amounts{{Name: "cpu", Residual: []float64{3}}}},
	} {
		if n, costs := RowsOf(encodeInput(s)); n != s.Len() || costs != len(s.Costs) {
			t.Errorf("%d rows of %d, %d amounts of %d", n, s.Len(), costs, len(s.Costs))
		}
		got, _, err := DecodeInput(encodeInput(s))
		if err != nil {
			t.Fatal(name, err)
		}
		inputtest.SameStatistics(t, name, got, s)
	}
}

// TestCorruption changes, cuts and extends blobs everywhere.
func TestCorruption(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(50))
	s.PartialOn, s.Frozen, s.Shares = []int32{2, 5}, []int32{3}, []planner.Share{{Row: 1, Instance: 2, State: 3}}
	s.Residual = []planner.Residual{{Instance: 1}}
	s.Costs = []planner.Amounts{{Name: "network", Rows: s.State, Residual: []float64{5}}}
	for name, c := range map[string]struct {
		blob   []byte
		decode func([]byte) error
	}{
		"input":      {encodeInput(s), func(b []byte) error { _, _, err := DecodeInput(b); return err }},
		"migrations": {EncodeMigrations(planOf(s, 20)), func(b []byte) error { _, err := DecodeMigrations(b); return err }},
		"compact": {EncodeCompact(&compact.Statistics{
			Records: inputtest.Records(50), Partial: true,
			Residual: []planner.Residual{{Instance: 1, Cost: 2, State: 3, Keys: 4}},
		}), func(b []byte) error { _, err := DecodeCompact(b); return err }},
		"class moves": {EncodeClassMoves(inputtest.Records(50)), func(b []byte) error {
			_, err := DecodeClassMoves(b)
			return err
		}},
	} {
		if err := c.decode(c.blob); err != nil {
			t.Fatal(name, err)
		}
		for i := range c.blob {
			changed := slices.Clone(c.blob)
			changed[i] ^= 0x10
			for _, b := range [][]byte{changed, c.blob[:i], append(slices.Clone(c.blob), c.blob[:i+1]...)} {
				if err := c.decode(b); !errors.Is(err, blob.ErrCorrupt) {
					t.Fatalf("%s: damage at byte %d: %v", name, i, err)
				}
			}
		}
	}
}

// Where every instance says all there is, a blob is what it was before instances
// could say less: stored ones stay readable, also by builds that know no better.
func TestInputWithoutLists(t *testing.T) {
	s := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, Partial: true,
		Residual: []planner.Residual{{Instance: 2, Cost: 3}}}
	plain := encodeInput(s)
	if flags := plain[blob.HeaderBytes]; flags != inputPartial {
		t.Errorf("flags %b, want %b", flags, inputPartial)
	}
	s.PartialOn, s.Frozen, s.Costs = []int32{}, []int32{}, []planner.Amounts{}
	if !bytes.Equal(encodeInput(s), plain) {
		t.Error("empty lists change the blob")
	}
	s.PartialOn, s.Frozen = []int32{1}, []int32{4}
	if with := encodeInput(s); !bytes.HasPrefix(with[blob.HeaderBytes+1:], plain[blob.HeaderBytes+1:]) {
		t.Errorf("%q does not begin as %q", with, plain)
	}
}

// What an interval added to states that are sums comes back beside them.
func TestStoredAddedState(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(70_000)) // several blocks
	added := make([]float64, s.Len())
	for i := range added {
		added[i] = float64(i) / 3
	}
	encoded := EncodeInputUntil(s, added, func() bool { return false })
	back, got, err := DecodeInput(encoded)
	if err != nil || !slices.Equal(got, added) {
		t.Fatalf("%d rows of %d: %v", len(got), len(added), err)
	}
	inputtest.SameStatistics(t, "added", back, s)
	if _, none, err := DecodeInput(encodeInput(s)); none != nil || err != nil {
		t.Errorf("of states that are no sums %d came back: %v", len(none), err)
	}
}

// TestAmountsAreSeen: a migration that removes what older programs cannot read finds amounts of resources by
// the flags behind the header.
func TestAmountsAreSeen(t *testing.T) {
	s := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}}
	plain := EncodeInputUntil(s, nil, func() bool { return false })
	s.Costs = []planner.Amounts{{Name: "memory", Rows: []float64{1}}}
	blob := EncodeInputUntil(s, nil, func() bool { return false })
	if string(blob[:4]) != "PLIN" || blob[9] < 0x80 || blob[10] < 4 || blob[10] > 7 || plain[9] >= 0x80 {
		t.Errorf("% x, % x", blob[:12], plain[:12])
	}
}

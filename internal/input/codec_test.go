package input

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/compact"
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

func mustDecodeMigrations(t *testing.T, blob []byte) *Migrations {
	t.Helper()
	m, err := DecodeMigrations(blob)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sameMigration(x, y Migration) bool {
	return bytes.Equal(x.Key, y.Key) && x.From == y.From && x.To == y.To && x.Reason == y.Reason &&
		math.Float64bits(x.Cost) == math.Float64bits(y.Cost) && math.Float64bits(x.State) == math.Float64bits(y.State)
}

func sameMigrations(a, b *Migrations) bool {
	return slices.EqualFunc(slices.Collect(a.All()), slices.Collect(b.All()), sameMigration)
}

func TestMigrationsRoundTrip(t *testing.T) {
	s := statisticsOf(zipfRows(200_000))
	for _, n := range []int{0, 1, 1000, 100_000} {
		for _, state := range [][]float64{nil, s.State} {
			p := planOf(s, max(n, 1))
			p.Moves = p.Moves[:n]
			p.Snapshot.State = state
			m := mustDecodeMigrations(t, EncodeMigrations(p))
			want := slices.Collect(MigrationsOf(p))
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
	big := statisticsOf(zipfRows(200_000)) // several blocks by rows
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
	empty := &planner.Statistics{Keys: planner.NewKeys(0)}
	for name, s := range map[string]*planner.Statistics{
		"many": big, "long keys": long, "residual": rest, "little known": little, "frozen": frozen, "empty": empty,
		"shares": {Keys: planner.KeysOf("a"), Cost: []float64{5}, State: []float64{3},
			Shares: []planner.Share{{Instance: 1, State: 1}, {Instance: 4, State: 2}}},
	} {
		if n := StoredRows(encodeInput(s)); n != s.Len() {
			t.Errorf("%d rows of %d", n, s.Len())
		}
		got, _, err := DecodeInput(encodeInput(s))
		if err != nil {
			t.Fatal(name, err)
		}
		sameStatistics(t, name, got, s)
	}
}

// TestCorruption changes, cuts and extends blobs everywhere.
func TestCorruption(t *testing.T) {
	s := statisticsOf(zipfRows(50))
	s.PartialOn, s.Frozen, s.Shares = []int32{2, 5}, []int32{3}, []planner.Share{{Row: 1, Instance: 2, State: 3}}
	for name, c := range map[string]struct {
		blob   []byte
		decode func([]byte) error
	}{
		"input": {encodeInput(s), func(b []byte) error { _, _, err := DecodeInput(b); return err }},
		"report": {EncodeReport(s), func(b []byte) error {
			_, err := MergeReports(t.Context(), []Report{{Blob: b}}, nil, nil)
			return err
		}},
		"migrations": {EncodeMigrations(planOf(s, 20)), func(b []byte) error { _, err := DecodeMigrations(b); return err }},
		"compact": {EncodeCompact(&compact.Statistics{
			Records: recordsOf(50), Partial: true, Residual: []planner.Residual{{Instance: 1, Cost: 2, State: 3, Keys: 4}},
		}), func(b []byte) error { _, err := DecodeCompact(b); return err }},
		"class moves": {EncodeClassMoves(recordsOf(50)), func(b []byte) error { _, err := DecodeClassMoves(b); return err }},
	} {
		if err := c.decode(c.blob); err != nil {
			t.Fatal(name, err)
		}
		for i := range c.blob {
			changed := slices.Clone(c.blob)
			changed[i] ^= 0x10
			for _, b := range [][]byte{changed, c.blob[:i], append(slices.Clone(c.blob), c.blob[:i+1]...)} {
				if err := c.decode(b); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: damage at byte %d: %v", name, i, err)
				}
			}
		}
	}
}

var written = []Migration{
	{Key: []byte("user:1"), From: 1, To: 3, Cost: 40, State: 900.25, Reason: planner.ReasonOverload},
	{Key: []byte("a\"b,c\r\nd\\é\u2028\x01"), From: 0, To: math.MaxInt32, Cost: 1e-9, State: 1e300,
		Reason: planner.ReasonMoveBack},
	{Key: []byte("x y"), From: 2, To: 0, Cost: 1.0 / 3, State: 1 << 60, Reason: planner.ReasonDrain},
}

func TestWriteJSON(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var lines bytes.Buffer
		if err := listOf(slices.Values(written)).WriteNDJSON(&lines, asked); err != nil {
			t.Fatal(err)
		}
		list := "[" + strings.ReplaceAll(strings.TrimSuffix(lines.String(), "\n"), "\n", ",") + "]"
		if got := listOf(slices.Values(written)).AppendJSON([]byte("x"), asked); string(got) != "x"+list {
			t.Errorf("list %s, want x%s", got, list)
		}
		var back []struct {
			Key, Reason string
			From, To    int32
			Cost, State float64
		}
		if err := json.Unmarshal([]byte(list), &back); err != nil {
			t.Fatal(err)
		}
		for i, b := range back {
			key := []byte(b.Key)
			if asked {
				if err := json.Unmarshal([]byte(strconv.Quote(b.Key)), &key); err != nil { // base64, as []byte is
					t.Fatal(err)
				}
			}
			reason, _ := planner.ParseReason(b.Reason)
			got := Migration{key, b.From, b.To, b.Cost, b.State, reason}
			if diff := cmp.Diff(written[i], got); diff != "" {
				t.Error(diff)
			}
		}
	}
	binary := []Entry{{Key: []byte("\xff\x00"), Instance: 4}, {Key: []byte("a"), Instance: 5}}
	for asked, want := range map[bool]string{
		false: `[{"key":"/wA=","key_encoding":"base64","instance":4},{"key":"a","instance":5}]`,
		true:  `[{"key":"/wA=","instance":4},{"key":"YQ==","instance":5}]`,
	} {
		if got := string(listOf(slices.Values(binary)).AppendJSON(nil, asked)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := string(listOf(slices.Values(binary[:0])).AppendJSON(nil, false)); got != "[]" {
		t.Error(got)
	}
	if !listOf(slices.Values(binary)).NeedsBase64() || listOf(slices.Values(binary[1:])).NeedsBase64() {
		t.Error("NeedsBase64 is wrong")
	}
}

func TestWriteCSV(t *testing.T) {
	var b bytes.Buffer
	if err := listOf(slices.Values(written)).WriteCSV(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "key,from,to,cost,state,reason\n" +
		"user:1,1,3,40,900.25,overload\n" +
		"\"a\"\"b,c\r\nd\\é\u2028\x01\",0,2147483647,1e-09,1e+300,move_back\n" +
		"x y,2,0,0.3333333333333333,1152921504606847000,drain\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(records) != 4 || records[2][0] != "a\"b,c\nd\\é\u2028\x01" { // encoding/csv drops the CR
		t.Errorf("%q %v", records, err)
	}

	entries := []Entry{{Key: []byte("a"), Instance: 5}, {Key: []byte("\xff"), Instance: 4}}
	b.Reset()
	if err := listOf(slices.Values(entries)).WriteCSV(&b, false); !errors.Is(err, ErrKeyText) ||
		b.String() != "key,instance,weight\na,5,\n" {
		t.Errorf("%v after %q", err, b.String())
	}
	b.Reset()
	if err := listOf(slices.Values(entries)).WriteCSV(&b, true); err != nil ||
		b.String() != "key,instance,weight\nYQ==,5,\n/w==,4,\n" {
		t.Errorf("%v after %q", err, b.String())
	}
	b.Reset()
	if err := listOf(slices.Values(entries[:0])).WriteCSV(&b, true); err != nil || b.String() != "key,instance,weight\n" {
		t.Errorf("%v after %q", err, b.String())
	}
}

// TestWrittenNumbers: numbers are written as strconv writes the shortest that reads back.
func TestWrittenNumbers(t *testing.T) {
	check := func(x float64) {
		t.Helper()
		format := byte('f')
		if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
			format = 'e'
		}
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			x += 0 // there is no −0
		}
		if got, want := string(appendNumber([]byte("x"), x)), "x"+strconv.FormatFloat(x, format, -1, 64); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	for _, x := range []float64{0, 1, 0.001, 0.0001, 0.1, 12.5, 0.25, 1.125, 1.0625, 100.1, 1e12 + 0.001, 1e12 - 0.001,
		999999999999.999, 1e15 + 0.5, -1, -0.5,
		math.SmallestNonzeroFloat64, math.MaxFloat64, 1e-6, 1e-7, 1e21, 1 << 53, 0.1 + 0.2, math.Nextafter(0.1, 1),
		math.Nextafter(17.25, 0)} {
		check(x)
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 200_000 {
		n, scale := r.Int64N(1<<(1+r.Int64N(50))), math.Pow10(r.IntN(5))
		x := float64(n) / scale
		check(x)
		check(math.Nextafter(x, 1e300))
		check(r.Float64() * scale)
	}
}

// TestTableChanges: no entry is null in JSON, and an empty field in CSV.
func TestTableChanges(t *testing.T) {
	changes := slices.Values([]TableChange{
		{Key: []byte("a,b"), Instance: 3, Previous: planner.NoInstance},
		{Key: []byte("c"), Instance: planner.NoInstance, Previous: 0},
		{Key: []byte("d"), Instance: 2, Previous: 2, Parts: []planner.Part{
			{Instance: 2, Weight: 65535}, {Instance: 9, Weight: 1},
		}},
	})
	if got, want := string(listOf(changes).AppendJSON(nil, false)),
		`[{"key":"a,b","instance":3,"previous":null},{"key":"c","instance":null,"previous":0},`+
			`{"key":"d","instance":2,"previous":2,"parts":[{"instance":2,"weight":65535},{"instance":9,"weight":1}]}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var b bytes.Buffer
	if err := listOf(changes).WriteCSV(&b, false); err != nil ||
		b.String() != "key,instance,previous,parts,previous_parts\n\"a,b\",3,,,\nc,,0,,\nd,2,2,2:65535 9:1,\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestWrittenLists: a list is written as it is appended, also in pieces, and left
// unflushed in a buffer that is large enough.
func TestWrittenLists(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5000} {
		records := slices.Values(slices.Repeat(written, n))
		want := string(listOf(records).AppendJSON(nil, false))
		var b bytes.Buffer
		if err := listOf(records).WriteJSON(&b, false); err != nil || b.String() != want {
			t.Errorf("%d: %v, %d bytes, want %d", n, err, b.Len(), len(want))
		}
		b.Reset()
		out := bufio.NewWriterSize(&b, writeBytes)
		if err := listOf(records).WriteJSON(out, false); err != nil || b.Len()+out.Buffered() != len(want) ||
			out.Buffered() == 0 {
			t.Errorf("%d: %v, %d bytes and %d in the buffer, want %d", n, err, b.Len(), out.Buffered(), len(want))
		}
	}
}

type brokenWriter struct{ room int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	many := slices.Values(slices.Repeat(written, 5000))
	for _, room := range []int{0, 100_000} {
		if err := listOf(many).WriteNDJSON(&brokenWriter{room}, false); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		if err := listOf(many).WriteJSON(&brokenWriter{room}, false); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
}

// Where every instance says all there is, a blob is what it was before instances
// could say less: stored ones stay readable, also by builds that know no better.
func TestInputWithoutLists(t *testing.T) {
	s := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, Partial: true,
		Residual: []planner.Residual{{Instance: 2, Cost: 3}}}
	plain := encodeInput(s)
	if flags := plain[blobHeader]; flags != inputPartial {
		t.Errorf("flags %b, want %b", flags, inputPartial)
	}
	s.PartialOn, s.Frozen = []int32{}, []int32{}
	if !bytes.Equal(encodeInput(s), plain) {
		t.Error("empty lists change the blob")
	}
	s.PartialOn, s.Frozen = []int32{1}, []int32{4}
	if with := encodeInput(s); !bytes.HasPrefix(with[blobHeader+1:], plain[blobHeader+1:]) {
		t.Errorf("%q does not begin as %q", with, plain)
	}
}

// What an interval added to states that are sums comes back beside them.
func TestStoredAddedState(t *testing.T) {
	s := statisticsOf(zipfRows(70_000)) // several blocks
	added := make([]float64, s.Len())
	for i := range added {
		added[i] = float64(i) / 3
	}
	blob := EncodeInputUntil(s, added, func() bool { return false })
	back, got, err := DecodeInput(blob)
	if err != nil || !slices.Equal(got, added) {
		t.Fatalf("%d rows of %d: %v", len(got), len(added), err)
	}
	sameStatistics(t, "added", back, s)
	if _, none, err := DecodeInput(encodeInput(s)); none != nil || err != nil {
		t.Errorf("of states that are no sums %d came back: %v", len(none), err)
	}
}

package lists

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

	"plannerd/planner"
)

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
	if err := listOf(slices.Values(written)).WriteCSV(&b, false, nil); err != nil {
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
	if err := listOf(slices.Values(entries)).WriteCSV(&b, false, nil); !errors.Is(err, ErrKeyText) ||
		b.String() != "key,instance,weight\na,5,\n" {
		t.Errorf("%v after %q", err, b.String())
	}
	b.Reset()
	if err := listOf(slices.Values(entries)).WriteCSV(&b, true, nil); err != nil ||
		b.String() != "key,instance,weight\nYQ==,5,\n/w==,4,\n" {
		t.Errorf("%v after %q", err, b.String())
	}
	b.Reset()
	if err := listOf(slices.Values(entries[:0])).WriteCSV(&b, true, nil); err != nil ||
		b.String() != "key,instance,weight\n" {
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
	if err := listOf(changes).WriteCSV(&b, false, nil); err != nil ||
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

package input

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
)

// oracleArrow reads an Arrow stream value by value, through the library's own
// means alone.
func oracleArrow(body []byte, base64Keys bool) (read oracleBody, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = refuse("%v", broken)
		}
	}()
	in := bytes.NewReader(body)
	bounded := &boundedAllocator{Allocator: memory.NewGoAllocator(), left: 16 << 20}
	r, err := ipc.NewReader(in, ipc.WithAllocator(bounded))
	if err != nil {
		return read, err
	}
	defer r.Release()
	var cells []map[string]any
	binary := false
	for r.Next() {
		batch := r.RecordBatch()
		if batch.NumCols() == 0 {
			return read, refuse("no columns")
		}
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c, f := range r.Schema().Fields() {
				if v := oracleCell(batch.Column(c), i); v != nil {
					row[f.Name] = v
				}
				binary = binary || f.Name == "key" && isBinary(f.Type)
			}
			cells = append(cells, row)
		}
	}
	if r.Err() != nil {
		return read, r.Err()
	}
	if in.Len() > 0 || !bytes.HasSuffix(body, []byte{0, 0, 0, 0}) {
		return read, refuse("the end is not where it should be")
	}
	return oracleColumnsOf(r.Schema(), cells, base64Keys && !binary)
}

// oracleCell returns a text as bytes, a number as a big.Float or as what is none;
// nil: null.
func oracleCell(a arrow.Array, i int) any {
	if d, ok := a.(*array.Dictionary); ok {
		if d.IsNull(i) {
			return nil
		}
		return oracleCell(d.Dictionary(), d.GetValueIndex(i))
	}
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return nil
	}
	switch a := a.(type) {
	case array.StringLike:
		if !utf8.ValidString(a.Value(i)) {
			panic("not UTF-8")
		}
		return []byte(a.Value(i))
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	case *array.BinaryView:
		return a.Value(i)
	}
	text := fmt.Sprint(a.GetOneForMarshal(i))
	if short, ok := a.(*array.Float32); ok {
		text = fmt.Sprint(float64(short.Value(i)))
	}
	if n, _, err := big.ParseFloat(text, 10, 2000, big.ToNearestEven); err == nil && !n.IsInf() {
		return n
	}
	return text
}

// oracleColumnsOf applies the rules to cells.
func oracleColumnsOf(s *arrow.Schema, cells []map[string]any, base64Keys bool) (read oracleBody, err error) {
	var header []string
	for _, f := range s.Fields() {
		if f.Name == "count" {
			return read, errUncomparable
		}
		header = append(header, f.Name)
		if id := f.Type.ID(); id != arrow.NULL && (f.Name == "key" || !arrow.IsInteger(id)) && !oracleHolds(f) {
			return read, refuse("column %s of %v", f.Name, f.Type)
		}
	}
	if err := oracleHeader(header); err != nil {
		return read, err
	}
	for i, row := range cells {
		r, err := oracleArrowRow(header, row)
		if err != nil {
			return read, fmt.Errorf("row %d: %w", i, err)
		}
		read.rows = append(read.rows, r)
	}
	read.rows, err = oracleRows(read.rows, base64Keys)
	return read, err
}

// oracleHolds tells whether a column may have a type other than null and integers.
func oracleHolds(f arrow.Field) bool {
	same := func(t arrow.DataType) bool { return t.ID() == inputtest.ValueType(f.Type).ID() }
	if strings.HasPrefix(f.Name, "cost.") {
		return slices.ContainsFunc(floatTypes, same)
	}
	switch f.Name {
	case "key":
		return slices.ContainsFunc(slices.Concat(textTypes, binaryTypes), same)
	case "cost", "frequency", "state":
		return slices.ContainsFunc(floatTypes, same)
	}
	return false
}

func oracleArrowRow(header []string, cells map[string]any) (r oracleRow, err error) {
	costs := 0
	for _, name := range header {
		if of, found := strings.CutPrefix(name, "cost."); found {
			if r.costs == nil {
				r.costs = map[string]float64{}
			}
			r.costs[of] = 0
		}
	}
	for name, v := range cells {
		field, of, _ := strings.Cut(name, ".")
		switch field {
		case "key":
			r.key = string(v.([]byte))
			continue
		case "cost", "frequency", "state":
			n, ok := v.(*big.Float)
			if !ok || n.Sign() < 0 {
				return r, refuse("%s %v", name, v)
			}
			x, _ := n.Float64()
			if x > 1e290 {
				return r, refuse("%s %v", name, v)
			}
			x = math.Abs(x)
			switch {
			case name == "state":
				r.state = &x
			case of != "":
				r.costs[of] = x
			default:
				r.cost = x
				costs++
			}
			continue
		}
		n, ok := v.(*big.Float)
		if !ok || n.Sign() < 0 || n.Cmp(big.NewFloat(math.MaxInt32)) > 0 {
			return r, refuse("%s %v", name, v)
		}
		x, _ := n.Int64()
		id := int32(x)
		if name == "instance" {
			r.instance = &id
		} else {
			r.hashInstance = &id
		}
	}
	if costs != 1 {
		return r, refuse("%d costs", costs)
	}
	return r, nil
}

// arrowSeeds are streams of all types, with all features.
func arrowSeeds(tb testing.TB) (seeds [][]byte) {
	numbers := func(cost, id arrow.DataType) []arrow.Field {
		return []arrow.Field{col("frequency", cost), col("key", arrow.BinaryTypes.String), col("hash_instance", id),
			col("instance", arrow.Null)}
	}
	for _, k := range append(append([]arrow.DataType{}, textTypes...), binaryTypes...) {
		rows := `[{"key":"YQ==","cost":1,"state":2,"instance":3},{"key":"YSBrZXkgdGhhdCBubyB2aWV3IGhvbGRz","cost":4.5,"state":1}]`
		for _, o := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
			seeds = append(seeds, arrowOf(tb, usual(k), o, rows),
				arrowOf(tb, usual(dictionaryOf(k)), o, rows, `[{"key":"Yg==","cost":1,"state":0}]`, `[]`))
		}
		seeds = append(seeds, arrowOf(tb, usual(k), nil, rows, `[{"cost":1}]`))
	}
	for _, n := range append(append([]arrow.DataType{}, intTypes...), floatTypes...) {
		seeds = append(seeds, arrowOf(tb, numbers(n, n), nil,
			`[{"key":"Yw==","frequency":7,"hash_instance":9},{"key":"ZA==","frequency":100}]`))
	}
	for _, n := range append(append([]arrow.DataType{}, intTypes...), floatTypes...) {
		fields := append(usual(arrow.BinaryTypes.Binary), col("cost.disk_io", n), col("cost.cpu", n))
		seeds = append(seeds, arrowOf(tb, fields, nil,
			`[{"key":"YQ==","cost":1,"state":2,"cost.cpu":3}]`, `[{"key":"Yg==","cost":1,"state":2,"cost.cpu":3,"cost.disk_io":4}]`))
	}
	records := `[{"instance":1,"hash_instance":2,"cost":3,"state":4,"count":5}]`
	i64 := arrow.PrimitiveTypes.Int64
	return append(seeds,
		arrowOf(tb, []arrow.Field{col("instance", i64), col("hash_instance", i64), col("cost", i64), col("state", i64),
			col("count", i64)}, nil, records),
		arrowOf(tb, []arrow.Field{col("key", arrow.ListOf(i64)), col("cost", i64)}, nil, `[]`))
}

// FuzzDecodeArrow holds that what is taken is what the library reads, that what
// is wrong in its values is, and that memory is bounded whatever is sent.
func FuzzDecodeArrow(f *testing.F) {
	for _, body := range arrowSeeds(f) {
		f.Add(body, false)
		f.Add(body, true)
	}
	f.Fuzz(agreeArrow)
}

func agreeArrow(t *testing.T, body []byte, base64Keys bool) {
	o := Options{Base64Keys: base64Keys, Limits: Limits{Bytes: 1 << 20}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := decodeArrow(bytes.NewReader(body), o)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Fatalf("%q: %d bytes of memory", body, used)
	}
	outcome := describe(d, err)
	if got := describe(decodeArrow(iotest.OneByteReader(bytes.NewReader(body)), o)); got != outcome {
		t.Fatalf("%q\nbyte by byte: %s\notherwise: %s", body, got, outcome)
	}
	var e *Error
	switch {
	case err != nil && !errors.As(err, &e):
		t.Fatalf("%q: error of no kind: %v", body, err)
	case err != nil && !harmless(e):
		return // the library is not as strict, and not to be trusted with it
	}
	want, refused := oracleArrow(body, base64Keys)
	switch {
	case errors.Is(refused, errUncomparable):
	case err != nil && refused == nil:
		t.Fatalf("refused, but well: %v\n%q", err, body)
	case err == nil && refused != nil:
		t.Fatalf("accepted, but: %v\n%q", refused, body)
	case err == nil:
		sameDocument(t, string(body), d, want)
	}
}

// boundedAllocator panics once more is allocated than it has left.
type boundedAllocator struct {
	memory.Allocator
	left int
}

func (b *boundedAllocator) Allocate(size int) []byte {
	if b.left -= size; b.left < 0 {
		panic(errOracle)
	}
	return b.Allocator.Allocate(size)
}

func (b *boundedAllocator) Reallocate(size int, old []byte) []byte {
	if size <= cap(old) {
		return old[:size]
	}
	return append(b.Allocate(size)[:0], old...)[:size]
}

// harmless tells whether the library may be given a stream: it was read to its end, and what is
// wrong are values of its rows.
func harmless(e *Error) bool {
	return e.Kind == Invalid && len(e.Problems) < problem.Most &&
		!slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Row == 0 })
}

// Seeds are streams that are taken, most of them.
func TestArrowSeeds(t *testing.T) {
	taken := 0
	for _, body := range arrowSeeds(t) {
		if _, err := decodeArrow(bytes.NewReader(body), Options{Base64Keys: true}); err == nil {
			taken++
		}
	}
	if taken < 40 {
		t.Errorf("only %d", taken)
	}
}

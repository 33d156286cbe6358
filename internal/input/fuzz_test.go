package input

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/compact"
	"plannerd/planner"
)

// agree decodes a body and compares the outcome with an oracle's, and with that
// of windows that cut the body everywhere.
func agree[D, W any](t *testing.T, decode func(io.Reader, Options) (D, error), oracle func([]byte, bool) (W, error),
	same func(t *testing.T, body string, got D, want W), body []byte, base64Keys bool) (kind Kind) {
	o := Options{Base64Keys: base64Keys}
	d, err := decode(bytes.NewReader(body), o)
	outcome := describe(d, err)
	defer func(size int) { windowSize = size }(windowSize)
	windowSize = 1 + len(body)%61
	if got := describe(decode(bytes.NewReader(body), o)); got != outcome {
		t.Fatalf("%q\nthrough a window of %d: %s\notherwise: %s", body, windowSize, got, outcome)
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%q: error of no kind: %v", body, err)
	}
	if e != nil && (e.Kind == TooLarge || strings.Contains(outcome, "nested too deeply")) {
		return TooLarge // the oracle has no such limits
	}
	want, refused := oracle(body, base64Keys)
	switch {
	case errors.Is(refused, errUncomparable):
		return TooLarge
	case e != nil && refused == nil:
		t.Fatalf("%q: refused, but well: %v", body, err)
	case e == nil && refused != nil:
		t.Fatalf("%q: accepted, but: %v", body, refused)
	case e != nil:
		return e.Kind
	}
	same(t, string(body), d, want)
	return 0
}

func sameDocument(t *testing.T, body string, got *Document, want oracleBody) {
	switch {
	case want.records != nil:
		if !slices.EqualFunc(got.Records, want.records, sameRecord) || got.Records == nil {
			t.Fatalf("%s: records %v, want %v", body, got.Records, want.records)
		}
		if got.Stats != nil || len(want.rows) > 0 {
			sameStatistics(t, body, got.Stats, statisticsOfOracle(want.rows))
		}
	case got.Records != nil:
		t.Fatalf("%s: records %v, want none", body, got.Records)
	case got.Stats == nil && len(want.rows) == 0:
	default:
		sameStatistics(t, body, got.Stats, statisticsOfOracle(want.rows))
	}
}

func sameRecord(a, b compact.Record) bool {
	return a.Planned == b.Planned && a.Current == b.Current && a.Hash == b.Hash && a.Count == b.Count &&
		math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
}

func sameResolution(t *testing.T, body string, got *Resolution, want oracleMoves) {
	sameMoves(t, body, got, want.moves)
	for i, h := range want.hash {
		if hashOf(got, i) != h {
			t.Fatalf("%s: row %d is of hash instance %d, want %d", body, i, hashOf(got, i), h)
		}
	}
}

func sameMoves(t *testing.T, body string, got *Resolution, want []KeyMove) {
	moves := slices.Collect(got.All())
	if !slices.EqualFunc(moves, want, func(a, b KeyMove) bool {
		return bytes.Equal(a.Key, b.Key) && a.From == b.From && a.To == b.To
	}) || got.Keys.Len() != len(want) || len(got.To) != len(want) {
		t.Fatalf("%s: %v, want %v", body, moves, want)
	}
}

var seedValues = []string{`1`, `-0`, `12.50`, `1e-3`, `0.30000000000000004`, `123456789012345678901`, `1e999`, `null`,
	`"x"`, `[1,{"a":"]}"}]`, `007`, `NaN`}

func FuzzDecodeJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"interval":`+v+`,"keys":[{"key":"a","cost":`+v+
			`,"state":2,"instance":3},{"key":"\u00e9\ud83d\ude00","frequency":1,"state":`+v+`,"hash_instance":null}]}`), false)
		f.Add([]byte(`{"columns":{"cost":[`+v+`,2],"key":["YQ==","Yg=="],"instance":[null,`+v+`]},"key_encoding":"base64"}`),
			true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agreeJSON(t, body, base64Keys)
	})
}

// agreeJSON also sees to it that what is malformed is what jsontext refuses.
func agreeJSON(t *testing.T, body []byte, base64Keys bool) {
	kind := agree(t, DecodeJSON, oracleJSON, sameDocument, body, base64Keys)
	valid := jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == '{'
	if valid && kind == Malformed || !valid && (kind == 0 || kind == Invalid &&
		bytes.Count(body, []byte(":")) < maxProblems && bytes.Count(body, []byte(",")) < maxProblems) {
		t.Fatalf("%q: kind %v, valid JSON object: %t", body, kind, valid)
	}
}

// FuzzDecodeRecordsJSON fuzzes what stands in "records" and behind it.
func FuzzDecodeRecordsJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`[0,1,2,` + v + `,4],[` + v + `,2147483647,` + v + `,0,` + v + `]]}`))
		f.Add([]byte(`[0,1,2.5,3,9007199254740990],` + v + `,[0,1,2,3,4,` + v + `]],"cost_scale":` + v + `}`))
	}
	f.Add([]byte(` [0 , 1,2, 3,9007199254740991 ] ,[0,1,2,3,1]] , "a\u00e9\/":[]}`))
	f.Add([]byte(`]},"keys":[]`))
	f.Add([]byte(`],"records":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		agreeJSON(t, slices.Concat([]byte(`{"interval":1,"compact":{"degree":8,"records":[`), text, []byte(`}`)), false)
	})
}

// FuzzDecodeRecordsCSV fuzzes what follows the header, under two orders of the
// columns.
func FuzzDecodeRecordsCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("0,1,2.5,3,4\n" + v + "," + v + "," + v + ",\"" + v + "\"," + v + "\n"))
		f.Add([]byte("1,2,+.5,03,9007199254740990\r\n1,2,0,," + v + "\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, header := range []string{"instance,hash_instance,cost,state,count\n",
			"count,state,hash_instance,instance,cost\n"} {
			agree(t, DecodeCSV, oracleCSV, sameDocument, append([]byte(header), text...), false)
		}
	})
}

func FuzzDecodeResolutionNDJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"key":"a","from":`+v+`,"to":3}`+"\r\n\n"+`{"to":`+v+`,"key":"\u00e9","from":2147483647,"cost":1}`),
			false)
		f.Add([]byte(`{"key":"YQ==","from":0,"to":1}`+"\n"+`{"key":"YQ=","from":0,"to":1}`+"\n"+v+"\n"), true)
		f.Add([]byte(`{"key":"a","from":0,"to":1,"hash_instance":`+v+`}`+"\n"+
			`{"key":"b","from":0,"hash_instance":null,"to":1}`), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeResolutionNDJSON, oracleResolutionNDJSON, sameResolution, body, base64Keys)
	})
}

func FuzzDecodeResolutionCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("\uFEFFkey,from,to\r\na,"+v+",3\r\n\"b\"\"\n,\",\"2\","+v+"\r\n\r\n"), false)
		f.Add([]byte("to,key,from\n0,YQ==,1\n"+v+",YQ==,1\n"), true)
		f.Add([]byte("to,key,hash_instance,from\n0,a,,1\n2,b,"+v+",1\n"), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeResolutionCSV, oracleResolutionCSV, sameResolution, body, base64Keys)
	})
}

func FuzzDecodeNDJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"key":"a","cost":`+v+`,"state":2,"instance":3}`+"\r\n\n"+`{"key":"b","frequency":1,"state":`+v+
			`,"hash_instance":null}`), false)
		f.Add([]byte(`{"key":"YQ==","cost":`+v+"}\n"+v+"\n"), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeNDJSON, oracleNDJSON, sameDocument, body, base64Keys)
	})
}

func FuzzDecodeCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("\uFEFFkey,cost,state,instance,hash_instance\r\na,"+v+",2,3,\r\n\"b\"\"\n,\",\""+v+"\",1,"+v+
			",4\r\n\r\n"), false)
		f.Add([]byte("frequency,key\n"+v+",YQ==\n"), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeCSV, oracleCSV, sameDocument, body, base64Keys)
	})
}

// sealed makes blobs of data that pass the checksum: data as all that follows
// the header, and data as the content of the only block behind some numbers.
func sealed(magic string, data []byte) [][]byte {
	whole := newBlobWriter(magic)
	whole.out = append(whole.out, data...)
	parts := newBlobWriter(magic)
	head, content, _ := bytes.Cut(data, []byte{0xff, 0xff})
	parts.out = append(parts.out, head...)
	parts.raw = content
	parts.end()
	parts.number(0) // no residual, in an input
	short := newBlobWriter(magic)
	short.out = append(short.out, parts.out[blobHeader:len(parts.out)-1]...)
	return [][]byte{data, whole.finish(), parts.finish(), short.finish()}
}

func FuzzDecodeMigrations(f *testing.F) {
	blob := EncodeMigrations(planOf(statisticsOf(zipfRows(40)), 7))
	f.Add(blob)
	f.Add(blob[blobHeader:])
	f.Add([]byte("\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*25)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(migrationsMagic, data) {
			m, err := DecodeMigrations(blob)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if back := mustDecodeMigrations(t, encodeList(m)); !sameMigrations(m, back) {
				t.Fatalf("%q: other migrations after encoding again", blob)
			}
		}
	})
}

func FuzzDecodeInput(f *testing.F) {
	s := statisticsOf(zipfRows(7))
	s.Partial, s.Residual = true, []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}}
	blob := encodeInput(s)
	f.Add(blob)
	f.Add(blob[blobHeader:])
	s.PartialOn, s.Frozen, s.Shares = []int32{3}, []int32{4, 9}, []planner.Share{{Row: 1, Instance: 2, State: 3}}
	f.Add(encodeInput(s)[blobHeader:])
	f.Add([]byte("\x0f\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*24)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(inputMagic, data) {
			s, _, err := DecodeInput(blob)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			back, _, err := DecodeInput(encodeInput(s))
			if err != nil {
				t.Fatal(err)
			}
			sameStatistics(t, "encoded again", back, s)
		}
	})
}

func FuzzDecodeCompact(f *testing.F) {
	blob := EncodeCompact(&compact.Statistics{
		Records: recordsOf(7), Scales: compact.Scales{Cost: 0.5, State: 2}, Degree: 8,
		Partial: true, Residual: []planner.Residual{{Instance: 3, Cost: 1, State: 2, Keys: 4}},
	})
	f.Add(blob)
	f.Add(blob[blobHeader:])
	f.Add([]byte("\x01\x08" + strings.Repeat("\x00", 16) + "\x02\xff\xff\x02" + strings.Repeat("\x01", 2*32)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(compactMagic, data) {
			s, err := DecodeCompact(blob)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			back, err := DecodeCompact(EncodeCompact(s))
			if err != nil {
				t.Fatal(err)
			}
			sameCompact(t, back, s)
		}
	})
}

func FuzzDecodeClassMoves(f *testing.F) {
	blob := EncodeClassMoves(recordsOf(7))
	f.Add(blob)
	f.Add(blob[blobHeader:])
	f.Add([]byte("\x02\xff\xff\x02" + strings.Repeat("\x01", 2*36)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(classMovesMagic, data) {
			moves, err := DecodeClassMoves(blob)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if back, err := DecodeClassMoves(EncodeClassMoves(moves)); err != nil || !slices.EqualFunc(back, moves, sameRecord) {
				t.Fatalf("%q: other moves after encoding again: %v", blob, err)
			}
		}
	})
}

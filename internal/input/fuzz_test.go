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
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/window"
)

// agree decodes a body and compares the outcome with an oracle's, and with that
// of windows that cut the body everywhere.
func agree[D, W any](t *testing.T, decode func(io.Reader, Options) (D, error), oracle func([]byte, bool) (W, error),
	same func(t *testing.T, body string, got D, want W), body []byte, base64Keys bool) (kind Kind) {
	o := Options{Base64Keys: base64Keys}
	d, err := decode(bytes.NewReader(body), o)
	outcome := describe(d, err)
	defer func(size int) { window.Size = size }(window.Size)
	window.Size = 1 + len(body)%61
	if got := describe(decode(bytes.NewReader(body), o)); got != outcome {
		t.Fatalf("%q\nthrough a window of %d: %s\notherwise: %s", body, window.Size, got, outcome)
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
			inputtest.SameStatistics(t, body, got.Stats, statisticsOfOracle(want.rows))
		}
	case got.Records != nil:
		t.Fatalf("%s: records %v, want none", body, got.Records)
	case got.Stats == nil && len(want.rows) == 0:
	default:
		inputtest.SameStatistics(t, body, got.Stats, statisticsOfOracle(want.rows))
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

func sameMoves(t *testing.T, body string, got *Resolution, want []keyMove) {
	var moves []keyMove
	for i := range got.Len() {
		moves = append(moves, at(got, i))
	}
	if !slices.EqualFunc(moves, want, func(a, b keyMove) bool {
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
	for _, v := range seedValues {
		f.Add([]byte(`{"keys":[{"key":"a","cost":1,"costs":{"cpu":`+v+`}},{"key":"b","costs":{"disk_io" : 2, "cpu":`+v+
			`},"cost":1},{"key":"c","cost":1}]}`), false)
		f.Add([]byte(`{"columns":{"cost":[1,2],"costs":{"cpu":[`+v+`,2]},"key":["a","b"]}}`), false)
	}
	f.Add([]byte(`{"keys":[{"key":"a","cost":1,"costs":{"9":1,"cpu":2,"cpu":3}}]}`), false)
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agreeJSON(t, body, base64Keys)
	})
}

// agreeJSON also sees to it that what is malformed is what jsontext refuses.
func agreeJSON(t *testing.T, body []byte, base64Keys bool) {
	kind := agree(t, decodeJSON, oracleJSON, sameDocument, body, base64Keys)
	valid := jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == '{'
	if valid && kind == Malformed || !valid && (kind == 0 || kind == Invalid &&
		bytes.Count(body, []byte(":")) < problem.Most && bytes.Count(body, []byte(",")) < problem.Most) {
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
			agree(t, decodeCSV, oracleCSV, sameDocument, append([]byte(header), text...), false)
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
		agree(t, decodeResolutionNDJSON, oracleResolutionNDJSON, sameResolution, body, base64Keys)
	})
}

func FuzzDecodeResolutionCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("\uFEFFkey,from,to\r\na,"+v+",3\r\n\"b\"\"\n,\",\"2\","+v+"\r\n\r\n"), false)
		f.Add([]byte("to,key,from\n0,YQ==,1\n"+v+",YQ==,1\n"), true)
		f.Add([]byte("to,key,hash_instance,from\n0,a,,1\n2,b,"+v+",1\n"), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, decodeResolutionCSV, oracleResolutionCSV, sameResolution, body, base64Keys)
	})
}

func FuzzDecodeNDJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"key":"a","cost":`+v+`,"state":2,"instance":3}`+"\r\n\n"+`{"key":"b","frequency":1,"state":`+v+
			`,"hash_instance":null}`), false)
		f.Add([]byte(`{"key":"YQ==","cost":`+v+"}\n"+v+"\n"), true)
		f.Add([]byte(`{"key":"a","cost":1}`+"\n"+`{"key":"b","cost":1,"costs":{"cpu":`+v+`,"x":{"y":1}}}`), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, decodeNDJSON, oracleNDJSON, sameDocument, body, base64Keys)
	})
}

func FuzzDecodeCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("\uFEFFkey,cost,state,instance,hash_instance\r\na,"+v+",2,3,\r\n\"b\"\"\n,\",\""+v+"\",1,"+v+
			",4\r\n\r\n"), false)
		f.Add([]byte("frequency,key\n"+v+",YQ==\n"), true)
		f.Add([]byte("cost.disk_io,cost,key,cost.cpu\n,1,a,"+v+"\n"+v+",2,b,\n"), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, decodeCSV, oracleCSV, sameDocument, body, base64Keys)
	})
}

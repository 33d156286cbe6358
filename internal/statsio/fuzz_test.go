package statsio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// agree decodes a body and compares the outcome with an oracle's, and with that
// of windows that cut the body everywhere.
func agree(t *testing.T, decode func(io.Reader, Options) (*Document, error), oracle func([]byte, bool) ([]oracleRow, error), body []byte, base64Keys bool) (kind Kind) {
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
	rows, refused := oracle(body, base64Keys)
	switch {
	case errors.Is(refused, errUncomparable):
		return TooLarge
	case e != nil && refused == nil:
		t.Fatalf("%q: refused, but well: %v", body, err)
	case e == nil && refused != nil:
		t.Fatalf("%q: accepted, but: %v", body, refused)
	case e != nil:
		return e.Kind
	case d.Stats == nil && len(rows) == 0:
		return 0
	}
	sameStatistics(t, string(body), d.Stats, statisticsOfOracle(rows))
	return 0
}

var seedValues = []string{`1`, `-0`, `12.50`, `1e-3`, `0.30000000000000004`, `123456789012345678901`, `1e999`, `null`, `"x"`, `[1,{"a":"]}"}]`, `007`, `NaN`}

func FuzzDecodeJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"interval":`+v+`,"keys":[{"key":"a","cost":`+v+`,"state":2,"instance":3},{"key":"\u00e9\ud83d\ude00","frequency":1,"state":`+v+`,"hash_instance":null}]}`), false)
		f.Add([]byte(`{"columns":{"cost":[`+v+`,2],"key":["YQ==","Yg=="],"instance":[null,`+v+`]},"key_encoding":"base64"}`), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		kind := agree(t, DecodeJSON, oracleJSON, body, base64Keys)
		valid := jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == '{'
		if valid && kind == Malformed || !valid && (kind == 0 || kind == Invalid && bytes.Count(body, []byte(":")) < maxProblems && bytes.Count(body, []byte(",")) < maxProblems) {
			t.Fatalf("%q: kind %v, valid JSON object: %t", body, kind, valid)
		}
	})
}

func FuzzDecodeNDJSON(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte(`{"key":"a","cost":`+v+`,"state":2,"instance":3}`+"\r\n\n"+`{"key":"b","frequency":1,"state":`+v+`,"hash_instance":null}`), false)
		f.Add([]byte(`{"key":"YQ==","cost":`+v+"}\n"+v+"\n"), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeNDJSON, oracleNDJSON, body, base64Keys)
	})
}

func FuzzDecodeCSV(f *testing.F) {
	for _, v := range seedValues {
		f.Add([]byte("\uFEFFkey,cost,state,instance,hash_instance\r\na,"+v+",2,3,\r\n\"b\"\"\n,\",\""+v+"\",1,"+v+",4\r\n\r\n"), false)
		f.Add([]byte("frequency,key\n"+v+",YQ==\n"), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, base64Keys bool) {
		agree(t, DecodeCSV, oracleCSV, body, base64Keys)
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
	blob := EncodeInput(s)
	f.Add(blob)
	f.Add(blob[blobHeader:])
	f.Add([]byte("\x0f\x02\xff\xff\x02\x01\x01\x00\x00ab" + strings.Repeat("\x01", 2*24)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(inputMagic, data) {
			s, err := DecodeInput(blob)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			back, err := DecodeInput(EncodeInput(s))
			if err != nil {
				t.Fatal(err)
			}
			sameStatistics(t, "encoded again", back, s)
		}
	})
}

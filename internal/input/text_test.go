package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"plannerd/internal/input/compression"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/internal/window"
)

// streamed reads a whole stream.
func streamed(r io.Reader, f Format, o Options) string {
	var b strings.Builder
	s := NewStream(r, f, o)
	for {
		n, d, err := s.Next()
		if errors.Is(err, io.EOF) {
			if _, _, again := s.Next(); !errors.Is(again, io.EOF) {
				return "the end does not last"
			}
			fmt.Fprintf(&b, "end %t", s.HasInterval())
			return b.String()
		}
		if err != nil {
			if _, _, again := s.Next(); !errors.Is(again, err) {
				return "the error does not last"
			}
			return b.String() + describe(nil, err)
		}
		fmt.Fprintf(&b, "%d %s: %s\n", n, d.Pointer(0, "key"), describe(d, nil))
	}
}

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Format
		body string
		want string
	}{
		{"csv", CSV, "interval,key,cost,state_bytes\n1,a,1,10\n1,b,2,20\n3,a,4,30\n",
			"1 /0/key: \"a\" 1 state=10\n\"b\" 2 state=20\n3 /2/key: \"a\" 4 state=30\nend true"},
		{"csv without intervals", CSV, "key,cost\na,1\nb,2\n", "0 /0/key: \"a\" 1\n\"b\" 2\nend false"},
		{"csv without rows", CSV, "key,cost\n", "0 /0/key: \nend false"},
		{"csv with intervals, without rows", CSV, "key,cost,interval\n", "end true"},
		{"ndjson", NDJSON,
			"{\"key\":\"a\",\"interval\":1,\"cost\":1,\"state_bytes\":5}\n{\"key\":\"a\",\"cost\":2,\"interval\":2}\n",
			"1 /0/key: \"a\" 1 state=5\n2 /1/key: \"a\" 2\nend true"},
		{"ndjson without intervals", NDJSON, "{\"key\":\"a\",\"cost\":1}\n", "0 /0/key: \"a\" 1\nend false"},
		{"ndjson without rows", NDJSON, "\n", "0 /0/key: \nend false"},
		{"json", JSON, `{"interval":7,"keys":[{"key":"a","cost":1}]}`, "7 /keys/0/key: \"a\" 1\nend true"},
		{"json without interval", JSON, `{"keys":[{"key":"a","cost":1}]}`, "0 /keys/0/key: \"a\" 1\nend false"},
		{"json of several intervals", JSON, "{\"interval\":1,\"keys\":[{\"key\":\"a\",\"cost\":1}]} " +
			"\r\n\n{\"key_encoding\":\"base64\",\n\"columns\":{\"key\":[\"YQ==\"],\"cost\":[2]},\"interval\":3}\n" +
			"{\"interval\":4,\"compact\":{\"records\":[[0,1,2,3,4]]}}\n",
			"1 /keys/0/key: \"a\" 1\n3 /columns/key/0: \"a\" 2\n4 /compact/records/0/key: records\n0: 0 1 2 3 4\nend true"},
		{"json of several intervals on a line", JSON, `{"interval":1,"keys":[]} {"interval":2,"keys":[]}`,
			"malformed\n: text after the document at byte 25"},
		{"json of several, without interval", JSON, "{\"keys\":[]}\n{\"keys\":[]}",
			"malformed\n: text after the document at byte 12"},
		{"json of several, the second without interval", JSON, "{\"interval\":1,\"keys\":[]}\n{\"keys\":[]}\n{}",
			"1 /keys/0/key: \ninvalid\n/interval: is required"},
		{"json of several, not increasing", JSON, "{\"interval\":1,\"keys\":[]}\n{\"interval\":1,\"keys\":[]}",
			"1 /keys/0/key: \ninvalid\n/interval: must be greater than in the document before"},
		{"json of several, the second wrong", JSON,
			"{\"interval\":1,\"keys\":[]}\n{\"interval\":2,\"keys\":[{\"key\":\"\",\"cost\":1}]}",
			"1 /keys/0/key: \ninvalid\n/keys/0/key: must be 1 to 1024 bytes"},
		{"json of several, the second malformed", JSON, "{\"interval\":1,\"keys\":[]}\n[]",
			"1 /keys/0/key: \nmalformed\n: expected an object at byte 25"},

		{"header wrong", CSV, "interval,key\n", "invalid\n/cost: column is required, or frequency in its place"},
		{"state twice", CSV, "key,cost,state,state_bytes\n", "malformed\n/state_bytes: column stands twice"},
		{"state twice in a row", NDJSON, `{"key":"a","cost":1,"state":1,"state_bytes":1}`,
			"malformed\n/0/state: duplicate member at byte 30"},
		{"decreasing", CSV, "interval,key,cost\n2,a,1\n1,b,1\n",
			"invalid\n/1/interval: must not be less than in the row before"},
		{"wrong interval", CSV, "interval,key,cost\n1,a,1\nx,b,1\n,c,1\n9007199254740992,d,1\n",
			"invalid\n/1/interval: must be an integer from 0 to 9007199254740991\n/2/interval: is required\n/3/interval: must " +
				"be an integer from 0 to 9007199254740991"},
		{"interval missing", NDJSON, "{\"key\":\"a\",\"interval\":1,\"cost\":1}\n{\"key\":\"b\",\"cost\":2}\n",
			"invalid\n/1/interval: is required"},
		{"interval at last", NDJSON, "{\"key\":\"a\",\"cost\":1}\n{\"key\":\"b\",\"interval\":1,\"cost\":2}\n",
			"invalid\n/1/interval: other rows name no interval"},
		{"wrong from the second interval on", NDJSON,
			"{\"key\":\"a\",\"interval\":1,\"cost\":1}\n{\"key\":\"a\",\"interval\":2,\"cost\":-2}\n5\n",
			"1 /0/key: \"a\" 1\ninvalid\n/1/cost: must be ≥ 0 and finite\n/2: must be an object"},
		{"duplicate keys in the second interval", CSV, "interval,key,cost\n1,a,1\n2,b,1\n2,b,1\n",
			"1 /0/key: \"a\" 1\ninvalid\n/2/key: is the same as /1/key"},
		{"state differs between intervals", CSV, "interval,key,cost,state\n1,a,1,\n2,b,1,5\n",
			"1 /0/key: \"a\" 1\n2 /1/key: \"b\" 1 state=5\nend true"},
		{"malformed", CSV, "interval,key,cost\n1,a,1\n2,b\n", "malformed\n/1: fewer than 3 cells at byte 27"},
		{"json interval wrong", JSON, `{"interval":-1,"keys":[]}`,
			"invalid\n/interval: must be an integer from 0 to 9007199254740991"},
		{"json without keys", JSON, `{"interval":1}`,
			"invalid\n/keys: is required, or \"columns\" or the \"records\" of \"compact\" in its place"},
		{"json without records", JSON, `{"interval":1,"compact":{"degree":8}}`,
			"invalid\n/keys: is required, or \"columns\" or the \"records\" of \"compact\" in its place"},

		{"records", CSV, "count,interval,instance,hash_instance,cost,state\n5,1,0,1,2,3\n6,1,1,1,2,3\n7,4,0,0,.5,0\n",
			"1 /0/key: records\n0: 0 1 2 3 5\n1: 1 1 2 3 6\n4 /2/key: records\n0: 0 0 0.5 0 7\nend true"},
		{"records without intervals", CSV, "instance,hash_instance,cost,state,count\n0,1,2,3,4\n",
			"0 /0/key: records\n0: 0 1 2 3 4\nend false"},
		{"no records", CSV, "instance,hash_instance,cost,state,count\n", "0 /0/key: records\nend false"},
		{"records of keys' names", CSV, "instance,hash_instance,cost,state_bytes,count\n",
			"invalid\n/state_bytes: unknown column\n/state: column is required"},
		{"records, wrong in the second interval", CSV,
			"interval,instance,hash_instance,cost,state,count\n1,0,0,1,1,1\n2,0,0,1,1,0\n2,0,,1,1,1\n",
			"1 /0/key: records\n0: 0 0 1 1 1\ninvalid\n/1/count: must be an integer from 1 to " +
				"9007199254740991\n/2/hash_instance: is required"},
		{"counts of each interval", CSV,
			"interval,instance,hash_instance,cost,state,count\n1,0,0,1,1,9007199254740991\n2,0,0,1,1,9007199254740991\n",
			"1 /0/key: records\n0: 0 0 1 1 9007199254740991\n2 /1/key: records\n0: 0 0 1 1 9007199254740991\nend true"},
		{"records in json", JSON, `{"compact":{"records":[[0,1,2,3,4]]},"interval":7}`,
			"7 /compact/records/0/key: records\n0: 0 1 2 3 4\nend true"},
		{"records in ndjson", NDJSON, `{"interval":1,"instance":0,"hash_instance":0,"cost":1,"state":1,"count":1}`,
			"invalid\n/0/count: unknown field\n/0/key: is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := streamed(strings.NewReader(c.body), c.f, Options{}); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			defer func(size int) { window.Size = size }(window.Size)
			for window.Size = 1; window.Size <= len(c.body); window.Size++ {
				if got := streamed(iotest.OneByteReader(strings.NewReader(c.body)), c.f, Options{}); got != c.want {
					t.Fatalf("through a window of %d: got %s\nwant %s", window.Size, got, c.want)
				}
			}
		})
	}
	// Limits hold for each interval.
	body := "interval,key,cost\n1,a,1\n1,b,1\n2,a,1\n2,b,1\n3,a,1\n"
	if got := streamed(strings.NewReader(body), CSV, Options{Limits: Limits{Rows: 2}}); !strings.HasSuffix(
		got, "end true") {
		t.Error(got)
	}
	if got := streamed(strings.NewReader(body), CSV,
		Options{Limits: Limits{Rows: 1}}); got != "too large\n/1: more than 1 rows" {
		t.Error(got)
	}
}

// TestBomb decodes a body that unpacks to far more than the limit.
func TestBomb(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		bomb := inputtest.Compressed(t, encoding, append([]byte(`{"x":"`), bytes.Repeat([]byte("x"), 32<<20)...))
		d, err := compression.NewDecompressor(bytes.NewReader(bomb), encoding)
		if err != nil {
			t.Fatal(err)
		}
		counted := &countingReader{r: d}
		_, err = decodeJSON(counted, Options{Limits: Limits{Bytes: 1 << 20}})
		var e *Error
		if !errors.As(err, &e) || e.Kind != TooLarge || counted.n > 3<<20 {
			t.Errorf("%s: %v after %d bytes", encoding, err, counted.n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		text string
		want Format
	}{
		{"key,cost\na,1\n", CSV},
		{"", CSV},
		{"\uFEFFkey,cost\n", CSV},
		{"{\"key\":\"a\",\"cost\":1}\n{\"key\":\"b\",\"cost\":1}\n", NDJSON},
		{" \n{\"key\":\"a\",\"cost\":1}", NDJSON},
		{"{\"interval\":1,\"keys\":[]}", JSON},
		{"{\"columns\":{}}\n", JSON},
		{"{\"interval\":1,\"compact\":{\"records\":[]}}\n", JSON},
		{"{\n\"keys\":[]}", JSON},
		{"[{\"key\":1}]", Records},
		{"PAR1", Parquet},
		{"\xff\xff\xff\xff\x18\x01\x00\x00", Arrow},
		{"ARROW1\x00\x00", Arrow},
		{"{\"keys\":[" + strings.Repeat(" ", 1<<20) + "]}", JSON},
	} {
		if f, err := detect(bufio.NewReader(strings.NewReader(c.text))); err != nil || f != c.want {
			t.Errorf("%.40q: %v, %v, want %v", c.text, f, err, c.want)
		}
		for _, encoding := range []string{"", "gzip", "zstd"} {
			data := []byte(c.text)
			if encoding != "" {
				data = inputtest.Compressed(t, encoding, data)
			}
			r, f, err := Open(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || f != c.want || string(text) != strings.TrimPrefix(c.text, byteOrderMark) {
				t.Errorf("%s %.40q: %v, %v, want %v", encoding, c.text, f, err, c.want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	broken := errors.New("disk lost")
	if _, _, err := Open(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, _, err := Open(strings.NewReader("\x1f\x8bxx")); err == nil {
		t.Error("broken gzip was opened")
	}
}

package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

// foreign are files as other systems write them, the commands that read them and what these write.
var foreign = []struct {
	name, text, command, want string
	warns                     string // a part of standard error
}{{
	"semicolons and decimal commas", "\uFEFFkey;cost;state\nzoë;0,5;7\n\"x;y\";3,25;8\n",
	"convert - --decimal comma", "key,cost,state\nzoë,0.5,7\nx;y,3.25,8\n", "",
}, {
	"tabs, and columns of other names in other case", "Customer\tHits\tNode\nc 1\t7\tn-1\nc 2\t1\t\n",
	"convert - --delimiter tab --columns key=customer,cost=hits,instance=node",
	"key,cost,instance\nc 1,7,n-1\nc 2,1,\n", "",
}, {
	"columns aligned by spaces, a title, and a key of two columns",
	"Shards\nindex   shard prirep docs   store node\n" +
		"logs    0     p      120    10    es-1\nlogs    1     r      9      2     es-2\n",
	"convert - --skip 1 --columns key=index+shard,cost=docs,state=store,instance=node --key-separator :",
	"key,cost,state,instance\nlogs:0,120,10,es-1\nlogs:1,9,2,es-2\n", "",
}, {
	"a blank line first, and rows without numbers",
	"\nTOPIC  PARTITION  LAG  CLIENT-ID\nt  0  5  c1\nt  1  -  -\n",
	"convert - --columns key=TOPIC+PARTITION,cost=LAG,instance=CLIENT-ID --bad-rows skip",
	"key,cost,instance\nt/0,5,c1\n", `standard input:4: cost of key t/1: "-" is not a number`,
}, {
	"a table with bars and a rule", " user | n \n------+---\n ann  | 3\n bob  | 4\n",
	"convert - --columns key=user,cost=n", "key,cost\nann,3\nbob,4\n", "",
}, {
	"numbers with units, and spaces behind the last", "NAME  CPU(cores)  MEMORY(bytes) \n" +
		"a  250m  1Ki \nb  2  3MB \nc  1k  0.5%  \nd  7  8  \n",
	"convert - --columns key=NAME,cost=CPU(cores),state=MEMORY(bytes)",
	"key,cost,state\na,0.25,1024\nb,2,3e+06\nc,1000,0.5\nd,7,8\n", "",
}, {
	"a unit that is none", "key;n\na;5 m²\nb;2 kB\n", "convert - --columns cost=n --bad-rows skip", "key,cost\nb,2000\n",
	`"5 m²" is not a number`,
}, {
	"aligned columns whose names and cells have spaces, and usage of a limit",
	"ID OF   NAME   CPU %   MEM / LIMIT   BLOCK I/O\n" +
		"1 2     a b    5.5%    1KiB / 2KiB   \"x\"\n3       c      1%      12 kB / 1MB   -\n",
	"convert - --columns key=name,cost=CPU_%,state=MEM_/_LIMIT", "key,cost,state\na b,5.5,1024\nc,1,12000\n", "",
}, {
	"decimal commas and points between thousands", "key;cost;state\na;1.818.641;1.234,5\nb;859.243;7\nc;12;1\n",
	"convert - --decimal comma", "key,cost,state\na,1.818641e+06,1234.5\nb,859243,7\nc,12,1\n", "",
}, {
	"a table with a foot, a blank line and lines that are no rows",
	"k | n\n--+--\na | 1\n\nsay \"x\"\nb | 2 | 3\nc | 4\n(3 rows)", "convert - --columns key=k,cost=n --bad-rows skip",
	"key,cost\na,1\nc,4\n", "8: fewer than 2 cells; the row is left out",
}, {
	"numbers of JSON under a decimal comma", `[{"u":"a","n":1.818},{"u":"b","n":"2,5"}]`,
	"convert - --columns key=u,cost=n --decimal comma", "key,cost\na,1.818\nb,2.5\n", "",
}, {
	"events of JSON, some without a key", `{"u":"a"}` + "\n" + `{"v":1}` + "\n" + `{"u":"b"}` + "\n",
	"count - --key u --bad-rows skip", "key,cost\na,1\nb,1\n", "key: is required; the row is left out",
}, {
	"no header", "7,a,2026-01-01\n8,b,2026-01-01\n",
	"convert - --header none --columns key=2,cost=1", "key,cost\na,7\nb,8\n", "",
}, {
	"records inside JSON, lists, numbers in strings",
	`{"ok":true,"data":{"n":[],"rows":[{"of":{"user":"a"},"v":[1,"12.5"]},{"of":{"user":"b"},"v":[1,"2e1"]},{"of":{},"v":[1,"NaN"]}]}}`,
	"convert - --records data.rows --columns key=of.user,cost=v.1 --bad-rows skip",
	"key,cost\na,12.5\nb,20\n", "row 3",
}, {
	"a list of JSON, labels with dots", `[{"m":{"app.io/user":"a"},"c":1}, {"m":{"app.io/user":"b"},"c":2}]`,
	"convert - --columns key=m.app.io/user,cost=c", "key,cost\na,1\nb,2\n", "",
}, {
	"lines of JSON", `{"User":"a","n":1,"x":{}}` + "\n" + `{"User":"b","n":2}` + "\n",
	"convert - --columns key=user,cost=n", "key,cost\na,1\nb,2\n", "",
}, {
	"rows of one key", "key,cost,state,instance\na,1,2,\nb,1,1,0\na,3,4,1\n",
	"convert - --duplicates sum", "key,cost,state,instance\na,4,6,1\nb,1,1,0\n", "",
}, {
	"rows of one key in two intervals", "interval,key,cost\n0,a,1\n0,a,2\n1,a,4\n",
	"convert - --duplicates sum", "interval,key,cost\n0,a,3\n1,a,4\n", "",
}, {
	"an access log by host and minute",
	`10.0.0.1 - - [01/Mar/2026:23:59:59 +0000] "GET / HTTP/1.1" 200 5` + "\n" +
		`10.0.0.2 - a b [02/Mar/2026:02:00:01 +0200] "GET /q?a=\"b\" HTTP/1.1" 200 7 "-" "x \" y"` + "\n" +
		`10.0.0.1 - - [02/Mar/2026:00:00:02 +0000] "-" 400 -` + "\n" +
		`10.0.0.3 - - [01/Mar/2026:23:59:58 +0000] "GET / HTTP/1.1" 200 5` + "\n",
	"count - --every 1m", "interval,key,cost\n0,10.0.0.1,1\n0,10.0.0.3,1\n1,10.0.0.1,1\n1,10.0.0.2,1\n", "",
}, {
	"an access log by path, with bytes",
	`h - - [01/Mar/2026:23:59:59 +0000] "GET /a?x HTTP/1.1" 200 5` + "\n" + `h - - [01/Mar/2026:23:59:59 +0000] "GET /a HTTP/1.1" 200 -` + "\n",
	"count - --key path --cost bytes --state bytes", "key,cost,state\n/a,5,5\n", "",
}, {
	"a key a line", "b\na\nb\n\n", "count - --format lines --top 1", "key,cost\nb,2\n",
	"the rows have 66.67 % of the cost",
}, {
	"events in columns", "at;who;size\n1764150000;a;3\n1764150059999;b;4\n2025-11-26T09:41:00Z;a;5\n",
	"count - --key who --cost size --time at --every 1m",
	"interval,key,cost\n0,b,4\n0,a,3\n1,a,5\n", "",
}, {
	"events without a header", "a,3\nb,1\na,2\n", "count - --header none --key 1 --columns cost=2",
	"key,cost\na,5\nb,1\n", "",
}, {
	"events of JSON", `{"u":{"id":7}}` + "\n" + `{"u":{"id":8}}` + "\n" + `{"u":{"id":7}}` + "\n",
	"count - --key u.id", "key,cost\n7,2\n8,1\n", "",
}, {
	"events that come late", "k,t\na,100\nb,200\nc,300\nd,90\n",
	"count - --key k --time t --every 10s", "interval,key,cost\n0,a,1\n10,b,1\n20,c,1\n", "1 event left out: older",
}}

// foreignCommand are the words of a command; what stands for a space within one is _.
func foreignCommand(text string) []string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "_", " ")
	}
	return words
}

// Files of other systems are read with a few flags.
func TestForeignFiles(t *testing.T) {
	for _, c := range foreign {
		r := exec(t, strings.NewReader(c.text), nil, foreignCommand(c.command)...)
		if r.code != exitOK || r.stdout != c.want || !strings.Contains(r.stderr, c.warns) || c.warns == "" && r.stderr != "" {
			t.Errorf("%s: exit %d\n%s\nwant\n%s\nstandard error: %s", c.name, r.code, r.stdout, c.want, r.stderr)
		}
	}
}

// UTF-16 is read by its mark, in either order.
func TestUTF16(t *testing.T) {
	units := utf16.Encode([]rune("\uFEFFkey,cost\nzoë,3\n"))
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var text []byte
		for _, unit := range units {
			text = order.AppendUint16(text, unit)
		}
		if got := succeed(t, string(text), "convert", "-"); got != "key,cost\nzoë,3\n" {
			t.Errorf("%v: %q", order, got)
		}
	}
}

// Parquet, and Arrow with other names, are read as CSV is.
func TestForeignColumns(t *testing.T) {
	type row struct {
		User string  `parquet:"User"`
		N    int64   `parquet:"n"`
		Size float64 `parquet:"size"`
		Host *string `parquet:"host,optional"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file, parquet.Compression(&parquet.Snappy))
	host := "h1"
	if _, err := w.Write([]row{{"a", 3, 1.5, &host}, {"b", 4, 2, nil}}); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rows.parquet")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	columns := "key=user,cost=n,state=size,instance=host"
	want := "key,cost,state,instance\na,3,1.5,h1\nb,4,2,\n"
	if got := succeed(t, "", "convert", name, "--columns", columns); got != want {
		t.Errorf("Parquet: %s", got)
	}

	schema := arrow.NewSchema([]arrow.Field{
		{Name: "User", Type: arrow.BinaryTypes.Binary}, {Name: "n", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "size", Type: arrow.PrimitiveTypes.Float32}, {Name: "at", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "host", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	rows.Field(0).(*array.BinaryBuilder).AppendValues([][]byte{[]byte("a"), []byte("b")}, nil)
	rows.Field(1).(*array.Uint16Builder).AppendValues([]uint16{3, 4}, nil)
	rows.Field(2).(*array.Float32Builder).AppendValues([]float32{1.5, 2}, nil)
	rows.Field(3).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1, 2}, nil)
	rows.Field(4).(*array.StringBuilder).AppendValues([]string{"h1", ""}, []bool{true, false})
	var stream bytes.Buffer
	out := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := out.Write(rows.NewRecordBatch()); err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	if got := succeed(t, stream.String(), "convert", "-", "--columns", columns); got != want {
		t.Errorf("Arrow: %s", got)
	}
}

// What cannot be read is refused with the flags that read it.
func TestForeignErrors(t *testing.T) {
	for _, c := range []struct{ text, command, want string }{
		{"User ID\tRequests\tHost\na\t1\th\n", "plan -", "plannerd plan - --columns 'key=User ID,cost=Requests'"},
		{"User ID\tRequests\tHost\na\t1\th\n", "convert -",
			"plannerd convert - --columns 'key=User ID,cost=Requests,instance=Host'"},
		{`{"data":{"result":[{"metric":{"user":"a"},"value":[1,"2"]}]}}`, "plan -",
			"plannerd plan - --records data.result --columns key=metric.user,cost=value.1"},
		{`[{"name":"a","lag":3}]`, "plan -", "plannerd plan - --columns key=name,cost=lag"},
		{"who,n\na,1\n", "convert - --columns key=whom,cost=n", "whom: there is no such column; there are who, n"},
		{"key;cost\na;1,5\n", "convert -", "--decimal comma reads it"},
		{"key,cost\na,\"1,234.5\"\n", "convert -", "without separators of thousands"},
		{"key;cost\na;1.5\n", "convert - --decimal ,", "1.5 is not written with a decimal comma"},
		{"k | n\na | 1\n(1 row)\n", "convert - --columns key=k,cost=n", "3: fewer than 2 cells at byte 19; --bad-rows skip"},
		{`{"user":"a"}` + "\n", "count -", "--key says what the key is"},
		{"ID NO  NAME  CPU %  MEM %\n1  a  2%  1%\n", "plan -", "plannerd plan - --columns 'key=NAME,cost=CPU %'"},
		{`{"subtasks":[{"subtask":0,"host":"h","id":"x","read-bytes":1,"read-records":2}]}`, "plan -",
			"--records subtasks --columns key=subtask,cost=read-records,state=read-bytes"},
		{"key,cost\na,1\na,2\n", "convert -", "--duplicates sum"},
		{"key,cost,instance\na,1,0\na,2,1\n", "convert - --duplicates sum",
			"rows that are added up are of one instance"},
		{`{"data":[]}`, "convert - --records data.rows", `"rows" is missing`},
		{"key,cost\na,1\n", "convert - --columns keys=a", `"keys" is no field of statistics`},
		{"key,cost\na,1\n", "convert - --decimal :", "write point or comma"},
		{"key,cost\na,1\n", "convert - --delimiter dash", "write a comma"},
		{"no log\n", "count - --format combined", "line 1: is no line of an access log"},
		{"k,t\na,soon\n", "count - --key k --time t --every 1m", "must be a time"},
		{"k\n", "count - --key k", "it has no events"},
		{"x - - [x] \"GET / HTTP/1.1\" 200 1\n", "count - --key nonsense", "is no part of an access log"},
		{"x - - [x] \"GET / HTTP/1.1\" 200 1\n", "count - --every 1m", "is not a time of an access log"},
		{"x - - [01/Mar/2026:23:59:59 +0000] \"GET / HTTP/1.1\" 200 1\n", "plan -", "plannerd count"},
	} {
		r := exec(t, strings.NewReader(c.text), nil, strings.Fields(c.command)...)
		if r.code == exitOK || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q %s: exit %d, %s; want %s", c.text, c.command, r.code, r.stderr, c.want)
		}
	}
}

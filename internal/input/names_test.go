package input

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowNames is a stream of rows whose instances have names, "" for none, as texts or as a dictionary of them.
func arrowNames(t *testing.T, names []string, dictionary bool) []byte {
	t.Helper()
	of := arrow.DataType(arrow.BinaryTypes.String)
	if dictionary {
		of = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: of}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: arrow.BinaryTypes.String},
		{Name: "cost", Type: arrow.PrimitiveTypes.Float64}, {Name: "instance", Type: of, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, name := range names {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprint("k", i))
		b.Field(1).(*array.Float64Builder).Append(1)
		if name == "" {
			b.Field(2).AppendNull()
		} else if err := b.Field(2).AppendValueFromString(name); err != nil {
			t.Fatal(err)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Names of instances stand for ids once all rows are read, whatever the format.
func TestNames(t *testing.T) {
	const csv = "key,cost,instance\nk0,1,b\nk1,1,a\nk2,1,\nk3,1,b\nk4,1,7\n"
	lines := "{\"key\":\"k0\",\"cost\":1,\"instance\":\"b\"}\n{\"key\":\"k1\",\"cost\":1,\"instance\":\"\\u0061\"}\n" +
		"{\"key\":\"k2\",\"cost\":1}\n" +
		"{\"key\":\"k3\",\"cost\":1,\"instance\":\"b\"}\n{\"key\":\"k4\",\"cost\":1,\"instance\":\"7\"}\n"
	names := []string{"b", "a", "", "b", "7"}
	known := func(name string) (int32, string) {
		if i := slices.Index([]string{"a", "b"}, name); i >= 0 {
			return int32(i + 3), ""
		}
		return 0, "is no instance"
	}
	for what, in := range map[string]struct {
		format Format
		text   []byte
	}{
		"csv": {CSV, []byte(csv)}, "ndjson": {NDJSON, []byte(lines)},
		"arrow": {Arrow, arrowNames(t, names, false)}, "arrow with a dictionary": {Arrow, arrowNames(t, names, true)},
		"arrow without nulls": {Arrow, arrowNames(t, []string{"b", "a", "7"}, false)},
	} {
		o := Options{}
		o.Instances = &Names{}
		d, err := Decode(bytes.NewReader(in.text), in.format, o)
		if err == nil {
			err = d.Identify(o.Instances, known)
		}
		want := []int32{4, 3, -1, 4, 7}
		if strings.HasSuffix(what, "nulls") {
			want = []int32{4, 3, 7}
		}
		if err != nil || !slices.Equal(d.Stats.Instance, want) {
			t.Errorf("%s: %v, %v", what, d, err)
		}
		if _, err := Decode(bytes.NewReader(in.text), in.format, Options{}); err == nil {
			t.Errorf("%s: names are taken where nobody asked for them", what)
		}
	}
	o := Options{}
	o.Instances = &Names{}
	d, err := Decode(strings.NewReader("key,cost,instance\nx,1,b\ny,1,c\nz,1,c\n"), CSV, o)
	if err != nil {
		t.Fatal(err)
	}
	wrong := new(Error)
	if err := d.Identify(o.Instances, known); !errors.As(err, &wrong) || len(wrong.Problems) != 1 ||
		wrong.Problems[0].Pointer != "/1/instance" || wrong.Problems[0].Text() != "c is no instance" {
		t.Errorf("%v", err)
	}
	long := strings.Repeat("x", 256)
	if _, err := Decode(strings.NewReader("key,cost,instance\nx,1,"+long+"\n"), CSV, o); err == nil {
		t.Error("a name of 256 bytes is taken")
	}
}

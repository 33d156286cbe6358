package inputtest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DictionaryOf is the type of dictionaries of values of a type.
func DictionaryOf(values arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: values}
}

// ValueType is t, or what a dictionary is of.
func ValueType(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// Column is one that may have nulls.
func Column(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// UsualColumns are the columns of the test rows.
func UsualColumns(key arrow.DataType) []arrow.Field {
	return []arrow.Field{
		Column("key", key), Column("cost", arrow.PrimitiveTypes.Float64),
		Column("state", arrow.PrimitiveTypes.Float64), Column("instance", arrow.PrimitiveTypes.Int32),
	}
}

// Arrow writes batches, each a JSON list of rows, as a stream.
func Arrow(tb testing.TB, columns []arrow.Field, options []ipc.Option, batches ...string) []byte {
	tb.Helper()
	schema := arrow.NewSchema(columns, nil)
	values := make([]arrow.Field, len(columns))
	for i, c := range columns {
		values[i] = Column(c.Name, ValueType(c.Type))
	}
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append(options, ipc.WithSchema(schema))...)
	for _, rows := range batches {
		plain, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(values, nil), strings.NewReader(rows))
		if err != nil {
			tb.Fatal(err)
		}
		arrays := plain.Columns()
		for i, c := range columns {
			if t, ok := c.Type.(*arrow.DictionaryType); ok {
				arrays[i] = array.NewDictionaryArray(t, indicesOf(arrays[i]), arrays[i])
			}
		}
		if err := w.Write(array.NewRecordBatch(schema, arrays, plain.NumRows())); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// indicesOf points each row at its own value; every other null row is null itself.
func indicesOf(values arrow.Array) arrow.Array {
	b := array.NewInt16Builder(memory.DefaultAllocator)
	for i := range values.Len() {
		if values.IsNull(i) && i%2 == 0 {
			b.AppendNull() // else the entry is null
		} else {
			b.Append(int16(i))
		}
	}
	return b.NewArray()
}

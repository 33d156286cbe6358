package input

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkNames reads a million rows whose instances are ids, and names.
func BenchmarkNames(b *testing.B) {
	for _, name := range []string{"", "worker-"} {
		var csv, ndjson bytes.Buffer
		csv.WriteString("key,cost,state,instance\n")
		for i := range 1_000_000 {
			fmt.Fprintf(&csv, "user:%d,%d,%d,%s%d\n", i, i%977, i%4099, name, i%64)
			quote := ""
			if name != "" {
				quote = `"`
			}
			fmt.Fprintf(&ndjson, `{"key":"user:%d","cost":%d,"state":%d,"instance":%s%s%d%s}`+"\n", i, i%977, i%4099, quote, name, i%64, quote)
		}
		for format, text := range map[Format][]byte{CSV: csv.Bytes(), NDJSON: ndjson.Bytes()} {
			b.Run(fmt.Sprintf("format=%v/names=%t", format, name != ""), func(b *testing.B) {
				for b.Loop() {
					o := Options{}
					o.Instances = &Names{}
					d, err := Decode(bytes.NewReader(text), format, o)
					if err == nil {
						err = d.Identify(o.Instances, func(string) (int32, string) { return 3, "" })
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

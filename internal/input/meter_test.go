package input

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plannerd/internal/input/internal/inputtest"
)

// account is a budget as decoders see it.
type account struct {
	held, most, limit int64
}

var errRefused = errors.New("refused")

func (a *account) reserve(bytes int64) error {
	if a.limit > 0 && a.held+bytes > a.limit {
		return errRefused
	}
	a.held += bytes
	a.most = max(a.most, a.held)
	return nil
}

// decodes are bodies of all forms, and what decodes them.
func decodes() map[string]func(o Options) (kept int64, err error) {
	rows := inputtest.ZipfRows(30_000)
	out := map[string]func(o Options) (int64, error){}
	document := func(d *Document, err error) (int64, error) {
		if err != nil {
			return 0, err
		}
		return d.Bytes(), nil
	}
	for _, format := range []string{"json_rows", "json_columns", "ndjson", "csv", "arrow"} {
		body := bodyOf(format, rows)
		out[format] = func(o Options) (int64, error) {
			return document(decoders[format](bytes.NewReader(body), o))
		}
	}
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"key":"k%d","cost":1,"costs":{"cpu":%d}}`+"\n", i, i)
	}
	lines.WriteString(`{"key":"z","cost":1,"costs":{"network":7}}`) // of which the rows before say nothing
	out["costs"] = func(o Options) (int64, error) { return document(decodeNDJSON(strings.NewReader(lines.String()), o)) }
	long := `{"routing_table":[` + strings.Repeat(`"x",`, 300_000) + `"x"],"keys":[]}`
	out["member"] = func(o Options) (int64, error) { return document(decodeJSON(strings.NewReader(long), o)) }
	late := `{"keys":[` + strings.Repeat(" ", 9) + `{"key":"` + strings.Repeat("AAAA", 300) +
		`","cost":1}],"key_encoding":"base64"}`
	out["base64"] = func(o Options) (int64, error) { return document(decodeJSON(strings.NewReader(late), o)) }
	records := `{"compact":{"records":[[0,0,1,1,1]` + strings.Repeat(`,[1,0,1,1,1]`, 20_000) + `]}}`
	out["records"] = func(o Options) (int64, error) { return document(decodeJSON(strings.NewReader(records), o)) }
	var moves strings.Builder
	moves.WriteString("key,from,to\n")
	for _, r := range rows {
		moves.WriteString(r.Key + ",0,1\n")
	}
	out["resolution"] = func(o Options) (int64, error) {
		r, err := decodeResolutionCSV(strings.NewReader(moves.String()), o)
		if err != nil {
			return 0, err
		}
		return r.Bytes(), nil
	}
	return out
}

// TestReserve: what a decoder reserves in the end is what it keeps, but for
// rounding when slices grow.
func TestReserve(t *testing.T) {
	for name, decode := range decodes() {
		for _, hint := range []int{0, 30_000} {
			a := &account{}
			kept, err := decode(Options{Reserve: a.reserve, RowHint: hint})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if a.held < kept*4/5 || a.held > kept*6/5+4<<20 {
				t.Errorf("%s, hint %d: keeps %d, reserved %d", name, hint, kept, a.held)
			}
			if a.most < a.held || a.most > 3*kept+4<<20 {
				t.Errorf("%s, hint %d: keeps %d, reserved %d at most", name, hint, kept, a.most)
			}
		}
	}
}

// TestRefusedReserve: a refusal ends decoding wherever it comes, and is what
// decoders return.
func TestRefusedReserve(t *testing.T) {
	for name, decode := range decodes() {
		whole := &account{}
		if _, err := decode(Options{Reserve: whole.reserve}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for limit := whole.most - 1; limit > 0; limit = limit*2/3 - 1 {
			a := &account{limit: limit}
			if _, err := decode(Options{Reserve: a.reserve}); err != errRefused { //nolint:errorlint // as it is
				t.Errorf("%s, %d of %d bytes: %v", name, limit, whole.most, err)
			}
		}
	}
}

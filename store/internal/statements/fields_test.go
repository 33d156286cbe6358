package statements

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONAndLists(t *testing.T) {
	for _, text := range []string{"", "null", `{"a": 1}`} {
		in, out := []byte(text), []byte("before")
		value, err := JSON{P: &in}.Value()
		if err != nil {
			t.Fatal(err)
		}
		if err := (JSON{P: &out}).Scan(value); err != nil || string(out) != text {
			t.Errorf("%q is read as %q, error %v", text, out, err)
		}
	}
	for _, want := range [][]string{nil, {""}, {"a", "\"b\", ü <&>"}} {
		got := []string{"before"}
		value, err := list(&want).Value()
		if err != nil {
			t.Fatal(err)
		}
		if err := list(&got).Scan(value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lists differ (-want +got):\n%s", diff)
		}
	}
	var data []byte
	if err := (JSON{P: &data}).Scan(5); err == nil {
		t.Error("a number was read as JSON")
	}
}

package absence

import (
	"reflect"
	"testing"

	"plannerd/planner"
)

// TestEncoded: what is written is read again, and nothing else.
func TestEncoded(t *testing.T) {
	want := Counts{
		{planner.Entry{Key: []byte("a"), Instance: 0}, 1},
		{planner.Entry{Key: []byte("a\x00\xff"), Instance: 1<<31 - 1}, 300},
	}
	data := want.Encode()
	if got, err := Decode(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v became %v: %v", want, got, err)
	}
	if got := want.of(planner.Entry{Key: []byte("a"), Instance: 1}); got != 0 {
		t.Errorf("an entry to another instance is absent for %d intervals", got)
	}
	first := len(want[:1].Encode())
	for n := range data {
		if n == 0 || n == first {
			continue
		}
		if got, err := Decode(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are read as %v", n, len(data), got)
		}
	}
	for _, damaged := range []string{"\x80", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "\x01a\x80"} {
		if got, err := Decode([]byte(damaged)); err == nil {
			t.Errorf("%q is read as %v", damaged, got)
		}
	}
}

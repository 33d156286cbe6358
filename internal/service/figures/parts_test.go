package figures

import (
	"errors"
	"math"
	"slices"
	"testing"

	"plannerd/planner"
)

func TestPartsSurviveTheStore(t *testing.T) {
	for _, parts := range [][]planner.Part{
		nil,
		{{Instance: 0, Weight: 1}, {Instance: 1, Weight: 65535}},
		{{Instance: 7, Weight: 30000}, {Instance: 300, Weight: 30000}, {Instance: math.MaxInt32, Weight: 5536}},
	} {
		got, err := DecodeParts(EncodeParts(parts))
		if err != nil || !slices.Equal(got, parts) {
			t.Errorf("%v becomes %v, %v", parts, got, err)
		}
	}
}

func TestDamagedParts(t *testing.T) {
	whole := EncodeParts([]planner.Part{{Instance: 0, Weight: 32768}, {Instance: 300, Weight: 32768}})
	damaged := []string{"\x00", "\xff", "\x01\x01\x00\x01", whole + "\x01", whole + whole, "\x00\x80\x80\x04\x01"}
	for _, text := range damaged {
		if parts, err := DecodeParts(text); !errors.Is(err, errParts) {
			t.Errorf("%q becomes %v, %v", text, parts, err)
		}
	}
	for n := 1; n < len(whole); n++ {
		if parts, err := DecodeParts(whole[:n]); !errors.Is(err, errParts) {
			t.Errorf("%d bytes become %v, %v", n, parts, err)
		}
	}
}

package ranges

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	o := Owners{{[]byte{}, 1}, {[]byte("f"), 2}, {[]byte("m"), 1}}
	at := func(low, high string) Interval {
		v := Interval{Low: []byte(low)}
		if high != "" {
			v.High = []byte(high)
		}
		return v
	}
	for name, transfers := range map[string][]Transfer{
		"of another":    {{From: 2, To: 1, Interval: at("a", "b")}},
		"too far":       {{From: 1, To: 2, Interval: at("a", "g")}},
		"without end":   {{From: 2, To: 1, Interval: at("g", "")}},
		"overlapping":   {{From: 1, To: 2, Interval: at("a", "c")}, {From: 1, To: 3, Interval: at("b", "d")}},
		"empty":         {{From: 1, To: 2, Interval: at("b", "b")}},
		"upside down":   {{From: 1, To: 2, Interval: at("c", "b")}},
		"the same once": {{From: 1, To: 2, Interval: at("a", "b")}, {From: 1, To: 2, Interval: at("a", "b")}},
	} {
		if after, err := o.Apply(transfers); !errors.Is(err, ErrNotOwned) {
			t.Errorf("%s: %v, %v", name, after, err)
		}
	}
	after, err := o.Apply([]Transfer{{From: 1, To: 3, Interval: at("m", "")}, {From: 1, To: 2, Interval: at("b", "f")}})
	if want := (Owners{{[]byte{}, 1}, {[]byte("b"), 2}, {[]byte("m"), 3}}); err != nil || !after.equal(want) {
		t.Errorf("%v, %v; want %v", after, err, want)
	}
	if after, err := Owners(nil).Apply([]Transfer{{From: 1, To: 2, Interval: at("", "")}}); !errors.Is(err, ErrNotOwned) {
		t.Errorf("%v, %v", after, err)
	}
}

func TestFind(t *testing.T) {
	o := Owners{{nil, 1}, {[]byte("f"), 2}, {[]byte("f\x00"), 3}}
	for key, want := range map[string]int32{"": 1, "a": 1, "e\xff": 1, "f": 2, "f\x00": 3, "\xff": 3} {
		if got, ok := o.Find([]byte(key)); !ok || got != want {
			t.Errorf("Find(%q) = %d, %v; want %d", key, got, ok, want)
		}
	}
	if _, ok := Owners(nil).Find(nil); ok {
		t.Error("nobody owns anything, but somebody was found")
	}
	if own := o.Of(2); !slices.EqualFunc(own, []Interval{{[]byte("f"), []byte("f\x00")}}, func(v, w Interval) bool {
		return bytes.Equal(v.Low, w.Low) && bytes.Equal(v.High, w.High)
	}) {
		t.Errorf("Of(2) = %q", own)
	}
}

package ranges

import "testing"

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
}

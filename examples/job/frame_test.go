package job

import "testing"

func TestFrames(t *testing.T) {
	f := Frame{Epoch: 3, Marker: 0, Floor: 7, events: []event{{key: "a", n: 1}, {key: "", n: 1 << 40}}}
	got, err := DecodeFrame(f.Encode())
	if err != nil || got.Epoch != f.Epoch || got.Floor != f.Floor ||
		len(got.events) != 2 || got.events[1] != f.events[1] {
		t.Errorf("%+v became %+v, %v", f, got, err)
	}
	for n := range f.Encode() {
		if _, err := DecodeFrame(f.Encode()[:n]); err == nil {
			t.Errorf("the first %d bytes count as a frame", n)
		}
	}
}

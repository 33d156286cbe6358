package job

import (
	"fmt"
	"testing"
)

func TestAhead(t *testing.T) {
	a := newAhead(12)
	a.begin(3)
	full := func(want bool, after string) {
		t.Helper()
		if a.isFull() != want {
			t.Errorf("full: %v, %s", !want, after)
		}
	}
	hear := func(epoch int64, taken int) {
		a.hear(Message{Content: fmt.Appendf(nil, `{"instance":1,"channels":{"r":{"epoch":%d,"taken":%d}}}`, epoch, taken)}, "r")
	}
	a.add(0, 3)
	if n := a.add(1, 11); n != 11 {
		t.Errorf("%d were sent", n)
	}
	full(false, "with 11 of 12")
	a.add(1, 2)
	full(true, "with 13")
	hear(2, 13)
	full(true, "after what was taken of an older epoch")
	hear(3, 1)
	full(true, "after 1 of 13")
	hear(3, 5)
	full(false, "after 5 of 13")
	hear(3, 1)
	full(false, "after what came late")
	a.add(1, 4)
	full(true, "with 12 again")
	a.begin(4)
	full(false, "under a new epoch")
	a.most = 0
	a.add(1, 1000)
	full(false, "without a bound")
}

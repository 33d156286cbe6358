package handoff

import (
	"reflect"
	"testing"
)

// TestDriver: a driver takes words in any order, and only those of the newest hand-over.
func TestDriver(t *testing.T) {
	pending := func(version int64, aborting bool) *Pending {
		return &Pending{Version: version, Awaits: []int32{0, 1}, Aborting: aborting, ExecutorEpoch: 7,
			Routers: map[string]int64{"r": 1}}
	}
	call := func(do Post, version int64, instance int32) Call {
		return Call{Do: do, Version: version, Epoch: 7, Instance: instance}
	}
	see := func(p *Pending) func(*Driver) []Call {
		return func(d *Driver) []Call {
			calls, _ := d.See(p)
			return calls
		}
	}
	acked := func(instance int32, version int64) func(*Driver) []Call {
		return func(d *Driver) []Call { return d.Acked(instance, version) }
	}
	voted := func(instance int32, version int64) func(*Driver) []Call {
		return func(d *Driver) []Call { return d.Voted(instance, version) }
	}
	lost := func(d *Driver) []Call { return d.Lost("r", 2) }
	for _, x := range []struct {
		name  string
		steps []func(*Driver) []Call
		want  []Call // of the last step
	}{
		{"an acknowledgement", []func(*Driver) []Call{see(pending(2, false)), acked(1, 2)}, []Call{call(PostAck, 2, 1)}},
		{"the same again", []func(*Driver) []Call{see(pending(2, false)), acked(1, 2), acked(1, 2)},
			[]Call{call(PostAck, 2, 1)}},
		{"acknowledgements before the hand-over is seen",
			[]func(*Driver) []Call{acked(1, 2), acked(0, 2), acked(1, 2), see(pending(2, false))},
			[]Call{call(PostAck, 2, 0), call(PostAck, 2, 1)}},
		{"before the next one is seen", []func(*Driver) []Call{see(pending(2, false)), acked(0, 2), acked(1, 3),
			see(pending(3, false))}, []Call{call(PostAck, 3, 1)}},
		{"they are told once", []func(*Driver) []Call{acked(1, 2), see(pending(2, false)), see(pending(2, false))}, nil},
		{"of an older hand-over", []func(*Driver) []Call{see(pending(3, false)), acked(1, 2)}, nil},
		{"an older view", []func(*Driver) []Call{acked(1, 3), see(pending(2, false)), lost}, nil},
		{"after the end", []func(*Driver) []Call{see(pending(2, false)), see(nil), acked(1, 2)}, nil},
		{"where it aborts", []func(*Driver) []Call{acked(0, 2), see(pending(2, true)), acked(1, 2)}, nil},
		{"votes", []func(*Driver) []Call{see(pending(2, true)), voted(0, 2), voted(1, 2)},
			[]Call{call(PostRolledBack, 2, 0)}},
		{"votes before the hand-over is seen", []func(*Driver) []Call{voted(0, 2), voted(1, 2), see(pending(2, true))},
			[]Call{call(PostRolledBack, 2, 0)}},
		{"votes of an older hand-over", []func(*Driver) []Call{voted(0, 1), voted(1, 1), see(pending(2, true))}, nil},
		{"an abort before the hand-over is seen", []func(*Driver) []Call{(*Driver).Abort, see(nil), see(pending(2, false))},
			[]Call{call(PostAbort, 2, 0)}},
		{"an abort that came too late for a batch", []func(*Driver) []Call{see(pending(2, false)), (*Driver).Abort,
			see(pending(3, false))}, []Call{call(PostAbort, 3, 0)}},
		{"an abort is not of the next plan", []func(*Driver) []Call{see(pending(2, false)), (*Driver).Abort,
			see(pending(2, true)), see(pending(4, false))}, nil},
		{"nor where it came too late", []func(*Driver) []Call{see(pending(2, false)), (*Driver).Abort, see(nil),
			see(pending(4, false))}, nil},
		{"a router is lost", []func(*Driver) []Call{see(pending(2, false)), lost},
			[]Call{{Do: Fence, Version: 2, Epoch: 7, Router: "r", RouterEpoch: 2, To: []int32{0, 1}}}},
		{"after the end of the hand-over", []func(*Driver) []Call{see(pending(2, false)), see(nil), lost}, nil},
	} {
		d := NewDriver(7)
		var got []Call
		for _, step := range x.steps {
			got = step(d)
		}
		if len(got) != len(x.want) || len(got) > 0 && !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lease returns a lease that holds that many bytes.
func lease(t *testing.T, b *Budget, bytes int64) *Lease {
	t.Helper()
	l := b.Lease(t.Context())
	must(t, l.Reserve(bytes))
	return l
}

// stands checks what is reserved and how many wait.
func (b *Budget) stands(t *testing.T, reserved int64, waiting int) {
	t.Helper()
	if u := b.Usage(); u.Reserved != reserved || u.Waiting != waiting {
		t.Errorf("%d reserved and %d waiting, want %d and %d", u.Reserved, u.Waiting, reserved, waiting)
	}
}

func TestLease(t *testing.T) {
	b := NewBudget(1600*mib, time.Second)
	l := lease(t, b, 100*mib)
	b.stands(t, 100*mib, 0)
	must(t, l.Reserve(10)) // by a step
	b.stands(t, 101*mib, 0)
	must(t, l.Reserve(-50*mib))
	if b.stands(t, 101*mib, 0); l.Used() != 50*mib+10 {
		t.Errorf("%d in use", l.Used())
	}
	must(t, l.Settle(40*mib))
	b.stands(t, 40*mib, 0)
	must(t, l.Expect(90*mib))
	must(t, l.Reserve(10*mib))
	b.stands(t, 90*mib, 0)
	must(t, l.Settle(1))
	must(t, l.Settle(200*mib))
	b.stands(t, 200*mib, 0)
	l.Release()
	l.Release()
	b.stands(t, 0, 0)
}

// TestExceeded: what can never fit is refused at once, and what is only expected
// is not.
func TestExceeded(t *testing.T) {
	b := NewBudget(1600*mib, time.Hour)
	l := b.Lease(t.Context())
	defer l.Release()
	must(t, l.Expect(5000*mib))
	b.stands(t, 1400*mib, 0)
	var exceeded *ExceededError
	if err := l.Reserve(1400*mib + 1); !errors.As(err, &exceeded) || exceeded.Need != 1400*mib+1 ||
		exceeded.Limit != b.Most() {
		t.Errorf("%v", err)
	}
	if u := b.Usage(); u.Refusals != (Refusals{Exceeded: 1}) {
		t.Errorf("%+v", u)
	}
}

// TestWait: a lease waits until there is room, and no longer than it may.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Second)
		first := lease(t, b, 1300*mib)
		begin := time.Now()
		late := b.Lease(t.Context())
		if err := late.Reserve(200 * mib); !errors.Is(err, ErrFull) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		time.AfterFunc(500*time.Millisecond, first.Release)
		begin = time.Now()
		if err := late.Reserve(200 * mib); err != nil || time.Since(begin) != time.Second/2 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		late.Release()
		b.stands(t, 0, 0)
		if u := b.Usage(); u.Refusals != (Refusals{Full: 1}) || u.Leases != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// TestCancelled: a wait ends with its context, and lets those behind it pass.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Hour)
		first := lease(t, b, 1000*mib)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- b.Lease(ctx).Reserve(1000 * mib) }()
		synctest.Wait()
		behind := make(chan *Lease, 1)
		go func() { behind <- lease(t, b, 400*mib) }()
		synctest.Wait()
		b.stands(t, 1000*mib, 2) // it would fit, but is not the first
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		(<-behind).Release()
		first.Release()
		b.stands(t, 0, 0)
	})
}

// TestOrder: those that grow come first, the oldest of them before the others;
// new ones in their order.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Hour)
		full := lease(t, b, 1360*mib)
		old, young := lease(t, b, 20*mib), lease(t, b, 20*mib)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		take := func(name string, l *Lease) {
			all.Go(func() {
				must(t, l.Reserve(300*mib))
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				l.Release()
			})
			synctest.Wait()
		}
		take("first", b.Lease(t.Context()))
		take("second", b.Lease(t.Context()))
		take("young", young)
		take("old", old)
		b.stands(t, 1400*mib, 4)
		// Room for one at a time.
		must(t, full.Settle(1050*mib))
		all.Wait()
		full.Release()
		if !slices.Equal(order, []string{"old", "young", "first", "second"}) {
			t.Error(order)
		}
	})
}

// TestStalled: two that wait for each other do not wait for long: the older one
// goes on.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Hour)
		begin := time.Now()
		old, young := lease(t, b, 700*mib), lease(t, b, 700*mib)
		grown := make(chan error, 1)
		go func() { grown <- old.Reserve(100 * mib) }()
		synctest.Wait()
		if err := young.Reserve(100 * mib); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		b.stands(t, 1400*mib, 1) // nothing is free before it was let go of
		young.Release()
		must(t, <-grown)
		if u := b.Usage(); time.Since(begin) != 0 || u.Refusals != (Refusals{Stalled: 1}) {
			t.Errorf("%v, %+v", time.Since(begin), u)
		}
		old.Release()
	})
}

// TestSmall: small leases do not wait behind large ones, and become large ones.
func TestSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Hour)
		full := lease(t, b, 1400*mib)
		go func() { lease(t, b, 1000*mib).Release() }()
		synctest.Wait()
		small := lease(t, b, mib)
		b.stands(t, 1401*mib, 1)
		grown := make(chan error, 1)
		go func() { grown <- small.Reserve(20 * mib) }()
		synctest.Wait()
		b.stands(t, 1401*mib, 2)
		full.Release()
		must(t, <-grown)
		small.Release()
		synctest.Wait()
		b.stands(t, 0, 0)
	})
}

// TestOpen: leases that cannot tell how large they will be do not take what is for
// small ones.
func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(16*mib, time.Hour)
		full := lease(t, b, b.Most())
		open := b.Lease(t.Context())
		open.Open()
		must(t, open.Reserve(mib))
		b.stands(t, 15*mib, 0)
		grown := make(chan error, 1)
		go func() { grown <- open.Reserve(mib) }()
		synctest.Wait()
		lease(t, b, mib/2).Release()
		b.stands(t, 15*mib, 1)
		full.Release()
		must(t, <-grown)
		b.stands(t, 2*mib, 0)
		open.Release()
	})
}

// TestStorm: whatever many leases do at once, the budget is never exceeded and all
// comes back.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 320 * mib
		b := NewBudget(budget, 100*time.Millisecond)
		var mu sync.Mutex
		inUse, most := int64(0), int64(0)
		use := func(bytes int64) {
			mu.Lock()
			defer mu.Unlock()
			inUse += bytes
			most = max(most, inUse)
		}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				l := b.Lease(t.Context())
				mine := int64(0)
				for range 1 + r.IntN(20) {
					more := r.Int64N(40*mib) - 5*mib
					more = max(more, -mine)
					if more < 0 {
						use(more)
					}
					if l.Reserve(more) != nil {
						break
					}
					if mine += more; more > 0 {
						use(more)
					}
					if u := b.Usage(); u.Reserved > budget || u.Reserved < 0 {
						t.Errorf("%d reserved of %d", u.Reserved, int64(budget))
					}
					time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond) // of the bubble
				}
				use(-mine)
				l.Release()
			})
		}
		all.Wait()
		if b.stands(t, 0, 0); most > budget || most < budget/2 {
			t.Errorf("%d in use at most", most)
		}
		u := b.Usage()
		if u.Leases != 0 || u.Refusals.Full == 0 {
			t.Errorf("%+v", u)
		}
		lease(t, b, b.Most()).Release()
	})
}

// TestLeast: a part of what is for small leases is for the least of them, which wait longer than
// others before they are refused.
func TestLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(256*mib, 100*time.Millisecond)
		large := lease(t, b, b.Most())
		var small []*Lease
		for range 3 {
			small = append(small, lease(t, b, 4*mib))
		}
		begin := time.Now()
		if err := b.Lease(t.Context()).Reserve(4 * mib); !errors.Is(err, ErrFull) || time.Since(begin) != b.wait {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		for range 4 {
			small = append(small, lease(t, b, mib))
		}
		time.AfterFunc(5*time.Second, small[3].Release)
		begin = time.Now()
		late := lease(t, b, mib)
		if waited := time.Since(begin); waited != 5*time.Second {
			t.Errorf("waited for %v", waited)
		}
		begin = time.Now()
		if err := b.Lease(t.Context()).Reserve(mib); !errors.Is(err, ErrFull) || time.Since(begin) != patience*b.wait {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		for _, l := range append(small, late, large) {
			l.Release()
		}
		b.stands(t, 0, 0)
	})
}

// TestSmallTakeWhatIsLeft: small leases share what large ones leave, and take no more of
// it than they need.
func TestSmallTakeWhatIsLeft(t *testing.T) {
	b := NewBudget(16*mib, time.Nanosecond)
	var all []*Lease
	for range 32 {
		all = append(all, lease(t, b, mib/4))
	}
	b.stands(t, 8*mib, 0)
	for _, l := range all {
		l.Release()
	}
	full := lease(t, b, b.Most())
	for range 3 {
		all = append(all, lease(t, b, mib/4))
	}
	if err := b.Lease(t.Context()).Reserve(mib / 4); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	full.Release()
	lease(t, b, mib/4).Release()
}

// TestCallersShare: one caller has half of the memory at most, but that the oldest of its
// leases goes on; whom that holds up holds nobody else up.
func TestCallersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1600*mib, time.Minute) // 1400 MiB for large leases
		of := func(caller string) *Lease { return b.Lease(WithCaller(t.Context(), caller)) }
		first := of("one")
		must(t, first.Expect(1<<50))
		b.stands(t, 700*mib, 0)
		second := of("one")
		waits := make(chan error)
		go func() { waits <- second.Reserve(100 * mib) }()
		synctest.Wait()
		b.stands(t, 700*mib, 1)
		other := of("two")
		must(t, other.Reserve(200*mib)) // though it came later
		must(t, first.Reserve(1000*mib))
		b.stands(t, 1200*mib, 1)
		time.Sleep(time.Minute) // of the bubble
		if err := <-waits; !errors.Is(err, ErrFull) || b.Usage().Refusals != (Refusals{Share: 1}) {
			t.Errorf("%v, %+v", err, b.Usage().Refusals)
		}
		go func() { waits <- second.Reserve(100 * mib) }()
		synctest.Wait()
		first.Release()
		must(t, <-waits)
		// The second is the oldest now.
		third := of("one")
		must(t, third.Reserve(500*mib))
		must(t, second.Reserve(500*mib))
		b.stands(t, 1300*mib, 0)
		// What is for small leases has no shares: here 100 MiB, of which the least have a quarter.
		var few []*Lease
		for range 4 {
			few = append(few, of("one"))
			must(t, few[len(few)-1].Reserve(16*mib))
		}
		if b.small.used != 64*mib {
			t.Errorf("%d bytes of small leases", b.small.used)
		}
		// The next one finds room among the large ones, though its caller has more than half
		// of that.
		third.Release()
		must(t, second.Reserve(150*mib))
		few = append(few, of("one"))
		must(t, few[4].Reserve(16*mib))
		if b.large.used != (750+200+16)*mib {
			t.Errorf("%d bytes of large leases", b.large.used)
		}
		beginning := of("one")
		done, err := beginning.Beginning(mib)
		must(t, err)
		if b.open.used != mib || b.open.callers["one"].held != mib {
			t.Errorf("%d bytes of beginnings", b.open.used)
		}
		done()
		if beginning.open {
			t.Error("what has begun is taken for open still")
		}
		for _, l := range append(few, second, third, other) {
			l.Release()
		}
		b.stands(t, 0, 0)
		if n := len(b.large.callers); n != 0 {
			t.Errorf("%d callers are known of", n)
		}
	})
}

// TestViewersLeaveRoom: those who only look have three quarters of each part together, and one of them
// alone may have all.
func TestViewersLeaveRoom(t *testing.T) {
	view := func(b *Budget, caller string) *Lease {
		l := b.Lease(WithCaller(t.Context(), caller))
		l.View()
		return l
	}
	b := NewBudget(1600*mib, time.Millisecond) // 1400 for large leases, 100 for small ones
	alone := view(b, "a")
	must(t, alone.Reserve(1400*mib))
	alone.Release()
	for i := range 10 {
		must(t, view(b, string(rune('a'+i))).Reserve(100*mib))
	}
	if err := view(b, "x").Reserve(100 * mib); !errors.Is(err, ErrFull) {
		t.Errorf("a viewer beyond three quarters: %v", err)
	}
	for i := range 40 { // small ones have their own part, and what is left of the large one
		if err := view(b, "s").Reserve(5 * mib); err != nil {
			if i < 15 {
				t.Errorf("small lease %d of a viewer: %v", i, err)
			}
			break
		}
	}
	for range 4 {
		must(t, b.Lease(WithCaller(t.Context(), "engine")).Reserve(6*mib))
	}
	must(t, b.Lease(WithCaller(t.Context(), "engine")).Reserve(300*mib))
}

package grouping

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"plannerd/planner"
)

// met counts by plain runs how many of the first n trials meet the target.
func met(t *testing.T, s *Stream, o AdviceOptions, d, n int) (met int) {
	t.Helper()
	for r := range n {
		run := o.Options
		run.Choices, run.HashSeed = d, o.Options.HashSeed+uint32(r)<<16
		again, err := s.Reseeded(s.seed + uint64(r))
		if err != nil {
			t.Fatal(err)
		}
		result, err := Run(again, run)
		if err != nil {
			t.Fatal(err)
		}
		if result.Imbalance <= o.Target {
			met++
		}
	}
	return met
}

func TestAdviceIsTheSmallestThatMeetsTheTarget(t *testing.T) {
	for _, c := range []struct {
		z       float64
		workers int
		target  float64
		share   float64
	}{{0.8, 10, 1e-3, 0.9}, {1.2, 10, 1e-3, 0.9}, {1.4, 10, 1e-2, 0.9}, {1.6, 20, 1e-2, 0.5}, {2, 8, 1e-2, 1}} {
		s := zipf(t, 1000, c.z, 20_000, 9)
		o := AdviceOptions{Options: Options{Workers: c.workers}, Target: c.target, Share: c.share, Trials: 10}
		a, err := Advise(s, o)
		if err != nil {
			t.Fatal(err)
		}
		needed := int(c.share * 10)
		t.Logf("z %v, W %d, target %v: %+v", c.z, c.workers, c.target, *a)
		if a.Choices == 0 || met(t, s, o, a.Choices, 10) < needed {
			t.Errorf("z %v: %d choices do not meet the target", c.z, a.Choices)
		}
		if a.Choices > 1 && met(t, s, o, a.Choices-1, 10) >= needed {
			t.Errorf("z %v: %d choices would do, not only %d", c.z, a.Choices-1, a.Choices)
		}
		if a.Choices < a.LeastChoices || float64(a.MaxWorkers) > float64(a.Choices)/s.P1() ||
			float64(a.MaxWorkers+1) <= float64(a.Choices)/s.P1() {
			t.Errorf("z %v: %+v with p1 = %v", c.z, a, s.P1())
		}
		room := (c.target + 1/float64(c.workers)) * float64(s.Len())
		for k := range s.Keys().Len() {
			i := slices.IndexFunc(a.Keys, func(d DemandingKey) bool { return int(d.Key) == k })
			if n := float64(s.Count(k)); (i >= 0) != (n > 2*float64(int(room))) {
				t.Errorf("z %v: key %d with %v messages, room %v: listed %v", c.z, k, n, room, i >= 0)
			} else if i >= 0 && (float64(a.Keys[i].Choices)*room < n || float64(a.Keys[i].Choices-1)*float64(int(room)) >= n) {
				t.Errorf("z %v: %+v with room for %v", c.z, a.Keys[i], room)
			}
		}
		for i, tried := range a.Tried {
			enough := tried.Met >= needed
			if enough != (tried.Choices >= a.Choices) || enough && tried.Trials != 10 || i > 0 &&
				tried.Choices <= a.Tried[i-1].Choices ||
				tried.Least > tried.Median || tried.Median > tried.Greatest {
				t.Errorf("z %v: %+v", c.z, tried)
			}
		}
	}
}

// The same advice however many trials run at the same time.
func TestAdviceDoesNotDependOnProcessors(t *testing.T) {
	s := zipf(t, 1000, 1.5, 10_000, 9)
	o := AdviceOptions{Options: Options{Workers: 12, Sources: 3, LoadInformation: Local}, Target: 5e-3}
	want, err := Advise(s, o)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	got, err := Advise(s, o)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestAdviceWhereNothingHelps(t *testing.T) {
	s, err := NewStream(numbered(2), []int32{0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Advise(s, AdviceOptions{Options: Options{Workers: 5, Distinct: true}, Target: 1e-9, MaxChoices: 4})
	if err != nil {
		t.Fatal(err)
	}
	// Nine messages need five workers when none may have more than two.
	if want := (&Advice{LeastChoices: 5, MaxWorkers: 5,
		Keys: []DemandingKey{{Key: 0, Messages: 9, Choices: 5}}}); !cmp.Equal(a, want) {
		t.Errorf("%s", cmp.Diff(want, a))
	}
}

func TestAdviceStopsAndTells(t *testing.T) {
	s := zipf(t, 100, 1.5, 20_000, 1)
	var asked atomic.Int64
	o := AdviceOptions{Options: Options{Workers: 10}, Target: 1e-3}
	o.Options.Stop = func() bool { return asked.Add(1) > 40 }
	if _, err := Advise(s, o); !errors.Is(err, planner.ErrStopped) {
		t.Error(err)
	}
	last, most := int64(0), int64(0)
	o.Options.Stop = nil
	o.Options.Progress = func(done, total int64) {
		if done < last || done > total || most > 0 && total != most {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last, most = done, total
	}
	if _, err := Advise(s, o); err != nil || last != most || last == 0 {
		t.Errorf("%v, %d of %d", err, last, most)
	}
}

func TestAdviceValidation(t *testing.T) {
	o := Options{Workers: 4}
	for field, a := range map[string]AdviceOptions{
		"Workers":    {Target: 0.1},
		"Target":     {Options: o},
		"Trials":     {Options: o, Target: 0.1, Trials: 1 << 16},
		"Share":      {Options: o, Target: 0.1, Share: 1.5},
		"MaxChoices": {Options: Options{Workers: 4, Distinct: true}, Target: 0.1, MaxChoices: 5},
	} {
		var input *planner.InputError
		if err := a.Validate(); !errors.As(err, &input) || input.Field != field {
			t.Errorf("%+v: %v, want one about %s", a, err, field)
		}
	}
}

func TestRoomIsTheGreatestLoadWithinTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Int64Range(1, 1000).Draw(t, "messages")
		w := rapid.IntRange(1, 50).Draw(t, "workers")
		o := AdviceOptions{Options: Options{Workers: w}, Target: rapid.Float64Range(1e-4, 1).Draw(t, "target")}
		within := func(load int64) bool { return float64(load)/float64(m)-1/float64(w) <= o.Target }
		want := int64(1)
		for load := range m + 1 {
			if within(load) {
				want = max(want, load)
			}
		}
		if got := o.room(m); got != want {
			t.Fatalf("room for %d messages, want %d", got, want)
		}
	})
}

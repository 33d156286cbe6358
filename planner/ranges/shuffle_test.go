package ranges

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// walk drives a shuffle through random events.
type walk struct {
	rng     *rand.Rand
	s       *Shuffle
	nextID  int32
	crashes int // that happened
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	w := &walk{rng: rand.New(rand.NewPCG(seed, 1)), nextID: 10}
	ids := []int32{0, 1, 2, 3, 4}[:1+w.rng.IntN(5)]
	s, err := NewShuffle(ids, w.owners(ids))
	if err != nil {
		t.Fatal(err)
	}
	w.s = s
	return w
}

// owners draws a division among some followers.
func (w *walk) owners(ids []int32) Owners {
	var o Owners
	for i := range letters {
		if i == 0 || w.rng.IntN(2) == 0 {
			o = o.appendOwner(letters[i], ids[w.rng.IntN(len(ids))])
		}
	}
	return o
}

func (w *walk) staying() []int32 {
	var ids []int32
	for _, m := range w.s.members {
		if !m.leaving {
			ids = append(ids, m.id)
		}
	}
	return ids
}

func (w *walk) any() int32 { return w.s.members[w.rng.IntN(len(w.s.members))].id }

// step tries one event; it may be refused.
func (w *walk) step() error {
	s := w.s
	switch w.rng.IntN(14) {
	case 0, 1:
		return s.Propose(w.owners(w.staying()))
	case 2:
		return s.EndInput(w.owners(w.staying()))
	case 3, 4:
		return s.Ready(w.any())
	case 5:
		return s.StartGet()
	case 6, 7:
		return s.Enter(w.any())
	case 8, 9:
		if len(s.pending) == 0 {
			return s.Commit()
		}
		return s.Acknowledge(s.pending[w.rng.IntN(len(s.pending))])
	case 10:
		if len(s.members) > 7 {
			return nil
		}
		w.nextID++
		return s.Join(w.nextID, w.rng.IntN(len(s.members)+1))
	case 11:
		if w.rng.IntN(2) == 0 {
			return s.Depart(w.any())
		}
		return s.Leave(w.any())
	case 12:
		return s.Replicated(w.any())
	default:
		return w.crash()
	}
}

// crash lets one follower crash, or two or three at once.
func (w *walk) crash() error {
	ids := w.s.Members()
	w.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	err := w.s.Crash(ids[:min(len(ids), 1+w.rng.IntN(3))]...)
	if err == nil {
		w.crashes++
	}
	return err
}

// finish brings a shuffle into the get phase.
func (w *walk) finish() {
	_ = w.s.Propose(w.owners(w.staying()))
	get(w.s)
}

// replicateAll brings every replica up to date.
func (w *walk) replicateAll() {
	for _, id := range w.s.Members() {
		_ = w.s.Replicated(id)
	}
}

func TestEveryKeyHasOneAuthorityWhateverHappens(t *testing.T) {
	phases, crashes := map[Phase]int{}, 0
	for seed := range uint64(400) {
		w := newWalk(t, seed)
		if seed%2 == 0 {
			w.finish()
		}
		for range 120 {
			phase, snapshot := w.s.phase, w.s.Owners()
			err := w.step()
			var refused *EventError
			if err != nil && !errors.As(err, &refused) && !errors.Is(err, ErrNobodyLeft) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if broken := w.s.Check(); broken != nil {
				t.Fatalf("seed %d: %s", seed, strings.Join(broken, "; "))
			}
			if err := w.s.Owners().Validate(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err != nil && !snapshot.equal(w.s.Owners()) {
				t.Fatalf("seed %d: a refused event changed something: %v", seed, err)
			}
			if phase == Getting && w.s.phase != Getting {
				t.Fatalf("seed %d: back to %s", seed, w.s.phase)
			}
			phases[w.s.phase]++
		}
		crashes += w.crashes
	}
	t.Logf("%v, %d crashes", phases, crashes)
	for _, p := range []Phase{Putting, Ending, Starting, Getting} {
		if phases[p] < 100 {
			t.Errorf("only %d states of phase %s", phases[p], p)
		}
	}
}

// authorities are who answers for each letter.
func (w *walk) authorities() []int32 {
	all := make([]int32, len(letters))
	for i, key := range letters {
		all[i] = Nobody
		if id, ok := w.s.Authority(key); ok {
			all[i] = id
		}
	}
	return all
}

func changes(a, b []int32) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// An authority changes by an acknowledgement of just that interval, or by the crash
// of the authority itself, when its replica follows.
func TestAuthorityChangesOnlyForAReason(t *testing.T) {
	for seed := range uint64(300) {
		w := newWalk(t, seed)
		w.finish()
		for range 60 {
			w.replicateAll()
			before := w.authorities()
			if len(w.s.pending) > 0 && w.rng.IntN(2) == 0 {
				h := w.s.pending[w.rng.IntN(len(w.s.pending))]
				if err := w.s.Acknowledge(h); err != nil {
					t.Fatal(err)
				}
				for i, id := range w.authorities() {
					want := before[i]
					if h.Interval.Contains(letters[i]) {
						want = h.To
					}
					if id != want {
						t.Fatalf("seed %d: after %+v, %q is with %d", seed, h, letters[i], id)
					}
				}
				continue
			}
			members := w.s.Members()
			if len(members) > 1 && w.rng.IntN(6) == 0 {
				gone := members[w.rng.IntN(len(members))]
				heir := w.s.member(gone).replica
				if err := w.s.Crash(gone); err != nil {
					t.Fatal(err)
				}
				for i, id := range w.authorities() {
					want := before[i]
					if want == gone {
						want = heir
					}
					if id != want {
						t.Fatalf("seed %d: %d crashed, and %q is with %d, want %d", seed, gone, letters[i], id, want)
					}
				}
				if w.s.Lost() != nil {
					t.Fatalf("seed %d: the crash of one replicated follower lost %q", seed, w.s.Lost())
				}
				continue
			}
			if len(w.s.pending) > 0 {
				continue
			}
			switch w.rng.IntN(4) {
			case 0:
				_ = w.s.Commit()
			case 1:
				_ = w.s.Propose(w.owners(w.staying()))
			case 2:
				w.nextID++
				if len(members) < 7 {
					_ = w.s.Join(w.nextID, w.rng.IntN(len(members)+1))
				}
			case 3:
				_ = w.s.Leave(w.any())
			}
			if n := changes(before, w.authorities()); n > 0 {
				t.Fatalf("seed %d: %d authorities changed", seed, n)
			}
		}
	}
}

// Several may crash at once if none is the replica of another; a follower and its
// replica may not.
func TestWhatCrashesLose(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		w := newWalk(t, seed)
		w.finish()
		for range 20 {
			_ = w.step()
		}
		if w.s.phase != Getting {
			continue
		}
		w.replicateAll()
		before := len(w.s.Lost())
		ids := w.s.Members()
		w.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:len(ids)/2]
		apart := !slices.ContainsFunc(ids, func(id int32) bool { return slices.Contains(ids, w.s.member(id).replica) })
		if err := w.s.Crash(ids...); err != nil {
			t.Fatal(err)
		}
		if broken := w.s.Check(); broken != nil {
			t.Fatalf("seed %d: %s", seed, broken)
		}
		if apart && len(w.s.Lost()) > before {
			t.Fatalf("seed %d: lost %q", seed, w.s.Lost())
		}
		if len(w.s.Lost()) > before {
			lost++
		}
	}
	if lost == 0 {
		t.Error("followers crash with their replicas, but nothing is ever lost: the model forgets something")
	}
}

// Each variant breaks one rule of the protocol; Check has to notice it.
func TestCheckCatchesBrokenVariants(t *testing.T) {
	for name, broken := range map[string]func(w *walk) error{
		"the new owner answers before it has acknowledged": func(w *walk) error {
			err := w.s.Propose(w.owners(w.staying()))
			for _, h := range w.s.pending {
				w.s.member(h.To).owns = w.s.member(h.To).owns.or(set{h.Interval})
			}
			return err
		},
		"the old owner stops when a division is proposed": func(w *walk) error {
			err := w.s.Propose(w.owners(w.staying()))
			for _, h := range w.s.pending {
				w.s.member(h.From).owns = w.s.member(h.From).owns.without(set{h.Interval})
			}
			return err
		},
		"the old owner goes on after the acknowledgement": func(w *walk) error {
			if len(w.s.pending) == 0 {
				return w.s.Propose(w.owners(w.staying()))
			}
			h := w.s.pending[0]
			err := w.s.Acknowledge(h)
			w.s.member(h.From).owns = w.s.member(h.From).owns.or(set{h.Interval})
			return err
		},
		"the acknowledgement comes before the data": func(w *walk) error {
			if len(w.s.pending) == 0 {
				return w.s.Propose(w.owners(w.staying()))
			}
			h := w.s.pending[0]
			had := w.s.member(h.To).holds
			err := w.s.Acknowledge(h)
			w.s.member(h.To).holds = had
			return err
		},
		"nobody takes over after a crash": func(w *walk) error {
			if len(w.s.members) == 1 {
				return nil
			}
			w.s.members = w.s.members[1:]
			w.s.redirect()
			return nil
		},
		"the follower before takes over instead of the replica": func(w *walk) error {
			w.replicateAll()
			n := len(w.s.members)
			if n < 3 {
				return nil
			}
			gone, before := w.s.members[n-1], w.s.members[n-2]
			before.owns = before.owns.or(gone.owns)
			w.s.members = w.s.members[:n-1]
			w.s.redirect()
			return nil
		},
		"data sent away are deleted before all is acknowledged": func(w *walk) error {
			err := w.s.Propose(w.owners(w.staying()))
			for _, h := range w.s.pending {
				w.s.member(h.From).holds = w.s.member(h.From).holds.without(set{h.Interval})
			}
			return err
		},
		"a newcomer answers for everything": func(w *walk) error {
			w.nextID++
			err := w.s.Join(w.nextID, 0)
			w.s.members[0].owns, w.s.members[0].getting = everything(), true
			return err
		},
		"a follower leaves without handing over": func(w *walk) error {
			w.s.members = slices.DeleteFunc(w.s.members, func(m *member) bool { return m.id == w.s.Owners()[0].Follower })
			w.s.redirect()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			caught := 0
			for seed := range uint64(40) {
				w := newWalk(t, seed)
				w.finish()
				for range 30 {
					if w.rng.IntN(3) == 0 {
						_ = broken(w)
					} else {
						_ = w.step()
					}
					if len(w.s.members) == 0 || w.s.Check() != nil {
						caught++
						break
					}
				}
			}
			if caught < 20 { // some need three members, or something pending
				t.Errorf("caught in %d of 40 walks", caught)
			}
		})
	}
	for name, broken := range map[string]func(s *Shuffle){
		"a follower answers in the put phase": func(s *Shuffle) { s.members[0].getting = true },
		"two answer while the get phase begins": func(s *Shuffle) {
			get(
				s)
			s.phase = Starting
			s.members[0].owns = everything()
		},
		"the get phase begins before all are ready":  func(s *Shuffle) { s.phase = Starting },
		"the get phase begins before all have heard": func(s *Shuffle) { get(s); s.members[0].getting = false },
		"a division leaves a gap":                    func(s *Shuffle) { s.members[0].owns = nil },
		"a division overlaps":                        func(s *Shuffle) { s.members[0].owns = everything() },
		"data of the authority are gone":             func(s *Shuffle) { get(s); s.members[0].holds = nil },
		"the authority forgets an interval":          func(s *Shuffle) { get(s); s.members[0].owns = s.members[0].owns[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewShuffle([]int32{1, 2, 3}, Owners{{nil, 1}, {[]byte("b"), 2}, {[]byte("c"), 3}, {[]byte("d"), 1}})
			if err != nil || s.Check() != nil {
				t.Fatal(err, s.Check())
			}
			broken(s)
			if s.Check() == nil {
				t.Error("not caught")
			}
		})
	}
}

// get brings a shuffle whose division stands into the get phase.
func get(s *Shuffle) {
	_ = s.EndInput(s.Owners())
	for _, id := range s.Members() {
		_ = s.Ready(id)
	}
	_ = s.StartGet()
	for _, id := range s.Members() {
		_ = s.Enter(id)
	}
}

// The story of the proposal: created, filled, ended with a division that rests on
// an old summary, read, joined by another, left by one, with a crash meanwhile.
func TestStoryOfAShuffle(t *testing.T) {
	early, late := even(1000), streamOf("late", map[string]int64{})
	for i := range 1000 { // most records come in above all that were known at the end
		late.keys.Append([]byte{0, 0, byte(i >> 8), byte(i)})
		late.weights = append(late.weights, 1)
		if i >= 900 {
			late.weights[i] = 50
		}
	}
	stale := mustPlan(t, early.cdf(t), nil, followersOf(4), Options{})
	s, err := NewShuffle([]int32{0, 1, 2, 3}, stale.After)
	if err != nil {
		t.Fatal(err)
	}
	key := late.keys.At(990)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if broken := s.Check(); broken != nil {
			t.Fatal(broken)
		}
	}
	authority := func(want int32) {
		t.Helper()
		if got, ok := s.Authority(key); got != want && ok || ok != (want != Nobody) {
			t.Errorf("authority is %d, %v; want %d", got, ok, want)
		}
	}
	authority(Nobody)
	must(s.EndInput(stale.After))
	for id := range int32(4) {
		authority(Nobody)
		must(s.Ready(id))
	}
	must(s.StartGet())
	for id := range int32(4) {
		must(s.Enter(id))
	}
	authority(3)

	// The truth is far from even; a fifth joins and gets most of what 3 has.
	must(s.Join(4, 4))
	plan := mustPlan(t, late.cdf(t), s.Owners(), append(followersOf(4), Follower{ID: 4, Status: Joined}),
		Options{ThetaMax: 0.1})
	if plan.Theta.Before < 2 || plan.Theta.After > 0.1 {
		t.Errorf("θ %+v", plan.Theta)
	}
	must(s.Propose(plan.After))
	if len(s.Pending()) != len(plan.Transfers) {
		t.Errorf("%d hand-overs pending, %d transfers planned", len(s.Pending()), len(plan.Transfers))
	}
	authority(3)
	must(s.Crash(3)) // before any acknowledgement: its replica was 0 when it began
	authority(0)
	for len(s.Pending()) > 0 {
		must(s.Acknowledge(s.Pending()[0]))
	}
	must(s.Commit())
	if s.Lost() != nil {
		t.Errorf("lost %q", s.Lost())
	}
	for _, id := range s.Members() {
		must(s.Replicated(id))
	}

	// 1 leaves in good order.
	must(s.Leave(1))
	f := []Follower{{ID: 0}, {ID: 1, Status: Left}, {ID: 2}, {ID: 4}}
	plan = mustPlan(t, late.cdf(t), s.Owners(), f, Options{ThetaMax: 0.1})
	must(s.Propose(plan.After))
	if err := s.Depart(1); err == nil {
		t.Error("1 went before it had handed over")
	}
	for len(s.Pending()) > 0 {
		must(s.Acknowledge(s.Pending()[0]))
	}
	must(s.Commit())
	must(s.Replicated(0))
	must(s.Depart(1))
	if !s.Owners().equal(plan.After) || !slices.Equal(s.Members(), []int32{0, 2, 4}) {
		t.Errorf("owners %v, members %v", s.Owners(), s.Members())
	}
}

// Why an acknowledgement waits for the replica: without that, the sender having
// deleted its data, one crash loses some.
func TestAcknowledgementWaitsForTheReplica(t *testing.T) {
	for _, waits := range []bool{true, false} {
		s, err := NewShuffle([]int32{1, 2, 3}, Owners{{nil, 1}, {[]byte("b"), 2}, {[]byte("c"), 3}})
		if err != nil {
			t.Fatal(err)
		}
		get(s)
		after := Owners{{nil, 1}, {[]byte("b"), 3}}
		if err := s.Propose(after); err != nil {
			t.Fatal(err)
		}
		before := s.member(3).copied
		if err := s.Acknowledge(s.Pending()[0]); err != nil {
			t.Fatal(err)
		}
		if !waits {
			s.member(3).copied = before
		}
		if err := errors.Join(s.Commit(), s.Crash(3)); err != nil {
			t.Fatal(err)
		}
		if lost := s.Lost() != nil; lost == waits {
			t.Errorf("waits: %v; lost %q", waits, s.Lost())
		}
	}
}

func TestNewShuffleRefuses(t *testing.T) {
	o := Owners{{nil, 1}}
	for name, err := range map[string]error{
		"nobody owns": func() error { _, err := NewShuffle([]int32{1}, nil); return err }(),
		"twice":       func() error { _, err := NewShuffle([]int32{1, 1}, o); return err }(),
		"stranger":    func() error { _, err := NewShuffle([]int32{2}, o); return err }(),
		"no division": func() error { _, err := NewShuffle([]int32{1}, Owners{{[]byte("a"), 1}}); return err }(),
	} {
		var refused *EventError
		if !errors.As(err, &refused) || !bytes.Contains([]byte(err.Error()), []byte("create: ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

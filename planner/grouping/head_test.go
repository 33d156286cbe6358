package grouping

import (
	"fmt"
	"slices"
	"testing"
)

// Streams with heads of several sizes.
func TestHeadIsLiteral(t *testing.T) {
	for _, z := range []float64{0.8, 1.2, 1.6, 2.2} {
		s := ordered(t, zipf(t, 400, z, 6000, 3))
		for _, o := range []Options{
			{Scheme: DChoices, Workers: 8},
			{Scheme: DChoices, Workers: 30, Choices: 3, Distinct: true},
			{Scheme: WChoices, Workers: 8, Sources: 3, LoadInformation: Local},
		} {
			t.Run(fmt.Sprintf("z=%v/%s/workers=%d", z, o.Scheme, o.Workers), func(t *testing.T) {
				keys, sources := messagesOf(s, max(o.Sources, 1))
				want := runLiteral(keys, sources, o)
				if got := decisionsOf(t, s, o); !slices.Equal(got, want.to) {
					i := 0
					for got[i] == want.to[i] {
						i++
					}
					t.Fatalf("message %d goes to %d, want %d", i, got[i], want.to[i])
				}
				r, err := Run(s, o)
				if err != nil {
					t.Fatal(err)
				}
				checkHolds(t, r)
				checkHead(t, r, want)
			})
		}
	}
}

func checkHead(t *testing.T, r *Result, l *literalRun) {
	t.Helper()
	w := r.Options.Workers
	inHead, most := 0, min(r.Options.Choices, w)
	for k, d := range l.offered {
		_, exact := l.head[k]
		if exact {
			inHead++
		}
		if d == 0 {
			d = w
		}
		most = max(most, d)
	}
	if r.Head.Choices != most || r.Head.Keys != inHead {
		t.Errorf("%+v, want %d keys with up to %d choices", *r.Head, inHead, most)
	}
}

// The head is balanced with far less than all workers, which is what D-Choices is
// for: more choices than two, fewer than W.
func TestHeadKeysOfAZipfStream(t *testing.T) {
	s := zipf(t, 10_000, 1.2, 1_000_000, 1)
	for _, c := range []struct{ workers, least, most int }{{5, 2, 5}, {50, 11, 40}, {100, 21, 80}} {
		keys, d := s.headKeys(c.workers, 2, headEpsilon, nil)
		t.Logf("W = %d: %d keys in the head, d = %d, p1·W = %.1f", c.workers, len(keys), d, s.P1()*float64(c.workers))
		if d < c.least || d > c.most || keys[0] != int32(s.Top()) {
			t.Errorf("W = %d: %d choices", c.workers, d)
		}
		for i, k := range keys {
			if s.Count(int(k))*5*int64(c.workers) <= s.Len() || i > 0 && s.Count(int(k)) > s.Count(int(keys[i-1])) {
				t.Errorf("key %d with %d messages is number %d of the head", k, s.Count(int(k)), i)
			}
		}
	}
	if keys, d := zipf(t, 10_000, 0, 100_000, 1).headKeys(100, 3, headEpsilon, nil); len(keys) > 0 || d != 3 {
		t.Errorf("%d keys in the head of a uniform stream, %d choices", len(keys), d)
	}
}

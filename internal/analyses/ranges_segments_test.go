package analyses

import (
	"slices"
	"testing"
)

// TestRangesSegments: the parts of the key space have the owners of both divisions,
// their keys are all keys once, and those whose owner changes are what moves.
func TestRangesSegments(t *testing.T) {
	in := frequencies(200)
	all := 1000
	for name, r := range map[string]RangesRequest{
		"create": {Followers: Count[RangesFollower](4)},
		"join":   {Followers: Count[RangesFollower](4), Event: EventJoin, Position: ptr(1)},
		"crash":  {Followers: Count[RangesFollower](4), Event: EventCrash, EventFollowers: []int32{2}},
		"leave":  {Followers: Count[RangesFollower](4), Event: EventLeave},
	} {
		r.Top = &all
		for kind, input := range map[string]*Input{"rows": in, "stream": streamed(in)} {
			got, err := RunRanges(t.Context(), input, r, nil)
			if err != nil {
				t.Fatal(name, kind, err)
			}
			for _, p := range got.Plans {
				checkSegments(t, name+" "+kind+" "+string(p.Method), got, &p)
			}
		}
	}
}

func checkSegments(t *testing.T, name string, r *RangesResult, p *RangesPlan) {
	t.Helper()
	if p.SegmentCount != len(p.Segments) || p.Segments[0].Low != "" || p.Segments[p.SegmentCount-1].High != nil {
		t.Fatalf("%s: %d of %d segments, %+v", name, len(p.Segments), p.SegmentCount, p.Segments)
	}
	var keys, moved int64
	var cost, state float64
	var before, after []RangesOwner
	for i, s := range p.Segments {
		if i > 0 && (s.Low <= p.Segments[i-1].Low || *p.Segments[i-1].High != s.Low) {
			t.Errorf("%s: segment %d begins at %q, the one before ends at %q", name, i, s.Low, *p.Segments[i-1].High)
		}
		keys, cost, state = keys+s.Keys, cost+s.Cost, state+s.State
		if s.Before != nil && *s.Before != s.After {
			moved += s.Keys
		}
		if s.Before != nil && (len(before) == 0 || before[len(before)-1].Follower != *s.Before) {
			before = append(before, RangesOwner{Low: s.Low, Follower: *s.Before})
		}
		if len(after) == 0 || after[len(after)-1].Follower != s.After {
			after = append(after, RangesOwner{Low: s.Low, Follower: s.After})
		}
	}
	if keys != r.Keys || cost != r.Cost || state != r.State || moved != p.KeysMoved {
		t.Errorf("%s: %d keys of cost %g and state %g, %d of which move; want %d, %g, %g, %d", name, keys, cost, state, moved,
			r.Keys, r.Cost, r.State, p.KeysMoved)
	}
	if !slices.Equal(before, p.OwnersBefore) || !slices.Equal(after, p.Owners) {
		t.Errorf("%s: owners %v → %v, want %v → %v", name, before, after, p.OwnersBefore, p.Owners)
	}
}

// TestRangesSegmentsTop: the first ones are those of the whole list.
func TestRangesSegmentsTop(t *testing.T) {
	all, few := 1000, 3
	whole, err := RunRanges(t.Context(), frequencies(200), RangesRequest{Event: EventJoin, Top: &all}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part, err := RunRanges(t.Context(), frequencies(200), RangesRequest{Event: EventJoin, Top: &few}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range part.Plans {
		if p.SegmentCount != whole.Plans[i].SegmentCount || len(p.Segments) != few ||
			p.Segments[2].Keys != whole.Plans[i].Segments[2].Keys || p.Segments[2].High == nil {
			t.Errorf("%s: %+v of %d", p.Method, p.Segments, p.SegmentCount)
		}
	}
}

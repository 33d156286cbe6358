package analyses

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"plannerd/internal/input"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/planner/schemes"
)

// frequencies are n keys of whole, skewed cost with some state.
func frequencies(n int) *Input {
	in := &Input{Keys: planner.NewKeys(n)}
	for i := range n {
		in.Keys.Append([]byte("k" + strconv.Itoa(i*7919%1000) + "/" + strconv.Itoa(i)))
		in.Cost = append(in.Cost, math.Ceil(float64(3*n)/float64(i+1)))
		in.State = append(in.State, float64(1+i%9))
	}
	return in
}

// streamed is the input as messages, by turns.
func streamed(in *Input) *Input {
	out := &Input{Keys: in.Keys, State: in.State}
	left := slices.Clone(in.Cost)
	for more := true; more; {
		more = false
		for k := range left {
			if left[k] > 0 {
				out.Messages = append(out.Messages, int32(k))
				left[k]--
				more = true
			}
		}
	}
	return out
}

func ptr[T any](x T) *T { return &x }

func TestRing(t *testing.T) {
	in := frequencies(300)
	request := RingRequest{
		Nodes:    RingNodes{{ID: 0}, {ID: 1}, {ID: 2, Leaves: true}, {ID: 3, Capacity: 2}, {ID: 9, Joins: true}},
		ThetaMax: ptr(0.1), Top: ptr(3),
		Plan: true, MaxStates: 2000,
	}
	r, err := RunRing(t.Context(), in, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	share := 0.0
	for _, n := range r.Nodes {
		share += n.Share
	}
	if math.Abs(share-1) > 1e-12 || r.Nodes[4].Share != 0 || r.Nodes[0].Tokens != ring.DefaultTokens ||
		r.Nodes[3].Queue != r.Nodes[3].Load/2 {
		t.Errorf("nodes %+v: shares come to %v", r.Nodes, share)
	}
	// The figures are those of the package, also those that are computed here.
	members := []ring.Member{{ID: 0, Tokens: 16}, {ID: 1, Tokens: 16}, {ID: 2, Tokens: 16, Leaves: true},
		{ID: 3, Tokens: 16, Capacity: 2}, {ID: 9, Tokens: 16, Joins: true}}
	load := &planner.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}
	want, err := ring.Rescale(members, load)
	if err != nil {
		t.Fatal(err)
	}
	checkChange(t, "rescale", r.Rescale, &want.Change, want.Effect)
	plan, err := ring.Rebalance(members, load, ring.RebalanceOptions{ThetaMax: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	checkChange(t, "plan", &r.Plan.Change, &plan.Change, &plan.Effect)
	if r.Plan.Balanced != plan.Balanced || r.Plan.Cause != plan.Cause || len(r.Plan.Rounds) != len(plan.Tried) {
		t.Errorf("plan %+v, want %+v", r.Plan, plan)
	}
}

// checkChange compares a change with the package's; at most 3 arcs and keys are listed.
func checkChange(t *testing.T, name string, got *RingChange, c *ring.Change, e *ring.Effect) {
	t.Helper()
	if got.TokensAdded != int64(len(c.Added)) || got.TokensRemoved != int64(len(c.Removed)) ||
		got.ArcsMoved != int64(len(c.Arcs)) ||
		len(got.Arcs) != min(3, len(c.Arcs)) || got.Migration.Keys != int64(len(e.Moves)) ||
		len(got.Migration.Top) != min(3, len(e.Moves)) {
		t.Errorf("%s: %+v", name, got)
	}
	for _, x := range [][2]float64{{got.Theta.Before, e.Theta.Before}, {got.Theta.After, e.Theta.After},
		{got.Skew.After, e.Skew.After}} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s: θ %+v, S %+v, want %+v, %+v", name, got.Theta, got.Skew, e.Theta, e.Skew)
		}
	}
	for i := 1; i < len(got.Migration.Top); i++ {
		if got.Migration.Top[i].State > got.Migration.Top[i-1].State {
			t.Errorf("%s: keys out of order: %+v", name, got.Migration.Top)
		}
	}
}

// Queues decide over the redistribution, not loads.
func TestRingQueues(t *testing.T) {
	r, err := RunRing(t.Context(), nil, RingRequest{Queues: []float64{10, 900, 30, 20}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Verdict; !v.Fires || *v.Node != 1 || v.Threshold != 36 || r.Redistribution.TokensRemoved != 8 ||
		r.Redistribution.Migration != nil {
		t.Errorf("%+v, %+v", v, r.Redistribution)
	}
	r, err = RunRing(t.Context(), nil, RingRequest{Queues: []float64{5, 5, 5, 5}, Method: ring.Doubling}, nil)
	if err != nil || r.Verdict.Fires || r.Verdict.Node != nil || r.Redistribution.Cause != ring.CauseWithinThreshold ||
		r.Nodes[0].Tokens != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The order of the rows makes no difference.
func TestRowOrder(t *testing.T) {
	in := frequencies(150)
	turned := &Input{Keys: planner.NewKeys(150)}
	for i := range 150 {
		k := (i*67 + 11) % 150
		turned.Keys.Append(in.Keys.At(k))
		turned.Cost, turned.State = append(turned.Cost, in.Cost[k]), append(turned.State, in.State[k])
	}
	others := runs(turned)
	for name, run := range runs(in) {
		want, err := run(t.Context(), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := others[name](t.Context(), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Rows that break a rule are named, whatever the analysis.
func TestBadRows(t *testing.T) {
	for field, in := range map[string]*Input{
		"cost":  {Keys: planner.KeysOf("a", "b"), Cost: []float64{1, math.Inf(1)}},
		"state": {Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 1}, State: []float64{0, -1}},
		"key":   {Keys: planner.KeysOf("a", "a"), Cost: []float64{1, 1}},
		"keys":  {Keys: planner.KeysOf("a", "b"), Cost: []float64{1}},
	} {
		for name, run := range runs(in) {
			_, err := run(t.Context(), nil)
			var wrong *planner.InputError
			if !errors.As(err, &wrong) || wrong.Field != field || field != "keys" && wrong.Row != 1 {
				t.Errorf("%s: %v, want row 1, %s", name, err, field)
			}
		}
	}
}

// A frequency and as many messages are the same load.
func TestStreamAndFrequencies(t *testing.T) {
	in := frequencies(50)
	a, err := RunRing(t.Context(), in, RingRequest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := RunRing(t.Context(), streamed(in), RingRequest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("frequencies and stream differ:\n%s", diff)
	}
	x, err := RunPKG(t.Context(), streamed(in), PKGRequest{Schemes: []grouping.Scheme{grouping.OffGreedy}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	y, err := RunPKG(t.Context(), in, PKGRequest{Schemes: []grouping.Scheme{grouping.OffGreedy}}, nil)
	if err != nil || x.Order != "" || y.Order != grouping.Shuffled || x.Runs[0].MaxLoad != y.Runs[0].MaxLoad ||
		x.Messages != y.Messages {
		t.Errorf("%+v and %+v, %v", x, y, err)
	}
}

// TestSourceSkew: the sources of a skewed run are those of the stream that package grouping makes.
func TestSourceSkew(t *testing.T) {
	in := streamed(frequencies(200))
	request := PKGRequest{
		Schemes: []grouping.Scheme{grouping.PKG}, Sources: []int{5},
		LoadInformation: []grouping.LoadInformation{grouping.Local}, Seed: 7,
	}
	even, err := RunPKG(t.Context(), in, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SourceSkew = ptr(1.0)
	skewed, err := RunPKG(t.Context(), in, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := grouping.NewStream(in.Keys, in.Messages)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.WithSkewedSources(1, 7); err != nil {
		t.Fatal(err)
	}
	r, err := grouping.Run(s, grouping.Options{Workers: DefaultWorkers, Sources: 5, LoadInformation: grouping.Local})
	if err != nil {
		t.Fatal(err)
	}
	if skewed.Runs[0].AverageImbalance != r.AverageImbalance || even.Runs[0].AverageImbalance == r.AverageImbalance {
		t.Errorf("%v skewed, %v even, expected %v", skewed.Runs[0].AverageImbalance, even.Runs[0].AverageImbalance,
			r.AverageImbalance)
	}
}

func TestPKG(t *testing.T) {
	in := streamed(frequencies(200))
	request := PKGRequest{
		Workers: 5, Sources: []int{1, 4}, Choices: []int{2, 3},
		LoadInformation: []grouping.LoadInformation{grouping.Global, grouping.Local},
		Seeds:           3, Points: ptr(10), Top: ptr(2),
	}
	r, err := RunPKG(t.Context(), in, request, nil)
	if err != nil {
		t.Fatal(err)
	}
	// hash, on_greedy and off_greedy once, shuffle for S, potc for d, the others for all.
	if got, want := len(r.Runs), 3+2+2+3*8; got != want {
		t.Errorf("%d runs, want %d", got, want)
	}
	for _, x := range r.Runs {
		total := int64(0)
		for _, l := range x.Loads {
			total += l
		}
		if total != r.Messages || len(x.Series) > 10 || x.OverSeeds.Least > x.OverSeeds.Median ||
			x.OverSeeds.Median > x.OverSeeds.Greatest {
			t.Errorf("%+v", x)
		}
		if math.Abs(x.Theta-x.Imbalance*5) > 1e-9 || x.Imbalance < x.Bounds.Split-1e-12 {
			t.Errorf("%s: θ %v, I %v, bounds %+v", x.Scheme, x.Theta, x.Imbalance, x.Bounds)
		}
	}
	stream, err := grouping.NewStream(in.Keys, in.Messages)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := grouping.Run(stream, grouping.Options{Workers: 5, Choices: 3, Sources: 4,
		LoadInformation: grouping.Local}); err != nil || !slices.ContainsFunc(r.Runs, func(x PKGRun) bool {
		return x.Scheme == grouping.PKG && x.Choices == 3 && x.Sources == 4 && x.LoadInformation == grouping.Local &&
			x.MaxLoad == want.MaxLoad
	}) {
		t.Errorf("no run is as the package has it: %v", err)
	}
	if r.HeavyKeyCount < 3 || len(r.HeavyKeys) != 2 || r.HeavyKeys[0].LeastWorkers < 1 {
		t.Errorf("%d heavy keys %+v", r.HeavyKeyCount, r.HeavyKeys)
	}
}

func TestRanges(t *testing.T) {
	in := frequencies(400)
	r, err := RunRanges(t.Context(), in, RangesRequest{Followers: Count[RangesFollower](4), Event: EventJoin,
		Position: ptr(1), Top: ptr(2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := ranges.DivideKeys(&planner.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}, nil,
		[]ranges.Follower{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}, ranges.Options{Method: ranges.Quantile})
	if err != nil {
		t.Fatal(err)
	}
	for i, method := range []ranges.Method{ranges.MinMovement, ranges.Quantile} {
		want, err := ranges.DivideKeys(&planner.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}, first.After,
			[]ranges.Follower{{ID: 0}, {ID: 4, Status: ranges.Joined}, {ID: 1}, {ID: 2}, {ID: 3}},
			ranges.Options{Method: method, ThetaMax: DefaultThetaMax})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Plans[i]
		if got.Method != method || got.Moved != want.Moved || got.Theta != Comparison(want.Theta) ||
			got.OwnerCount != len(want.After) || len(got.Owners) != 2 || len(got.Transfers) != min(2, len(want.Transfers)) {
			t.Errorf("%s: %+v, want %+v", method, got, want)
		}
		state := 0.0
		for _, x := range want.Transfers {
			state += x.State
		}
		if got.StateMoved != state || len(got.Followers) != 5 {
			t.Errorf("%s moves %v, want %v", method, got.StateMoved, state)
		}
	}
	if f := r.Plans[1].Formula; f == nil || *f != ranges.JoinShare(1, 3) || r.Plans[0].Formula != nil {
		t.Errorf("formula %v", f)
	}
}

// A crash, statuses and owners that are posted again.
func TestRangesEvents(t *testing.T) {
	in := frequencies(300)
	all := MaxTop
	first, err := RunRanges(t.Context(), in, RangesRequest{Followers: Count[RangesFollower](5), Top: &all}, nil)
	if err != nil || first.Event != EventCreate {
		t.Fatal(first, err)
	}
	owners := first.Plans[1].Owners
	drift, err := RunRanges(t.Context(), in, RangesRequest{Followers: Count[RangesFollower](5), Owners: owners,
		ThetaMax: ptr(10.0)}, nil)
	if err != nil || drift.Event != EventDrift || drift.Plans[0].Moved != 0 {
		t.Errorf("nothing has drifted: %+v, %v", drift, err)
	}
	crash, err := RunRanges(t.Context(), in, RangesRequest{Followers: Count[RangesFollower](5), Owners: owners,
		Event: EventCrash, EventFollowers: []int32{1}}, nil)
	if err != nil || crash.Plans[0].Followers[1].After != 0 || crash.Plans[0].Moved == 0 ||
		crash.Plans[0].Sent > crash.Plans[0].Moved {
		t.Errorf("%+v, %v", crash, err)
	}
	followers := Count[RangesFollower](5)
	followers[1].Status = ranges.Crashed
	same, err := RunRanges(t.Context(), in, RangesRequest{Followers: followers, Owners: owners}, nil)
	if err != nil || same.Event != "" {
		t.Fatal(same, err)
	}
	if diff := cmp.Diff(crash.Plans, same.Plans); diff != "" {
		t.Errorf("a status is not the event:\n%s", diff)
	}
}

func TestSchemes(t *testing.T) {
	in := frequencies(300)
	r, err := RunSchemes(t.Context(), in, SchemesRequest{Instances: SchemesInstances{{ID: 3}, {ID: 1, Capacity: 2}},
		Seeds: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const all = 9 // that package schemes declares
	if len(r.Schemes) != all || r.Instances != 2 || r.Hash != "ring" || r.Sampled ||
		r.Messages != wholeSum(in.Cost, MaxMessages) || r.Recommendation.Reason == "" {
		t.Errorf("%+v", r)
	}
	weighted := streamed(in)
	for range weighted.Messages {
		weighted.MessageCost = append(weighted.MessageCost, 0.5)
	}
	half, err := RunSchemes(t.Context(), weighted,
		SchemesRequest{Instances: SchemesInstances{{ID: 3}, {ID: 1, Capacity: 2}}, Seeds: 2}, nil)
	if err != nil || half.Cost != r.Cost/2 || half.Schemes[1].Theta != r.Schemes[1].Theta ||
		half.Messages != DefaultMessages || !half.Sampled {
		t.Errorf("at half the cost: %+v, %v", half, err)
	}
}

// Every list of a result is bounded, and none is null.
func TestResultsAsJSON(t *testing.T) {
	in := frequencies(100)
	in.Keys.Append([]byte{0xff, 1})
	in.Cost, in.State = append(in.Cost, 90), append(in.State, 500)
	for name, run := range runs(in) {
		result, err := run(t.Context(), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(name, err)
		}
		if !strings.Contains(string(text), `"key_encoding":"base64"`) && name != "schemes" {
			t.Errorf("%s says nothing of base64: %.200s", name, text)
		}
		again := reflect.New(reflect.TypeOf(result).Elem()).Interface()
		if err := json.Unmarshal(text, again, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// runs are analyses that do all there is to do.
func runs(in *Input) map[string]func(context.Context, Progress) (any, error) {
	return map[string]func(context.Context, Progress) (any, error){
		"ring": func(ctx context.Context, p Progress) (any, error) {
			return RunRing(ctx, in, RingRequest{Plan: true, Method: ring.Fitted, MaxStates: 100}, p)
		},
		"pkg": func(ctx context.Context, p Progress) (any, error) {
			return RunPKG(ctx, in, PKGRequest{Seeds: 2}, p)
		},
		"ranges": func(ctx context.Context, p Progress) (any, error) {
			return RunRanges(ctx, in, RangesRequest{Event: EventCrash}, p)
		},
		"schemes": func(ctx context.Context, p Progress) (any, error) {
			return RunSchemes(ctx, in, SchemesRequest{Seeds: 1}, p)
		},
	}
}

// An analysis ends with its context, with the context's error, and tells how far it is.
func TestContextAndProgress(t *testing.T) {
	for name, run := range runs(frequencies(120)) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if result, err := run(ended, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled before: %v, %v", name, result, err)
		}
		phases := []string{}
		if _, err := run(t.Context(), func(phase string, done, total int64) {
			if done < 0 || done > total {
				t.Errorf("%s, %s: %d of %d", name, phase, done, total)
			}
			if !slices.Contains(phases, phase) {
				phases = append(phases, phase)
			}
		}); err != nil {
			t.Fatal(name, err)
		}
		for _, stop := range phases {
			during, cancel := context.WithCancel(t.Context())
			_, err := run(during, func(phase string, _, _ int64) {
				if phase == stop {
					cancel()
				}
			})
			// What was under way may just have been the last of it.
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && stop != phases[len(phases)-1] {
				t.Errorf("%s, cancelled during %s: %v", name, stop, err)
			}
			cancel()
		}
		if len(phases) == 0 {
			t.Errorf("%s tells no progress", name)
		}
	}
}

func TestInputErrors(t *testing.T) {
	in, bad, nan := frequencies(20), -1, math.NaN()
	nothing := &Input{Keys: planner.NewKeys(0)}
	idle := &Input{Keys: planner.KeysOf("a"), Cost: []float64{0}}
	fraction := &Input{Keys: planner.KeysOf("a"), Cost: []float64{0.5}}
	ringOf := func(in *Input, r RingRequest) error { _, err := RunRing(t.Context(), in, r, nil); return err }
	pkgOf := func(in *Input, r PKGRequest) error { _, err := RunPKG(t.Context(), in, r, nil); return err }
	rangesOf := func(in *Input, r RangesRequest) error { _, err := RunRanges(t.Context(), in, r, nil); return err }
	schemesOf := func(in *Input, r SchemesRequest) error { _, err := RunSchemes(t.Context(), in, r, nil); return err }
	for i, c := range []struct {
		err   error
		field string
	}{
		{ringOf(nil, RingRequest{}), "keys"},
		{ringOf(nil, RingRequest{Plan: true}), "keys"},
		{ringOf(nothing, RingRequest{}), "keys"},
		{ringOf(in, RingRequest{Nodes: RingNodes{}}), "nodes"},
		{ringOf(in, RingRequest{Nodes: RingNodes{{ID: 1}, {ID: 1}}}), "nodes/1/id"},
		{ringOf(in, RingRequest{Nodes: RingNodes{{ID: 1, Capacity: -1}}}), "nodes/0/capacity"},
		{ringOf(in, RingRequest{TokensPerInstance: -1}), "tokens_per_instance"},
		{ringOf(in, RingRequest{Nodes: RingNodes{{ID: 1, Tokens: 1 << 22}, {ID: 2}}}), "nodes"},
		{ringOf(in, RingRequest{Method: "thirds"}), "method"},
		{ringOf(in, RingRequest{Tau: &nan}), "tau"},
		{ringOf(in, RingRequest{MinQueue: -1}), "min_queue"},
		{ringOf(in, RingRequest{Queues: []float64{1}}), "queues"},
		{ringOf(in, RingRequest{Queues: []float64{1, 2, -3, 4}}), "queues/2"},
		{ringOf(in, RingRequest{Plan: true, ThetaMax: &nan}), "theta_max"},
		{ringOf(in, RingRequest{Plan: true, MaxRounds: -1}), "max_rounds"},
		{ringOf(in, RingRequest{TokenLimit: -1}), "token_limit"},
		{ringOf(in, RingRequest{Plan: true, Method: ring.Fitted, NodeTokenLimit: 1 << 30}), "node_token_limit"},
		{ringOf(in, RingRequest{Top: &bad}), "top"},

		{pkgOf(nil, PKGRequest{}), "keys"},
		{pkgOf(idle, PKGRequest{}), "cost"},
		{pkgOf(in, PKGRequest{Workers: -1}), "workers"},
		{pkgOf(in, PKGRequest{Schemes: []grouping.Scheme{"magic"}}), "schemes/0"},
		{pkgOf(in, PKGRequest{Choices: []int{2, 0}}), "choices/1"},
		{pkgOf(in, PKGRequest{Choices: []int{9}, Distinct: true}), "choices"},
		{pkgOf(in, PKGRequest{Sources: []int{0}}), "sources/0"},
		{pkgOf(in, PKGRequest{SourceSkew: ptr(1.0)}), "source_skew"},
		{pkgOf(streamed(in), PKGRequest{SourceSkew: ptr(-1.0)}), "source_skew"},
		{pkgOf(in, PKGRequest{LoadInformation: []grouping.LoadInformation{"none"}}), "load_information/0"},
		{pkgOf(in, PKGRequest{LoadInformation: []grouping.LoadInformation{grouping.LocalProbing}}), "probe_period"},
		{pkgOf(in, PKGRequest{ProbePeriod: 5}), "probe_period"},
		{pkgOf(in, PKGRequest{Choices: slices.Repeat([]int{2}, 3000)}), "schemes"},
		{pkgOf(in, PKGRequest{Seeds: -1}), "seeds"},
		{pkgOf(in, PKGRequest{Points: &bad}), "points"},
		{pkgOf(in, PKGRequest{Order: "sorted"}), "order"},
		{pkgOf(in, PKGRequest{Order: grouping.Shuffled, Messages: 3}), "messages"},
		{pkgOf(in, PKGRequest{Messages: -3}), "messages"},
		{pkgOf(fraction, PKGRequest{Order: grouping.Shuffled}), "order"},
		{pkgOf(streamed(in), PKGRequest{Messages: 3}), "order"},
		{pkgOf(in, PKGRequest{AggregationPeriod: -1}), "aggregation_period"},

		{rangesOf(nil, RangesRequest{}), "keys"},
		{rangesOf(in, RangesRequest{Followers: RangesFollowers{}}), "followers"},
		{rangesOf(in, RangesRequest{Followers: RangesFollowers{{ID: -1}}}), "followers/0/id"},
		{rangesOf(in, RangesRequest{Event: "flood"}), "event"},
		{rangesOf(in, RangesRequest{Event: EventJoin, Followers: RangesFollowers{{Status: ranges.Left}, {ID: 1}}}), "event"},
		{rangesOf(in, RangesRequest{Event: EventDrift}), "owners"},
		{rangesOf(in, RangesRequest{Event: EventCreate, Owners: []RangesOwner{{}}}), "owners"},
		{rangesOf(in, RangesRequest{Owners: []RangesOwner{{Follower: 99}}}), "owners/0/follower"},
		{rangesOf(in, RangesRequest{Owners: []RangesOwner{{Low: "a"}}}), "owners/0/low"},
		{rangesOf(in, RangesRequest{Owners: []RangesOwner{{}, {Low: "?"}}, KeyEncoding: EncodingBase64}), "owners/1/low"},
		{rangesOf(in, RangesRequest{KeyEncoding: "hex"}), "key_encoding"},
		{rangesOf(in, RangesRequest{Position: ptr(1)}), "position"},
		{rangesOf(in, RangesRequest{Event: EventJoin, Position: ptr(9)}), "position"},
		{rangesOf(in, RangesRequest{EventFollowers: []int32{1}}), "event_followers"},
		{rangesOf(in, RangesRequest{Event: EventLeave, EventFollowers: []int32{1, 1}}), "event_followers/1"},
		{rangesOf(in, RangesRequest{Event: EventLeave, Followers: Count[RangesFollower](1)}), "followers"},
		{rangesOf(in, RangesRequest{Methods: []ranges.Method{ranges.Quantile, "third"}}), "methods/1"},
		{rangesOf(in, RangesRequest{ThetaMax: &nan}), "theta_max"},
		{rangesOf(in, RangesRequest{MaxIntervals: -1}), "max_intervals"},

		{schemesOf(nil, SchemesRequest{}), "keys"},
		{schemesOf(in, SchemesRequest{Hash: "flink"}), "hash"},
		{schemesOf(in, SchemesRequest{Instances: SchemesInstances{}}), "instances"},
		{schemesOf(in, SchemesRequest{Instances: SchemesInstances{{ID: 4}, {ID: 4}}}), "instances"},
		{schemesOf(in, SchemesRequest{Instances: SchemesInstances{{Capacity: -4}}}), "instances/0/capacity"},
		{schemesOf(in, SchemesRequest{ThetaMax: &nan}), "theta_max"},
		{schemesOf(in, SchemesRequest{TokensPerInstance: -4}), "tokens_per_instance"},
		{schemesOf(in, SchemesRequest{Seed: 1 << 55}), "seed"},
		{schemesOf(in, SchemesRequest{Order: "sorted"}), "order"},
	} {
		if got := fieldOf(c.err); got != c.field {
			t.Errorf("case %d: %v, want an error of %q", i, c.err, c.field)
		}
	}
}

// TestSequences: what the analyses say of whole streams fits together.
func TestSequences(t *testing.T) {
	sequences, err := streams.Sequences()
	if err != nil {
		t.Fatal(err)
	}
	type figures struct {
		messages, keys int64
		p1             float64
		scheme         schemes.Scheme
	}
	want := map[string]figures{
		"own/history":   {2804, 1221, 0.0132, schemes.Mixed},
		"own/hot":       {20071, 60, 0.3861, schemes.Split},
		"nasa_day/keys": {30969, 2088, 0.0691, schemes.Split},
	}
	for _, s := range sequences {
		expected, ok := want[s.Name]
		if !ok {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			keys, messages, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			for _, key := range messages {
				lines.Write(append(keys.At(int(key)), '\n'))
			}
			in, err := ReadStream(&lines, input.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := RunSchemes(t.Context(), in, SchemesRequest{Instances: Count[SchemesInstance](16)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := figures{r.Messages, r.Keys, math.Round(r.P1*1e4) / 1e4, r.Recommendation.Scheme}
			if got != expected {
				t.Errorf("%+v, want %+v", got, expected)
			}
			for _, f := range r.Schemes {
				if f.KeepsKeys && f.Theta < r.LeastTheta-1e-9 {
					t.Errorf("%s has θ %v, below %v", f.Scheme, f.Theta, r.LeastTheta)
				}
			}
		})
	}
}

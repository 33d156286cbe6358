package planner_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// lookup is a hash function given key by key.
type lookup map[string]int32

func (l lookup) Instance(key []byte, _ uint64) (int32, error) {
	if id, ok := l[string(key)]; ok {
		return id, nil
	}
	return 0, errors.New("is not a number")
}

func instances(ids ...int32) []planner.Instance {
	var out []planner.Instance
	for _, id := range ids {
		out = append(out, planner.Instance{ID: id, Capacity: 1})
	}
	return out
}

func table(t *testing.T, entries ...planner.Entry) *planner.RoutingTable {
	t.Helper()
	r, err := planner.NewRoutingTable(entries)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewSnapshotResolvesPlaces(t *testing.T) {
	stats := &planner.Statistics{
		Keys: planner.KeysOf("home", "entry", "drift", "moved-by-rescale"), Cost: []float64{1, 2, 3, 4},
		Instance: []int32{planner.NoInstance, planner.NoInstance, 9, planner.NoInstance},
	}
	old := lookup{"home": 3, "entry": 3, "drift": 3, "moved-by-rescale": 9}
	now := lookup{"home": 3, "entry": 3, "drift": 3, "moved-by-rescale": 4}
	committed := table(t, planner.Entry{Key: []byte("entry"), Instance: 9},
		planner.Entry{Key: []byte("absent"), Instance: 9})

	s, err := planner.NewSnapshot(stats,
		planner.Configuration{Instances: instances(3, 4), Hash: now},
		planner.Base{Configuration: planner.Configuration{Instances: instances(3, 9), Hash: old}, Table: committed,
			HashChanged: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []planner.Instance{{ID: 3, Capacity: 1}, {ID: 4, Capacity: 1, Added: true},
		{ID: 9, Capacity: 1, Drained: true}}
	if d := cmp.Diff(want, s.Instances); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{0, 2, 2, 2}, s.Current); d != "" {
		t.Errorf("F: %s", d)
	}
	if d := cmp.Diff([]int32{0, 0, 0, 1}, s.Hash); d != "" {
		t.Errorf("h: %s", d)
	}
	if d := cmp.Diff([]int32{-1, 1, -1, -1}, s.Entry); d != "" {
		t.Errorf("entries: %s", d)
	}
	if s.Drifted != 1 {
		t.Errorf("%d keys drifted, want 1: the one that is not where the committed hash puts it", s.Drifted)
	}
	if err := plannertest.CheckSnapshot(s); err != nil {
		t.Error(err)
	}
}

func TestNewSnapshotIgnoresOutdatedInstances(t *testing.T) {
	stats := &planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, Instance: []int32{1}}
	config := planner.Configuration{Instances: instances(0, 1), Hash: lookup{"a": 0}}
	s, err := planner.NewSnapshot(stats, config, planner.Base{Configuration: config, Table: table(t),
		IgnoreInstances: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.Current[0] != 0 || s.Drifted != 0 {
		t.Errorf("key on %d, %d drifted; the row's instance is outdated", s.Current[0], s.Drifted)
	}
}

func TestNewSnapshotRefuses(t *testing.T) {
	config := planner.Configuration{Instances: instances(0, 1), Hash: lookup{"a": 0, "b": 1}}
	reported := planner.Configuration{Instances: instances(0, 1)}
	one := func(edit func(*planner.Statistics)) *planner.Statistics {
		s := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 1}}
		edit(s)
		return s
	}
	for name, tt := range map[string]struct {
		stats  *planner.Statistics
		target planner.Configuration
		base   planner.Base
		row    int
		field  string
	}{
		"unknown instance": {one(func(s *planner.Statistics) { s.Instance = []int32{0, 7} }), config,
			planner.Base{Configuration: config}, 1, "Instance"},
		"negative cost": {one(func(s *planner.Statistics) { s.Cost[1] = -1 }), config,
			planner.Base{Configuration: config}, 1, "Cost"},
		"NaN": {one(func(s *planner.Statistics) { s.Cost[0] = math.NaN() }), config,
			planner.Base{Configuration: config}, 0, "Cost"},
		"cost that overflows sums": {one(func(s *planner.Statistics) { s.Cost[1] = 2e290 }), config,
			planner.Base{Configuration: config}, 1, "Cost"},
		"residual of too many": {one(
			func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 1, Keys: 1 << 53}} }), config,
			planner.Base{Configuration: config}, -1, "Residual[0].Keys"},
		"capacity out of range": {one(func(*planner.Statistics) {}),
			planner.Configuration{Instances: []planner.Instance{{ID: 0, Capacity: 1e7}}}, planner.Base{}, -1,
			"Instances[0].Capacity"},
		"infinite state": {one(func(s *planner.Statistics) { s.State = []float64{0, math.Inf(1)} }), config,
			planner.Base{Configuration: config}, 1, "State"},
		"no hash instance": {one(func(*planner.Statistics) {}), reported, planner.Base{Configuration: reported}, 0,
			"HashInstance"},
		"needless hash instance": {one(func(s *planner.Statistics) { s.HashInstance = []int32{0, 0} }), config,
			planner.Base{Configuration: config}, 0, "HashInstance"},
		"unknown hash instance": {one(func(s *planner.Statistics) { s.HashInstance = []int32{0, 2} }), reported,
			planner.Base{Configuration: reported}, 1, "HashInstance"},
		"hash on drained": {one(func(s *planner.Statistics) {
			s.HashInstance, s.Instance = []int32{0, 1},
				[]int32{0, 0}
		}), planner.Configuration{Instances: instances(0)}, planner.Base{Configuration: reported, HashChanged: true}, 1,
			"HashInstance"},
		"place unknown": {one(func(s *planner.Statistics) { s.HashInstance = []int32{0, 0} }),
			planner.Configuration{Instances: instances(0)}, planner.Base{Configuration: reported, HashChanged: true},
			0, "Instance"},
		"key the hash refuses": {&planner.Statistics{Keys: planner.KeysOf("x"), Cost: []float64{1}}, config,
			planner.Base{Configuration: config}, 0, "Key"},
		"entry on no instance": {one(func(*planner.Statistics) {}), config,
			planner.Base{Configuration: config, Table: table(t, planner.Entry{Key: []byte("b"), Instance: 5})}, 1, "Instance"},
		"instances out of order": {one(func(*planner.Statistics) {}), planner.Configuration{Instances: instances(1, 0)},
			planner.Base{}, -1, "Instances[1].ID"},
		"negative instance": {one(func(*planner.Statistics) {}), planner.Configuration{Instances: instances(-1)},
			planner.Base{}, -1, "Instances[0].ID"},
		"base out of order": {one(func(*planner.Statistics) {}), config,
			planner.Base{Configuration: planner.Configuration{Instances: instances(1, 1)}}, -1,
			"Base.Configuration.Instances[1].ID"},
		"ragged columns": {one(func(s *planner.Statistics) { s.Cost = s.Cost[:1] }), config,
			planner.Base{Configuration: config}, -1, "Keys"},
		"no instances": {one(func(*planner.Statistics) {}), planner.Configuration{}, planner.Base{},
			-1, "Instances"},
		"no capacity": {one(func(*planner.Statistics) {}),
			planner.Configuration{Instances: []planner.Instance{{ID: 0}}}, planner.Base{}, -1, "Instances[0].Capacity"},
		"residual of nobody": {one(func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 4}} }),
			config, planner.Base{Configuration: config}, -1, "Residual[0].Instance"},
		"residual twice": {one(func(s *planner.Statistics) {
			s.Residual = []planner.Residual{{Instance: 1},
				{Instance: 1}}
		}), config, planner.Base{Configuration: config}, -1, "Residual[1].Instance"},
		"negative residual": {one(
			func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 1, Cost: -1}} }), config,
			planner.Base{Configuration: config}, -1, "Residual[0].Cost"},
		"residual of −1 keys": {one(
			func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 1, Keys: -1}} }), config,
			planner.Base{Configuration: config}, -1, "Residual[0].Keys"},
		"residual state infinite": {one(
			func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 1, State: math.Inf(1)}} }), config,
			planner.Base{Configuration: config}, -1, "Residual[0].State"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := planner.NewSnapshot(tt.stats, tt.target, tt.base)
			var input *planner.InputError
			if !errors.As(err, &input) || input.Row != tt.row || input.Field != tt.field {
				t.Errorf("got %v, want an error at row %d, field %s", err, tt.row, tt.field)
			}
		})
	}
}

func TestRoutingTable(t *testing.T) {
	var entries []planner.Entry
	for i := range 1000 {
		entries = append(entries, planner.Entry{Key: []byte{byte(i >> 4), byte(i), 'x'}, Instance: int32(i)})
	}
	r := table(t, entries...)
	for _, e := range entries {
		i := r.Find(e.Key, planner.KeyHash(e.Key))
		if i < 0 || r.At(i).Instance != e.Instance {
			t.Fatalf("entry of %q not found", e.Key)
		}
		absent := append([]byte("no"), e.Key...)
		if i := r.Find(absent, planner.KeyHash(absent)); i >= 0 {
			t.Fatalf("found %q", absent)
		}
	}
	for i := 1; i < r.Len(); i++ {
		if string(r.At(i-1).Key) >= string(r.At(i).Key) {
			t.Fatal("entries are not in byte order")
		}
	}
	var none *planner.RoutingTable
	if none.Len() != 0 || none.Find([]byte("a"), 1) >= 0 {
		t.Error("a nil table is not empty")
	}
	_, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("a")}, {Key: []byte("b")}, {Key: []byte("a")}})
	var input *planner.InputError
	if !errors.As(err, &input) || input.Row != 2 {
		t.Errorf("a key that stands twice: %v", err)
	}
}

func TestKeysAreInterned(t *testing.T) {
	k := planner.NewKeys(0)
	want := make([][]byte, 5000)
	for i := range want {
		want[i] = make([]byte, 1+i%planner.MaxKeyBytes)
		want[i][0], want[i][i%planner.MaxKeyBytes] = byte(i), byte(i>>8)
		k.Append(want[i])
	}
	for i, w := range want {
		if string(k.At(i)) != string(w) || k.Hash(i) != planner.KeyHash(w) {
			t.Fatalf("key %d is not what was appended", i)
		}
	}
}

func TestFingerprintIgnoresOrderOnly(t *testing.T) {
	base := func() *planner.Statistics {
		return &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}, State: []float64{3, 4},
			Instance: []int32{0, 1}}
	}
	want := base().Fingerprint()
	swapped := &planner.Statistics{Keys: planner.KeysOf("b", "a"), Cost: []float64{2, 1}, State: []float64{4, 3},
		Instance: []int32{1, 0}}
	if swapped.Fingerprint() != want {
		t.Error("the order of rows changes the fingerprint")
	}
	for name, edit := range map[string]func(*planner.Statistics){
		"cost":          func(s *planner.Statistics) { s.Cost[0] = 1.5 },
		"state":         func(s *planner.Statistics) { s.State[1] = 5 },
		"swapped costs": func(s *planner.Statistics) { s.Cost[0], s.Cost[1] = 2, 1 },
		"instance":      func(s *planner.Statistics) { s.Instance[0] = 1 },
		"hash instance": func(s *planner.Statistics) { s.HashInstance = []int32{0, 0} },
		"key":           func(s *planner.Statistics) { s.Keys = planner.KeysOf("a", "c") },
		"partial":       func(s *planner.Statistics) { s.Partial = true },
		"residual":      func(s *planner.Statistics) { s.Residual = []planner.Residual{{Instance: 1, Cost: 2}} },
	} {
		s := base()
		edit(s)
		if s.Fingerprint() == want {
			t.Errorf("another %s does not change the fingerprint", name)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	minus, limit := -0.5, int64(-1)
	for field, o := range map[string]planner.Options{
		"ThetaMax":    {ThetaMax: math.NaN()},
		"TableLimit":  {TableLimit: &limit},
		"Beta":        {Beta: &minus},
		"KeyOverhead": {KeyOverhead: math.Inf(1)},
		"Sigma":       {Sigma: &minus},
		"WorkBudget":  {WorkBudget: -1},
	} {
		var input *planner.InputError
		if err := o.Validate(); !errors.As(err, &input) || input.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := (planner.Options{}).Validate(); err != nil {
		t.Error(err)
	}
	if _, err := planner.Run("best", nil, planner.Options{}); err == nil {
		t.Error("an unknown strategy runs")
	}
}

package resources_test

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"

	"plannerd/internal/resources"
	"plannerd/planner"
)

// TestOf tells what decides, and has JSON of loads where nothing may be.
func TestOf(t *testing.T) {
	p := &planner.Plan{
		Snapshot: &planner.Snapshot{
			Instances: []planner.Instance{{ID: 3, Name: "a", Capacity: 1}, {ID: 7, Capacity: 1}, {ID: 9, Drained: true}},
			Resources: []planner.Resource{{Name: "memory", Limited: true}, {Name: "keys", ThetaMax: 1}},
		},
		Options:   planner.Options{ThetaMax: 0.5},
		Theta:     planner.Comparison{Before: 1, After: 0.5},
		Instances: []planner.Load{{Fair: 2, Max: 3, Before: 4, After: 3}, {Fair: 2, Max: 3, After: 1}, {}},
		Resources: []planner.ResourceFigures{
			{Level: planner.Comparison{Before: 1.25, After: math.Inf(1)}, Worst: 1, Instances: make([]planner.ResourceLoad, 3)},
			{Level: planner.Comparison{Before: 1.75}, Balanced: true, Instances: make([]planner.ResourceLoad, 3)},
		},
	}
	if got := resources.Of(p, ""); got != nil {
		t.Errorf("%+v", got)
	}
	f := resources.Of(p, "cpu")
	cpu, memory, keys := f.Resources[0], f.Resources[1], f.Resources[2]
	if f.Decides != "keys" || !cpu.Balanced || cpu.Worst != (resources.Instance{ID: 3, Name: "a"}) ||
		memory.Worst.ID != 7 || memory.Level.After != planner.MaxAmount || keys.Instances[0].Fair == nil ||
		keys.Instances[2].Fair != nil {
		t.Errorf("%+v", f)
	}
	if text, err := json.Marshal(f); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	p.Theta.Before, p.Resources[0].Level.Before, p.Resources[1].Level.Before = 0.5, 1, 1
	if f := resources.Of(p, "cpu"); f.Decides != "" {
		t.Errorf("%s decides, and no bound was broken", f.Decides)
	}
}

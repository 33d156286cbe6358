package planner_test

import (
	"testing"

	"plannerd/planner"
)

// A plan that was made by hand can be compared: it is worse than every plan of a
// strategy, and no better than another.
func TestBetterOfPlansMadeByHand(t *testing.T) {
	s := &planner.Snapshot{
		Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}, State: []float64{1, 2},
		Current: []int32{0, 0}, Hash: []int32{0, 0},
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}},
	}
	made := run(t, planner.Mixed, s, planner.Options{ThetaMax: 0.5})
	unmoved, err := planner.Inspect(s, planner.Options{ThetaMax: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if !planner.Better(made, unmoved) || planner.Better(unmoved, made) {
		t.Error("the plan that balances is not the better one")
	}
	stripped := *made
	stripped.Snapshot = nil
	for what, hand := range map[string]*planner.Plan{
		"nothing": nil, "zero": {}, "copied figures": {Snapshot: s, Moves: made.Moves, Balanced: true},
		"moves of no snapshot": {Moves: []planner.Move{{Item: 7}}}, "without its snapshot": &stripped,
	} {
		if planner.Better(hand, unmoved) || !planner.Better(unmoved, hand) || planner.Better(hand, hand) ||
			planner.Better(hand, &planner.Plan{Snapshot: s}) {
			t.Errorf("%s: compared otherwise than documented", what)
		}
	}
}

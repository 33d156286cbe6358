package parameters

import (
	"errors"
	"fmt"
	"testing"

	"plannerd/planner"
)

// Fields of the library are shown in the words of the contract, and what has these words
// stays.
func TestInputErrorIsInTheWordsOfTheContract(t *testing.T) {
	for field, want := range map[string]string{
		"Cost": "cost", "HashInstance": "hash_instance", "ThetaMax": "theta_max", "K": "k",
		"Instances[12].ID": "instances/12/id", "Residual[3].Cost": "residual/3/cost", "Assignment[1]": "assignment/1",
		"Scales.Cost": "cost_scale", "Scales.State": "state_scale", "Joins[0].Node.Tokens": "joins/0/tokens",
		"Base.Configuration.Instances[1].Capacity": "base/instances/1/capacity", "Timing.Jitter": "timing/jitter",
		"compact/degree": "compact/degree", "parameters/theta_max/2": "parameters/theta_max/2", "": "",
	} {
		got := InputError(fmt.Errorf("wrapped: %w", planner.InvalidRow(7, field, "is wrong")))
		if got == nil || *got != (planner.InputError{Row: 7, Field: want, Detail: "is wrong"}) {
			t.Errorf("%q is %+v, want %q", field, got, want)
		}
	}
	if got := InputError(errors.New("another")); got != nil {
		t.Errorf("another error is %+v", got)
	}
}

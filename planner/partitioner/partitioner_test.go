package partitioner

import (
	"errors"
	"testing"

	"plannerd/planner"
)

func TestErrorsAreOfInput(t *testing.T) {
	two := []Instance{{ID: 0}, {ID: 1}}
	c := Config{Function: Kafka, Partitions: 4, Assignment: []int32{0, 1, 0, 2}}
	_, err := New(c, two)
	for _, err := range []error{err, Validate(c, two)} {
		var input *planner.InputError
		if !errors.As(err, &input) || input.Field != "Assignment[3]" || input.Row != -1 {
			t.Errorf("%v, want an error of Assignment[3]", err)
		}
	}
	if err := Validate(Config{}, two); err != nil {
		t.Error(err)
	}
	// Not an interface that holds nil: callers compare with it.
	if f, err := New(Config{Function: Reported}, two); f != nil || err != nil {
		t.Errorf("%v, %v, want neither", f, err)
	}
}

package operator

import (
	"testing"

	"plannerd/planner"
)

// A configuration that was stored before there were efforts has the default one, which is
// what optimal did then, where its scheme knows it.
func TestStoredWithoutEffort(t *testing.T) {
	for text, want := range map[string]planner.Effort{
		`{"instances":[{"id":0,"capacity":1}],"strategy":"optimal"}`:                     planner.EffortFast,
		`{"instances":[{"id":0,"capacity":1}],"strategy":"optimal","effort":"thorough"}`: planner.EffortThorough,
		`{"instances":[{"id":0,"capacity":1}],"scheme":"ranges"}`:                        "",
	} {
		if c, err := DecodeConfiguration([]byte(text)); err != nil || c.Effort != want {
			t.Errorf("%s has effort %q, want %q: %v", text, c.Effort, want, err)
		}
	}
}

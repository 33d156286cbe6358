package schemes

import (
	"testing"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
)

// TestEachSchemeIsThere: what the contract names is implemented, and has a form of its
// configuration.
func TestEachSchemeIsThere(t *testing.T) {
	names := parameters.Schemes()
	if len(names) != len(Schemes) {
		t.Errorf("%d schemes are named, %d are there", len(names), len(Schemes))
	}
	for _, name := range names {
		if Named(operator.SchemeName(name)) == nil {
			t.Errorf("the scheme %q is not there", name)
		}
		hash := "ring"
		c, err := operator.ParseConfiguration([]byte(`{"scheme":"`+name+`","instances":2}`), hash)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = operator.NewConfiguration(c); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := operator.DecodeConfiguration(text)
		if err != nil {
			t.Fatal(err)
		}
		if more, err := again.Encode(); err != nil || string(more) != string(text) {
			t.Errorf("%s: %s is read and stored as %s, error %v", name, text, more, err)
		}
	}
}

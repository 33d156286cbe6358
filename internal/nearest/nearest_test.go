package nearest

import "testing"

func TestTo(t *testing.T) {
	known := []string{"theta_max", "table_limit", "beta", "key_overhead"}
	for name, want := range map[string]string{
		"theta-max": "theta_max", "thetamax": "theta_max", "theta_mx": "theta_max", "tabel_limit": "table_limit",
		"bета": "", "bta": "beta", "key_overheads": "key_overhead", "alpha": "", "": "", "x": "",
	} {
		if got := To(name, known); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q are %d steps, want %d", c.a, c.b, got, c.want)
		}
	}
}

package main

import (
	"strings"
	"testing"
)

// TestResourcesInWords tells people what a plan does in each resource, and what none can do.
func TestResourcesInWords(t *testing.T) {
	const rows = "key,cost,state,instance\na,1,60,w0\nb,1,40,w0\nc,1,10,w1\nd,1,10,w1\n"
	plan := func(text, w0, w1 string) string {
		return strings.Join(strings.Fields(succeed(t, text, "plan", "-", "--instances", "w0,w1", "--theta-max", "90%",
			"--resource", "memory:from=state,limit", "--capacity", "memory=w0:"+w0+",w1:"+w1)), " ")
	}
	for _, c := range []struct {
		text, w0, w1 string
		want         []string
	}{
		{rows, "80", "80", []string{" Balanced. ", "resource at most before after busiest after ─",
			" cost 90.00 % 0.00 % ", " memory 100.00 % 125.00 % 75.00 % w0 "}},
		{rows, "59", "51", []string{"NOT balanced. A single key takes more memory than any instance may have.",
			" w0 takes 118.64 % of its memory. ", "a w0 60 1.0169 - memory"}},
		{rows, "70", "45", []string{"NOT balanced. ", " of its memory. Proven: no plan meets all limits. " +
			"With the other limits kept, some instance takes at least 104.35 % of its memory. "}},
		{rows, "60", "0", []string{" memory 100.00 % ∞ "}},
	} {
		got := plan(c.text, c.w0, c.w1)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("memory %s and %s: no %q in\n%s", c.w0, c.w1, want, got)
			}
		}
	}
	three := succeed(t, "key,cost,instance\na,1,w0\nb,1,w0\nc,1,w1\n", "plan", "-", "--instances", "w0,w1",
		"--theta-max", "90%", "--resource", "keys:from=count,theta_max=5%")
	for _, want := range []string{
		" In keys, w0 is 33.33 % above its fair load, and 5.00 % is allowed.",
		"some instance is more than 5.00 % above its fair load in keys (5.00 % is allowed).",
	} {
		if !strings.Contains(three, want) {
			t.Errorf("no %q in\n%s", want, three)
		}
	}
}

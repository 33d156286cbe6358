package cases

import (
	"fmt"
	"slices"

	"plannerd/planner"
)

// Renamed is the same case with other names of keys, which decide ties alone.
func (c *Case) Renamed() *Case { return c.with("renamed-", 0) }

// WithIdle is the case with as many more keys that cost nothing and are at home.
func (c *Case) WithIdle(n int) *Case { return c.with("", n) }

// with is the case of a family with a prefix to the names of its keys, and more keys.
func (c *Case) with(prefix string, idle int) *Case {
	s, d := c.Snapshot, *c
	t := &planner.Snapshot{
		Instances: s.Instances, Keys: planner.NewKeys(s.Len() + idle), Cost: slices.Clone(s.Cost),
		State: slices.Clone(s.State), Current: slices.Clone(s.Current), Hash: slices.Clone(s.Hash),
	}
	for i := range s.Cost {
		t.Keys.Append(append([]byte(prefix), s.Keys.At(i)...))
	}
	for i := range idle {
		home := int32(i % len(s.Instances))
		t.Keys.Append(fmt.Appendf(nil, "idle-%d", i))
		t.Cost, t.State = append(t.Cost, 0), append(t.State, 1000)
		t.Current, t.Hash = append(t.Current, home), append(t.Hash, home)
	}
	d.Snapshot = t
	return &d
}

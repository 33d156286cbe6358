package planning

import (
	"fmt"

	"plannerd/internal/operator"
	"plannerd/planner"
)

var schemes = map[operator.SchemeName]scheme{
	operator.SchemeTable:  tableScheme{},
	operator.SchemeRing:   layoutScheme{ringKind{}},
	operator.SchemeRanges: layoutScheme{rangesKind{}},
	operator.SchemePkg:    layoutScheme{pkgKind{}},
}

func schemeNamed(name operator.SchemeName) scheme { return schemes[name] }

// buildPlacement makes a stored configuration ready to place keys.
func buildPlacement(text []byte) (*placement, error) {
	c, err := operator.DecodeConfiguration(text)
	if err != nil {
		return nil, err
	}
	h, err := c.HashFunction()
	if err != nil {
		return nil, fmt.Errorf("building the hash function of a configuration: %w", err)
	}
	out := planner.Configuration{Instances: make([]planner.Instance, len(c.Instances)), Hash: h}
	for i, d := range c.Instances {
		out.Instances[i] = planner.Instance{ID: d.ID, Capacity: d.Capacity}
	}
	return &placement{Configuration: c, planner: out}, nil
}

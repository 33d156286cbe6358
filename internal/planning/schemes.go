package planning

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/parameters"
	"plannerd/planner"
)

var schemes = map[SchemeName]scheme{
	SchemeTable:  tableScheme{},
	SchemeRing:   layoutScheme{ringKind{}},
	SchemeRanges: layoutScheme{rangesKind{}},
	SchemePkg:    layoutScheme{pkgKind{}},
}

// scheme is that of the configuration.
func (c Configuration) scheme() scheme { return schemes[c.Scheme] }

// NewConfiguration completes a configuration whose defaults are filled in: it puts the
// instances into order, leaves what the scheme knows, and checks the rest. The error is
// a [planner.InputError], which names instances by their places in c.
func NewConfiguration(c Configuration) (Configuration, error) {
	order := make([]int, len(c.Instances)) // sorted position → position in c
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Instances[a].ID, c.Instances[b].ID) })
	c.Instances = slices.SortedFunc(slices.Values(c.Instances), func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	for i := range c.Instances {
		c.Instances[i].Capacity = cmp.Or(c.Instances[i].Capacity, 1)
		if i > 0 && c.Instances[i].ID == c.Instances[i-1].ID {
			return Configuration{}, planner.Invalid("instances", "must have distinct ids")
		}
	}
	if err := c.ApprovalRule.check(); err != nil {
		return Configuration{}, err
	}
	c.ApprovalRule = c.ApprovalRule.withDefaults()
	if err := cmp.Or(c.checkLease(), c.settlePolicy()); err != nil {
		return Configuration{}, err
	}
	c = c.scheme().restrict(c)
	if err := c.scheme().check(c); err != nil {
		return Configuration{}, inOrder(err, order)
	}
	return c.withSchemeDefaults(), nil
}

// inOrder points an input error of a sorted configuration at the instance as it was
// given.
func inOrder(err error, order []int) error {
	input := parameters.InputError(err)
	if input == nil {
		return err
	}
	tokens := strings.Split(input.Field, "/")
	if tokens[0] == "instances" && len(tokens) > 1 {
		if i, err := strconv.Atoi(tokens[1]); err == nil && i < len(order) {
			tokens[1] = strconv.Itoa(order[i])
		}
	}
	return planner.InvalidRow(input.Row, strings.Join(tokens, "/"), input.Detail)
}

// Encode returns the configuration as the store keeps it.
func (c Configuration) Encode() ([]byte, error) {
	return json.Marshal(c.scheme().configurationForm(c))
}

// buildPlacement makes a stored configuration ready to place keys.
func buildPlacement(text []byte) (*placement, error) {
	c, err := decodeConfiguration(text)
	if err != nil {
		return nil, err
	}
	h, err := c.scheme().hashFunction(c)
	if err != nil {
		return nil, fmt.Errorf("building the hash function of a configuration: %w", err)
	}
	out := planner.Configuration{Instances: make([]planner.Instance, len(c.Instances)), Hash: h}
	for i, d := range c.Instances {
		out.Instances[i] = planner.Instance{ID: d.ID, Capacity: d.Capacity}
	}
	return &placement{Configuration: c, planner: out}, nil
}

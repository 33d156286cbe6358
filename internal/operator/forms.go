package operator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// form is what a scheme knows of a configuration.
type form interface {
	// restrict leaves of a configuration what the scheme knows, with the scheme's defaults.
	restrict(c Configuration) Configuration
	// check finds what is wrong with a configuration. The error is a
	// [planner.InputError].
	check(c Configuration) error
	// hashFunction returns what places keys without an entry; nil: it is not known, or
	// there is none.
	hashFunction(c Configuration) (planner.HashFunction, error)
	// configuration and parameters are what JSON shows of a configuration and of the
	// parameters of a plan.
	configuration(c Configuration) any
	parameters(p Parameters) any
}

var forms = map[SchemeName]form{
	SchemeTable: tableForm{}, SchemeRing: ringForm{}, SchemeRanges: rangesForm{}, SchemePkg: pkgForm{},
}

func (c Configuration) form() form { return forms[c.Scheme] }

// tableForm is that of routing tables: all of a configuration.
type tableForm struct{}

func (tableForm) restrict(c Configuration) Configuration {
	if c.Window == 1 {
		c.Window = 0
	}
	return c
}

func (tableForm) check(c Configuration) error {
	if _, ok := planner.Lookup(c.Strategy); !ok {
		return planner.Invalid("strategy", "is not a strategy")
	}
	if c.TableOwner == OwnerEngine && c.Splitting.Allowed() {
		return planner.Invalid("splitting/max_parts", "above 1 is for a routing table that the service holds")
	}
	return cmp.Or(c.Parameters.Check(c.Strategy), checkPolicy(c), checkHash(c), checkAffinity(c), checkBatches(c),
		checkWindow(c))
}

func (tableForm) hashFunction(c Configuration) (planner.HashFunction, error) {
	return partitioner.New(c.partitioner())
}

func (tableForm) configuration(c Configuration) any { return c }

func (tableForm) parameters(p Parameters) any { return p }

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
	c = placementInOrder(c)
	if err := cmp.Or(checkLease(c), settleResources(&c), c.settlePolicy()); err != nil {
		return Configuration{}, err
	}
	c = c.form().restrict(c)
	if err := cmp.Or(checkPlacement(c), checkResources(c), c.form().check(c)); err != nil {
		return Configuration{}, asGiven(err, order)
	}
	return c.withSchemeDefaults(), nil
}

// asGiven points an input error of a sorted configuration at the instance as it was
// given.
func asGiven(err error, order []int) error {
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
	return json.Marshal(c.form().configuration(c), json.Deterministic(true))
}

// EncodeParameters returns the parameters of a plan under the configuration as the store keeps
// them.
func (c Configuration) EncodeParameters(p Parameters) ([]byte, error) {
	return json.Marshal(c.form().parameters(p))
}

// HashFunction returns what places keys without an entry; nil: it is not known, or there is
// none.
func (c Configuration) HashFunction() (planner.HashFunction, error) { return c.form().hashFunction(c) }

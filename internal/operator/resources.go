package operator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/nearest"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// costName is no name of a resource after the first, whose amounts are the cost of rows.
const costName = "cost"

var resourceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,31}$`)

// Resources are what keys take of an instance; the first one is cost.
type Resources []Resource

// Resource is what keys take so much of on their instance.
type Resource struct {
	Name string               `json:"name"`
	From planner.AmountSource `json:"from,omitzero"` // "": statistics have the amounts
	// ThetaMax is nil where the resource is limited; of cost, once the configuration is complete.
	ThetaMax *float64 `json:"theta_max,omitzero"`
	Limit    bool     `json:"limit,omitzero"`
}

// OneCost is why statistics in compact form are refused.
const OneCost = "is not for operators with resources: a record has one cost. Send keys, or leave resources out"

// setThetaMax has the tolerance of the first resource be that of the operator, where the JSON of a
// configuration says no other.
func setThetaMax(c *Configuration, text []byte) {
	if len(c.Resources) > 0 && c.Resources[0].ThetaMax != nil && membersOf(text)["theta_max"] == nil {
		c.ThetaMax = *c.Resources[0].ThetaMax
	}
}

// settleResources checks the tolerance of the first resource, which is that of the operator, and
// has it stand once. What is empty is left out.
func settleResources(c *Configuration) error {
	if len(c.Resources) == 0 {
		c.Resources = nil
	} else if own := c.Resources[0].ThetaMax; own != nil {
		if *own != c.ThetaMax {
			return planner.Invalid("resources/0/theta_max", fmt.Sprintf("differs from theta_max of the operator, which is %v: "+
				"say one of the two", c.ThetaMax))
		}
		c.Resources = slices.Clone(c.Resources)
		c.Resources[0].ThetaMax = nil
	}
	for i, d := range c.Instances {
		if len(d.Capacities) == 0 {
			c.Instances[i].Capacities = nil
		}
	}
	return nil
}

// onResources is the configuration with other resources, and with capacities in these alone.
func onResources(c Configuration, resources Resources) Configuration {
	c.Resources = resources
	for i, d := range c.Instances {
		c.Instances[i].Capacities = maps.Clone(d.Capacities)
		maps.DeleteFunc(c.Instances[i].Capacities, func(name string, _ float64) bool {
			return !slices.ContainsFunc(resources, func(r Resource) bool { return r.Name == name })
		})
	}
	return c
}

// checkResources finds what is wrong with resources and capacities in them.
func checkResources(c Configuration) error {
	if len(c.Resources) > 0 {
		switch {
		case c.Scheme != SchemeTable:
			return planner.Invalid("resources", MeansNothing(c.Scheme))
		case c.Splitting.Expires() && slices.ContainsFunc(c.Resources, func(r Resource) bool { return r.From != "" }):
			return planner.Invalid("splitting/parts", "is not expire beside resources from state or count: what runs out "+
				"would not count in them")
		case c.Splitting.Allowed() && c.Splitting.Routing == parameters.LeastLoaded:
			return planner.Invalid("splitting/routing", "is not least_loaded for operators with resources: routers that go by "+
				"what they have sent know nothing of the others")
		case c.Compact.Degree > 0:
			return planner.Invalid("compact", OneCost)
		}
	}
	return c.Resources.Check(c.Instances)
}

// Check finds what is wrong with resources, and with what instances have of them.
func (all Resources) Check(instances []Instance) error {
	if len(all) > planner.MaxResources {
		return planner.Invalid("resources", fmt.Sprintf("must be at most %d", planner.MaxResources))
	}
	for i := range all {
		if field, detail := all.wrong(i); detail != "" {
			return planner.Invalid("resources/"+strconv.Itoa(i)+field, detail)
		}
	}
	for i, d := range instances {
		if detail := d.wrongCapacities(all); detail != "" {
			return planner.Invalid("instances/"+strconv.Itoa(i)+"/capacities", detail)
		}
	}
	return nil
}

// wrong says what is wrong with a resource, and with which member of it; "": nothing.
func (all Resources) wrong(i int) (field, detail string) {
	r := all[i]
	same := func(x Resource) bool { return x.Name == r.Name }
	switch {
	case !resourceName.MatchString(r.Name):
		return "/name", "must be a letter, then up to 31 letters, digits and _"
	case slices.ContainsFunc(all[:i], same):
		return "/name", r.Name + " stands twice"
	case i == 0 && r.From != "":
		return "/from", "is for resources after the first, which is the cost of the rows"
	case i == 0 && r.Limit:
		return "/limit", "is for resources after the first, whose bound is theta_max"
	case i == 0:
		return "", ""
	case r.Name == costName:
		return "/name", "cost is the first resource"
	case r.From != "" && r.From != planner.FromState && r.From != planner.FromCount:
		return "/from", "must be state or count, or be left out"
	case (r.ThetaMax != nil) == r.Limit:
		return "", r.Name + " must have one of theta_max and limit"
	case r.ThetaMax != nil && !(*r.ThetaMax >= 0): // NaN
		return "/theta_max", "must be at least 0"
	}
	return "", ""
}

// wrongCapacities says what is wrong with what an instance has of resources; "": nothing.
func (d Instance) wrongCapacities(all Resources) string {
	var names []string
	for i, r := range all {
		capacity, said := d.Capacities[r.Name]
		switch {
		case i == 0 && said:
			return r.Name + " is the first resource: say capacity"
		case i == 0:
			continue
		case r.Limit && !said:
			return fmt.Sprintf("must say how much %s has of %s, which has a limit", d.called(), r.Name)
		case r.Limit && !(0 <= capacity && capacity <= planner.MaxAmount):
			return fmt.Sprintf("%s must be from 0 to %g", r.Name, planner.MaxAmount)
		case said && !r.Limit && !(planner.MinCapacity <= capacity && capacity <= planner.MaxCapacity):
			return fmt.Sprintf("%s must be from %g to %g", r.Name, planner.MinCapacity, planner.MaxCapacity)
		}
		names = append(names, r.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacities)) {
		if !slices.Contains(names, name) {
			return name + " is no resource after the first" + nearest.Suffix(name, names)
		}
	}
	return ""
}

// called is how people call an instance.
func (d Instance) called() string {
	if d.Name != "" {
		return d.Name
	}
	return "instance " + strconv.Itoa(int(d.ID))
}

// Cost is what the operator calls cost; "": it has no resources.
func (all Resources) Cost() string {
	if len(all) == 0 {
		return ""
	}
	return all[0].Name
}

// BoundOf is the highest level that a resource may have: its tolerance, or 1, its whole capacity.
func (c Configuration) BoundOf(i int) float64 {
	switch r := c.Resources[i]; {
	case i == 0:
		return c.ThetaMax
	case r.Limit:
		return 1
	default:
		return *r.ThetaMax
	}
}

// ResourceBounds is a digest of what bounds plans beside θ_max; "": there is cost alone. It is of the resources beside
// cost: of the bound of each, and with a limit of what the instances have of it. What an instance has under a tolerance
// only says what is fair, as its capacity does; and a name that rows do not use is for people.
func ResourceBounds(c Configuration) string {
	if len(c.Resources) < 2 {
		return ""
	}
	var all []string
	for i, r := range c.Resources[1:] {
		of, has := cmp.Or(string(r.From), "row "+r.Name), []float64(nil)
		if r.Limit {
			for _, d := range c.Instances {
				has = append(has, d.Capacities[r.Name])
			}
			slices.Sort(has)
		}
		all = append(all, fmt.Sprint(of, " ", c.BoundOf(i+1), " ", has))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Beside are the resources beside cost, as plans are made on them.
func (all Resources) Beside() []planner.Resource {
	if len(all) < 2 {
		return nil
	}
	out := make([]planner.Resource, len(all)-1)
	for i, r := range all[1:] {
		out[i] = planner.Resource{Name: r.Name, From: r.From, Limited: r.Limit}
		if r.ThetaMax != nil {
			out[i].ThetaMax = *r.ThetaMax
		}
	}
	return out
}

// In is what an instance has of each of these resources; nil: as much as of cost.
func (d Instance) In(resources []planner.Resource) []float64 {
	if d.Capacities == nil {
		return nil
	}
	out := make([]float64, len(resources))
	for i, r := range resources {
		capacity, said := d.Capacities[r.Name]
		if out[i] = capacity; !said {
			out[i] = d.Capacity
		}
	}
	return out
}

// withoutThetaMax leaves theta_max out of the members of a configuration where a merge patch says it
// as that of the first resource alone.
func withoutThetaMax(base, patch map[string]jsontext.Value) {
	var resources []Resource
	_ = json.Unmarshal(patch["resources"], &resources) // what is no list is refused later
	if _, named := patch["theta_max"]; !named && len(resources) > 0 && resources[0].ThetaMax != nil {
		delete(base, "theta_max")
	}
}

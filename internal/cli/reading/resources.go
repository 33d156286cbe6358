package reading

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// ResourceFlags say what plans are made on beside cost.
type ResourceFlags struct {
	Resources  []Resource   `name:"resource" sep:"none" placeholder:"NAME:[from=state|count,]theta_max=X|limit" group:"Operator" help:"What keys take of their instance beside cost, with its bound: theta_max, how far an instance may be above its fair load, or limit, no more than its --capacity. The amounts are the state of a key, 1 for each key with from=count, or else the column cost.NAME. May be repeated (default: cost alone counts)."`
	Capacities []Capacities `name:"capacity" sep:"none" placeholder:"NAME=X|INSTANCE:X,…" group:"Operator" help:"What instances have of a --resource: as much each, such as memory=64e9, or by instance, such as memory=worker-a:64e9,worker-b:32e9. May be repeated (default: as in --instances; a limit needs it)."`
}

// Resource is a value of --resource.
type Resource struct{ operator.Resource }

// UnmarshalText reads "memory:from=state,limit" or "network:theta_max=5%".
func (r *Resource) UnmarshalText(b []byte) (err error) {
	name, rest, _ := strings.Cut(string(b), ":")
	r.Name = name
	for part := range strings.SplitSeq(rest, ",") {
		member, value, _ := strings.Cut(part, "=")
		switch {
		case member == "from":
			r.From = planner.AmountSource(value)
		case member == "theta_max":
			var x float64
			if x, err = cli.ParseShare(value); err != nil {
				return err
			}
			r.ThetaMax = &x
		case part == "limit":
			r.Limit = true
		default:
			return fmt.Errorf("%q: write a name and its bound, such as memory:from=state,limit or network:theta_max=5%%", b)
		}
	}
	return nil
}

// Capacities is a value of --capacity: what instances have of a resource.
type Capacities struct {
	resource string
	all      *float64 // of those that of lacks
	of       []capacityOf
}

type capacityOf struct {
	instance string
	amount   float64
}

// UnmarshalText reads "memory=64e9", "memory=w0:64e9,w1:32e9" or "memory=64e9,w1:32e9".
func (c *Capacities) UnmarshalText(b []byte) error {
	name, rest, _ := strings.Cut(string(b), "=")
	c.resource = name
	for part := range strings.SplitSeq(rest, ",") {
		if x, err := strconv.ParseFloat(part, 64); err == nil && c.all == nil {
			c.all = &x
			continue
		}
		ref, x, ok := operator.CutCapacity(part)
		if !ok || ref == part {
			return fmt.Errorf("%q: write a resource and what instances have of it, such as memory=64e9 for each, or "+
				"memory=w0:64e9,w1:32e9", b)
		}
		c.of = append(c.of, capacityOf{ref, x})
	}
	return nil
}

// Set has the configuration of an operator know what keys take beside cost. While nobody knows the
// instances it leaves that out.
func (f *ResourceFlags) Set(c *planner.Configuration, of *OperatorFlags) error {
	if len(f.Resources)+len(f.Capacities) == 0 || of.assumed && !of.looked {
		return nil
	}
	all := operator.Resources{{Name: "cost"}}
	for _, r := range f.Resources {
		all = append(all, r.Resource)
	}
	instances := make([]operator.Instance, len(c.Instances))
	for i, d := range c.Instances {
		instances[i] = operator.Instance{ID: d.ID, Name: d.Name, Capacity: d.Capacity, Capacities: map[string]float64{}}
	}
	for _, x := range f.Capacities {
		if err := x.give(instances, of); err != nil {
			return err
		}
	}
	if err := all.Check(instances); err != nil {
		given := parameters.InputError(err)
		flag := "--resource"
		if strings.HasPrefix(given.Field, "instances") {
			flag = "--capacity"
		}
		return cli.Usagef("%s: %s", flag, given.Detail)
	}
	c.Resources, c.Instances = all.Beside(), slices.Clone(c.Instances)
	for i := range c.Instances {
		c.Instances[i].Capacities = instances[i].In(c.Resources)
	}
	return nil
}

// give has instances have what the flag says.
func (c *Capacities) give(instances []operator.Instance, of *OperatorFlags) error {
	for _, d := range instances {
		if c.all != nil {
			d.Capacities[c.resource] = *c.all
		}
	}
	for _, one := range c.of {
		id, detail := of.id(one.instance)
		if detail != "" {
			return cli.Usagef("--capacity: %s %s", one.instance, detail)
		}
		for _, d := range instances {
			if d.ID == id {
				d.Capacities[c.resource] = one.amount
			}
		}
	}
	return nil
}

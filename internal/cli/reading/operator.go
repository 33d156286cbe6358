package reading

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// OperatorFlags are the settings of all that reads statistics that say what is
// planned for: the operator's instances, its hash and its routing table.
type OperatorFlags struct {
	Instances     Instances `placeholder:"N|ID:CAPACITY,…" group:"Operator" help:"Task instances: a number for 0…N-1 of capacity 1, or a list of ids or names, such as 0:1,1:2,7:1 or worker-a,worker-b:2 (default: those that the rows name, else 8)."`
	RoutingTable  string    `type:"path" placeholder:"FILE" group:"Operator" help:"The committed routing table: CSV with the header key,instance (default: none; keys are where the rows say, else where the hash puts them)."`
	BaseInstances Instances `placeholder:"N|ID:CAPACITY,…" group:"Operator" help:"After a rescale: the instances that the routing table and the hash were committed for (default: --instances)."`

	Hash              string   `enum:"ring,modulo,reported,flink,kafka" default:"ring" group:"Operator" help:"Hash function of the operator: ring, modulo, flink, kafka, or reported (each row carries hash_instance)."`
	TokensPerInstance int      `placeholder:"N" group:"Operator" help:"Ring: tokens of each instance (default ${tokens})."`
	MaxParallelism    int      `placeholder:"N" group:"Operator" help:"Flink: number of key groups (default ${max_parallelism}, as in Flink, for up to 85 instances)."`
	KeyType           string   `placeholder:"TYPE" group:"Operator" help:"Flink: what the keys are in Java: string, int or long (default string)."`
	Partitions        int      `placeholder:"N" group:"Operator" help:"Kafka: number of partitions of the topic (default: none; kafka needs it)."`
	Assignment        []string `placeholder:"ID" group:"Operator" help:"Kafka: the instance of each partition, in order (default: the instances in turn)."`

	Affinity Affinity `placeholder:"tag|until=TEXT[,count=N]" group:"Operator" help:"Which part of a key is hashed and planned, so that keys which have it in common stay together: tag is what stands between { and }, until=/ what stands before the first /, until=/,count=2 before the second; rows of one routed key are added up (default: the whole key)."`

	assumed bool // nobody gave the instances
	looked  bool // the first interval was read, which may name them
	// expected are ids for the names that are known only then.
	expected map[string]int32
}

// Instances is the value of --instances.
type Instances []planner.Instance

// Affinity is the value of --affinity.
type Affinity struct{ partitioner.Affinity }

// UnmarshalText reads "tag", "until=/" or "until=/,count=2".
func (a *Affinity) UnmarshalText(b []byte) (err error) {
	text := string(b)
	if a.Tag = text == "tag"; a.Tag {
		return nil
	}
	until, found := strings.CutPrefix(text, "until=")
	if at := strings.LastIndex(until, ",count="); at >= 0 {
		if a.Count, err = strconv.Atoi(until[at+len(",count="):]); err != nil || a.Count < 1 {
			return fmt.Errorf("%q: the count must be an integer from 1", text)
		}
		until = until[:at]
	}
	if a.Until = until; !found || until == "" {
		return fmt.Errorf("%q: write tag, until=/ or until=/,count=2", text)
	}
	return nil
}

// group adds up the rows of each routed key.
func (in *Input) group(d *input.Document) error {
	if in.Operator == nil || in.Operator.Affinity.IsZero() {
		return nil
	}
	return d.Group(in.Operator.Affinity.Affinity, in.Operator.Texts())
}

// MaxInstances is the most that one operator may have.
const MaxInstances = 65536

// UnmarshalText reads "8", "0:1,1:2" or "worker-a,worker-b:2". Names get ids in their order.
func (v *Instances) UnmarshalText(b []byte) (err error) {
	unit := func(id int32) planner.Instance { return planner.Instance{ID: id, Capacity: 1} }
	if *v, err = CountOrList(string(b), MaxInstances, unit, parseInstance); err != nil {
		return err
	}
	next, names := int32(0), map[string]bool{}
	for _, d := range *v {
		if next = max(next, d.ID+1); names[d.Name] && d.Name != "" {
			return fmt.Errorf("instance %s stands twice", d.Name)
		}
		names[d.Name] = true
	}
	for i := range *v {
		if d := &(*v)[i]; d.Name != "" {
			d.ID, next = next, next+1
		}
	}
	v.sort()
	for i := 1; i < len(*v); i++ {
		if id := (*v)[i].ID; id == (*v)[i-1].ID {
			return fmt.Errorf("instance %d stands twice", id)
		}
	}
	return nil
}

// CountOrList reads a number of instances, or a list of them.
func CountOrList[T any](
	text string, most int, numbered func(id int32) T, parse func(string) (T, error),
) (out []T, err error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return cli.ParseList(text, parse)
	case n < 1 || n > most:
		return nil, fmt.Errorf("the number of instances must be 1 to %d, not %d", most, n)
	}
	for id := range int32(n) {
		out = append(out, numbered(id))
	}
	return out, nil
}

// list names the instances as people read them: 0 to 7, or 0, 1 and 5 as 0,1,5.
func (v Instances) list() string {
	if last := len(v) - 1; last > 1 && int(v[last].ID) == int(v[0].ID)+last && len(v.names()) == 0 {
		return cli.ID(v[0].ID) + " to " + cli.ID(v[last].ID)
	}
	names := make([]string, len(v))
	for i, in := range v {
		names[i] = cmp.Or(in.Name, cli.ID(in.ID))
	}
	return CutList(names)
}

// AsFlag words an input error about a setting as one about its flag.
func AsFlag(err error) error {
	if input := parameters.InputError(err); input != nil && input.Row < 0 {
		name := strings.ReplaceAll(input.Field, "_", "-")
		return cli.Usagef("--%s: %s", name, input.Detail)
	}
	return err
}

// hashConfig is what the flags say about the hash.
func (f *OperatorFlags) hashConfig() (c partitioner.Config, err error) {
	c = partitioner.Config{
		Function: f.Hash, TokensPerInstance: f.TokensPerInstance, MaxParallelism: f.MaxParallelism,
		KeyType: f.KeyType, Partitions: f.Partitions, Affinity: f.Affinity.Affinity,
	}
	for _, ref := range f.Assignment {
		id, detail := f.id(ref)
		if detail != "" {
			return c, cli.Usagef("--assignment: %s %s", ref, detail)
		}
		c.Assignment = append(c.Assignment, id)
	}
	return c, nil
}

// forHash names the instances to the hash function.
func (v Instances) forHash() []partitioner.Instance {
	out := make([]partitioner.Instance, len(v))
	for i, in := range v {
		out[i] = partitioner.Instance{ID: in.ID}
	}
	return out
}

// configuration is the operator on the given instances.
func (f *OperatorFlags) configuration(on Instances) (planner.Configuration, error) {
	of, err := f.hashConfig()
	if err != nil {
		return planner.Configuration{}, err
	}
	hash, err := partitioner.New(of, on.forHash())
	return planner.Configuration{Instances: on, Hash: hash}, AsFlag(err)
}

// ScaledTo are the flags of the operator with so many instances, those of the lowest ids;
// the routing table stays that of those before.
func (f *OperatorFlags) ScaledTo(n int) (OperatorFlags, error) {
	f.settle()
	out := *f
	switch {
	case n < 1 || n > MaxInstances:
		return out, cli.Usagef("--scale-to: the number of instances must be 1 to %d, not %d", MaxInstances, n)
	case f.Hash == partitioner.Reported:
		return out, cli.Usagef("--scale-to: needs a --hash that can place keys, not %s", partitioner.Reported)
	}
	if len(out.BaseInstances) == 0 {
		out.BaseInstances = f.Instances
	}
	out.Instances = slices.Clone(f.Instances[:min(n, len(f.Instances))])
	for free := int32(0); len(out.Instances) < n; free++ {
		if !slices.ContainsFunc(f.Instances, func(d planner.Instance) bool { return d.ID == free }) {
			out.Instances = append(out.Instances, planner.Instance{ID: free, Capacity: 1})
		}
	}
	slices.SortFunc(out.Instances, func(a, b planner.Instance) int { return int(a.ID) - int(b.ID) })
	return out, nil
}

// Operator returns what drive plans for; strategy and timeouts are left open.
func (f *OperatorFlags) Operator(options planner.Options, keys KeyEncoder) (drive.Operator, error) {
	f.settle()
	target, err := f.configuration(f.Instances)
	if err != nil {
		return drive.Operator{}, err
	}
	op := drive.Operator{Target: target, Base: planner.Base{Configuration: target}, Options: options}
	if len(f.BaseInstances) > 0 {
		op.Base.Configuration, err = f.configuration(f.BaseInstances)
		if err != nil {
			return op, err
		}
		hash, _ := f.hashConfig() // it was made before
		op.Base.HashChanged = !partitioner.Same(hash, f.BaseInstances.forHash(), hash, f.Instances.forHash())
	}
	if f.RoutingTable != "" {
		op.Base.Table, err = readRoutingTable(f.RoutingTable, keys, f.id)
	}
	return op, err
}

// TableFlag names the routing table.
const TableFlag = "--routing-table"

// NeedKeys are the flags given that say something about keys.
func (f *OperatorFlags) NeedKeys() []string {
	if f.RoutingTable != "" {
		return []string{TableFlag}
	}
	return nil
}

// CheckStrategies reports names that are not registered.
func CheckStrategies(names []string) error {
	for _, name := range names {
		if _, ok := planner.Lookup(name); !ok {
			return cli.Usagef("there is no strategy %q; there are %s", name, strings.Join(StrategyNames(), ", "))
		}
	}
	return nil
}

// StrategyNames are the names of all strategies.
func StrategyNames() []string {
	var names []string
	for _, s := range planner.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

// StrategyHelp lists the registered strategies for help texts.
func StrategyHelp() string {
	var b strings.Builder
	for _, s := range planner.Strategies() {
		fmt.Fprintf(&b, "    %-9s %s\n", s.Name, s.Summary)
	}
	return b.String()
}

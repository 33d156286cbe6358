package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/drive"
	"plannerd/internal/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// operatorFlags are the settings of all that reads statistics that say what is
// planned for: the operator's instances, its hash and its routing table.
type operatorFlags struct {
	Instances     instances `default:"8" placeholder:"N|ID:CAPACITY,…" group:"Operator" help:"Task instances: a number for 0…N-1 of capacity 1, or a list such as 0:1,1:2,7:1 (default 8)."`
	RoutingTable  string    `type:"path" placeholder:"FILE" group:"Operator" help:"The committed routing table: CSV with the header key,instance (default: none; keys are where the rows say, else where the hash puts them)."`
	BaseInstances instances `placeholder:"N|ID:CAPACITY,…" group:"Operator" help:"After a rescale: the instances that the routing table and the hash were committed for (default: --instances)."`

	Hash              string  `enum:"ring,modulo,reported,flink,kafka" default:"ring" group:"Operator" help:"Hash function of the operator: ring, modulo, flink, kafka, or reported (each row carries hash_instance)."`
	TokensPerInstance int     `placeholder:"N" group:"Operator" help:"Ring: tokens of each instance (default ${tokens})."`
	MaxParallelism    int     `placeholder:"N" group:"Operator" help:"Flink: number of key groups (default ${max_parallelism}, as in Flink, for up to 85 instances)."`
	KeyType           string  `placeholder:"TYPE" group:"Operator" help:"Flink: what the keys are in Java: string, int or long (default string)."`
	Partitions        int     `placeholder:"N" group:"Operator" help:"Kafka: number of partitions of the topic (default: none; kafka needs it)."`
	Assignment        []int32 `placeholder:"ID" group:"Operator" help:"Kafka: the instance of each partition, in order (default: the instances in turn)."`
}

// strategyFlags are the parameters of all strategies.
type strategyFlags struct {
	ThetaMax    float64 `default:"0.08" group:"Parameters" help:"θ_max, a fraction of the fair load: an instance may carry (1+θ_max) times its own."`
	TableLimit  *int64  `placeholder:"N" group:"Parameters" help:"Greatest size of the routing table, in entries (default: no limit)."`
	Beta        float64 `default:"1.5" group:"Parameters" help:"β in γ = cost^β / state, the order in which minmig and mixed take keys."`
	KeyOverhead float64 `default:"0" group:"Parameters" help:"Added to the state of each migrated key in the objective, in the unit of state: every moved key costs a pause."`
	Sigma       sigma   `default:"auto" group:"Parameters" help:"readj: only keys with cost ≥ σ times the mean load move, σ ≥ 0; auto tries a ladder of values."`
	Certificate string  `enum:"off,fast,tight" default:"fast" group:"Parameters" help:"Effort that goes into proving how good any plan can be at best: off, fast, or tight, which takes longer and proves more."`
	Objective   string  `enum:"min_migration,min_imbalance" default:"min_migration" group:"Parameters" help:"What to minimise: min_migration moves as little as θ_max and the table limit allow; min_imbalance (strategy optimal only) balances as well as --migration-limit allows."`

	MigrationLimit migrationLimit `placeholder:"LIMIT" group:"Parameters" help:"The most that a plan may move under min_imbalance: 5% of all state, 1200keys, or 3e6 in the unit of state (default: none; min_imbalance needs it)."`

	WorkBudget int64 `default:"0" group:"Parameters" help:"Bound on the work of each plan, in work units; 0: none. Unlike a timeout it gives the same plan on every machine."`
}

// defaults are the numbers that help texts take from the packages that apply them.
func defaults() map[string]string {
	return map[string]string{
		"tuples_per_key":  strconv.Itoa(workload.DefaultTuplesPerKey),
		"tokens":          strconv.Itoa(partitioner.DefaultTokensPerInstance),
		"max_parallelism": strconv.Itoa(partitioner.DefaultMaxParallelism),
	}
}

// instances is the value of --instances.
type instances []planner.Instance

// maxInstances is the most that one operator may have.
const maxInstances = 65536

// UnmarshalText reads "8" or "0:1,1:2".
func (v *instances) UnmarshalText(b []byte) error {
	s := string(b)
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > maxInstances {
			return fmt.Errorf("the number of instances must be 1 to %d, not %d", maxInstances, n)
		}
		*v = make(instances, n)
		for i := range *v {
			(*v)[i] = planner.Instance{ID: int32(i), Capacity: 1}
		}
		return nil
	}
	*v = nil
	for part := range strings.SplitSeq(s, ",") {
		in, err := parseInstance(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		*v = append(*v, in)
	}
	slices.SortFunc(*v, func(a, b planner.Instance) int { return int(a.ID) - int(b.ID) })
	for i := 1; i < len(*v); i++ {
		if id := (*v)[i].ID; id == (*v)[i-1].ID {
			return fmt.Errorf("instance %d stands twice", id)
		}
	}
	return nil
}

// parseInstance reads "id" or "id:capacity".
func parseInstance(s string) (planner.Instance, error) {
	number, relative, given := strings.Cut(s, ":")
	id, err := strconv.ParseInt(number, 10, 32)
	if err != nil || id < 0 {
		return planner.Instance{}, fmt.Errorf("%q is no instance: write a number of instances, or id:capacity,id:capacity with ids ≥ 0", s)
	}
	capacity := 1.0
	if given {
		capacity, err = strconv.ParseFloat(relative, 64)
		if err != nil || !(capacity > 0 && capacity <= math.MaxFloat64) {
			return planner.Instance{}, fmt.Errorf("instance %d: the capacity %q must be a number > 0", id, relative)
		}
	}
	return planner.Instance{ID: int32(id), Capacity: capacity}, nil
}

// sigma is the value of --sigma; nil is auto.
type sigma struct{ value *float64 }

// UnmarshalText reads "auto" or a number.
func (v *sigma) UnmarshalText(b []byte) error {
	if v.value = nil; string(b) == "auto" {
		return nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("%q is neither auto nor a number", b)
	}
	v.value = &x
	return nil
}

// options returns the strategies' parameters, checked.
func (f *strategyFlags) options() (planner.Options, error) {
	o := planner.Options{
		ThetaMax: f.ThetaMax, TableLimit: f.TableLimit, Beta: &f.Beta,
		KeyOverhead: f.KeyOverhead, Sigma: f.Sigma.value, WorkBudget: f.WorkBudget,
		Certificate: planner.CertificateLevel(f.Certificate), Objective: planner.Objective(f.Objective), MigrationLimit: f.MigrationLimit.MigrationLimit,
	}
	return o, asFlag(o.Validate())
}

// asFlag words an input error about a setting as one about its flag.
func asFlag(err error) error {
	var input *planner.InputError
	if errors.As(err, &input) && input.Row < 0 {
		name := strings.ReplaceAll(strings.TrimPrefix(input.Field, "hash/"), "_", "-")
		return usagef("--%s: %s", name, input.Detail)
	}
	return err
}

// hashConfig is what the flags say about the hash.
func (f *operatorFlags) hashConfig() partitioner.Config {
	return partitioner.Config{
		Function: f.Hash, TokensPerInstance: f.TokensPerInstance, MaxParallelism: f.MaxParallelism,
		KeyType: f.KeyType, Partitions: f.Partitions, Assignment: f.Assignment,
	}
}

// forHash names the instances to the hash function.
func (v instances) forHash() []partitioner.Instance {
	out := make([]partitioner.Instance, len(v))
	for i, in := range v {
		out[i] = partitioner.Instance{ID: in.ID}
	}
	return out
}

// configuration is the operator on the given instances.
func (f *operatorFlags) configuration(on instances) (planner.Configuration, error) {
	hash, err := partitioner.New(f.hashConfig(), on.forHash())
	return planner.Configuration{Instances: on, Hash: hash}, asFlag(err)
}

// operator returns what drive plans for; strategy and timeouts are left open.
func (f *operatorFlags) operator(options planner.Options) (drive.Operator, error) {
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
		hash := f.hashConfig()
		op.Base.HashChanged = !partitioner.Same(hash, f.BaseInstances.forHash(), hash, f.Instances.forHash())
	}
	if f.RoutingTable != "" {
		op.Base.Table, err = readRoutingTable(f.RoutingTable)
	}
	return op, err
}

// needKeys are the flags given that say something about keys.
func (f *operatorFlags) needKeys() []string {
	if f.RoutingTable != "" {
		return []string{"--routing-table"}
	}
	return nil
}

// checkStrategies reports names that are not registered.
func checkStrategies(names []string) error {
	for _, name := range names {
		if _, ok := planner.Lookup(name); !ok {
			return usagef("there is no strategy %q; there are %s", name, strings.Join(strategyNames(), ", "))
		}
	}
	return nil
}

// strategyOptimal is the one strategy that knows objective min_imbalance.
const strategyOptimal = "optimal"

// checkObjective reports strategies that do not know the objective.
func checkObjective(o planner.Options, names []string) error {
	for _, name := range names {
		if o.Objective == planner.MinImbalance && name != strategyOptimal {
			return usagef("--objective: min_imbalance is known to strategy %s only, not to %s", strategyOptimal, name)
		}
	}
	return nil
}

func strategyNames() []string {
	var names []string
	for _, s := range planner.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

// strategyHelp lists the registered strategies for help texts.
func strategyHelp() string {
	var b strings.Builder
	for _, s := range planner.Strategies() {
		fmt.Fprintf(&b, "    %-9s %s\n", s.Name, s.Summary)
	}
	return b.String()
}

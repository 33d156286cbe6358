package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/ring"
	"plannerd/store"
)

// Defaults of an operator's configuration that no other package names.
const (
	defaultStrategy     = "mixed"
	defaultKeptInputs   = 20
	defaultKeptPlans    = 10_000
	defaultKeptVersions = 1000
	defaultHashFunction = partitioner.Ring
)

// configuration is an operator's configuration with all defaults filled in. Its
// JSON is what the store keeps, and is compared byte for byte: equal
// configurations have equal JSON.
type configuration struct {
	Scheme    wire.Scheme `json:"scheme"`
	Instances []instance  `json:"instances"` // ascending ids
	Strategy  string      `json:"strategy"`
	parameters
	Hash    hash    `json:"hash"`
	Trigger trigger `json:"trigger"`
	approval
	TableOwner wire.TableOwner `json:"table_owner"`
	Reports    reportOptions   `json:"reports"`
	Retention  retention       `json:"retention"`
	// StoreInputs: the statistics of each interval are stored beside its plan.
	StoreInputs bool `json:"store_inputs"`
}

type instance struct {
	ID       int32   `json:"id"`
	Capacity float64 `json:"capacity"`
	Tokens   int     `json:"tokens,omitzero"`
}

// hash holds the fields that belong to Function, and only those.
type hash struct {
	Function          string  `json:"function"`
	TokensPerInstance int     `json:"tokens_per_instance,omitzero"`
	MaxParallelism    int     `json:"max_parallelism,omitzero"`
	KeyType           string  `json:"key_type,omitzero"`
	Partitions        int     `json:"partitions,omitzero"`
	Assignment        []int32 `json:"assignment,omitzero"`
}

type trigger struct {
	Theta             float64 `json:"theta"`
	CooldownIntervals int64   `json:"cooldown_intervals"`
}

type retention struct {
	Inputs   int `json:"inputs"`
	Plans    int `json:"plans"`
	Versions int `json:"versions"`
}

// normalise fills in the defaults of a configuration that is within the
// contract, and checks what the contract cannot say. prefix is the JSON pointer
// of the configuration in the body, longest the greatest deadline.
func normalise(in wire.OperatorConfiguration, prefix string, longest time.Duration) (configuration, error) {
	if err := checkRules(in, prefix); err != nil {
		return configuration{}, err
	}
	if err := checkScheme(in, prefix); err != nil {
		return configuration{}, err
	}
	c := configuration{
		Scheme:   or(in.Scheme, wire.SchemeTable),
		Strategy: string(or(in.Strategy, defaultStrategy)),
		Hash:     normaliseHash(or(in.Hash, wire.Hash{})), TableOwner: or(in.TableOwner, wire.Planner),
	}
	var err error
	if c.parameters, err = parametersOf(in, longest); err != nil {
		return configuration{}, inBody(err, prefix, nil)
	}
	for _, d := range in.Instances {
		c.Instances = append(c.Instances, instance{ID: d.Id, Capacity: or(d.Capacity, 1), Tokens: int(or(d.Tokens, 0))})
	}
	order := make([]int, len(c.Instances)) // sorted position → position in the body
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Instances[a].ID, c.Instances[b].ID) })
	slices.SortFunc(c.Instances, func(a, b instance) int { return cmp.Compare(a.ID, b.ID) })
	t := or(in.Trigger, wire.Trigger{})
	if c.approval, err = approvalOf(in); err != nil {
		return configuration{}, inBody(err, prefix, nil)
	}
	c.Trigger = trigger{Theta: or(t.Theta, c.ThetaMax), CooldownIntervals: or(t.CooldownIntervals, 0)}
	c.Reports = reportOptionsOf(or(in.Reports, wire.ReportOptions{}))
	r := or(in.Retention, wire.Retention{})
	c.Retention = retention{
		Inputs:   int(or(r.Inputs, defaultKeptInputs)),
		Plans:    int(or(r.Plans, defaultKeptPlans)),
		Versions: int(or(r.Versions, defaultKeptVersions)),
	}
	c.StoreInputs = or(in.StoreInputs, true)
	c = c.ofScheme(in)
	if err := c.check(); err != nil {
		return configuration{}, inBody(err, prefix, order)
	}
	return c.withHashDefaults(), nil
}

func normaliseHash(in wire.Hash) hash {
	return hash{
		Function:          string(or(in.Function, defaultHashFunction)),
		TokensPerInstance: int(or(in.TokensPerInstance, 0)),
		MaxParallelism:    int(or(in.MaxParallelism, 0)),
		KeyType:           string(or(in.KeyType, "")),
		Partitions:        int(or(in.Partitions, 0)),
		Assignment:        or(in.Assignment, nil),
	}
}

// or returns what p points to, or the default when it is nil.
func or[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

// check finds what is wrong with the parameters and the hash function, and sees
// that a strategy of that name exists.
func (c configuration) check() error {
	if c.Scheme != wire.SchemeTable {
		return c.checkTokens()
	}
	if _, ok := planner.Lookup(c.Strategy); !ok {
		return &planner.InputError{Row: -1, Field: "strategy", Detail: "is not a strategy"}
	}
	if err := c.parameters.check(c.Strategy); err != nil {
		return err
	}
	return partitioner.Validate(c.partitioner())
}

// withHashDefaults spells out the defaults of the hash function.
func (c configuration) withHashDefaults() configuration {
	switch c.Hash.Function {
	case partitioner.Ring:
		c.Hash.TokensPerInstance = cmp.Or(c.Hash.TokensPerInstance, partitioner.DefaultTokensPerInstance)
	case partitioner.Flink:
		c.Hash.MaxParallelism = cmp.Or(c.Hash.MaxParallelism, partitioner.DefaultMaxParallelism)
		c.Hash.KeyType = cmp.Or(c.Hash.KeyType, partitioner.String)
	}
	return c
}

// inBody points an input error of a sorted configuration at the instance as it
// stands in the body.
func inBody(err error, prefix string, order []int) error {
	var input *planner.InputError
	if !errors.As(err, &input) {
		return err
	}
	tokens := strings.Split(input.Field, "/")
	if tokens[0] == "instances" && len(tokens) > 1 {
		if i, err := strconv.Atoi(tokens[1]); err == nil && i < len(order) {
			tokens[1] = strconv.Itoa(order[i])
		}
	}
	return invalid().with(prefix+"/"+strings.Join(tokens, "/"), input.Detail)
}

// has reports whether id is one of the instances.
func (c configuration) has(id int32) bool {
	_, found := slices.BinarySearchFunc(c.Instances, id, func(d instance, id int32) int { return cmp.Compare(d.ID, id) })
	return found
}

// partitioner returns the arguments of the hash function.
func (c configuration) partitioner() (partitioner.Config, []partitioner.Instance) {
	instances := make([]partitioner.Instance, len(c.Instances))
	for i, d := range c.Instances {
		instances[i] = partitioner.Instance{ID: d.ID, Tokens: d.Tokens}
	}
	return partitioner.Config{
		Function: c.Hash.Function, TokensPerInstance: c.Hash.TokensPerInstance, MaxParallelism: c.Hash.MaxParallelism,
		KeyType: c.Hash.KeyType, Partitions: c.Hash.Partitions, Assignment: c.Hash.Assignment,
	}, instances
}

// planner returns the configuration as the planner takes it.
func (c configuration) planner() (planner.Configuration, error) {
	h, err := c.hashFunction()
	if err != nil {
		return planner.Configuration{}, err
	}
	out := planner.Configuration{Instances: make([]planner.Instance, len(c.Instances)), Hash: h}
	for i, d := range c.Instances {
		out.Instances[i] = planner.Instance{ID: d.ID, Capacity: d.Capacity}
	}
	return out, nil
}

// hashFunction returns what places keys without an entry; nil: it is not known, or
// there is none.
func (c configuration) hashFunction() (planner.HashFunction, error) {
	switch c.Scheme {
	case wire.SchemeRing:
		return ring.New(c.nodes()), nil
	case wire.SchemeRanges:
		return nil, nil
	}
	return partitioner.New(c.partitioner())
}

// samePlacement reports whether two configurations place every key alike.
func samePlacement(a, b configuration) bool {
	ac, ai := a.partitioner()
	bc, bi := b.partitioner()
	return partitioner.Same(ac, ai, bc, bi)
}

func (c configuration) keep() store.Retention {
	return store.Retention{
		Inputs: c.Retention.Inputs, Plans: c.Retention.Plans, Versions: c.Retention.Versions, ReportAge: c.Reports.MaxAge,
	}
}

// encode returns the configuration as the store keeps it.
func (c configuration) encode() ([]byte, error) {
	if c.Scheme != wire.SchemeTable {
		return json.Marshal(c.view())
	}
	return json.Marshal(c)
}

// decodeConfiguration is the inverse of encode.
func decodeConfiguration(text []byte) (configuration, error) {
	c := configuration{StoreInputs: true} // it is older than the choice
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("reading a stored configuration: %w", err)
	}
	c.TableOwner = cmp.Or(c.TableOwner, wire.Planner) // likewise
	c.Scheme = cmp.Or(c.Scheme, wire.SchemeTable)
	c.approval = c.approval.withDefaults()
	c.Reports = reportOptions{cmp.Or(c.Reports.Missing, defaultMissing), cmp.Or(c.Reports.MaxAge, defaultReportAge)}
	return c, nil
}

// fixed is what is decided about an operator when it is created.
type fixed struct {
	Scheme     wire.Scheme     `json:"scheme"`
	TableOwner wire.TableOwner `json:"table_owner"`
}

func fixedOf(op store.Operator) (fixed, error) {
	var f fixed
	if err := json.Unmarshal(op.Config, &f); err != nil {
		return f, fmt.Errorf("reading a stored configuration: %w", err)
	}
	return fixed{cmp.Or(f.Scheme, wire.SchemeTable), cmp.Or(f.TableOwner, wire.Planner)}, nil
}

// refuseNotHeld refuses to read the table of an operator whose engine holds it.
func refuseNotHeld(op store.Operator) error {
	if f, err := fixedOf(op); f.TableOwner != wire.Engine || err != nil {
		return err
	}
	return conflict(wire.CodeTableNotHeld, "The engine of the operator holds the routing table.")
}

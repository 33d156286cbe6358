package parameters

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"plannerd/compact"
	"plannerd/planner"
)

// Values are the parameters of one plan under the scheme table. In JSON they are
// members of the names in [All]; what the first release did not have is left out where it
// is empty, as in what was stored before.
type Values struct {
	// Options has all that the planner reads, but for the migration limit and Stop.
	planner.Options
	MigrationLimit *MigrationLimit `json:"migration_limit"`
	Deadline       *Duration       `json:"deadline"` // nil: the server's own bound
	Compact        Compact         `json:"compact"`
	Splitting      Splitting       `json:"splitting"`
}

// MigrationLimit is how much a plan may move at most: exactly one of the three.
type MigrationLimit struct {
	State    *float64 `json:"state,omitzero"`
	Fraction *float64 `json:"fraction,omitzero"` // of all state
	Keys     *int64   `json:"keys,omitzero"`
}

// Compact says how statistics of keys are compacted before they are planned on.
// Degree 0: not at all.
type Compact struct {
	Degree     int      `json:"degree"`
	CostScale  *float64 `json:"cost_scale"`  // nil: taken from the values
	StateScale *float64 `json:"state_scale"` // nil: taken from the values
}

// Splitting says whether keys may be split, and how. MaxParts below 2: no key is.
type Splitting struct {
	MaxParts  int     `json:"max_parts"`
	MergeCost float64 `json:"merge_cost"` // 0 where no key is split
	// Price is what a part beyond the first of a key adds to the objective, in units of
	// state; nil: only keys that no instance can carry whole are split.
	Price *float64 `json:"price,omitzero"`
	// Routing is how routers choose among the parts. Plans do not depend on it, so it is no
	// parameter of theirs.
	Routing Routing `json:"routing,omitzero" parameter:"-"`
	// Parts says what becomes of parts that a plan takes away. It is a property of the
	// engine, and no parameter to vary.
	Parts PartsEnd `json:"parts,omitzero" parameter:"-"`
}

// PartsEnd is what becomes of parts that a plan takes away. In memory, as in what is stored,
// the empty one is that they migrate.
type PartsEnd string

// Expire has parts run out where they are.
const Expire PartsEnd = "expire"

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *PartsEnd) UnmarshalText(text []byte) error {
	switch name := PartsEnd(text); name {
	case "migrate":
		*e = ""
	case Expire:
		*e = Expire
	default:
		return fmt.Errorf("%q is nothing that becomes of parts", name)
	}
	return nil
}

// Expires reports whether parts that are taken away run out.
func (s Splitting) Expires() bool { return s.Allowed() && s.Parts == Expire }

// Routing is how routers choose among the parts of a split key. In memory, as in what is
// stored, the empty one is by weights.
type Routing string

// LeastLoaded routing goes by what each router has sent to each instance, so that loads
// are no more than expected.
const LeastLoaded Routing = "least_loaded"

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Routing) UnmarshalText(text []byte) error {
	switch name := Routing(text); name {
	case "weighted":
		*r = ""
	case LeastLoaded:
		*r = LeastLoaded
	default:
		return fmt.Errorf("%q is no way to choose among parts", name)
	}
	return nil
}

// Expects reports whether the loads of a plan with so many merges are expectations.
func (s Splitting) Expects(merges int64) bool { return merges > 0 && s.Routing == LeastLoaded }

// Allowed reports whether keys may be split.
func (s Splitting) Allowed() bool { return s.MaxParts > 1 }

// Planner returns how the planner may split keys; nil: it may not.
func (s Splitting) Planner() *planner.Splitting {
	if !s.Allowed() {
		return nil
	}
	return &planner.Splitting{
		MaxParts: s.MaxParts, MergeCost: s.MergeCost, Price: s.Price, Expire: s.Expires(),
	}
}

// check finds what is wrong with how to split keys.
func (s Splitting) check() error {
	switch {
	case !s.Allowed() && s.MergeCost > 0:
		return invalid("splitting/merge_cost", "is for max_parts above 1")
	case !s.Allowed() && s.Price != nil:
		return invalid("splitting/price", "is for max_parts above 1")
	case !s.Allowed() && s.Routing != "":
		return invalid("splitting/routing", "is for max_parts above 1")
	case !s.Allowed() && s.Parts != "":
		return invalid("splitting/parts", "is for max_parts above 1")
	}
	return nil
}

// Duration is a time.Duration that JSON spells as 1m30s.
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Defaults returns the values that hold where nobody says otherwise.
func Defaults() Values {
	var v Values
	for i := range list {
		if p := &list[i]; p.KnownTo(SchemeTable) && p.Default != nil {
			p.Set(&v, p.Default)
		}
	}
	return v
}

// Planner returns the values as the planner takes them.
func (v *Values) Planner() planner.Options {
	o := v.Options
	o.MigrationLimit, o.Splitting = v.MigrationLimit.Planner(), v.Splitting.Planner()
	return o
}

// Of returns the values of which Planner returns o.
func Of(o planner.Options) Values {
	v := Values{Options: o}
	v.Splitting.MaxParts = 1
	if x := o.Splitting; x != nil {
		v.Options.Splitting, v.Splitting = nil, Splitting{
			MaxParts: cmp.Or(x.MaxParts, MostParts), MergeCost: x.MergeCost, Price: x.Price,
		}
		if x.Expire {
			v.Splitting.Parts = Expire
		}
	}
	if o.MigrationLimit == nil {
		return v
	}
	v.Options.MigrationLimit = nil
	switch amount := o.MigrationLimit.Amount; o.MigrationLimit.Unit {
	case planner.MigrationFraction:
		v.MigrationLimit = &MigrationLimit{Fraction: &amount}
	case planner.MigrationKeys:
		keys := int64(amount)
		v.MigrationLimit = &MigrationLimit{Keys: &keys}
	default:
		v.MigrationLimit = &MigrationLimit{State: &amount}
	}
	return v
}

// Planner returns the limit as the planner takes it.
func (l *MigrationLimit) Planner() *planner.MigrationLimit {
	switch {
	case l == nil:
		return nil
	case l.State != nil:
		return &planner.MigrationLimit{Unit: planner.MigrationState, Amount: *l.State}
	case l.Fraction != nil:
		return &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: *l.Fraction}
	case l.Keys != nil:
		return &planner.MigrationLimit{Unit: planner.MigrationKeys, Amount: float64(*l.Keys)}
	}
	return &planner.MigrationLimit{}
}

// Options returns how keys are to be compacted; of degree 0 they are not.
func (c Compact) Options() compact.Options {
	o := compact.Options{Degree: c.Degree}
	if c.CostScale != nil {
		o.Scales.Cost = *c.CostScale
	}
	if c.StateScale != nil {
		o.Scales.State = *c.StateScale
	}
	return o
}

// Check finds what is wrong with how to compact. The error is a [planner.InputError].
func (c Compact) Check() error {
	const needless = "is for a degree above 0"
	switch {
	case c.Degree != 0:
		return CheckDegree(c.Degree)
	case c.CostScale != nil:
		return invalid("compact/cost_scale", needless)
	case c.StateScale != nil:
		return invalid("compact/state_scale", needless)
	}
	return nil
}

// CheckDegree finds what is wrong with a degree other than 0. The error is a
// [planner.InputError].
func CheckDegree(degree int) error {
	return invalid("compact/degree", detailOf(compact.ValidateDegree(degree)))
}

// Time is how long a plan may take where longest is the server's own bound.
func (v *Values) Time(longest time.Duration) time.Duration {
	if v.Deadline == nil {
		return longest
	}
	return min(longest, time.Duration(*v.Deadline))
}

// Check finds what is wrong with the values together, for a strategy. The error is a
// [planner.InputError].
func (v *Values) Check(strategy string) error {
	info, ok := planner.Lookup(strategy)
	if !ok {
		return invalid("strategy", "is not a strategy")
	}
	if input := InputError(v.Planner().Validate()); input != nil {
		return input
	}
	if !info.Knows(v.Objective) {
		return invalid("objective", planner.OnlyKnowing(v.Objective))
	}
	return cmp.Or(v.Compact.Check(), v.Splitting.check())
}

// CheckDeadline finds whether the deadline, if there is one, is within the server's own
// bound. The error is a [planner.InputError].
func (v *Values) CheckDeadline(longest time.Duration) error {
	if v.Deadline == nil {
		return nil
	}
	return invalid("deadline", v.Deadline.outside(longest))
}

// outside says what is wrong with a deadline; "" when nothing is.
func (d Duration) outside(longest time.Duration) string {
	if ShortestDeadline <= time.Duration(d) && time.Duration(d) <= longest {
		return ""
	}
	return fmt.Sprintf("must be from %v to %v", ShortestDeadline, longest)
}

// invalid is an input error about a field; nil when there is nothing to say.
func invalid(field, detail string) error {
	if detail == "" {
		return nil
	}
	return planner.Invalid(field, detail)
}

func detailOf(err error) string {
	if input, ok := errors.AsType[*planner.InputError](err); ok {
		return input.Detail
	}
	return ""
}

// fields leads from the name of a parameter to its field in Values.
var fields = fieldsOf(reflect.TypeFor[Values](), "", nil)

// fieldsOf finds the fields of a struct and of those in it by their names in JSON.
func fieldsOf(t reflect.Type, prefix string, at []int) map[string][]int {
	out := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := append(append([]int(nil), at...), i)
		switch {
		case f.Anonymous:
			for name, path := range fieldsOf(f.Type, prefix, path) {
				out[name] = path
			}
		case name == "-" || f.Tag.Get("parameter") == "-":
		case f.Type.Kind() == reflect.Struct:
			for name, path := range fieldsOf(f.Type, prefix+name+"/", path) {
				out[name] = path
			}
		default:
			out[prefix+name] = path
		}
	}
	return out
}

// field is where Values has the parameter.
func (p *Parameter) field(v *Values) reflect.Value {
	return reflect.ValueOf(v).Elem().FieldByIndex(fields[p.Name])
}

// Set gives the parameter a value: a float64, int64, string, [MigrationLimit] or
// [Duration] by its type, or nil for null.
func (p *Parameter) Set(v *Values, value any) {
	f := p.field(v)
	if value == nil {
		f.SetZero()
		return
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	f.Set(reflect.ValueOf(value).Convert(f.Type()))
}

// Get is the inverse of Set.
func (p *Parameter) Get(v *Values) any {
	f := p.field(v)
	if f.Kind() == reflect.Pointer {
		if f.IsNil() {
			return nil
		}
		f = f.Elem()
	}
	switch p.Type {
	case Integer:
		return f.Int()
	case Choice:
		return f.String()
	}
	return f.Interface()
}

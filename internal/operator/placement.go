package operator

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// TakesNone is what a cordoned instance takes.
const TakesNone = "none"

// Placement says which instances may have which keys.
type Placement struct {
	Rules []PlacementRule `json:"rules"`
}

// PlacementRule is a rule about some keys. It has either On or Stay.
type PlacementRule struct {
	Name      string         `json:"name"`
	Keys      RuleKeys       `json:"keys"`
	On        *RuleInstances `json:"on,omitzero"`
	Exclusive bool           `json:"exclusive,omitzero"`
	Stay      bool           `json:"stay,omitzero"`
}

// RuleKeys are these keys, or those that begin with Prefix.
type RuleKeys struct {
	Prefix string   `json:"prefix,omitzero"`
	Equals []string `json:"equals,omitzero"`
}

// RuleInstances are these instances, or those that have of each label one of its values.
type RuleInstances struct {
	Labels    map[string]labelValues `json:"labels,omitzero"`
	Instances []int32                `json:"instances,omitzero"`
}

// labelValues are values of a label, any of which will do.
type labelValues []string

// UnmarshalJSONFrom reads a list, or a value alone.
func (v *labelValues) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]string)(v))
	}
	*v = make(labelValues, 1)
	return json.UnmarshalDecode(dec, &(*v)[0])
}

// placementInOrder spells what equal rules and labels say in the same way.
func placementInOrder(c Configuration) Configuration {
	for i, d := range c.Instances {
		if d.Takes != TakesNone {
			c.Instances[i].Takes = ""
		}
		if len(d.Labels) == 0 {
			c.Instances[i].Labels = nil
		}
	}
	if c.Placement == nil || len(c.Placement.Rules) == 0 {
		c.Placement = nil
		return c
	}
	rules := slices.Clone(c.Placement.Rules)
	for i := range rules {
		r := &rules[i]
		r.Keys.Equals = inOrder(r.Keys.Equals)
		if r.On != nil {
			on := RuleInstances{Labels: maps.Clone(r.On.Labels), Instances: inOrder(r.On.Instances)}
			for label, values := range on.Labels {
				on.Labels[label] = inOrder(values)
			}
			r.On = &on
		}
	}
	c.Placement = &Placement{rules}
	return c
}

// inOrder returns what a list has, ascending and each once.
func inOrder[T cmp.Ordered](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// checkPlacement finds what is wrong with rules, labels and cordons.
func checkPlacement(c Configuration) error {
	if c.Scheme != SchemeTable {
		return withoutPlacement(c)
	}
	cordoned := slices.ContainsFunc(c.Instances, func(d Instance) bool { return d.Takes == TakesNone })
	switch {
	case c.Placement == nil && !cordoned:
		return nil
	case c.Compact.Degree > 0:
		return planner.Invalid("compact", "is not for operators with rules or cordons: records of classes do not tell keys")
	case c.Splitting.Allowed():
		return planner.Invalid("splitting", "is not for operators with rules or cordons")
	case c.Placement == nil:
		return nil
	}
	names := map[string]bool{}
	for i, r := range c.Placement.Rules {
		at := "placement/rules/" + strconv.Itoa(i)
		if detail := r.wrongName(names); detail != "" {
			return planner.Invalid(at+"/name", detail)
		}
		names[r.Name] = true
		if err := checkRule(c, at, r); err != nil {
			return err
		}
	}
	return nil
}

// withoutPlacement refuses rules, labels and cordons.
func withoutPlacement(c Configuration) error {
	if c.Placement != nil {
		return planner.Invalid("placement", MeansNothing(c.Scheme))
	}
	for i, d := range c.Instances {
		switch at := "instances/" + strconv.Itoa(i); {
		case d.Labels != nil:
			return planner.Invalid(at+"/labels", MeansNothing(c.Scheme))
		case d.Takes != "":
			return planner.Invalid(at+"/takes", MeansNothing(c.Scheme))
		}
	}
	return nil
}

// wrongName says what is wrong with the name of a rule; "": nothing.
func (r PlacementRule) wrongName(others map[string]bool) string {
	switch {
	case r.Name == "" || len(r.Name) > MaxNameBytes || bytes.ContainsFunc([]byte(r.Name), unicode.IsControl):
		return fmt.Sprintf("must be 1 to %d bytes without control characters", MaxNameBytes)
	case others[r.Name]:
		return fmt.Sprintf("%s is the name of an earlier rule", r.Name)
	}
	return ""
}

// checkRule finds what is wrong with a rule alone. at is where it stands.
func checkRule(c Configuration, at string, r PlacementRule) error {
	switch {
	case r.Keys.Prefix != "" && r.Keys.Equals != nil:
		return planner.Invalid(at+"/keys", "must be said by one of prefix and equals")
	case r.Keys.Equals != nil && len(r.Keys.Equals) == 0:
		return planner.Invalid(at+"/keys/equals", "must name a key")
	case r.Stay == (r.On != nil):
		return planner.Invalid(at, fmt.Sprintf("the rule %s must have one of on and stay", r.Name))
	case r.Exclusive && r.On == nil:
		return planner.Invalid(at+"/exclusive", "is for rules with on")
	case r.On == nil:
		return nil
	case (r.On.Labels == nil) == (r.On.Instances == nil):
		return planner.Invalid(at+"/on", "must have one of labels and instances")
	}
	for _, id := range r.On.Instances {
		if !c.Has(id) {
			return planner.Invalid(at+"/on/instances", fmt.Sprintf("%d, which the rule %s names, is no instance", id, r.Name))
		}
	}
	if len(c.Instances.on(*r.On)) == 0 {
		return planner.Invalid(at+"/on", fmt.Sprintf("the rule %s leaves its keys no instance: none has %s", r.Name,
			r.On.labels()))
	}
	return nil
}

// labels are what instances must have, in words.
func (on RuleInstances) labels() string {
	var all []string
	for _, label := range slices.Sorted(maps.Keys(on.Labels)) {
		all = append(all, label+" "+strings.Join(on.Labels[label], " or "))
	}
	return strings.Join(all, " and ")
}

// on are the ascending ids of the instances that a rule names.
func (i Instances) on(on RuleInstances) []int32 {
	if on.Instances != nil {
		return on.Instances
	}
	ids := []int32{}
	for _, d := range i {
		has := true
		for label, values := range on.Labels {
			value, said := d.Labels[label]
			has = has && said && slices.Contains(values, value)
		}
		if has {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// Over are the rules as the hash function has them, over the instances of the same configuration;
// nil: there are none.
func (p *Placement) Over(instances Instances) []partitioner.Rule {
	if p == nil {
		return nil
	}
	out := make([]partitioner.Rule, len(p.Rules))
	for i, r := range p.Rules {
		out[i] = partitioner.Rule{Name: r.Name, Prefix: r.Keys.Prefix, Equals: r.Keys.Equals, Exclusive: r.Exclusive,
			Stay: r.Stay}
		if r.On != nil {
			out[i].On = instances.on(*r.On)
		}
	}
	return out
}

// PlacementRules are the rules as the planner asks them; nil: there are none.
func PlacementRules(c Configuration) (planner.Placement, error) {
	if c.Placement == nil {
		return nil, nil
	}
	config, instances := c.partitioner()
	return partitioner.NewPlacement(config, instances)
}

// Resolved are the rules as routers are told them, by the ids of instances; nil: there are none.
func (p *Placement) Resolved(instances Instances) *Placement {
	if p == nil {
		return nil
	}
	rules := slices.Clone(p.Rules)
	for i, r := range rules {
		if r.On != nil {
			rules[i].On = &RuleInstances{Instances: instances.on(*r.On)}
		}
	}
	return &Placement{rules}
}

// MisplacesUnseen tells whether keys that were never seen may go where no rule lets them: to the
// home that the engine gives them.
func (c Configuration) MisplacesUnseen() bool {
	return c.Placement != nil && c.Hash.Function != partitioner.Ring && c.Hash.Function != partitioner.Modulo
}

// ParsePlacement reads rules as they are given for a configuration. names are those of instances.
func ParsePlacement(text jsontext.Value, names InstanceNames) (*Placement, error) {
	text, err := identifyRules(text, names)
	p := &Placement{}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	return p, err
}

// Target is what is planned for in place of a configuration's own.
type Target struct {
	Instances int        // how many; 0: its own
	Placement *Placement // nil: its own rules
	Resources Resources  // nil: its own
}

// Retargeted is a configuration that is planned for in place of another. The error is a [planner.InputError].
func Retargeted(c Configuration, t Target) (_ Configuration, err error) {
	if t.Placement != nil || t.Resources != nil {
		c.Instances = slices.Clone(c.Instances)
		if t.Placement != nil {
			c.Placement = t.Placement
		}
		if t.Resources != nil {
			c = onResources(c, t.Resources)
		}
		if err := settleResources(&c); err != nil {
			return c, err
		}
		c = placementInOrder(c)
		if err := cmp.Or(checkPlacement(c), checkResources(c), checkHash(c)); err != nil {
			return c, err
		}
	}
	if instances := t.Instances; instances > 0 {
		c, err = c.ScaledTo(instances)
	}
	return c, err
}

// sameRules tells whether two configurations have the same rules and labels, word for word.
func sameRules(a, b Configuration) bool {
	return reflect.DeepEqual(a.Placement, b.Placement) && slices.EqualFunc(a.Instances, b.Instances,
		func(x, y Instance) bool { return maps.Equal(x.Labels, y.Labels) })
}

// namedInRules tells whether rules, as they are given, have names of instances.
func namedInRules(placement jsontext.Value) bool {
	return slices.ContainsFunc(rulesIn(placement), func(rule jsontext.Value) bool {
		return bytes.IndexByte(membersOf(membersOf(rule)["on"])["instances"], '"') >= 0
	})
}

// rulesIn are the rules of a placement, as it is given.
func rulesIn(placement jsontext.Value) []jsontext.Value {
	var rules []jsontext.Value
	_ = json.Unmarshal(membersOf(placement)["rules"], &rules) // what is no list is refused later
	return rules
}

// identifyRules has ids stand for the names of instances in rules.
func identifyRules(placement jsontext.Value, known InstanceNames) (jsontext.Value, error) {
	rules := rulesIn(placement)
	for i, text := range rules {
		rule := membersOf(text)
		on := membersOf(rule["on"])
		if bytes.IndexByte(on["instances"], '"') < 0 {
			continue
		}
		ids, err := idsOf(on["instances"], fmt.Sprintf("placement/rules/%d/on/instances/", i), known)
		if err == nil {
			on["instances"], err = json.Marshal(ids)
		}
		if err == nil {
			rule["on"], err = json.Marshal(on, json.Deterministic(true))
		}
		if err == nil {
			rules[i], err = json.Marshal(rule, json.Deterministic(true))
		}
		if err != nil {
			return nil, err
		}
	}
	members := membersOf(placement)
	var err error
	if members["rules"], err = json.Marshal(rules); err != nil {
		return nil, err
	}
	return json.Marshal(members, json.Deterministic(true))
}

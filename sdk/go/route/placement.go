package route

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// MaxRules bounds the rules of a placement.
const MaxRules = 1000

// Rule says which instances may have the keys that it matches.
type Rule struct {
	Name string
	// Equals are the keys that it matches; nil: all that begin with Prefix.
	Equals []string
	Prefix string
	// On are the ids of the instances, ascending. Nil: all.
	On []int32
	// Exclusive: no other keys may be on these instances, but those of rules that are exclusive
	// on them, too. Only with On.
	Exclusive bool
	// Stay: the keys move only if their instance goes. Only without On. It changes nothing of
	// where the hash puts them.
	Stay bool
}

// Placement are rules, of which the first that matches a key decides. It is immutable; its
// methods may be called at the same time.
type Placement struct {
	rules []Rule
	// class is the index into classes of what each rule allows, and behind the last rule of what
	// keys may have that match none.
	class    []int32
	classes  [][]int32 // distinct lists of ascending ids
	prefixes []branch  // a radix tree of all prefixes; nil: there are none
	// byHash has for the hash of keys the last of exact that has it.
	byHash map[uint64]int32
	exact  []exact
}

// branch is a node of the tree of prefixes.
type branch struct {
	label string // what comes between its parent and it
	edges string // the first bytes of its children, ascending
	first int32  // its first child; the others follow
	rule  int32  // the first rule whose prefix ends here or before; noRule: none
}

// exact is a key that a rule names.
type exact struct {
	key  string
	rule int32
	next int32 // another one of the same hash; -1: none
}

const noRule = math.MaxInt32

// NewPlacement compiles rules over the instances of an operator, which are ascending ids. The
// error is a [ConfigError].
func NewPlacement(rules []Rule, instances []int32) (*Placement, error) {
	p, err := allow(rules, instances)
	if err != nil {
		return nil, err
	}
	first := map[string]int32{} // the first rule of a prefix
	p.byHash = map[uint64]int32{}
	for i, r := range rules {
		for _, key := range r.Equals {
			p.name(key, int32(i))
		}
		if _, had := first[r.Prefix]; r.Equals == nil && !had {
			first[r.Prefix] = int32(i)
		}
	}
	if len(first) > 0 {
		var prefixes []exact
		for text, rule := range first {
			prefixes = append(prefixes, exact{key: text, rule: rule})
		}
		slices.SortFunc(prefixes, func(a, b exact) int { return strings.Compare(a.key, b.key) })
		p.prefixes = make([]branch, 1)
		p.grow(0, prefixes, 0, noRule)
	}
	return p, nil
}

// allow finds which instances each rule allows.
func allow(rules []Rule, instances []int32) (*Placement, error) {
	if len(rules) > MaxRules {
		return nil, &ConfigError{"Rules", "must not be more than 1000"}
	}
	p := &Placement{rules: rules, class: make([]int32, len(rules)+1)}
	taken := map[int32]bool{} // by rules that are exclusive
	for i, r := range rules {
		if err := r.validate(element("Rules", i), instances); err != nil {
			return nil, err
		}
		for _, id := range r.On {
			taken[id] = taken[id] || r.Exclusive
		}
	}
	known := map[string]int32{}
	all := false // some rule matches every key
	for i := range p.class {
		on := instances
		var r Rule
		if i < len(rules) {
			r = rules[i]
			all = all || r.Equals == nil && r.Prefix == ""
		}
		if r.On != nil {
			on = r.On
		}
		if !r.Exclusive {
			on = slices.DeleteFunc(slices.Clone(on), func(id int32) bool { return taken[id] })
		}
		if len(on) == 0 && (i < len(rules) || !all) {
			return nil, noInstance(rules, i)
		}
		p.class[i] = p.classOf(on, known)
	}
	return p, nil
}

// validate finds what is wrong with a rule alone. field is where it stands.
func (r Rule) validate(field string, instances []int32) error {
	if err := cmp.Or(
		require(r.Prefix == "" || r.Equals == nil, field+".Prefix", "is not for a rule that names its keys"),
		require(!r.Exclusive || r.On != nil, field+".Exclusive", "is for a rule with instances"),
		require(!r.Stay || r.On == nil, field+".Stay", "is for a rule without instances"),
	); err != nil {
		return err
	}
	for i, id := range r.On {
		_, found := slices.BinarySearch(instances, id)
		if err := require(found && (i == 0 || r.On[i-1] < id), element(field+".On", i),
			"must be the id of an instance, greater than the one before it"); err != nil {
			return err
		}
	}
	return nil
}

// noInstance says that a rule, or all of them together, leave keys no instance.
func noInstance(rules []Rule, i int) error {
	if i == len(rules) {
		return &ConfigError{"Rules", "must leave keys that match none of them an instance: all are exclusive"}
	}
	return &ConfigError{element("Rules", i), "the rule " + rules[i].Name +
		" leaves its keys no instance: it names none, or others are exclusive on all that it names"}
}

// classOf returns the class of a list of instances.
func (p *Placement) classOf(on []int32, known map[string]int32) int32 {
	text := make([]byte, 0, 4*len(on))
	for _, id := range on {
		text = binary.LittleEndian.AppendUint32(text, uint32(id))
	}
	class, had := known[string(text)]
	if !had {
		class = int32(len(p.classes))
		known[string(text)] = class
		p.classes = append(p.classes, on)
	}
	return class
}

// name notes a key that a rule names, unless an earlier one does.
func (p *Placement) name(key string, rule int32) {
	hash := KeyHash([]byte(key))
	if p.named([]byte(key), hash) != noRule {
		return
	}
	next, had := p.byHash[hash]
	if !had {
		next = -1
	}
	p.byHash[hash] = int32(len(p.exact))
	p.exact = append(p.exact, exact{key, rule, next})
}

// grow makes a branch of prefixes, ascending and distinct, which are alike up to from. rule is the
// first of those whose prefix ends before.
func (p *Placement) grow(at int32, prefixes []exact, from int, rule int32) {
	low, high := prefixes[0].key, prefixes[len(prefixes)-1].key
	to := from
	for to < len(low) && low[to] == high[to] {
		to++
	}
	if len(low) == to {
		rule = min(rule, prefixes[0].rule)
		prefixes = prefixes[1:]
	}
	b := branch{label: low[from:to], first: int32(len(p.prefixes)), rule: rule}
	var edges []byte
	for _, e := range prefixes {
		if n := len(edges); n == 0 || edges[n-1] != e.key[to] {
			edges = append(edges, e.key[to])
		}
	}
	b.edges = string(edges)
	p.prefixes[at] = b
	p.prefixes = append(p.prefixes, make([]branch, len(edges))...)
	for i, edge := range edges {
		n := slices.IndexFunc(prefixes, func(e exact) bool { return e.key[to] != edge })
		if n < 0 {
			n = len(prefixes)
		}
		p.grow(b.first+int32(i), prefixes[:n], to, rule)
		prefixes = prefixes[n:]
	}
}

// Rule returns the index of the first rule that matches a key, or -1. The hash is [KeyHash] of the
// key. It does not allocate.
func (p *Placement) Rule(key []byte, hash uint64) int {
	if rule := min(p.begun(key), p.named(key, hash)); rule != noRule {
		return int(rule)
	}
	return -1
}

// begun returns the first rule whose prefix a key has.
func (p *Placement) begun(key []byte) int32 {
	rule := int32(noRule)
	for i := int32(0); int(i) < len(p.prefixes); {
		b := &p.prefixes[i]
		if len(key) < len(b.label) || string(key[:len(b.label)]) != b.label {
			break
		}
		rule = b.rule
		if key = key[len(b.label):]; len(key) == 0 {
			break
		}
		edge := strings.IndexByte(b.edges, key[0])
		if edge < 0 {
			break
		}
		i = b.first + int32(edge)
	}
	return rule
}

// named returns the first rule that names a key.
func (p *Placement) named(key []byte, hash uint64) int32 {
	if len(p.exact) == 0 {
		return noRule
	}
	i, found := p.byHash[hash]
	for ; found && i >= 0; i = p.exact[i].next {
		if p.exact[i].key == string(key) {
			return p.exact[i].rule
		}
	}
	return noRule
}

// Len returns how many rules there are.
func (p *Placement) Len() int { return len(p.rules) }

// Eligible returns the ascending ids of the instances that keys of a rule may have; of −1: those of
// keys that match none. The slice is shared.
func (p *Placement) Eligible(rule int) []int32 { return p.classes[p.classAt(rule)] }

func (p *Placement) classAt(rule int) int32 {
	if rule < 0 {
		rule = len(p.rules)
	}
	return p.class[rule]
}

// Stays reports whether keys of a rule stay where they are; −1: false.
func (p *Placement) Stays(rule int) bool { return rule >= 0 && p.rules[rule].Stay }

// placed places keys by a function for each class of eligibility.
type placed struct {
	by *Placement
	of []Function
}

func (f placed) Instance(key []byte, hash uint64) (int32, error) {
	return f.of[f.by.classAt(f.by.Rule(key, hash))].Instance(key, hash)
}

// maxClassTokens bounds the tokens of the rings that classes of eligibility have of their own.
const maxClassTokens = 1 << 18

// place returns the function that places keys under rules: the hash of each key over its eligible
// instances.
func (c Config) place(over Function, instances []Instance) (Function, error) {
	p, err := NewPlacement(c.Rules, ids(instances))
	if err != nil {
		return nil, err
	}
	f := placed{p, make([]Function, len(p.classes))}
	ring, isRing := over.(*TokenRing)
	if !isRing {
		for i, class := range p.classes {
			f.of[i] = modulo(class)
		}
		return f, nil
	}
	order := make([]int, len(p.classes))
	nodes := make([][]Node, len(p.classes))
	for i, class := range p.classes {
		order[i], nodes[i] = i, c.nodes(slices.DeleteFunc(slices.Clone(instances), func(d Instance) bool {
			_, found := slices.BinarySearch(class, d.ID)
			return !found
		}))
	}
	// The walk is long where few tokens are eligible; so these have rings of their own first.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tokens(nodes[a]), tokens(nodes[b])) })
	room := maxClassTokens
	for _, i := range order {
		switch n := tokens(nodes[i]); {
		case len(nodes[i]) == len(instances):
			f.of[i] = ring
		case n > 0 && n <= room:
			f.of[i] = NewTokenRing(nodes[i])
			room -= n
		default:
			f.of[i] = walk{ring, p.classes[i]}
		}
	}
	return f, nil
}

// tokens is how many nodes have together.
func tokens(nodes []Node) (n int) {
	for _, node := range nodes {
		n += node.Tokens
	}
	return n
}

// walk places keys at the next token whose node is eligible.
type walk struct {
	ring     *TokenRing
	eligible []int32
}

func (w walk) Instance(key []byte, _ uint64) (int32, error) {
	all := w.ring.Tokens()
	for i := int(w.ring.TokenAt(RingPosition(key))); ; i++ {
		if i == len(all) {
			i = 0
		}
		if _, found := slices.BinarySearch(w.eligible, all[i].Node); found {
			return all[i].Node, nil
		}
	}
}

// allowed is a rule by its effect on where keys are placed.
type allowed struct {
	Rule
	eligible []int32
}

// sameRules reports whether the rules of two configurations over the same instances place every key
// alike.
func sameRules(a, b []Rule, instances []int32) bool {
	if slices.EqualFunc(a, b, func(x, y Rule) bool {
		return sameKeys(x, y) && x.Exclusive == y.Exclusive && slices.Equal(x.On, y.On)
	}) {
		return true
	}
	return slices.EqualFunc(effective(a, instances), effective(b, instances), func(x, y allowed) bool {
		return sameKeys(x.Rule, y.Rule) && slices.Equal(x.eligible, y.eligible)
	})
}

func sameKeys(a, b Rule) bool { return a.Prefix == b.Prefix && slices.Equal(a.Equals, b.Equals) }

// effective returns the rules that matter to where keys are placed, the last first, behind what keys
// may have that match none: a rule that allows just these matters where a later one matches its keys,
// too.
func effective(rules []Rule, instances []int32) []allowed {
	p, err := allow(rules, instances)
	if err != nil {
		return nil
	}
	out := []allowed{{Rule{}, p.Eligible(-1)}}
	for i, r := range slices.Backward(rules) {
		if p.class[i] != p.classAt(-1) ||
			slices.ContainsFunc(out[1:], func(later allowed) bool { return overlap(r, later.Rule) }) {
			out = append(out, allowed{r, p.Eligible(i)})
		}
	}
	return out
}

// overlap reports whether a key may match both rules; of two that name keys it does not look.
func overlap(a, b Rule) bool {
	switch {
	case a.Equals != nil && b.Equals != nil:
		return true
	case a.Equals != nil:
		return slices.ContainsFunc(a.Equals, func(key string) bool { return strings.HasPrefix(key, b.Prefix) })
	case b.Equals != nil:
		return overlap(b, a)
	}
	return strings.HasPrefix(a.Prefix, b.Prefix) || strings.HasPrefix(b.Prefix, a.Prefix)
}

package route

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func placementOf(t testing.TB, instances []int32, rules ...Rule) *Placement {
	t.Helper()
	p, err := NewPlacement(rules, instances)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// matches is what a rule says, read word for word.
func (r Rule) matches(key string) bool {
	if r.Equals != nil {
		return slices.Contains(r.Equals, key)
	}
	return strings.HasPrefix(key, r.Prefix)
}

// randomRules are rules over some instances whose keys overlap; some have no instance left.
func randomRules(rnd *rand.Rand, instances []int32) []Rule {
	text := func() string { return "abab"[:rnd.IntN(4)] + strings.Repeat("b", rnd.IntN(3)) }
	rules := make([]Rule, 1+rnd.IntN(12))
	for i := range rules {
		r := &rules[i]
		if r.Name = fmt.Sprint(i); rnd.IntN(3) == 0 {
			for range 1 + rnd.IntN(3) {
				r.Equals = append(r.Equals, text())
			}
		} else {
			r.Prefix = text()
		}
		if r.Stay = rnd.IntN(5) == 0; r.Stay {
			continue
		}
		for _, id := range instances {
			if rnd.IntN(3) > 0 {
				r.On = append(r.On, id)
			}
		}
		r.Exclusive = r.On != nil && rnd.IntN(6) == 0
	}
	return rules
}

// TestPlacement holds rules, what they allow, and where each function puts keys under them to a
// literal reading.
func TestPlacement(t *testing.T) {
	rnd, done := rand.New(rand.NewPCG(1, 2)), 0
	for range 3000 {
		var instances []Instance
		for id := int32(rnd.IntN(3)); len(instances) < 1+rnd.IntN(9); id += 1 + int32(rnd.IntN(3)) {
			instances = append(instances, Instance{ID: id})
		}
		all := ids(instances)
		rules := randomRules(rnd, all)
		p, err := NewPlacement(rules, all)
		if err != nil {
			continue
		}
		done++
		ring := mustNew(t, Config{TokensPerInstance: 3, Rules: rules}, instances)
		modulo := mustNew(t, Config{Function: Modulo, Rules: rules}, instances)
		tokens := NewTokenRing(Config{TokensPerInstance: 3}.nodes(instances))
		for n := range 60 {
			key := []string{"", "a", "b", "ab", "ba", "aba", "abb", "abab", "ababb", "ababbb", "abbb", "c"}[n%12]
			if n >= 12 {
				key += fmt.Sprint(n)
			}
			hash := KeyHash([]byte(key))
			rule := slices.IndexFunc(rules, func(r Rule) bool { return r.matches(key) })
			want := literallyEligible(rules, rule, all)
			if got := p.Rule([]byte(key), hash); got != rule || !slices.Equal(p.Eligible(rule), want) {
				t.Fatalf("%q under %+v over %v: rule %d on %v, want %d on %v", key, rules, all, got, p.Eligible(got), rule, want)
			}
			if at, _ := modulo.Instance([]byte(key), hash); at != want[hash%uint64(len(want))] {
				t.Fatalf("%q under %+v: modulo %d of %v", key, rules, at, want)
			}
			at, _ := ring.Instance([]byte(key), hash)
			walked, _ := (walk{tokens, want}).Instance([]byte(key), hash)
			if at != nextToken(tokens, key, want) || walked != at {
				t.Fatalf("%q under %+v: ring %d, walk %d, want %d", key, rules, at, walked, nextToken(tokens, key, want))
			}
		}
	}
	if done < 500 {
		t.Errorf("%d sets of rules leave every key an instance: too few are tried", done)
	}
}

// literallyEligible are the instances of a rule less those on which others alone are exclusive.
func literallyEligible(rules []Rule, rule int, instances []int32) (out []int32) {
	for _, id := range instances {
		on := rule < 0 || rules[rule].On == nil || slices.Contains(rules[rule].On, id)
		own := slices.ContainsFunc(rules, func(r Rule) bool { return r.Exclusive && slices.Contains(r.On, id) })
		if on && (!own || rule >= 0 && rules[rule].Exclusive) {
			out = append(out, id)
		}
	}
	return out
}

// nextToken is the owner of the first token at or after a key that is eligible.
func nextToken(ring *TokenRing, key string, eligible []int32) int32 {
	all := ring.Tokens()
	first := slices.IndexFunc(all, func(x Token) bool { return x.Position >= RingPosition([]byte(key)) })
	for i := range all {
		if x := all[(max(first, 0)+i)%len(all)]; slices.Contains(eligible, x.Node) {
			return x.Node
		}
	}
	return -1
}

func TestPlacementRefuses(t *testing.T) {
	for _, c := range []struct {
		field  string
		detail string
		rules  []Rule
	}{
		{"Rules", "1000", make([]Rule, MaxRules+1)},
		{"Rules", "all are exclusive", []Rule{{Prefix: "a", On: []int32{0, 1, 2}, Exclusive: true}}},
		{"Rules[1]", "the rule late leaves its keys no instance", []Rule{
			{Prefix: "a", On: []int32{0, 1}, Exclusive: true}, {Name: "late", Prefix: "b", On: []int32{1}}}},
		{"Rules[0].On[1]", "the id of an instance", []Rule{{On: []int32{0, 3}}}},
		{"Rules[0].On[1]", "greater than the one before", []Rule{{On: []int32{1, 0}}}},
		{"Rules[0].Prefix", "names its keys", []Rule{{Prefix: "a", Equals: []string{"b"}}}},
		{"Rules[0].Exclusive", "with instances", []Rule{{Exclusive: true}}},
		{"Rules[0].Stay", "without instances", []Rule{{Stay: true, On: []int32{1}}}},
	} {
		var refused *ConfigError
		err := Validate(Config{Function: Flink, Rules: c.rules}, []Instance{{ID: 0}, {ID: 1}, {ID: 2}})
		if !errors.As(err, &refused) || refused.Field != c.field || !strings.Contains(refused.Detail, c.detail) {
			t.Errorf("%v, want %s of %s", err, c.detail, c.field)
		}
	}
	// A rule for all keys leaves none without a rule.
	placementOf(t, []int32{0, 1}, Rule{On: []int32{0, 1}, Exclusive: true})
}

// TestSameRules tells which rules place keys alike.
func TestSameRules(t *testing.T) {
	over := []Instance{{ID: 0}, {ID: 1}, {ID: 2}}
	pinned := Rule{Name: "pinned", Equals: []string{"a/1"}, On: []int32{1}}
	stay := Rule{Name: "asleep", Prefix: "a/", Stay: true}
	own := Rule{Name: "own", Prefix: "b", On: []int32{2}, Exclusive: true}
	for _, c := range []struct {
		name  string
		a, b  []Rule
		alike bool
	}{
		{"none and none", nil, []Rule{}, true},
		{"a rule and none", []Rule{pinned}, nil, false},
		{"another name", []Rule{pinned}, []Rule{{Name: "x", Equals: pinned.Equals, On: pinned.On}}, true},
		{"other instances", []Rule{pinned}, []Rule{{Equals: pinned.Equals, On: []int32{0}}}, false},
		{"stay alone", []Rule{stay}, nil, true},
		{"stay behind", []Rule{pinned, stay}, []Rule{pinned}, true},
		{"stay before", []Rule{stay, pinned}, []Rule{pinned}, false},
		{"all instances", []Rule{{Prefix: "c", On: []int32{0, 1, 2}}}, nil, true},
		{"exclusive or not", []Rule{own}, []Rule{{Prefix: "b", On: []int32{2}}}, false},
	} {
		for function, heeds := range map[string]bool{Ring: true, Modulo: true, Kafka: false, Flink: false, Reported: false} {
			config := func(rules []Rule) Config {
				c := Config{Function: function, Rules: rules}
				if function == Kafka {
					c.Partitions = 6
				}
				return c
			}
			if got := Same(config(c.a), over, config(c.b), over); got != (c.alike || !heeds) {
				t.Errorf("%s under %s: alike %t", c.name, function, got)
			}
		}
	}
}

// manyRules are a thousand rules: prefixes of tenants and keys by name, on few instances each.
func manyRules(instances int) (rules []Rule, keys [][]byte) {
	for i := range MaxRules {
		on := []int32{int32(3 * (i % instances)), int32(3 * ((i*7 + 1) % instances))}
		slices.Sort(on)
		r := Rule{Name: fmt.Sprint(i), On: slices.Compact(on)}
		if i%4 == 0 {
			r.Equals = []string{fmt.Sprintf("user:%d", i)}
			keys = append(keys, []byte(r.Equals[0]))
		} else {
			r.Prefix = fmt.Sprintf("tenant-%d/", i)
			keys = append(keys, []byte(r.Prefix+"order:17"))
		}
		rules = append(rules, r)
	}
	for i := range 1000 {
		keys = append(keys, fmt.Appendf(nil, "session:%d", i))
	}
	return rules, keys
}

// BenchmarkPlacement looks up keys that have no entry, without rules and under a thousand.
func BenchmarkPlacement(b *testing.B) {
	rules, keys := manyRules(40)
	for _, function := range []string{Ring, Modulo} {
		for _, n := range []int{0, MaxRules} {
			b.Run(fmt.Sprintf("%s/rules=%d", function, n), func(b *testing.B) {
				f, err := New(Config{Function: function, Rules: rules[:n]}, upTo(40))
				if err != nil {
					b.Fatal(err)
				}
				table, err := NewTable(1, f, nil, "r")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := table.Lookup(keys[i]); err != nil {
						b.Fatal(err)
					}
					if i++; i == len(keys) {
						i = 0
					}
				}
			})
		}
	}
}

func TestPlacementAllocatesNothing(t *testing.T) {
	rules, keys := manyRules(40)
	f := mustNew(t, Config{Rules: rules}, upTo(40))
	i := 0
	if n := testing.AllocsPerRun(2*len(keys), func() {
		_, _ = f.Instance(keys[i%len(keys)], KeyHash(keys[i%len(keys)]))
		i++
	}); n != 0 {
		t.Errorf("%v allocations per lookup", n)
	}
}

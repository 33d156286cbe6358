package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// A value is JSON as package json reads it into any, and a jsontext.Value where
// it must stand letter by letter.

// sorted returns the members of an object in an order that does not change.
func sorted[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

// marshal writes a value down.
func marshal(v any) []byte {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("writing a made value: %v", err)) // they are all made here
	}
	return text
}

// clone copies a value, so that it can be changed.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = clone(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	default:
		return v
	}
}

// maker makes what one client sends.
type maker struct {
	*rand.Rand
	contract *contract
	memory   *memory
	texts    map[string][]string // by pattern
	last     *request            // it may come again
}

func newMaker(c *contract, m *memory, r *rand.Rand) *maker {
	return &maker{Rand: r, contract: c, memory: m, texts: map[string][]string{}}
}

// chance is true so many times in a hundred.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// one returns one of several.
func one[T any](m *maker, of []T) T { return of[m.IntN(len(of))] }

// operator returns the name of an operator that there is, or of one that there
// could be. These are few, so that what is done to one adds up, and change over
// time, so that what has come to an end is left.
func (m *maker) operator() string {
	if m.chance(75) {
		if name, ok := m.memory.recall(m.Rand, "name", "operator").(string); ok {
			return name
		}
	}
	return fmt.Sprintf("fuzz-%d", m.IntN(4)+int(m.memory.era()))
}

// era grows with the intervals.
func (m *memory) era() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.interval / 60
}

// named returns a value that the name asks for rather than the schema, or nil.
func (m *maker) named(name string) any {
	switch name {
	case "operator":
		return m.operator()
	case "interval":
		return float64(m.memory.nextInterval(m.Rand))
	case "id":
		return m.memory.recall(m.Rand, "plan")
	case "table_version", "since", "version":
		return m.memory.recall(m.Rand, "version", "base_version")
	case "page_token":
		return m.memory.recall(m.Rand, "next_page_token")
	case "asset":
		return one(m, []string{"index.html", "swagger-ui.css", "LICENSE", "missing.js"})
	case "If-None-Match", "If-Match":
		return m.memory.recall(m.Rand, "ETag")
	case "key", "key_prefix", "key_contains":
		return m.memory.recall(m.Rand, "key")
	default:
		return nil
	}
}

// depthLimit is where optional members end.
const depthLimit = 6

// make makes a value that fits the schema, as far as a schema tells. The name is
// that of the member or parameter.
func (m *maker) make(s *openapi3.Schema, name string, depth int) any {
	if s.Nullable && m.chance(10) {
		return nil
	}
	if m.chance(92) && !s.Type.Is("object") && !s.Type.Is("array") {
		if v := m.named(name); v != nil {
			return v
		}
	}
	switch {
	case len(s.Enum) > 0:
		return one(m, s.Enum)
	case len(s.OneOf) > 0:
		return m.make(one(m, s.OneOf).Value, name, depth)
	case len(s.AnyOf) > 0:
		return m.make(one(m, s.AnyOf).Value, name, depth)
	case len(s.AllOf) > 0:
		return m.all(s.AllOf, name, depth)
	case s.Type.Is("object"):
		return m.object(s, depth)
	case s.Type.Is("array"):
		return m.array(s, name, depth)
	case s.Type.Is("boolean"):
		return m.chance(50)
	case s.Type.Is("integer"):
		return float64(int64(m.number(s)))
	case s.Type.Is("number"):
		return m.number(s)
	default:
		return m.text(s)
	}
}

func (m *maker) all(schemas openapi3.SchemaRefs, name string, depth int) any {
	first := m.make(schemas[0].Value, name, depth)
	object, ok := first.(map[string]any)
	for _, s := range schemas[1:] {
		if more, is := m.make(s.Value, name, depth).(map[string]any); is && ok {
			maps.Copy(object, more)
		}
	}
	return first
}

func (m *maker) object(s *openapi3.Schema, depth int) map[string]any {
	out := map[string]any{}
	often := max(0, 40-8*depth)
	for _, name := range sorted(s.Properties) {
		if slices.Contains(s.Required, name) || depth < depthLimit && m.chance(often) {
			out[name] = m.make(s.Properties[name].Value, name, depth+1)
		}
	}
	if names := sorted(s.Properties); len(out) < int(s.MinProps) && len(names) > 0 {
		name := one(m, names)
		out[name] = m.make(s.Properties[name].Value, name, depth+1)
	}
	for s.MaxProps != nil && len(out) > int(*s.MaxProps) {
		delete(out, sorted(out)[0])
	}
	return out
}

func (m *maker) array(s *openapi3.Schema, name string, depth int) []any {
	n := int(s.MinItems)
	if depth < depthLimit {
		n += m.IntN(4)
	}
	if s.MaxItems != nil {
		n = min(n, int(*s.MaxItems))
	}
	out := make([]any, n)
	for i := range out {
		out[i] = m.make(s.Items.Value, name, depth+1)
	}
	return out
}

// number makes a number in the bounds: mostly a small one, as great ones are
// dear, at times one near a bound or of any magnitude.
func (m *maker) number(s *openapi3.Schema) float64 {
	low, high := 0.0, 1e6
	if s.Min != nil {
		low = *s.Min
	}
	if s.Max != nil {
		high = *s.Max
	}
	switch p := m.IntN(100); {
	case p < 4:
		return low
	case p < 6:
		return high
	case p < 16:
		return min(high, low+math.Exp(m.Float64()*math.Log1p(min(high-low, 1e15))))
	case p < 60 || s.Type.Is("integer"):
		return min(high, math.Ceil(low)+float64(m.IntN(6)))
	default:
		return min(high, low+m.Float64()*4)
	}
}

// text makes a string that fits the schema.
func (m *maker) text(s *openapi3.Schema) string {
	if s.Pattern != "" {
		if m.texts[s.Pattern] == nil {
			g := rapid.StringMatching(s.Pattern)
			for seed := range 40 {
				m.texts[s.Pattern] = append(m.texts[s.Pattern], g.Example(seed))
			}
		}
		return one(m, m.texts[s.Pattern])
	}
	text := one(m, []string{"a", "b", "user:1", "user:2", "k1", "42", "Ä", "ключ", "🦀", "a b", "a,b", "a\"b", "a\tb", "YQ=="})
	if s.MinLength > 0 && m.chance(5) {
		text = strings.Repeat(text, int(s.MinLength))
	}
	return text
}

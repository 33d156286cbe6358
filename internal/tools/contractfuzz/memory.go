package main

import (
	"math/rand/v2"
	"sync"

	"github.com/go-json-experiment/json"
)

// remembered is how many values of a name are kept.
const remembered = 24

// memory is what answers have told: values under the names of their members, the
// latest last. Clients share it.
type memory struct {
	mu       sync.Mutex
	values   map[string][]any
	known    map[string]map[any]bool // what is in values
	interval int64                   // the greatest that was sent on purpose
	classes  []classPlan
}

// classPlan is a plan that moves classes of keys.
type classPlan struct {
	ID         string
	Migrates   string
	Migrations []any
}

func newMemory() *memory {
	return &memory{values: map[string][]any{}, known: map[string]map[any]bool{}}
}

// remember takes a value in.
func (m *memory) remember(name string, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(name, value)
}

func (m *memory) add(name string, value any) {
	known := m.known[name]
	if known == nil {
		known = map[any]bool{}
		m.known[name] = known
	}
	if known[value] {
		return
	}
	known[value] = true
	list := append(m.values[name], value)
	if len(list) > remembered {
		delete(known, list[0])
		list = list[1:]
	}
	m.values[name] = list
}

// learn takes in what a JSON answer tells.
func (m *memory) learn(body []byte) {
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return
	}
	var plan classPlan
	m.mu.Lock()
	defer m.mu.Unlock()
	if json.Unmarshal(body, &plan) == nil && plan.Migrates == "classes" && len(plan.Migrations) > 0 {
		m.classes = append(m.classes[max(0, len(m.classes)-7):], plan)
	}
	m.harvest("", tree, 0)
}

// harvest looks at the first few members and elements of everything.
func (m *memory) harvest(name string, tree any, depth int) {
	if depth > 6 {
		return
	}
	switch v := tree.(type) {
	case map[string]any:
		for _, member := range sorted(v) {
			m.harvest(member, v[member], depth+1)
		}
	case []any:
		for _, element := range v[:min(len(v), 4)] {
			m.harvest(name, element, depth+1)
		}
	case string:
		if len(v) <= 512 && v != "" {
			m.add(name, v)
			if name == "id" && len(v) > 20 { // no operator's name but a plan's id
				m.add("plan", v)
			}
		}
	case float64:
		m.add(name, v)
	}
}

// recall returns something that was told under one of the names, more likely
// something late, or nil.
func (m *memory) recall(r *rand.Rand, names ...string) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if list := m.values[name]; len(list) > 0 {
			back := min(r.IntN(len(list)), r.IntN(len(list)))
			return list[len(list)-1-back]
		}
	}
	return nil
}

// nextInterval returns an interval that is mostly new.
func (m *memory) nextInterval(r *rand.Rand) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.IntN(3) > 0 {
		m.interval++
	}
	return m.interval
}

// classPlan returns a plan of classes, more likely a late one, or none.
func (m *memory) classPlan(r *rand.Rand) (classPlan, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.classes) == 0 {
		return classPlan{}, false
	}
	return m.classes[max(r.IntN(len(m.classes)), r.IntN(len(m.classes)))], true
}

package stats

import (
	"cmp"
	"slices"
	"sync"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/route"
)

// shards is how many locks the counters of an [Exact] have: keys of different shards are
// counted at the same time.
const shards = 64

// Exact counts the cost of every key. Its methods may be called at the same time.
type Exact struct {
	shards [shards]struct {
		sync.Mutex
		keys map[string]*counted
		_    [40]byte // locks of two shards are in different lines of the cache
	}
}

// counted is what is known of a key.
type counted struct {
	cost, state float64
	gone        bool // it has no state here any more
}

// NewExact returns counters of no keys.
func NewExact() *Exact {
	e := &Exact{}
	for i := range e.shards {
		e.shards[i].keys = map[string]*counted{}
	}
	return e
}

// do changes what is known of a key, which is known from then on.
func (e *Exact) do(key []byte, change func(*counted, float64), amount float64) {
	s := &e.shards[route.KeyHash(key)%shards]
	s.Lock()
	defer s.Unlock()
	c := s.keys[string(key)]
	if c == nil {
		c = &counted{}
		s.keys[string(key)] = c
	}
	change(c, amount)
	c.gone = false
}

// Add adds to the cost of a key in this interval: 1 for a message, or the time that it
// took, in any unit that is the same at all instances. It does not allocate for a key that
// is known.
func (e *Exact) Add(key []byte, cost float64) {
	e.do(key, func(c *counted, x float64) { c.cost += x }, cost)
}

// SetState says how large the state of a key is, in any unit. It stays until it is set again.
func (e *Exact) SetState(key []byte, size float64) {
	e.do(key, func(c *counted, x float64) { c.state = x }, size)
}

// Forget says that the key has no state here any more. What it cost so far in this interval
// is told at its end, with no state: where it went, it costs the rest.
func (e *Exact) Forget(key []byte) {
	s := &e.shards[route.KeyHash(key)%shards]
	s.Lock()
	defer s.Unlock()
	if c := s.keys[string(key)]; c != nil {
		c.state, c.gone = 0, true
	}
}

// Close ends the interval: it returns all keys that were not forgotten, idle ones too, in
// ascending order, and the next interval begins. They are complete statistics of the
// instance. What is added meanwhile counts in one of both intervals.
func (e *Exact) Close() []client.Row {
	var rows []client.Row
	for i := range e.shards {
		s := &e.shards[i]
		s.Lock()
		for key, c := range s.keys {
			if !c.gone || c.cost > 0 {
				rows = append(rows, client.Row{Key: []byte(key), Cost: c.cost, State: c.state})
			}
			if c.cost = 0; c.gone {
				delete(s.keys, key)
			}
		}
		s.Unlock()
	}
	slices.SortFunc(rows, compare)
	return rows
}

func compare(a, b client.Row) int { return cmp.Compare(string(a.Key), string(b.Key)) }

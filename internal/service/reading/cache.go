package reading

import (
	linked "container/list"
	"sync"
)

// cache keeps what was used last of things that never change, up to a number of
// bytes, and the last one in any case.
type cache[K comparable, V any] struct {
	Limit int
	size  func(V) int // about how much memory it takes, in bytes

	mu    sync.Mutex
	byKey map[K]*linked.Element // of a kept
	used  *linked.List          // the last one in front
	bytes int
}

type kept[K comparable, V any] struct {
	key   K
	value V
}

func newCache[K comparable, V any](limit int, size func(V) int) *cache[K, V] {
	return &cache[K, V]{Limit: limit, size: size, byKey: make(map[K]*linked.Element), used: linked.New()}
}

// Get returns what is kept under a key.
func (c *cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byKey[key]
	if found == nil {
		return value, false
	}
	c.used.MoveToFront(found)
	return found.Value.(kept[K, V]).value, true
}

// Put keeps a value and forgets those used longest ago that have no room beside
// it.
func (c *cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil { // another request was as fast
		return
	}
	c.byKey[key] = c.used.PushFront(kept[K, V]{key, value})
	c.bytes += c.size(value)
	for c.bytes > c.Limit && c.used.Len() > 1 {
		oldest := c.used.Remove(c.used.Back()).(kept[K, V])
		delete(c.byKey, oldest.key)
		c.bytes -= c.size(oldest.value)
	}
}

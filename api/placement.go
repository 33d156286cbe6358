package api

import (
	"crypto/sha256"
	"sync"

	"plannerd/planner"
)

// maxPlacements is how many configurations stay in memory. A hash ring of the
// greatest size takes 200 MB, so few; one of the usual size takes some kilobytes.
const maxPlacements = 8

// placement is a configuration with its hash function, ready to place keys.
type placement struct {
	configuration
	planner planner.Configuration
}

// placementCache keeps the latest configurations by their text: they never
// change, and building a large ring takes long.
type placementCache struct {
	mu     sync.Mutex
	byText map[[sha256.Size]byte]*placement
	order  [][sha256.Size]byte // oldest first
}

func newPlacementCache() *placementCache {
	return &placementCache{byText: make(map[[sha256.Size]byte]*placement)}
}

// get returns the placement of a stored configuration.
func (c *placementCache) get(text []byte) (*placement, error) {
	key := sha256.Sum256(text)
	c.mu.Lock()
	found := c.byText[key]
	c.mu.Unlock()
	if found != nil {
		return found, nil
	}
	config, err := decodeConfiguration(text)
	if err != nil {
		return nil, err
	}
	p, err := config.planner()
	if err != nil {
		return nil, err
	}
	built := &placement{configuration: config, planner: p}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText[key] == nil {
		if len(c.order) == maxPlacements {
			delete(c.byText, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
		c.byText[key] = built
	}
	return built, nil
}

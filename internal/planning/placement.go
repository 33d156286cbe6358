package planning

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"

	"golang.org/x/sync/singleflight"

	"plannerd/internal/operator"
	"plannerd/internal/web/admission"
	"plannerd/planner"
)

// maxPlacementBytes is about how much memory the placements that are kept may take at
// most, in bytes. The greatest hash ring takes half of it, one of the usual size some
// hundred kilobytes.
const maxPlacementBytes = 256 << 20

// placement is a configuration with its hash function, ready to place keys.
type placement struct {
	operator.Configuration
	planner planner.Configuration
}

// size is about what the placement takes in memory, in bytes.
func (p *placement) size() int {
	const perInstance, perToken, perSlot = 64, 48, 4 // a token takes 12, and its index up to 32
	tokens := 0
	for _, d := range p.Instances {
		if tokens += d.Tokens; d.Tokens == 0 {
			tokens += p.Hash.TokensPerInstance
		}
	}
	slots := p.Hash.MaxParallelism + p.Hash.Partitions + len(p.Hash.Assignment)
	return perInstance*len(p.Instances) + perToken*tokens + perSlot*slots
}

// placementCache keeps the placements that were used last by the text of their
// configurations, which never change: building a large ring takes long. However
// many calls want a placement at the same time, it is built once.
type placementCache struct {
	slots    *admission.Slots // a build takes one, as it keeps a processor busy
	make     func(text []byte) (*placement, error)
	building singleflight.Group
	kept     *cache[placementKey, *placement]
}

type placementKey [sha256.Size]byte

func newPlacementCache(limit int64, builds int, build func([]byte) (*placement, error)) *placementCache {
	return &placementCache{
		slots: admission.NewSlots(builds, math.MaxInt, nil), make: build,
		kept: newCache[placementKey](int(limit), (*placement).size),
	}
}

// get returns the placement of a stored configuration.
func (c *placementCache) get(ctx context.Context, text []byte) (*placement, error) {
	key := placementKey(sha256.Sum256(text))
	for {
		if found, ok := c.kept.get(key); ok {
			return found, nil
		}
		built := c.building.DoChan(string(key[:]), func() (any, error) { return c.build(ctx, key, text) })
		select {
		case result := <-built:
			if result.Err == nil {
				return result.Val.(*placement), nil
			}
			if ctx.Err() != nil || !errors.Is(result.Err, context.Canceled) && !errors.Is(result.Err, context.DeadlineExceeded) {
				return nil, result.Err
			}
			// It was another call's build, and that one gave up.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// build makes a placement and keeps it.
func (c *placementCache) build(ctx context.Context, key placementKey, text []byte) (*placement, error) {
	release, err := c.slots.Take(ctx, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer release()
	if found, ok := c.kept.get(key); ok { // the build before this one has just ended
		return found, nil
	}
	built, err := c.make(text)
	if err != nil {
		return nil, err
	}
	c.kept.put(key, built)
	return built, nil
}

package reading

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/singleflight"

	"plannerd/internal/operator"
	"plannerd/internal/web/admission"
	"plannerd/planner"
)

// maxPlacementBytes is about how much memory the placements that are kept may take at
// most, in bytes. The greatest hash ring takes half of it, one of the usual size some
// hundred kilobytes.
const maxPlacementBytes = 256 << 20

// Placement is a configuration with its hash function, ready to place keys.
type Placement struct {
	operator.Configuration
	Model planner.Configuration
}

// size is about what the placement takes in memory, in bytes.
func (p *Placement) size() int {
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
	make     func(text []byte) (*Placement, error)
	building singleflight.Group
	kept     *cache[placementKey, *Placement]
}

type placementKey [sha256.Size]byte

func newPlacementCache(limit int64, builds int, build func([]byte) (*Placement, error)) *placementCache {
	return &placementCache{
		slots: admission.NewSlots(builds, math.MaxInt, nil), make: build,
		kept: newCache[placementKey](int(limit), (*Placement).size),
	}
}

// Get returns the placement of a stored configuration.
func (c *placementCache) Get(ctx context.Context, text []byte) (*Placement, error) {
	key := placementKey(sha256.Sum256(text))
	for {
		if found, ok := c.kept.Get(key); ok {
			return found, nil
		}
		built := c.building.DoChan(string(key[:]), func() (any, error) { return c.build(ctx, key, text) })
		select {
		case result := <-built:
			if result.Err == nil {
				return result.Val.(*Placement), nil
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

// Of returns the placement of a configuration that is not stored.
func (c *placementCache) Of(ctx context.Context, of operator.Configuration) (*Placement, error) {
	text, err := of.Encode()
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, text)
}

// build makes a placement and keeps it.
func (c *placementCache) build(ctx context.Context, key placementKey, text []byte) (*Placement, error) {
	release, err := c.slots.Take(ctx, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer release()
	if found, ok := c.kept.Get(key); ok { // the build before this one has just ended
		return found, nil
	}
	built, err := c.make(text)
	if err != nil {
		return nil, err
	}
	c.kept.Put(key, built)
	return built, nil
}

// buildPlacement makes a stored configuration ready to place keys.
func buildPlacement(text []byte) (*Placement, error) {
	c, err := operator.DecodeConfiguration(text)
	if err != nil {
		return nil, err
	}
	h, err := c.HashFunction()
	if err != nil {
		return nil, fmt.Errorf("building the hash function of a configuration: %w", err)
	}
	out := planner.Configuration{Instances: make([]planner.Instance, len(c.Instances)), Hash: h,
		Resources: c.Resources.Beside()}
	for i, d := range c.Instances {
		cordoned := d.Takes == operator.TakesNone
		out.Instances[i] = planner.Instance{ID: d.ID, Name: d.Name, Capacity: d.Capacity, Capacities: d.In(out.Resources),
			Cordoned: cordoned}
	}
	if out.Placement, err = operator.PlacementRules(c); err != nil {
		return nil, fmt.Errorf("reading the rules of a configuration: %w", err)
	}
	return &Placement{Configuration: c, Model: out}, nil
}

// Knowing is the committed configuration with the instances that it lacks and entries name:
// they were removed, and a plan ended before the batch that would have emptied them.
func (p *Placement) Knowing(table *planner.RoutingTable) *Placement {
	var left []int32
	if p.Batches != nil { // else the plan before this table went at once
		for i := range table.Len() {
			e := table.At(i)
			if left = p.without(left, e.Instance); e.Parts == nil {
				continue
			}
			for _, part := range e.Parts {
				left = p.without(left, part.Instance)
			}
		}
	}
	if left == nil {
		return p
	}
	out := *p
	out.Instances, out.Model.Instances = slices.Clone(p.Instances), slices.Clone(p.Model.Instances)
	for _, id := range left {
		out.Instances = append(out.Instances, operator.Instance{ID: id, Capacity: 1})
		out.Model.Instances = append(out.Model.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	slices.SortFunc(out.Instances, func(x, y operator.Instance) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(out.Model.Instances, func(x, y planner.Instance) int { return cmp.Compare(x.ID, y.ID) })
	return &out
}

// without adds an instance to a list of those that the configuration lacks.
func (p *Placement) without(list []int32, id int32) []int32 {
	if p.Has(id) || slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

package reading

import (
	"context"
	"errors"
	"testing"
	"time"

	"plannerd/internal/operator"
	"plannerd/planner/partitioner"
)

// ringOf returns a configuration of one instance and its text.
func ringOf(t *testing.T, tokens int) (operator.Configuration, []byte) {
	t.Helper()
	c := operator.Configuration{Scheme: operator.SchemeTable, Instances: []operator.Instance{{ID: 0, Capacity: 1}},
		Hash: operator.Hash{Function: partitioner.Ring, TokensPerInstance: tokens}}
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return c, text
}

// A build waits for a slot. When the request that began it gives up
// meanwhile, others that want the same placement are not drawn into it.
func TestPlacementOutlivesItsFirstRequest(t *testing.T) {
	c := newPlacementCache(maxPlacementBytes, 1, buildPlacement)
	release, err := c.slots.Take(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, text := ringOf(t, 8)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	get := func(ctx context.Context, to chan error) {
		_, err := c.Get(ctx, text)
		to <- err
	}
	go get(ctx, first)
	go get(t.Context(), second)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the request that gave up: %v", err)
	}
	select {
	case err := <-second:
		t.Fatalf("built without a slot: %v", err)
	default:
	}
	release()
	if err := <-second; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
}

// What was used longest ago goes first, by size and not by number.
func TestPlacementsAreBoundedBySize(t *testing.T) {
	c := newPlacementCache(maxPlacementBytes, 1, buildPlacement)
	key := func(i int) placementKey { return placementKey{byte(i)} }
	has := func(i int) bool { _, ok := c.kept.Get(key(i)); return ok }
	add := func(i, tokens int) {
		config, _ := ringOf(t, tokens)
		c.kept.Put(key(i), &Placement{Configuration: config})
	}
	const quarter = (maxPlacementBytes - 1<<20) / 4 / 48 // of the room, in tokens; the rest is for small ones
	for i := range 3 {
		add(i, quarter)
	}
	for i := 3; i < 100; i++ {
		add(i, 1)
	}
	if !has(0) || len(c.kept.byKey) != 100 {
		t.Fatalf("%d kept, want all 100: there is room", len(c.kept.byKey))
	}
	add(100, 2*quarter)
	for i, want := range map[int]bool{0: true, 1: false, 2: true, 99: true, 100: true} {
		if got := has(i); got != want {
			t.Errorf("placement %d is kept: %v, want %v", i, got, want)
		}
	}
	add(101, 5*quarter)
	if !has(101) || len(c.kept.byKey) != 1 || c.kept.used.Len() != 1 {
		t.Errorf("%d kept, want the one that is larger than all room alone", len(c.kept.byKey))
	}
	sum := 0
	for _, e := range c.kept.byKey {
		sum += e.Value.(kept[placementKey, *Placement]).value.size()
	}
	if c.kept.bytes != sum {
		t.Errorf("%d bytes counted, %d kept", c.kept.bytes, sum)
	}
}

func TestPlacementSizeCountsEveryToken(t *testing.T) {
	c, _ := ringOf(t, 100)
	c.Instances = append(c.Instances, operator.Instance{ID: 1, Tokens: 1000})
	p, one := Placement{Configuration: c},
		Placement{Configuration: operator.Configuration{Instances: c.Instances[:1], Hash: c.Hash}}
	if got := p.size() - one.size(); got < 12*1000 {
		t.Errorf("%d bytes for 1000 tokens", got)
	}
}

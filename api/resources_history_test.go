package api_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/sdk/go/wire"
)

// TestResourceHistories has engines rescale and change limits, tolerances and what instances have, at random: after
// each commit no key is lost, every load is what the plan said, and bounds are kept where it said that they would be.
func TestResourceHistories(t *testing.T) {
	e, kept, broken := newEnv(t), 0, 0
	for seed := range uint64(deep.Count(12, 1000)) {
		h := engineHistory{env: e, random: rand.New(rand.NewPCG(seed, 8)), path: fmt.Sprint("/v1/operators/sessions", seed)}
		memory := make([]int, 4)
		h.run(func() string {
			if h.random.IntN(6) == 0 {
				return `{"instances":3,"resources":null}`
			}
			var instances []string
			for d := range 2 + h.random.IntN(3) {
				memory[d] = 30 + h.random.IntN(70)
				const one = `{"id":%d,"capacities":{"memory":%d,"network":%d}}`
				instances = append(instances, fmt.Sprintf(one, d, memory[d], 1+h.random.IntN(2)))
			}
			const patch = `{"instances":[%s],"resources":[{"name":"cpu"},{"name":"memory","from":"state","limit":true},
				{"name":"network","theta_max":"%d%%"},{"name":"keys","from":"count","theta_max":"%d%%"}]}`
			return fmt.Sprintf(patch, strings.Join(instances, ","), 10+h.random.IntN(50), 10+h.random.IntN(200))
		}, func(p *wire.Plan, rows []wire.Row) {
			if p.Resources == nil {
				return
			}
			for _, r := range *p.Resources {
				for _, x := range r.Instances {
					load := h.loadOf(r.Name, x.Id, rows)
					switch {
					case x.MaxLoad == 0 && load == 0: // it is removed
					case r.Limit && x.MaxLoad != float64(memory[x.Id]):
						t.Fatalf("%s: %s of %d is %v, want %d", h.path, r.Name, x.Id, x.MaxLoad, memory[x.Id])
					case math.Abs(load-x.Load.After) > 1e-9*load || r.Balanced && load > x.MaxLoad*(1+2e-9):
						t.Fatalf("%s: %d carries %v of %s, balanced: %t, %+v", h.path, x.Id, load, r.Name, r.Balanced, x)
					}
				}
				if r.Limit && r.Balanced && len(p.Migrations) > 0 {
					kept++
				} else if !r.Balanced {
					broken++
				}
			}
		})
	}
	if kept < 20 || broken < 5 {
		t.Errorf("limits are kept by %d plans that move keys, and bounds broken in %d: too few", kept, broken)
	}
}

// loadOf is what the keys on an instance take of a resource.
func (h *engineHistory) loadOf(resource string, instance int32, rows []wire.Row) (load float64) {
	for _, x := range rows {
		if h.at[x.Key] == instance {
			load += map[string]float64{"cpu": *x.Cost, "memory": *x.State, "network": (*x.Costs)["network"], "keys": 1}[resource]
		}
	}
	return load
}

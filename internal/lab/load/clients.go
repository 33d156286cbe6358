package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"
)

// clients measures how many plans a server makes for many engines at once.
type clients struct {
	clients, keys, instances, bodies int
	duration                         time.Duration
	stores                           []string
	format, encoding                 []string
	fluctuation                      float64
	storeInputs                      []string
}

func (c *clients) flags(f *flag.FlagSet) {
	countVar(f, &c.clients, "clients", 1, 32, "engines, each with an operator of its own")
	countVar(f, &c.keys, "keys", 1, 1e4, "keys of each interval")
	countVar(f, &c.instances, "instances", 1, 40, "instances of each operator")
	countVar(f, &c.bodies, "bodies", 1, 8, "different intervals, posted in turn")
	f.DurationVar(&c.duration, "duration", time.Minute, "of each configuration")
	choiceVar(f, &c.stores, "stores", "sqlite,postgres", stores, "stores")
	choiceVar(f, &c.format, "format", jsonRows, formats, "formats, each a configuration")
	choiceVar(f, &c.encoding, "encoding", identity, encodings, "content encodings, each a configuration")
	choiceVar(f, &c.storeInputs, "store-inputs", "", []string{"true", "false"},
		"values of the operators' store_inputs; by default it is not sent")
	f.Float64Var(&c.fluctuation, "fluctuation", 1,
		"how much the load of some instance changes between intervals, of the mean load")
}

func (c *clients) run(ctx context.Context, b *bench) error {
	t := &markdown{head: []string{"store", "store_inputs", "format", "encoding", "plans/s", "plans", "POST p50", "p99",
		"max", "commit p50", "p99", "max",
		"errors", "peak", "verified"}}
	if len(c.storeInputs) == 0 {
		c.storeInputs = []string{""}
	}
	for _, format := range c.format {
		for _, encoding := range c.encoding {
			bodies, err := pool(c.bodies, c.keys, c.instances, c.fluctuation, b.seed, format, encoding)
			if err != nil {
				return err
			}
			for _, store := range c.stores {
				for _, inputs := range c.storeInputs {
					if err := c.measure(ctx, b, t, store, inputs, bodies); err != nil {
						return fmt.Errorf("%s: %w", store, err)
					}
				}
			}
		}
	}
	b.printf("%d engines, each with an operator of %s keys on %d instances, post interval after interval and commit "+
		"every plan, for %v. "+
		"Verified: all plans are there as answered, and each table is what its plans make. Peak is VmHWM of the server "+
		"less that of the idle one.\n\n%s",
		c.clients, short(c.keys), c.instances, c.duration, t)
	return nil
}

func (c *clients) measure(ctx context.Context, b *bench, t *markdown, store, inputs string, bodies []*body) error {
	b.progress("%d clients, %s, %s, %s", c.clients, store, bodies[0].format, bodies[0].encoding)
	return b.with(ctx, store, 0, nil, func(s *server) error {
		configuration := map[string]any{"instances": c.instances}
		if inputs != "" {
			configuration["store_inputs"] = inputs == "true"
		} else {
			inputs = "default"
		}
		engines, err := newEngines(ctx, s.client, 0, c.clients, bodies, configuration, false)
		if err != nil {
			return err
		}
		idle := s.memory()
		seen, err := drive(ctx, engines, c.duration)
		if err != nil {
			return err
		}
		peak := s.memory().peak - idle.peak
		b.sort()
		faults, plans, err := auditAll(ctx, engines)
		if err != nil {
			return err
		}
		t.add(store, inputs, bodies[0].format, bodies[0].encoding, fmt.Sprintf("%.1f", seen.perSecond()), strconv.Itoa(plans),
			ms(seen.posts.median()), ms(seen.posts.quantile(0.99)), ms(seen.posts.greatest()),
			ms(seen.commits.median()), ms(seen.commits.quantile(0.99)), ms(seen.commits.greatest()),
			strconv.Itoa(len(seen.wrong)), mb(peak), yesNo(len(faults) == 0))
		return shown(append(seen.wrong, faults...))
	})
}

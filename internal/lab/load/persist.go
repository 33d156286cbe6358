package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// persist measures plans that change many entries of the table: the hash
// function changes and all keys stay where they are, and back again.
type persist struct {
	changes, instances, runs int
	stores                   []string
	strategy                 string
}

func (p *persist) flags(f *flag.FlagSet) {
	countVar(f, &p.changes, "changes", 1, 1e5, "table changes of each plan")
	countVar(f, &p.instances, "instances", 2, 40, "instances of the operator")
	countVar(f, &p.runs, "runs", 1, 5, "plans of each kind")
	choiceVar(f, &p.stores, "stores", "sqlite,postgres", stores, "stores")
	f.StringVar(&p.strategy, "strategy", planner.MinMig, "strategy of the operator, which should move nothing")
}

func (p *persist) run(ctx context.Context, b *bench) error {
	t := &markdown{head: []string{"store", "plan", "changes", "answer", "POST", "of it decode", "plan", "persist", "rest",
		"commit", "least POST", "least commit"}}
	s, err := newStream(p.changes*2+64, p.instances, 0, b.seed) // enough that differ in their hashes
	if err != nil {
		return err
	}
	content, err := p.body(s)
	if err != nil {
		return err
	}
	for _, store := range p.stores {
		if err := b.with(ctx, store, 0, nil,
			func(on *server) error { return p.measure(ctx, b, on, store, content, t) }); err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
	}
	b.printf("Plans of %s table changes over HTTP, %s keys on %d instances, medians of %d; the answer lists all changes. "+
		"An operator goes from hash function ring to modulo while all keys stay where they are, and back.\n\n%s",
		short(p.changes), short(content.count), p.instances, p.runs, t)
	return nil
}

// body has as many keys as the plan shall have changes: such as the two hash
// functions put in different places.
func (p *persist) body(s *stream) (*body, error) {
	modulo, err := placed(s.keys, p.instances, partitioner.Modulo)
	if err != nil {
		return nil, err
	}
	r := &planner.Statistics{Keys: planner.NewKeys(p.changes)}
	for _, i := range s.order {
		if r.Len() < p.changes && s.hashed[i] != modulo[i] {
			r.Keys.Append(s.keys.At(i))
			r.Cost, r.State = append(r.Cost, 1), append(r.State, 1)
		}
	}
	if r.Len() < p.changes {
		return nil, errors.New("too few keys that the hash functions put in different places: more instances are needed")
	}
	return newBody(r, jsonRows, identity, "")
}

func (p *persist) measure(ctx context.Context, b *bench, s *server, store string, content *body, t *markdown) error {
	const set, unset = 0, 1
	names := [...]string{set: "sets all", unset: "removes all"}
	var (
		outcomes [2]outcome
		commits  [2]times
		lengths  [2]int
	)
	// Any load is balanced enough: what makes a plan is the hash function.
	configuration := map[string]any{"instances": p.instances, "strategy": p.strategy, "theta_max": p.instances,
		"table_limit": nil}
	interval := int64(0)
	for run := range p.runs {
		b.progress("%s, run %d", store, run+1)
		for kind, function := range []string{partitioner.Modulo, partitioner.Ring} {
			if run == 0 && kind == set {
				configuration["hash"] = map[string]any{"function": partitioner.Ring}
				if err := s.put(ctx, trialOperator, configuration); err != nil {
					return err
				}
			}
			configuration["hash"] = map[string]any{"function": function}
			if err := s.put(ctx, trialOperator, configuration); err != nil {
				return err
			}
			interval++
			a, commit, plan, err := p.once(ctx, s, content, interval)
			if err != nil {
				return err
			}
			changes := [...]int{set: len(plan.RoutingTable.Set), unset: len(plan.RoutingTable.Unset)}
			if changes[kind] != p.changes || changes[1-kind] != 0 {
				return fmt.Errorf("plan %s that %s of %d sets %d and removes %d", plan.Id, names[kind], p.changes, changes[set],
					changes[unset])
			}
			outcomes[kind].add(a.took, plan)
			commits[kind], lengths[kind] = append(commits[kind], commit.took), len(a.body)
			b.sort()
		}
	}
	for kind := range outcomes {
		o := &outcomes[kind]
		t.add(store, names[kind], short(p.changes), mb(int64(lengths[kind])), ms(o.total.median()), ms(o.decode.median()),
			ms(o.plan.median()), ms(o.persist.median()),
			ms(o.rest.median()), ms(commits[kind].median()), ms(o.total.least()), ms(commits[kind].least()))
	}
	return nil
}

// once posts an interval and commits its plan.
func (p *persist) once(ctx context.Context, s *server, content *body, interval int64) (posted, commit *answer,
	made *plan, err error) {
	if posted, err = s.post(ctx, trialOperator, content, interval, nil, false); err != nil {
		return nil, nil, nil, err
	}
	if made, err = parsePlan(posted); err != nil {
		return nil, nil, nil, err
	}
	if made.Status != approved {
		return nil, nil, nil, fmt.Errorf("plan %s is %s, not to be committed", made.Id, made.Status)
	}
	if commit, err = s.commit(ctx, made.Id); err != nil {
		return nil, nil, nil, err
	}
	if commit.status != http.StatusOK {
		return nil, nil, nil, fmt.Errorf("commit: %w", commit.failure())
	}
	return posted, commit, made, nil
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"

	"golang.org/x/sync/errgroup"
)

// stored is what the service has of an operator in the end.
type stored struct {
	plans  []plan // whole, newest first
	tables []table
}

// fetchers is how many requests of an audit are on their way together.
const fetchers = 4

// read fetches all that the service has of an operator.
func (x *run) read(ctx context.Context, o *operator, r *rand.Rand) (s stored, err error) {
	err = x.insist(ctx, r, func(base string) (err error) {
		s.plans, err = x.client.plans(ctx, base, o.name)
		return err
	})
	if err != nil {
		return s, err
	}
	versions := 0
	for i := range s.plans {
		if p := &s.plans[i]; p.Version != nil || p.rolledBack() {
			versions++
		}
	}
	s.tables = make([]table, versions+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchers)
	fetch := func(path string, into any) {
		random := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		group.Go(func() error {
			return x.insist(ctx, random, func(base string) error { return x.client.fetch(ctx, base+path, into) })
		})
	}
	for i := range s.plans {
		id := s.plans[i].Id
		s.plans[i] = plan{}
		fetch("/v1/plans/"+id+"?include=migrations,routing_table", &s.plans[i])
	}
	for v := range s.tables {
		fetch(fmt.Sprintf("/v1/operators/%s/routing-table?version=%d", o.name, v), &s.tables[v])
	}
	return s, group.Wait()
}

// plans lists all plans of an operator, newest first.
func (c *client) plans(ctx context.Context, base, operator string) (all []plan, err error) {
	for token := ""; ; {
		var page planPage
		if err := c.fetch(ctx, base+"/v1/operators/"+operator+"/plans?page_size=1000"+token, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Plans...)
		if page.NextPageToken == nil {
			return all, nil
		}
		token = "&page_token=" + url.QueryEscape(*page.NextPageToken)
	}
}

// audit compares what the answers say of plans with what the service has in the end,
// and that with itself: the model knows neither what is in a plan nor older versions
// of the table. It returns a line for each contradiction.
func audit(records []record, s stored) (faults []string) {
	found := map[string]*plan{}
	for i := range s.plans {
		found[s.plans[i].Id] = &s.plans[i]
	}
	for i := range records {
		faults = append(faults, records[i].contradictions(found)...)
	}
	return append(append(faults, failures(records)...), s.fold()...)
}

// failures tells of answers that say that the service failed and does not know why.
func failures(records []record) (faults []string) {
	for i := range records {
		if a := &records[i].answer; isFailure(a.status) {
			faults = append(faults, fmt.Sprintf("%v was answered with %d", records[i].request, a.status))
		}
	}
	return faults
}

// contradictions compares what an answer said of plans with what is stored.
func (r *record) contradictions(found map[string]*plan) (faults []string) {
	a := &r.answer
	if a.outcome != answered {
		return faults
	}
	check := func(p *plan) {
		switch is := found[p.Id]; {
		case is == nil:
			faults = append(faults, fmt.Sprintf("plan %v is lost", p))
		case is.head() != p.head():
			faults = append(faults, fmt.Sprintf("plan %v was answered with %s and has %s", p, p.head(), is.head()))
		case over[p.Status] && (is.Status != p.Status || show(is.Version) != show(p.Version)):
			faults = append(faults, fmt.Sprintf("plan %v is now %v", p, is))
		case r.request.kind == createPlan && is.lists() != p.lists():
			faults = append(faults, fmt.Sprintf("plan %v was answered with %s and has %s", p, p.lists(), is.lists()))
		}
	}
	if a.plan != nil {
		check(a.plan)
	}
	for i := range a.plans {
		check(&a.plans[i])
	}
	return faults
}

// rolledBack reports whether a plan made a version of the table without a change, when it
// was given up.
func (p *plan) rolledBack() bool { return p.Status == aborted && p.Executor != nil }

// makers finds the plan that made each version of the table, and how many versions were
// made because a plan was rolled back.
func (s *stored) makers(fault func(format string, args ...any)) (by map[int64]*plan, rolledBack int) {
	by = map[int64]*plan{}
	for i := range s.plans {
		p := &s.plans[i]
		if p.rolledBack() {
			rolledBack++
		}
		if int64(len(p.Migrations)) != p.Migration.Keys {
			fault("plan %v says %d migrations and has %d", p, p.Migration.Keys, len(p.Migrations))
		}
		if (p.Status == committed) != (p.Version != nil) {
			fault("plan %s is %s with version %s", p.Id, p.Status, show(p.Version))
		}
		if p.Version == nil {
			continue
		}
		if by[*p.Version] != nil {
			fault("version %d was made by plan %s and by plan %s", *p.Version, by[*p.Version].Id, p.Id)
		}
		by[*p.Version] = p
	}
	return by, rolledBack
}

// fold: each version of the table is the one before it with the changes of the
// one plan that made it, or the same after a plan was rolled back.
func (s *stored) fold() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	makers, rolledBack := s.makers(fault)
	folded := initial().table
	for v := range s.tables {
		t, p := &s.tables[v], makers[int64(v)]
		switch {
		case v == 0:
		case p == nil && rolledBack > 0:
			rolledBack--
			if t.ConfigVersion != s.tables[v-1].ConfigVersion {
				fault("version %d pins configuration %d, the one before it %d", v, t.ConfigVersion, s.tables[v-1].ConfigVersion)
			}
		case p == nil:
			fault("version %d was made by no plan", v)
			continue
		default:
			after, ok := changed(folded, p)
			if folded = after; !ok {
				fault("plan %v changes what is not in version %d", p, v-1)
				return faults
			}
			if t.ConfigVersion != p.ConfigVersion {
				fault("version %d pins configuration %d, its plan %d", v, t.ConfigVersion, p.ConfigVersion)
			}
		}
		if text, ok := t.text(); !ok || text != folded || t.Version != int64(v) {
			fault("version %d is %v, numbered %d; the plans make %s", v, t.Entries, t.Version, folded)
		}
	}
	return faults
}

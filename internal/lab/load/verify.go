package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// ledger is what an engine knows of its operator, by interval.
type ledger struct {
	accepted map[int64]receipt
	refused  map[int64]int   // the last status
	unknown  map[int64]error // no answer arrived
}

// receipt is what an engine keeps of a plan that it was given.
type receipt struct {
	id        string
	digest    [32]byte
	committed bool
}

func newLedger() ledger {
	return ledger{map[int64]receipt{}, map[int64]int{}, map[int64]error{}}
}

// digest identifies what a plan does.
func (p *plan) digest() [32]byte {
	h := sha256.New()
	for _, e := range p.RoutingTable.Set {
		fmt.Fprintf(h, "set %q %d\n", e.Key, e.Instance)
	}
	for _, key := range p.RoutingTable.Unset {
		fmt.Fprintf(h, "unset %q\n", key)
	}
	for _, m := range p.Migrations {
		fmt.Fprintf(h, "move %q %d %d %v %s\n", m.Key, m.From, m.To, m.State, m.Reason)
	}
	return [32]byte(h.Sum(nil))
}

// audit compares what an engine was told with what the service has: its plans,
// whole, and its table. It returns a line for each contradiction.
func audit(l ledger, plans []plan, table *routingTable) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	found := map[int64]*plan{}
	for i := range plans {
		p := &plans[i]
		if found[p.Interval] != nil {
			fault("interval %d: two plans, %s and %s", p.Interval, found[p.Interval].Id, p.Id)
		}
		found[p.Interval] = p
		_, accepted := l.accepted[p.Interval]
		_, unknown := l.unknown[p.Interval]
		if status, refused := l.refused[p.Interval]; refused && !accepted {
			fault("interval %d was refused with %d and left plan %s behind", p.Interval, status, p.Id)
		} else if !accepted && !unknown {
			fault("interval %d: plan %s was never asked for", p.Interval, p.Id)
		}
		if int64(len(p.Migrations)) != p.Migration.Keys {
			fault("plan %s says %d migrations and has %d", p.Id, p.Migration.Keys, len(p.Migrations))
		}
	}
	for _, interval := range slices.Sorted(maps.Keys(l.accepted)) {
		r, p := l.accepted[interval], found[interval]
		switch {
		case p == nil:
			fault("interval %d: plan %s is lost", interval, r.id)
		case p.Id != r.id:
			fault("interval %d: plan %s became %s", interval, r.id, p.Id)
		case p.digest() != r.digest:
			fault("plan %s is not as it was answered", r.id)
		case r.committed && p.Status != committed:
			fault("plan %s was committed and is %s", r.id, p.Status)
		}
	}
	return append(faults, auditTable(plans, table)...)
}

// auditTable folds the committed plans, in the order of their versions, and
// compares the sizes on the way and the table at the end.
func auditTable(plans []plan, table *routingTable) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var done []*plan
	for i := range plans {
		if plans[i].Status == committed && plans[i].Version != nil {
			done = append(done, &plans[i])
		}
	}
	slices.SortFunc(done, func(a, b *plan) int { return cmp.Compare(*a.Version, *b.Version) })
	folded, version := map[string]int32{}, int64(0)
	for _, p := range done {
		if p.BaseVersion != version {
			fault("plan %s is of version %d, but the one before it made %d", p.Id, p.BaseVersion, version)
		}
		version = *p.Version
		for _, key := range p.RoutingTable.Unset {
			delete(folded, key)
		}
		for _, e := range p.RoutingTable.Set {
			folded[e.Key] = e.Instance
		}
		if int64(len(folded)) != p.RoutingTable.SizeAfter {
			fault("after plan %s the table has %d entries, not %d", p.Id, len(folded), p.RoutingTable.SizeAfter)
		}
	}
	if table.Version != version {
		fault("the table is of version %d, the last plan made %d", table.Version, version)
	}
	held := make(map[string]int32, len(table.Entries))
	for _, e := range table.Entries {
		held[e.Key] = e.Instance
	}
	if len(held) != len(table.Entries) {
		fault("the table has a key twice")
	}
	if !maps.Equal(held, folded) {
		fault("the table of %d entries is not what the %d committed plans make, of %d entries", len(held),
			len(done), len(folded))
	}
	return faults
}

// audit fetches all that the service has of the operator and compares it with
// what the engine knows.
func (e *engine) audit(ctx context.Context) ([]string, error) {
	plans, err := e.client.history(ctx, e.operator)
	if err != nil {
		return nil, err
	}
	for i := range plans {
		p, err := e.client.whole(ctx, plans[i].Id)
		if err != nil {
			return nil, err
		}
		plans[i] = *p
	}
	table, err := e.client.routingTable(ctx, e.operator)
	if err != nil {
		return nil, err
	}
	faults := audit(e.ledger, plans, table)
	for i, f := range faults {
		faults[i] = e.operator + ": " + f
	}
	return faults, nil
}

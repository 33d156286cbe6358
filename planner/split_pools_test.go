package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
)

// TestPooledRoom: instances that share a key have their room together. The first three have
// parts of a key of cost 150 and 4 keys of 15 each, which is 330 where 307 may be; two of these
// keys leave, not one from each instance.
func TestPooledRoom(t *testing.T) {
	t.Parallel()
	c := planner.Configuration{}
	for d := range int32(6) {
		c.Instances = append(c.Instances, planner.Instance{ID: d, Capacity: 1})
	}
	stats := &planner.Statistics{Keys: planner.NewKeys(0)}
	add := func(key string, cost float64, home int32) {
		stats.Keys.Append([]byte(key))
		stats.Cost, stats.HashInstance = append(stats.Cost, cost), append(stats.HashInstance, home)
	}
	add("hot", 150, 0)
	for d := range int32(6) {
		n, cost := 4, 15.0
		if d > 2 {
			n, cost = 5, 17
		}
		for i := range n {
			add(fmt.Sprintf("k%d%d", d, i), cost, d)
		}
	}
	stats.Keys.HashAppended()
	stats.State = slices.Repeat([]float64{1}, len(stats.Cost))
	parts := []planner.Part{{Instance: 0, Weight: 21846}, {Instance: 1, Weight: 21845}, {Instance: 2, Weight: 21845}}
	table, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("hot"), Parts: parts}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := planner.NewSnapshot(stats, c, planner.Base{Configuration: c, Table: table, IgnoreInstances: true})
	if err != nil {
		t.Fatal(err)
	}
	o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{}}
	for _, strategy := range names() {
		p := planOf(t, strategy, s, o)
		if err := recountSplits(p); err != nil {
			t.Errorf("%s: %v", strategy, err)
		}
		if !p.Balanced || p.Merges() != 2 {
			t.Errorf("%s: %s", strategy, p.Describe())
		}
		if strategy == planner.Optimal && p.Migration.Keys != 2 {
			t.Errorf("%d keys leave, 2 are enough\n%s", p.Migration.Keys, p.Describe())
		}
	}
}

// TestPoolsKeepToTable: entries of keys that stay within a pool count, and what is planned is
// what a recount says, under a table limit, too.
func TestPoolsKeepToTable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 21))
	cost, rows := make([]float64, keepKeys), make([]int, keepKeys)
	for i := range rows {
		rows[i] = i
	}
	limit := int64(60)
	o := planner.Options{ThetaMax: 0.1, Splitting: &planner.Splitting{}, TableLimit: &limit, Effort: planner.EffortFast}
	var table *planner.RoutingTable
	within := 0
	for range 12 {
		driftHot(r, cost)
		s := keepSnapshot(t, cost, rows, table)
		for _, strategy := range []string{planner.Mixed, planner.MinTable, planner.Optimal} {
			p := planOf(t, strategy, s, o)
			if err := recountSplits(p); err != nil {
				t.Fatalf("%s: %v", strategy, err)
			}
			if !p.Balanced {
				t.Errorf("%s: %s", strategy, p.Describe())
			}
			if strategy != planner.Optimal {
				continue
			}
			if p.TableWithinLimit {
				within++
			}
			var err error
			if table, err = p.Table(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if within < 9 {
		t.Errorf("the table is within its limit after %d of 12 plans", within)
	}
}

package planner_test

import (
	"fmt"
	"log"

	"plannerd/planner"
)

// toy is the running example of mixed-routing, Fig. 4: of the tasks 1 and 2, the first
// has too much to do. The state of each key is as great as its cost. k3 and k5 have
// entries in the routing table: the hash would have them on the other task.
func toy() *planner.Snapshot {
	table, err := planner.NewRoutingTable([]planner.Entry{
		{Key: []byte("k3"), Instance: 2}, {Key: []byte("k5"), Instance: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	return &planner.Snapshot{
		Instances: []planner.Instance{{ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}},
		Keys:      planner.KeysOf("k1", "k2", "k3", "k4", "k5", "k6"),
		Cost:      []float64{7, 4, 2, 1, 5, 1},
		State:     []float64{7, 4, 2, 1, 5, 1},
		Current:   []int32{0, 0, 1, 1, 0, 1},
		Hash:      []int32{0, 0, 0, 1, 1, 1},
		Table:     table,
		Entry:     []int32{-1, -1, 0, -1, 1, -1},
	}
}

// show prints the plan of a strategy.
func show(strategy string, o planner.Options) {
	p, err := planner.Run(strategy, toy(), o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(p.Describe())
}

// The costliest keys of the overloaded task leave it, each to the least loaded task,
// where cheaper keys may make room.
func ExampleRun_llfd() {
	show(planner.LLFD, planner.Options{})
	// Output:
	// θ 0.6 → 0, table 2 → 4, keys moved 2, state moved 8 (proven: at least 8)
	// move k4 2 → 1: exchange
	// move k1 1 → 2: overload
	// set k4 → 1
	// set k1 → 2
}

// All entries move back before, so that the new table is small.
func ExampleRun_minTable() {
	show(planner.MinTable, planner.Options{})
	// Output:
	// θ 0.6 → 0, table 2 → 2, keys moved 4, state moved 12 (proven: at least 8)
	// move k3 2 → 1: move_back
	// move k4 2 → 1: exchange
	// move k2 1 → 2: overload
	// move k5 1 → 2: move_back
	// set k4 → 1
	// set k2 → 2
	// unset k3
	// unset k5
}

// Keys of much cost for little state leave first.
func ExampleRun_minMig() {
	show(planner.MinMig, planner.Options{})
	// Output:
	// θ 0.6 → 0, table 2 → 4, keys moved 2, state moved 8 (proven: at least 8)
	// move k4 2 → 1: exchange
	// move k1 1 → 2: overload
	// set k4 → 1
	// set k1 → 2
}

// As minmig, but as many entries move back as the table limit demands.
func ExampleRun_mixed() {
	limit := int64(2)
	show(planner.Mixed, planner.Options{TableLimit: &limit})
	// Output:
	// θ 0.6 → 0, table 2 → 2, keys moved 4, state moved 12 (proven: at least 12)
	// move k3 2 → 1: move_back
	// move k4 2 → 1: exchange
	// move k2 1 → 2: overload
	// move k5 1 → 2: move_back
	// set k4 → 1
	// set k2 → 2
	// unset k3
	// unset k5
}

// Every number of entries is tried.
func ExampleRun_mixedBruteForce() {
	limit := int64(2)
	show(planner.MixedBruteForce, planner.Options{TableLimit: &limit})
	// Output:
	// θ 0.6 → 0, table 2 → 2, keys moved 4, state moved 12 (proven: at least 12)
	// move k3 2 → 1: move_back
	// move k4 2 → 1: exchange
	// move k2 1 → 2: overload
	// move k5 1 → 2: move_back
	// set k4 → 1
	// set k2 → 2
	// unset k3
	// unset k5
}

// As little state as possible moves, and that is proven here.
func ExampleRun_optimal() {
	show(planner.Optimal, planner.Options{})
	// Output:
	// θ 0.6 → 0, table 2 → 4, keys moved 2, state moved 8 (proven: at least 8)
	// move k4 2 → 1: exchange
	// move k1 1 → 2: overload
	// set k4 → 1
	// set k1 → 2
}

// Single keys move, or change places, as long as that lowers the loads.
func ExampleRun_readj() {
	show(planner.Readj, planner.Options{})
	// Output:
	// θ 0.6 → 0.1, table 2 → 1, keys moved 1, state moved 5 (proven: at least 8)
	// move k5 1 → 2: move_back
	// unset k5
}

// All keys are placed anew, whatever that moves.
func ExampleRun_lpt() {
	show(planner.LPT, planner.Options{})
	// Output:
	// θ 0.6 → 0, table 2 → 2, keys moved 4, state moved 12 (proven: at least 8)
	// move k3 2 → 1: move_back
	// move k4 2 → 1: exchange
	// move k2 1 → 2: overload
	// move k5 1 → 2: move_back
	// set k4 → 1
	// set k2 → 2
	// unset k3
	// unset k5
}

// The balance is as good as moving a fifth of all state can make it.
func ExampleRun_minImbalance() {
	show(planner.Optimal, planner.Options{
		Objective:      planner.MinImbalance,
		MigrationLimit: &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: 0.2},
	})
	// Output:
	// θ 0.6 → 0.2, table 2 → 3, keys moved 1, state moved 4 (proven: θ at least 0.199976)
	// move k2 1 → 2: overload
	// set k2 → 2
}

// The certificate says that no plan within these limits exists, and what would have to
// give way.
func ExampleCertificate() {
	limit := int64(0)
	p, err := planner.Run(planner.Mixed, toy(), planner.Options{TableLimit: &limit, Certificate: planner.CertificateTight})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("infeasible:", p.Certificate.Infeasible)
	for _, u := range p.Certificate.Unmet {
		fmt.Printf("%s %g: at least %.4g\n", u.Constraint, u.Limit, u.AtLeast)
	}
	// Output:
	// infeasible: true
	// theta_max 0: at least 0.3
	// table_limit 0: at least 2
}

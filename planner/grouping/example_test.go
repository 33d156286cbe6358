package grouping_test

import (
	"fmt"

	"plannerd/planner"
	"plannerd/planner/grouping"
)

// A stream a third of whose messages have the same key, over ten workers.
func Example() {
	keys, count := planner.NewKeys(1000), make([]int64, 1000)
	for k := range count {
		keys.Append(fmt.Appendf(nil, "user:%d", k))
		count[k] = 10
	}
	count[0] = 5000
	stream, err := grouping.Generate(grouping.Frequencies{Keys: keys, Count: count, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	runs := []grouping.Options{
		{Scheme: grouping.Hash, Workers: 10},
		{Scheme: grouping.PKG, Workers: 10},
		{Scheme: grouping.DChoices, Workers: 10},
		{Scheme: grouping.Shuffle, Workers: 10},
	}
	results, err := grouping.Compare(stream, runs, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("%-9s I(m)/m = %.3f, at least %.3f; %d pairs held\n",
			r.Options.Scheme, r.Imbalance, r.Bounds.Split, r.Memory.Pairs)
	}
	// Output:
	// hash      I(m)/m = 0.296, at least 0.296; 1000 pairs held
	// pkg       I(m)/m = 0.078, at least 0.078; 1576 pairs held
	// d_choices I(m)/m = 0.000, at least 0.000; 1370 pairs held
	// shuffle   I(m)/m = 0.000, at least 0.000; 6542 pairs held
}

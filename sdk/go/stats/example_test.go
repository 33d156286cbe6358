package stats_test

import (
	"fmt"

	"plannerd/sdk/go/stats"
)

func ExampleExact() {
	keys := stats.NewExact()
	for _, message := range []string{"b", "a", "b"} {
		keys.Add([]byte(message), 1)
	}
	keys.SetState([]byte("a"), 80)
	for _, row := range keys.Close() {
		fmt.Printf("%s costs %v, state %v\n", row.Key, row.Cost, row.State)
	}
	// Output:
	// a costs 1, state 80
	// b costs 2, state 0
}

// Two keys are kept of three; what the third cost is in the residual.
func ExampleHeavy() {
	keys := stats.NewHeavy(2)
	for _, message := range "aaaabbbcaab" {
		keys.Add([]byte(string(message)), 1)
	}
	rows, residual := keys.Close(0, func([]byte) float64 { return 1 }, 3, 3)
	for _, row := range rows {
		fmt.Printf("%s costs at least %v\n", row.Key, row.Cost)
	}
	fmt.Printf("the rest costs up to %v\n", *residual.Cost)
	// Output:
	// a costs at least 6
	// b costs at least 1
	// the rest costs up to 4
}

package route_test

import (
	"fmt"

	"plannerd/sdk/go/route"
)

// A router of three instances: keys go where the ring puts them, but for two that the
// table names. One of these is split.
func Example() {
	ring, err := route.New(route.Config{}, []route.Instance{{ID: 0}, {ID: 1}, {ID: 2}})
	if err != nil {
		panic(err)
	}
	table, err := route.NewTable(7, ring, []route.Entry{
		{Key: []byte("user:1"), Instance: 2},
		{Key: []byte("user:2"), Instance: 0, Parts: []route.Part{
			{Instance: 0, Weight: route.PartUnits / 4 * 3}, {Instance: 1, Weight: route.PartUnits / 4},
		}},
	}, "router-1")
	if err != nil {
		panic(err)
	}
	var current route.Current
	current.Store(table)

	counts := map[int32]int{}
	for range 1 << 16 {
		d, err := current.Lookup([]byte("user:2"))
		if err != nil {
			panic(err)
		}
		counts[d.Next()]++
	}
	d, err := current.Lookup([]byte("user:1"))
	fmt.Println(d.Next(), d.Version, d.Paused, err)
	fmt.Println(counts)

	// Output:
	// 2 7 false <nil>
	// map[0:49152 1:16384]
}

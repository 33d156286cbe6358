package wire_test

import (
	"encoding/json"
	"fmt"

	"plannerd/sdk/go/wire"
)

// The types of the contract say in JSON what requests and answers are: members that are not
// given stay away, so that the server's defaults hold.
func Example() {
	rows := []wire.Row{{Key: "user:1", Cost: new(12.0)}}
	request, err := json.Marshal(wire.PlanRequest{Interval: 7, Keys: rows})
	fmt.Println(string(request), err)

	var table wire.RoutingTable
	answer := `{"operator": "clicks", "version": 3, "entries": [{"key": "user:1", "instance": 2}]}`
	err = json.Unmarshal([]byte(answer), &table)
	fmt.Println(table.Version, table.Entries[0].Key, table.Entries[0].Instance, err)
	// Output:
	// {"interval":7,"keys":[{"cost":12,"key":"user:1"}]} <nil>
	// 3 user:1 2 <nil>
}

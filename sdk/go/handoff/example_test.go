package handoff_test

import (
	"fmt"
	"maps"

	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/route"
)

// A key moves from instance 0 to instance 1, while messages of it come. Channels and
// transfers are slices here, and counts are the state of keys.
func Example() {
	now, _ := route.NewTable(1, nil, []route.Entry{{Key: []byte("k"), Instance: 0}}, "r")
	moving, _ := now.WithPending(&route.Pending{Version: 2, Set: []route.Entry{{Key: []byte("k"), Instance: 1}}})
	after, _ := now.Changed(2, []route.Entry{{Key: []byte("k"), Instance: 1}}, nil)
	before := handoff.View{Version: 1, Table: handoff.Routes{Table: now}}
	during := handoff.View{Version: 1, Table: handoff.Routes{Table: moving}, Pending: &handoff.Pending{
		Version: 2, Routers: map[string]int64{"r": 1}, Awaits: []int32{0, 1}, ExecutorEpoch: 1,
	}}
	committed := handoff.View{Version: 2, Table: handoff.Routes{Table: after}}

	var channels [2][]handoff.Read[string]
	send := func(list ...handoff.Append[string]) {
		for _, a := range list {
			channels[a.To] = append(channels[a.To], handoff.Read[string]{Router: "r", Epoch: a.Epoch, Marker: a.Marker,
				Key: a.Key, Message: a.Message})
		}
	}
	counts := [2]map[string]int{{}, {}}
	var machines [2]*handoff.Instance[string]
	var transfers []handoff.Transfer
	var do func(i int, actions []handoff.Action[string])
	do = func(i int, actions []handoff.Action[string]) {
		for _, a := range actions {
			switch a.Do {
			case handoff.Process:
				counts[i][string(a.Key)]++
				fmt.Printf("instance %d processes %s\n", i, a.Message)
			case handoff.Export:
				sent, _ := machines[i].Exports(maps.Keys(counts[i]), func(key string) ([]byte, error) {
					return []byte{byte(counts[i][key])}, nil
				})
				transfers = append(transfers, sent...)
				do(i, machines[i].Exported(sent))
			case handoff.Import:
				counts[i][a.Transfer.Key] = int(a.Transfer.State[0])
				fmt.Printf("instance %d has the state of %s\n", i, a.Transfer.Key)
			case handoff.Forget:
				delete(counts[i], a.Keys[0])
			case handoff.SendEnd:
				transfers = append(transfers, a.Transfer)
			case handoff.SendAck:
				fmt.Printf("instance %d acknowledges\n", i)
			}
		}
	}
	run := func() {
		for i, channel := range channels {
			for _, m := range channel {
				actions, _ := machines[i].Read(m)
				do(i, actions)
			}
			channels[i] = nil
		}
		for len(transfers) > 0 {
			t := transfers[0]
			transfers = transfers[1:]
			actions, _ := machines[t.To].Receive(t)
			do(int(t.To), actions)
		}
	}

	router := handoff.NewRouter[string](handoff.Holding)
	router.Registered(1)
	see := func(v handoff.View) {
		list, _ := router.See(v)
		send(list...)
		for i := range machines {
			do(i, machines[i].See(v))
		}
	}
	for i := range machines {
		machines[i] = handoff.NewInstance(int32(i), handoff.Holding, handoff.Record[string]{})
	}
	see(before)
	first, _, _ := router.Take([]byte("k"), "message 1")
	send(first)
	see(during)
	_, held, _ := router.Take([]byte("k"), "message 2")
	fmt.Println("message 2 is held:", held)
	run()
	see(committed)
	run()
	fmt.Println("counts:", counts)
	// Output:
	// message 2 is held: true
	// instance 0 processes message 1
	// instance 1 has the state of k
	// instance 1 acknowledges
	// instance 0 acknowledges
	// instance 1 processes message 2
	// counts: [map[] map[k:2]]
}

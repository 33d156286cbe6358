package router_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/router"
)

// A router sends messages by the table of the server, as long as that is there, and goes on
// by the last one.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"3"`)
		fmt.Fprint(w, `{"operator": "clicks", "scheme": "table", "version": 3, "config_version": 1, "pending": null,
			"hash": {"function": "ring"}, "instances": [{"id": 0}, {"id": 1}], "entries": [{"key": "user:1", "instance": 1}]}`)
	}))
	c, err := client.New(server.URL, client.Config{Retry: client.Retry{Attempts: 1}})
	if err != nil {
		panic(err)
	}
	follower, err := router.Open(router.Config{Source: c, Operator: "clicks", Router: "router-1"})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- follower.Run(ctx) }()
	if err := follower.Ready(ctx); err != nil {
		panic(err)
	}
	server.CloseClientConnections()
	server.Close()

	at, err := follower.Lookup([]byte("user:1"))
	fmt.Println(at.Next(), at.Version, at.Paused, err)
	stop()
	fmt.Println(<-ended)

	// Output:
	// 1 3 false <nil>
	// context canceled
}

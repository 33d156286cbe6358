package arrow_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"plannerd/sdk/go/arrow"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

func ExampleIPC() {
	// This stands for plannerd.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"))
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status": "approved"}`)
	}))
	defer server.Close()
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := []client.Row{{Key: []byte("user:1"), Cost: 12, State: 900}, {Key: []byte("user:2"), Cost: 9, State: 400}}
	plan, err := api.CreatePlanFrom(context.Background(), "clicks", wire.PlanRequest{Interval: 1},
		client.Statistics{Rows: client.Rows(rows), Encoding: arrow.IPC{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Status)
	// Output:
	// application/vnd.apache.arrow.stream zstd
	// approved
}

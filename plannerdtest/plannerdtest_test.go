package plannerdtest_test

import (
	"errors"
	"testing"
	"time"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// TestRestart: a server that was stopped is as one that crashed, also to who waits for it,
// and has its data when it comes back.
func TestRestart(t *testing.T) {
	server := plannerdtest.NewServer(t)
	c, err := client.New(server.URL, client.Config{Retry: client.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	configuration := wire.OperatorConfiguration{Instances: wire.Numbered(2)}
	if _, err := c.PutOperator(t.Context(), "clicks", configuration); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		_, err := c.GetRoutingTable(t.Context(), "clicks", client.GetRoutingTableOptions{
			Since: new(int64(0)), Wait: time.Minute})
		waited <- err
	}()
	time.Sleep(50 * time.Millisecond) // it need not wait yet: it fails either way
	server.Stop()
	server.Stop() // does nothing
	if err := <-waited; err == nil || errors.Is(err, client.ErrNotModified) {
		t.Errorf("who waits gets %v", err)
	}
	if _, err := c.Healthz(t.Context()); err == nil {
		t.Error("a server that was stopped answers")
	}
	address := server.URL
	server.Start()
	if server.URL != address {
		t.Errorf("it is at %s, and was at %s", server.URL, address)
	}
	if o, err := server.Client().GetOperator(t.Context(), "clicks", client.GetOperatorOptions{}); err != nil ||
		len(o.Instances) != 2 {
		t.Errorf("%+v %v", o, err)
	}
}

func TestClock(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := plannerdtest.NewServerWith(t, plannerdtest.Config{Now: func() time.Time { return at }}).Client()
	o, err := c.PutOperator(t.Context(), "clicks", wire.OperatorConfiguration{Instances: wire.Numbered(1)})
	if err != nil || !o.CreatedAt.Equal(at) {
		t.Errorf("%+v %v", o, err)
	}
}

// TestAccess: tokens are sent, and those of another role are refused.
func TestAccess(t *testing.T) {
	server := plannerdtest.NewServerWith(t, plannerdtest.Config{Access: true})
	for token, want := range map[string]error{
		"": wire.CodeUnauthenticated, server.Token("viewer"): wire.CodeRoleForbidden,
		server.Token("engine"): wire.CodeRoleForbidden, server.Token("admin"): nil,
	} {
		c, err := client.New(server.URL, client.Config{Token: client.StaticToken(token)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.PutOperator(t.Context(), "clicks", wire.OperatorConfiguration{Instances: wire.Numbered(1)})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	caller, err := server.Client().GetCaller(t.Context())
	if err != nil || !caller.Access || caller.Role != wire.RoleAdmin || *caller.Name != "admin" {
		t.Errorf("%+v %v", caller, err)
	}
}

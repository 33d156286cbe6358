package collecting

import (
	"bytes"
	"testing"
	"time"

	"plannerd/internal/cli"
	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
)

// TestLead: intervals of one controller have rising numbers, also where the clock gives two the same; another one
// stands by while they come, and leads after three in which none came.
func TestLead(t *testing.T) {
	server := plannerdtest.NewServer(t)
	now := &sight{description: &description{state: "Stable"}, names: []string{"a", "b"},
		owners: map[partition]string{{"orders", 0}: "a", {"orders", 1}: "b"},
		ends:   map[partition]int64{{"orders", 0}: 10, {"orders", 1}: 10}}
	before := &sight{ends: map[partition]int64{{"orders", 0}: 0, {"orders", 1}: 0}}
	now.size = map[partition]float64{{"orders", 0}: 1, {"orders", 1}: 1}
	start := func() *controller {
		env := &cli.Environment{Stderr: new(bytes.Buffer)}
		return &controller{KafkaGroup: &KafkaGroup{Operator: "orders", Every: time.Second}, env: env, server: server.Client()}
	}
	last := func() int64 {
		o, err := server.Client().GetOperator(t.Context(), "orders", client.GetOperatorOptions{})
		if err != nil || o.LastInterval == nil {
			t.Fatal(o, err)
		}
		return *o.LastInterval
	}
	post := func(g *controller, number int64) {
		t.Helper()
		if err := g.post(t.Context(), now, now.since(before, number, true)); err != nil {
			t.Fatal(err)
		}
	}
	leader := start()
	for _, number := range []int64{7, 8, 8, 9} {
		post(leader, number)
	}
	if got := last(); got != 10 {
		t.Fatalf("the last interval is %d", got)
	}
	other := start()
	other.standby = true
	for number := range int64(5) {
		post(leader, 11+number)
		post(other, 11+number)
	}
	if !other.standby {
		t.Fatal("another one leads while intervals come")
	}
	for number := range int64(3) {
		post(other, 20+number)
	}
	if other.standby || last() != 22 {
		t.Fatalf("it does not lead after three intervals: %+v", other)
	}
}

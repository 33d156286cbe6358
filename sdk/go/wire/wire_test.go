package wire_test

import (
	"encoding/json"
	"testing"

	"plannerd/sdk/go/wire"
)

func TestPlanMigration(t *testing.T) {
	var got []wire.PlanMigration
	read(t, `[{"key": "a", "from": 1, "to": 2, "reason": "balance"}, [1, 0, 2, 4, 8, 3],
		{"range": {"from": "7", "to": null}, "from": 3, "to": 4, "keys": 5}]`, &got)
	if got[0].Key != "a" || got[0].From != 1 || got[0].To != 2 || got[0].Range != nil {
		t.Errorf("of a key: %+v", got[0])
	}
	if got[1].Class != [6]float64{1, 0, 2, 4, 8, 3} {
		t.Errorf("of a class: %+v", got[1])
	}
	text, err := json.Marshal(got)
	var again []wire.PlanMigration
	if read(t, string(text), &again); err != nil || again[0] != got[0] || again[1] != got[1] || *again[2].Keys != 5 {
		t.Errorf("%s %v", text, err)
	}
	if m := got[2]; m.Range == nil || m.Range.From != "7" || m.Range.To != nil || m.From != 3 || *m.Keys != 5 {
		t.Errorf("of a range: %+v", m)
	}
}

func TestReplayResult(t *testing.T) {
	var results, plan wire.ReplayResult
	read(t, `{"input_hash": "x", "results": []}`, &results)
	read(t, `{"id": "p1", "status": "proposed"}`, &plan)
	if results.Plan != nil || results.Results == nil || results.Results.InputHash != "x" {
		t.Errorf("results: %+v", results)
	}
	if plan.Results != nil || plan.Plan == nil || plan.Plan.Id != "p1" {
		t.Errorf("plan: %+v", plan)
	}
}

func TestAnalysisStream(t *testing.T) {
	cost := 2.5
	text, err := json.Marshal(wire.AnalysisStream{{Key: "a"}, {Key: "b", Cost: &cost}})
	if want := `["a",["b",2.5]]`; err != nil || string(text) != want {
		t.Errorf("%s %v, want %s", text, err, want)
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

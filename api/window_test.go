package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestWindow: with a window of w intervals the service plans on the sum of what the last w
// have added, as an engine's own sum lets it plan without a window.
func TestWindow(t *testing.T) {
	const w, config = 3, `{"instances":4,"strategy":"mixed","theta_max":0.05,"policy":{"forecast":{"method":"last"}}`
	e := newEnv(t)
	e.operator("added", fmt.Sprintf(`%s,"window":%d}`, config, w))
	e.operator("summed", config+`}`)
	r := rand.New(rand.NewPCG(5, 6))
	var past []map[string]int
	moved, idle := 0, 0
	for i := range int64(12) {
		if i == 8 { // an instance that goes gives up the state that no row tells of, too
			for _, o := range []string{"added", "summed"} {
				e.do("PATCH", "/v1/operators/"+o, `{"instances":3}`, "Content-Type: application/merge-patch+json").
					want(http.StatusOK)
			}
		}
		added, sums := map[string]int{}, map[string]int{}
		var own, all []string
		costs := map[string]int{}
		for k := range 40 {
			if key := fmt.Sprintf("k%d", k); r.IntN(3) > 0 {
				costs[key], added[key] = 1+r.IntN(30), r.IntN(100)
			}
		}
		past = append(past, added)
		for _, of := range past[max(0, len(past)-w):] {
			for key, x := range of {
				sums[key] += x
			}
		}
		for key, x := range added {
			own = append(own, fmt.Sprintf(`{"key":%q,"cost":%d,"state":%d}`, key, costs[key], x))
		}
		for key, x := range sums {
			if _, named := added[key]; named || x > 0 {
				all = append(all, fmt.Sprintf(`{"key":%q,"cost":%d,"state":%d}`, key, costs[key], x))
			}
			if costs[key] == 0 && x > 0 {
				idle++
			}
		}
		post := func(operator string, rows []string, status int) *answer {
			return e.do("POST", "/v1/operators/"+operator+"/plans",
				fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, i, strings.Join(rows, ","))).want(status)
		}
		a, b := post("added", own, http.StatusCreated), post("summed", all, http.StatusCreated)
		p, q := a.plan(), b.plan()
		if p.Status != q.Status || !reflect.DeepEqual(p.Theta, q.Theta) || !reflect.DeepEqual(p.Migration, q.Migration) ||
			!slices.Equal(p.Migrations, q.Migrations) {
			t.Fatalf("interval %d: %s\nof sums: %s", i, a.body, b.body)
		}
		if again := post("added", own, http.StatusOK).plan(); again.Id != p.Id {
			t.Errorf("interval %d: the same statistics made plan %s, and then %s", i, p.Id, again.Id)
		}
		var replayed struct {
			Results []struct{ Migration struct{ State float64 } }
		}
		e.do("POST", "/v1/plans/"+p.Id+"/replay", `{"strategies":["mixed"]}`).want(http.StatusOK).into(&replayed)
		if p.Status != "no_action" && replayed.Results[0].Migration.State != float64(p.Migration.State) {
			t.Errorf("interval %d: %v is moved in a replay, %v in the plan", i, replayed.Results, p.Migration)
		}
		if p.Status == "approved" {
			moved++
			for _, id := range []string{p.Id, q.Id} {
				e.do("POST", "/v1/plans/"+id+"/commit", stopped).want(http.StatusOK)
			}
		}
	}
	if moved < 3 || idle < 10 {
		t.Errorf("%d plans and %d idle keys: the test tests little", moved, idle)
	}
}

// TestDrainedWithAWindow: keys that the interval does not name keep their place, and leave
// an instance that is drained, with the state of the intervals before.
func TestDrainedWithAWindow(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"window":2,"approval":{"auto":"always","min_statistics":{"cost_share":0}}}`)
	const plans = "/v1/operators/clicks/plans"
	rows := ""
	for k := range 20 {
		rows += fmt.Sprintf(`,{"key":"k%d","cost":1,"state":5}`, k)
	}
	e.do("POST", plans, `{"interval":1,"keys":[`+rows[1:]+`]}`).want(http.StatusCreated)
	e.do("PUT", "/v1/operators/clicks", `{"instances":1,"window":2,"approval":{"auto":"always","min_statistics":{"cost_share":0}}}`).
		want(http.StatusOK)
	p := e.do("POST", plans, `{"interval":2,"keys":[{"key":"k0","cost":1,"state":2}]}`).want(http.StatusCreated).plan()
	gone := 0
	for _, m := range p.Migrations {
		if want := 5.0; m.From != 1 || m.To != 0 || m.Key != "k0" && float64(m.State) != want ||
			m.Key == "k0" && m.State != 7 {
			t.Errorf("%+v", m)
		}
		gone++
	}
	if gone == 0 || gone == 20 {
		t.Errorf("%d keys leave", gone)
	}
	// After the window there is nothing left of them.
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	for i := 3; i <= 4; i++ {
		e.do("POST", plans, fmt.Sprintf(`{"interval":%d,"keys":[{"key":"k0","cost":1,"state":2}]}`, i)).
			want(http.StatusCreated)
	}
	var last struct {
		Instances []struct{ KeysBefore int64 }
	}
	e.do("GET", plans+"?interval=4", "").want(http.StatusOK)
	a := e.do("POST", plans, `{"interval":5,"keys":[{"key":"k1","cost":1,"state":0}]}`).want(http.StatusCreated)
	if a.into(&last); last.Instances[0].KeysBefore != 2 { // k1, and k0 by its state of interval 4
		t.Errorf("%s", a.body)
	}
}

func TestRefusedWindows(t *testing.T) {
	e := newEnv(t)
	put := func(body string) *answer { return e.do("PUT", "/v1/operators/clicks", body) }
	for _, more := range []string{
		`"store_inputs":false`, `"retention":{"inputs":2}`, `"table_owner":"engine"`, `"hash":{"function":"reported"}`,
		`"splitting":{"max_parts":2}`, `"reports":{"missing":"carry"}`,
	} {
		put(`{"instances":2,"window":3,`+more+`}`).fails(unprocessable, "invalid", "/window")
	}
	put(`{"instances":2,"window":0}`).fails(unprocessable, "invalid", "/window")
	put(`{"instances":2,"scheme":"ring","window":2}`).fails(unprocessable, "invalid", "/window")
	put(`{"instances":2,"window":3,"retention":{"inputs":0}}`).want(http.StatusCreated)
	const plans = "/v1/operators/clicks/plans"
	e.do("POST", plans, `{"interval":1,"keys":[{"key":"a","cost":1}]}`).fails(unprocessable, "invalid", "/keys/0/state")
	e.do("POST", plans, `{"interval":1,"compact":{"records":[[0,0,1,1,1]]}}`).
		fails(http.StatusConflict, "keys_not_known", "")
	e.do("POST", plans, `{"interval":1,"coverage":"partial","keys":[{"key":"a","cost":1,"state":1}]}`).
		fails(http.StatusConflict, "complete_coverage_required", "")
	for d := range 2 {
		e.report(1, d, fmt.Sprintf(`{"keys":[{"key":"k%d","cost":1,"state":1}]}`, d)).want(http.StatusCreated)
	}
	e.planOfReports(1, "").want(http.StatusCreated)
	e.report(2, 0, `{"keys":[{"key":"k0","cost":1,"state":1}]}`).want(http.StatusCreated)
	e.planOfReports(2, `,"missing":"carry"`).fails(http.StatusConflict, "complete_coverage_required", "")
	// A hash function that does not take the keys of intervals before.
	put(`{"instances":2,"window":3,"hash":{"function":"flink","key_type":"int"}}`).want(http.StatusOK)
	e.do("POST", plans, `{"interval":3,"keys":[{"key":"7","cost":1,"state":1}]}`).
		fails(unprocessable, "invalid", "/interval")
}

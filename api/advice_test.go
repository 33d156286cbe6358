package api_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

// counted posts the statistics of intervals in which so many messages came, each with one
// of 400 keys by chance and independently of all others.
func (e *env) counted(operator string, intervals, messages int) {
	e.Helper()
	r := rand.New(rand.NewPCG(7, uint64(messages)))
	for i := 1; i <= intervals; i++ {
		counts := make([]int, 400)
		for range messages {
			counts[r.IntN(len(counts))]++
		}
		var rows strings.Builder
		rows.WriteString("key,cost\n")
		for k, n := range counts {
			fmt.Fprintf(&rows, "k%03d,%d\n", k, n)
		}
		e.do("POST", fmt.Sprintf("/v1/operators/%s/plans?interval=%d", operator, i), rows.String(), csv).
			want(http.StatusCreated)
	}
}

func (e *env) advised(operator, query string) (a wire.Advice) {
	e.Helper()
	e.do("GET", "/v1/operators/"+operator+"/advice"+query, "").want(http.StatusOK).into(&a)
	return a
}

// Of independent messages the noise is known: with n of them for each of eight instances
// the median of θ is 1.39/√n where the expected loads are even, a little more as the
// forecast has to learn them. So are the length of intervals and the number of instances
// that θ_max takes.
func TestAdvice(t *testing.T) {
	const messages, instances = 20_000, 8
	e := newEnv(t)
	e.operator("clicks", `{"instances":8,"theta_max":0.01,"hash":{"function":"modulo"}}`)
	e.counted("clicks", 20, messages)
	a := e.advised("clicks", "?instance_load=3000")
	sigma := math.Sqrt(instances / float64(messages))
	if f := a.NoiseFloor; f == nil || f.Median < 1.39*sigma || f.Median > 1.2*1.39*sigma || f.P95 <= f.Median {
		t.Fatalf("noise floor %+v, want a median of some more than %v", a.NoiseFloor, 1.39*sigma)
	}
	if a.Interval != 20 || a.Intervals != 20 || a.Instances != instances || a.ThetaMax != 0.01 || a.HotTheta != 0 {
		t.Errorf("%+v", a)
	}
	ratio := a.NoiseFloor.Median / 0.01
	if l := a.LongerIntervals; l == nil || math.Abs(l.Median-ratio*ratio) > 1e-9*ratio || l.P95 < l.Median {
		t.Errorf("longer intervals %+v, want %v", a.LongerIntervals, ratio*ratio)
	}
	// z·√(N/messages) is 0.01 for three instances at z = 0.82, which is z of N = 3; the
	// forecast has to learn, so that it is hardly more than two.
	if m := a.MostInstances; m == nil || m.Median < 2 || m.Median > 3 || m.P95 > m.Median || m.P95 < 1 {
		t.Errorf("most instances %+v", a.MostInstances)
	}
	// 20 000 on seven instances are 2 857 each, of which the busiest has some more.
	if n := a.LeastInstances; n == nil || *n != 7 {
		t.Errorf("%v instances for a load of 3 000 each", n)
	}
	if x := a.Expected; x == nil || x.P95 < x.Expected || x.P95 < x.Median || x.Probability < 0.9 {
		t.Errorf("expected %+v", a.Expected)
	}
	if r := a.Realised; r.Intervals != 20 || r.Theta == nil || r.Theta.Last == 0 {
		t.Errorf("realised %+v", r)
	}
	for _, part := range []string{"1 % is below the noise floor",
		fmt.Sprintf("At most %d instances", a.MostInstances.Median),
		fmt.Sprintf("intervals %.3g times as long", a.LongerIntervals.Median)} {
		if !strings.Contains(a.Advice, part) {
			t.Errorf("%q is not in %s", part, a.Advice)
		}
	}
	// Intervals as long as that keep θ_max in half of the intervals, in what is counted then.
	e.operator("longer", `{"instances":8,"theta_max":0.01,"hash":{"function":"modulo"}}`)
	e.counted("longer", 12, int(messages*ratio*ratio))
	if f := e.advised("longer", "").NoiseFloor; f == nil || math.Abs(f.Median-0.01) > 0.002 {
		t.Errorf("noise floor %+v of longer intervals, want a median of 0.01", f)
	}
	first := e.do("GET", "/v1/operators/clicks/advice", "").want(http.StatusOK)
	e.do("GET", "/v1/operators/clicks/advice", "", "If-None-Match: "+first.header.Get("ETag")).want(http.StatusNotModified)
}

// A tolerance that noise allows is said to be kept, one that it breaks now and then is not;
// a key that is too heavy is no matter of noise.
func TestAdviceInWords(t *testing.T) {
	e := newEnv(t)
	for operator, c := range map[string]struct{ thetaMax, words string }{
		"wide": {"0.5", "θ_max of 50 % can be kept in 95 % of the intervals, with up to "},
		"now":  {"0.035", "now and then"},
		"zero": {"0", "θ_max of 0 % is below the noise floor"},
	} {
		e.operator(operator, `{"instances":8,"theta_max":`+c.thetaMax+`,"hash":{"function":"modulo"}}`)
		e.counted(operator, 12, 20_000)
		a := e.advised(operator, "")
		if !strings.Contains(a.Advice, c.words) || a.LeastInstances != nil ||
			(a.LongerIntervals == nil) != (operator == "zero") {
			t.Errorf("%s: %s %+v", operator, a.Advice, a.LongerIntervals)
		}
	}
	e.operator("hot", `{"instances":4,"theta_max":0.1,"hash":{"function":"modulo"}}`)
	for i := 1; i <= 5; i++ {
		e.do("POST", "/v1/operators/hot/plans", fmt.Sprintf(
			`{"interval":%d,"keys":[{"key":"a","cost":50},{"key":"b","cost":25},{"key":"c","cost":25}]}`, i)).
			want(http.StatusCreated)
	}
	a := e.advised("hot", "?instance_load=40")
	if a.HotTheta != 1 || a.MostInstances == nil || a.MostInstances.P95 != 2 || a.LongerIntervals != nil ||
		a.LeastInstances != nil || !strings.Contains(a.Advice, "One key has 50 % of all cost") {
		t.Errorf("%+v", a)
	}
	if n := e.advised("hot", "?instance_load=50.5").LeastInstances; n == nil || *n != 3 {
		t.Errorf("%v instances carry 50 each, want 3: two may be above by θ_max", n)
	}
	e.operator("young", `{"instances":4,"hash":{"function":"modulo"}}`)
	e.counted("young", 2, 100)
	a = e.advised("young", "?instance_load=40")
	if a.NoiseFloor != nil || a.MostInstances != nil || a.Expected != nil || a.LeastInstances != nil ||
		!strings.Contains(a.Advice, "Too little is known") {
		t.Errorf("%+v", a)
	}
}

// Under rules advice is about fair loads as they let them be, and tells no number of instances.
func TestAdviceUnderRules(t *testing.T) {
	e := newEnv(t)
	const ruled = `{"instances":8,"theta_max":%s,"hash":{"function":"modulo"},"placement":{"rules":[
		{"name":"own","keys":{"prefix":%q},"on":{"instances":[0,1]},"exclusive":true}]}}`
	for operator, c := range map[string]struct{ thetaMax, prefix, words string }{
		"wide": {"0.5", "k0", "θ_max of 50 % can be kept in 95 % of the intervals. How many"},
		"now":  {"0.04", "k0", "now and then"},
		"low":  {"0.01", "k0", "as even as the rules let them be. Moving keys cannot keep it. Intervals "},
		"hot":  {"0.1", "k000", "which alone is 100 % above the fair load of each instance that may have it"},
	} {
		e.operator(operator, fmt.Sprintf(ruled, c.thetaMax, c.prefix))
		e.counted(operator, 12, 20_000)
		a := e.advised(operator, "?instance_load=3000")
		if !strings.Contains(a.Advice, c.words) || a.LeastInstances != nil || a.MostInstances != nil || a.NoiseFloor == nil ||
			(a.LongerIntervals == nil) != (operator == "hot") {
			t.Errorf("%s: %s %+v", operator, a.Advice, a.NoiseFloor)
		}
		// The two have an eighth of all cost each, as without the rule, or next to nothing of it.
		floor, x := a.NoiseFloor.Median, 1.39*math.Sqrt(8/20_000.0)
		if (floor > 2*x) != (operator == "hot") || floor < x {
			t.Errorf("%s: noise floor %v beside %v", operator, floor, x)
		}
	}
	e.operator("young", fmt.Sprintf(ruled, "0.1", "k0"))
	e.counted("young", 2, 100)
	if a := e.advised("young", ""); a.NoiseFloor != nil || !strings.Contains(a.Advice, "Too little is known") {
		t.Errorf("%+v", a)
	}
}

// A resource with a limit demands a number of instances, whatever cost does.
func TestAdviceUnderResources(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,`+cpuAndMemory+`}`)
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"coverage":"partial","residual":[{"instance":"w0","cost":1,
		"state":11,"keys":1}],"keys":[{"key":"a","cost":3,"state":60},{"key":"b","cost":3,"state":30}]}`).want(http.StatusCreated)
	a := e.advised("clicks", "")
	if a.Resources == nil || len(*a.Resources) != 1 {
		t.Fatalf("%+v", a.Resources)
	}
	if x := (*a.Resources)[0]; x.Name != "memory" || x.Taken != 101 || x.Capacity != 100 || *x.LeastInstances != 3 ||
		!strings.Contains(a.Advice, "memory needs 3 instances at least") {
		t.Errorf("%+v: %s", x, a.Advice)
	}
}

func TestAdviceRefusals(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"hash":{"function":"modulo"}}`)
	e.do("GET", "/v1/operators/clicks/advice", "").fails(http.StatusNotFound, "interval_not_found", "")
	e.do("GET", "/v1/operators/none/advice", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.do("GET", "/v1/operators/clicks/advice?instance_load=0", "").
		fails(http.StatusUnprocessableEntity, "invalid", "?instance_load")
	e.do("GET", "/v1/operators/clicks/advice", "", "Accept: text/csv").
		fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.operator("tokens", `{"instances":2,"scheme":"ring"}`)
	e.do("GET", "/v1/operators/tokens/advice", "").fails(http.StatusConflict, "no_routing_table", "")
	e.operator("classes", allAtHome)
	e.do("POST", "/v1/operators/classes/plans",
		`{"interval":1,"compact":{"degree":2,"state_scale":3,"records":[[0,0,4,1,4],[1,1,2,2,2]]}}`).want(http.StatusCreated)
	e.do("GET", "/v1/operators/classes/advice", "").fails(http.StatusConflict, "keys_not_known", "")
}

// TestAdviceOfPlan: where the policy forecasts, advice goes on from what was stored with the
// newest plan, though the statistics before are no longer kept.
func TestAdviceOfPlan(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":8,"theta_max":0.01,"hash":{"function":"modulo"},"retention":{"inputs":1},`+
		`"policy":{"forecast":{"method":"ewma","alpha":0.35}}}`)
	e.counted("clicks", 6, 20_000)
	a := e.advised("clicks", "")
	var list struct{ Plans []wire.PlanSummary }
	e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK).into(&list)
	f := list.Plans[0].Forecast
	if a.Intervals != 6 || a.Interval != 6 || !reflect.DeepEqual(a.NoiseFloor, f.NoiseFloor) ||
		!reflect.DeepEqual(a.Expected.Median, f.Without.Median) {
		t.Errorf("%+v, noise floor %+v; the plan expects %+v, noise floor %+v", a, a.NoiseFloor, f.Without, f.NoiseFloor)
	}
}

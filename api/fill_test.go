package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// fillAnswer is what a what-if tells about instances that have too little.
type fillAnswer struct {
	Results []fillResult
}

type fillResult struct {
	Balanced  bool
	Filled    *bool
	Unfilled  []unfilled
	Instances []struct {
		LoadAfter float64
		LeastLoad *float64
		Unfilled  *unfilled
	}
}

type unfilled struct {
	Instance int
	Cause    string
	Proven   bool
}

// Plans fill instances that have too little under theta_min, as far as their limits allow,
// and say what keeps the others short.
func TestThetaMin(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, c := range []struct{ operator, parameters, cause string }{
		{`"instances":3,"theta_min":0.5`, ``, ""},
		{`"instances":3`, `"theta_min":0.5`, ""},
		{`"instances":3,"theta_min":0.5,"table_limit":0`, ``, "table_limit"},
		{`"instances":3,"theta_min":0.5,"strategy":"optimal","objective":"min_imbalance","migration_limit":{"keys":0}`, ``,
			"budget"},
		{`"instances":3,"theta_min":0`, ``, "few_keys"},
		{`"instances":[{"id":0},{"id":1},{"id":2,"capacity":0.1}],"theta_min":0.5`, ``, "few_keys proven"},
		{`"instances":3,"theta_min":0.5,"work_budget":1`, ``, "budget"},
	} {
		var x fillAnswer
		e.do("POST", "/v1/what-if", `{"operator":{"theta_max":0.6,"hash":{"function":"reported"},`+c.operator+
			`},"parameters":{`+c.parameters+`},"keys":[`+jsonRows([]row{
			{"a", 1, 1, 0, 0}, {"b", 1, 1, 0, 0}, {"c", 1, 1, 1, 1}, {"d", 1, 1, 1, 1},
		})+`]}`).want(http.StatusOK).into(&x)
		r := x.Results[0]
		last := r.Instances[2]
		switch {
		case !r.Balanced || r.Filled == nil || *r.Filled != (len(r.Unfilled) == 0) || last.LeastLoad == nil:
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause == "" && (len(r.Unfilled) > 0 || last.LoadAfter != 1):
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause != "" && (len(r.Unfilled) != 1 || last.Unfilled == nil):
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause != "":
			cause, proven := strings.CutSuffix(c.cause, " proven")
			if u := r.Unfilled[0]; u != (unfilled{2, cause, proven}) || last.Unfilled.Cause != cause {
				t.Errorf("%s: %+v, want %s", c.operator, u, c.cause)
			}
		}
	}
	body := e.do("POST", "/v1/what-if", `{"operator":{"instances":2},"keys":[{"key":"a","cost":1}]}`).want(http.StatusOK).body
	if text := string(body); strings.Contains(text, "filled") || strings.Contains(text, "least_load") {
		t.Errorf("nothing is asked for, and the answer is %s", body)
	}
}

// scaling is an operator whose keys all cost the same, and are where its committed plans
// brought them.
type scaling struct {
	*env
	at       []int
	interval int
}

// plan sends the statistics of the next interval.
func (s *scaling) plan() plan {
	s.Helper()
	s.interval++
	rows := make([]string, len(s.at))
	for i, d := range s.at {
		rows[i] = fmt.Sprintf(`{"key":"key-%03d","cost":1,"state":1,"instance":%d}`, i, d)
	}
	return s.do("POST", "/v1/operators/clicks/plans",
		fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, s.interval, strings.Join(rows, ","))).want(http.StatusCreated).plan()
}

// commit carries a plan out at once.
func (s *scaling) commit(p plan) {
	s.Helper()
	for _, m := range p.Migrations {
		var i int
		if _, err := fmt.Sscanf(m.Key, "key-%d", &i); err != nil {
			s.Fatal(err)
		}
		s.at[i] = int(m.To)
	}
	s.verb(p.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
}

// newScaling has 15 instances that are evenly loaded, under the first committed plan.
func newScaling(t *testing.T, parameters string) *scaling {
	t.Helper()
	s := &scaling{env: newEnv(t), at: make([]int, 600)}
	for i := range s.at {
		s.at[i] = i % 15
	}
	s.operator("clicks", `{"instances":15,"theta_max":0.01,"hash":{"function":"modulo"},"strategy":"optimal"}`)
	s.at[0] = 1 // so that something is to be committed
	s.commit(s.plan())
	s.do("PATCH", "/v1/operators/clicks", `{"theta_max":0.08,"instances":16`+parameters+`}`,
		"Content-Type: application/merge-patch+json").want(http.StatusOK)
	return s
}

// An instance that is added to fifteen evenly loaded ones is filled, though these are within
// θ_max of the fair load without it; then it is one as all others.
func TestScaleOutFills(t *testing.T) {
	t.Parallel()
	s := newScaling(t, "")
	p := s.plan()
	last := p.Instances[15]
	switch {
	case last.Filling == nil || !*last.Filling || last.LeastLoad == nil || last.LoadAfter < 0.92*37.5:
		t.Fatalf("instance 15 is %+v", last)
	case p.Filled == nil || !*p.Filled || p.Balanced == nil || !*p.Balanced || p.Migration.State != 35:
		t.Errorf("filled %v, balanced %t, %v moves", *p.Filled, *p.Balanced, p.Migration.State)
	case p.Certificate == nil || *p.Certificate.LowerBound != 35:
		t.Errorf("35 keys have to move, and the certificate says %+v", p.Certificate)
	}
	if again := s.replayed(p.Id); again.Instances[15].LoadAfter != last.LoadAfter {
		t.Errorf("a replay leaves %v on instance 15, the plan %v", again.Instances[15].LoadAfter, last.LoadAfter)
	}
	if p = s.plan(); p.Instances[15].Filling == nil {
		t.Error("not filled any more though nothing was committed")
	}
	s.commit(p)
	if p = s.plan(); p.Instances[15].Filling != nil || p.Filled != nil || p.Status != "no_action" {
		t.Errorf("filled still after the commit: %+v, %s", p.Instances[15], p.Status)
	}
}

// Where a plan brings the new instance not all that it is to have, the next ones go on; what
// is proven to be impossible is not tried again.
func TestScaleOutGoesOn(t *testing.T) {
	t.Parallel()
	s := newScaling(t, `,"objective":"min_imbalance","migration_limit":{"keys":20}`)
	p := s.plan()
	if u := *p.Unfilled; len(u) != 1 || u[0].Instance != 15 || *u[0].Cause != "budget" || p.Certificate != nil {
		t.Fatalf("unfilled %+v, certificate %+v", u, p.Certificate)
	}
	s.commit(p)
	if p = s.plan(); p.Instances[15].LoadAfter < 0.92*37.5 || !*p.Filled {
		t.Fatalf("instance 15 is %+v", p.Instances[15])
	}
	s.commit(p)
	if p = s.plan(); p.Instances[15].Filling != nil {
		t.Error("it is filled still")
	}

	s = newScaling(t, "")
	s.do("PATCH", "/v1/operators/clicks", `{"instances":[`+instancesUpTo(15)+`,{"id":15,"capacity":0.02}]}`,
		"Content-Type: application/merge-patch+json").want(http.StatusOK)
	p = s.plan()
	if u := *p.Unfilled; len(u) != 1 || *u[0].Cause != "few_keys" || !u[0].Proven {
		t.Fatalf("unfilled %+v, though no key is as cheap as that", u)
	}
	s.commit(p)
	if p = s.plan(); p.Instances[15].Filling != nil {
		t.Error("it is filled still, though no plan can")
	}
}

func instancesUpTo(n int) string {
	ids := make([]string, n)
	for id := range ids {
		ids[id] = fmt.Sprintf(`{"id":%d}`, id)
	}
	return strings.Join(ids, ",")
}

// replayed is the plan again, as a replay makes it.
func (s *scaling) replayed(id string) fillResult {
	s.Helper()
	var x fillAnswer
	s.do("POST", "/v1/plans/"+id+"/replay", `{}`).want(http.StatusOK).into(&x)
	return x.Results[0]
}

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// compactReport is the body of a report of records.
func compactReport(more, records string) string {
	return fmt.Sprintf(`{"compact":{%s"records":[%s]}}`, more, records)
}

// TestCompactReports: the records of the instances together make the plan that they make
// when they come whole, and what each instance names of its own is one resolution.
func TestCompactReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":0.1,"hash":{"function":"reported"}}`)
	const form = `"degree":4,"cost_scale":2,"state_scale":3,`
	records := []string{"[0,0,4,1,3],[0,1,4,2,1]", "[1,1,1,1,2]", "[2,2,1,1,2]"}
	for d, of := range records[:2] {
		if got := e.report(1, d, compactReport(form, of)).want(http.StatusCreated).standing(); got.Rows != int64(2-d) {
			t.Errorf("%+v", got)
		}
	}
	last := "instance,hash_instance,cost,state,count\n2,2,1,1,2\n"
	e.do("PUT", reportTarget(1, 2)+"?compact_degree=4&cost_scale=2&state_scale=3", last, csv).want(http.StatusCreated)
	p := e.planOfReports(1, "").want(http.StatusCreated).compacted()
	e.operator("whole", `{"instances":3,"theta_max":0.1,"hash":{"function":"reported"}}`)
	whole := e.do("POST", "/v1/operators/whole/plans", `{"interval":1,`+
		compactReport(form, strings.Join(records, ","))[1:]).want(http.StatusCreated).compacted()
	if p.InputHash != whole.InputHash || p.Migrates != "classes" ||
		fmt.Sprint(p.classes(t)) != fmt.Sprint(whole.classes(t)) || len(p.classes(t)) == 0 {
		t.Errorf("of reports: %+v\nwhole: %+v", p, whole)
	}
	if again := e.planOfReports(1, "").want(http.StatusOK).compacted(); again.ID != p.ID {
		t.Errorf("%+v", again)
	}

	// Every instance names the keys that it gives away.
	keys, named := "key,from,to,hash_instance\n", 0
	for _, m := range p.classes(t) {
		for range int(m[5]) {
			keys += fmt.Sprintf("k%d,%v,%v,%v\n", named, m[1], m[0], m[2])
			named++
		}
	}
	e.do("PUT", "/v1/plans/"+p.ID+"/resolution", keys, csv).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.ID+"/replay", `{"strategies":["mixed","optimal"]}`).want(http.StatusOK)

	// Records of the table before do not say where their keys are now.
	for d, of := range records {
		body := compactReport(form, of)
		e.report(2, d, `{"table_version":0,`+body[1:]).want(http.StatusCreated)
	}
	e.planOfReports(2, "").fails(http.StatusConflict, "table_version_outdated", "")
}

// TestCompactReportsOfOneForm: records are planned on together if they are of one degree
// and of the same scales.
func TestCompactReportsOfOneForm(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"hash":{"function":"reported"}}`)
	e.report(1, 0, compactReport(`"degree":4,"cost_scale":2,`, "[0,0,4,1,3]")).want(http.StatusCreated)
	for _, c := range []struct{ more, where string }{
		{`"degree":8,"cost_scale":2,`, "/compact/degree"},
		{`"degree":4,"cost_scale":3,`, "/compact/cost_scale"},
		{`"degree":4,"cost_scale":2,"state_scale":2,`, "/compact/state_scale"},
	} {
		e.report(1, 1, compactReport(c.more, "[1,1,1,1,1]")).fails(unprocessable, "invalid", c.where)
	}
	// An instance may send its own again in another form, and one without keys fits all.
	e.report(1, 0, compactReport(`"degree":8,`, "[0,0,4,1,3]")).want(http.StatusOK)
	e.report(1, 1, compactReport(`"degree":8,`, "[1,1,1,1,1]")).want(http.StatusCreated)
	e.report(1, 2, `{"keys":[]}`).want(http.StatusCreated)
	e.planOfReports(1, "").want(http.StatusCreated)

	e.report(2, 0, `{"keys":[{"key":"a","cost":1,"state":1,"hash_instance":0}]}`).want(http.StatusCreated)
	e.report(2, 1, compactReport("", "[1,1,1,1,1]")).fails(unprocessable, "invalid", "/compact")
	e.report(3, 1, compactReport("", "[1,1,1,1,1]")).want(http.StatusCreated)
	e.report(3, 0, `{"keys":[{"key":"a","cost":1,"state":1,"hash_instance":0}]}`).want(http.StatusCreated)
	e.report(3, 2, compactReport("", "")).want(http.StatusCreated)
	e.planOfReports(3, "").fails(http.StatusConflict, "reports_differ", "")

	e.do("PUT", "/v1/operators/clicks", `{"instances":1,"splitting":{"max_parts":2}}`).want(http.StatusOK)
	e.report(4, 0, compactReport("", "[0,0,1,1,1]")).want(http.StatusCreated)
	e.operator("ring", `{"instances":1,"scheme":"ring"}`)
	e.do("PUT", "/v1/operators/ring/intervals/1/reports/0", compactReport("", "[0,0,1,1,1]")).
		fails(unprocessable, "invalid", "/compact")
}

// TestMissingCompactReports: the last records of an instance stand in, or nothing is known
// of it.
func TestMissingCompactReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":0.1,"hash":{"function":"reported"}}`)
	all := []string{"[0,0,4,1,4]", "[1,1,1,1,2]", "[2,2,1,1,2]"}
	for d, of := range all {
		e.report(1, d, compactReport("", of)).want(http.StatusCreated)
	}
	e.do("POST", "/v1/plans/"+e.planOfReports(1, "").want(http.StatusCreated).plan().Id+"/abort", "").
		want(http.StatusOK)
	for _, d := range []int{0, 1} {
		e.report(2, d, compactReport("", all[d])).want(http.StatusCreated)
	}
	e.planOfReports(2, "").fails(http.StatusConflict, "reports_missing", "")
	a := e.planOfReports(2, `,"missing":"carry"`).want(http.StatusCreated)
	if r := a.reports(); len(r.Carried) != 1 || r.Carried[0].Instance != 2 {
		t.Errorf("%+v", r)
	}
	for _, m := range a.compacted().classes(t) {
		if m[1] != 0 {
			t.Errorf("moves %v", m)
		}
	}
	e.do("POST", "/v1/plans/"+a.plan().Id+"/abort", "").want(http.StatusOK)
	for _, d := range []int{0, 1} {
		e.report(3, d, compactReport("", all[d])).want(http.StatusCreated)
	}
	frozen := e.planOfReports(3, `,"missing":"freeze"`).want(http.StatusCreated)
	if r := frozen.reports(); len(r.Frozen) != 1 || r.Frozen[0] != 2 {
		t.Errorf("%+v", r)
	}
	for _, m := range frozen.compacted().classes(t) {
		if m[0] == 2 || m[1] == 2 {
			t.Errorf("a frozen instance has a part in %v", m)
		}
	}
	// It is planned on again as it was.
	e.do("POST", "/v1/plans/"+frozen.plan().Id+"/replay", `{"strategies":["mixed"]}`).want(http.StatusOK)
}

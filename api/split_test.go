package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// parted is a plan that splits keys, as clients see it.
type parted struct {
	ID, Status  string
	Causes      []string
	Balanced    bool
	BaseVersion int64
	Theta       struct{ Before, After float64 }
	Migration   struct {
		Keys  int64
		State float64
	}
	Awaits []int32
	Merges int64
	Splits []struct {
		Key     string
		Cost    float64
		Cause   string
		Changed bool
		Parts   []partOf
	}
	HotKeys []struct {
		Key    string
		Pieces int
	}
	RoutingTable struct {
		SizeBefore, SizeAfter int64
		Set                   []entryOf
		Unset                 []string
	}
	Migrations []struct {
		Key      string
		From, To int32
		State    float64
		Reason   string
	}
}

type partOf struct{ Instance, Weight int32 }

type entryOf struct {
	Key      string
	Instance int32
	Parts    []partOf
}

func (e *env) parted(path, body string, status int) (p parted) {
	e.Helper()
	e.do("POST", path, body).want(status).into(&p)
	return p
}

// hotStatistics are those of an interval in which a key costs as much as given, and twelve
// others 10 each.
func hotStatistics(interval int, hot float64) string {
	var rows []string
	for i := range 12 {
		rows = append(rows, fmt.Sprintf(`{"key":"k%02d","cost":10,"state":10,"hash_instance":%d}`, i, i%4))
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[{"key":"hot","cost":%g,"state":600,"hash_instance":0},%s]}`, interval, hot,
		strings.Join(rows, ","))
}

const splitting = `{"instances":4,"hash":{"function":"reported"},"theta_max":0.05,"trigger":{"cooldown_intervals":0},` +
	`"splitting":{"max_parts":4,"merge_cost":0}}`

func TestSplitKeysAreOperated(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", splitting)
	p := e.parted("/v1/operators/clicks/plans", hotStatistics(1, 120), http.StatusCreated)
	t.Logf("%+v", p)
	if p.Status != "approved" || !p.Balanced || p.Merges < 1 || len(p.Splits) != 1 || !p.Splits[0].Changed ||
		p.Splits[0].Cause != "hot_key" || int64(len(p.Splits[0].Parts)) != p.Merges+1 || len(p.HotKeys) != 0 {
		t.Fatalf("%+v", p)
	}
	parts := p.Splits[0].Parts
	at := slices.IndexFunc(p.RoutingTable.Set, func(x entryOf) bool { return x.Key == "hot" })
	if at < 0 || !slices.Equal(p.RoutingTable.Set[at].Parts, parts) {
		t.Errorf("the table does not split the key: %+v", p.RoutingTable)
	}
	e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
	t.Log(string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body))
	e.finish(p.ID)
	for _, path := range []string{"/v1/operators/clicks/routing-table", "/v1/operators/clicks/route?key=hot", "/v1/operators/clicks/routing-table?since=0",
		"/v1/plans/" + p.ID + "/routing-table", "/v1/plans/" + p.ID, "/v1/operators/clicks", "/v1/plans/"+p.ID+"/migrations"} {
		t.Log(path, string(e.do("GET", path, "").want(http.StatusOK).body))
	}
	t.Log(string(e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: text/csv").want(http.StatusOK).body))
	t.Log(string(e.do("GET", "/v1/plans/"+p.ID+"/routing-table", "", "Accept: text/csv").want(http.StatusOK).body))
	for i, hot := range []float64{120, 118, 150, 60, 20} {
		p = e.parted("/v1/operators/clicks/plans", hotStatistics(2+i, hot), http.StatusCreated)
		t.Logf("%g: %+v", hot, p)
		if p.Status == "approved" {
			t.Log(string(e.do("POST", "/v1/plans/"+p.ID+"/replay", `{}`).want(http.StatusOK).body))
			e.verb(p.ID, "start", `{"executor":"x"}`).want(http.StatusOK)
			e.finish(p.ID)
		}
	}
}

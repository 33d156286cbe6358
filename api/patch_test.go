package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestPatch: what a patch names changes, and the rest stays.
func TestPatch(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks",
		`{"instances":4,"theta_max":0.05,"table_limit":100,"strategy":"optimal","hash":{"function":"kafka","partitions":8},"require_approval":true}`)
	var op struct {
		Instances       []struct{ ID int32 }
		ThetaMax        float64
		TableLimit      *int64
		Strategy        string
		Hash            struct{ Function string }
		RequireApproval bool
		ConfigVersion   int64
		Approval        struct{ OnPending, TTL string }
	}
	patched := func(body string) *answer {
		t.Helper()
		a := e.do("PATCH", "/v1/operators/clicks", body).want(http.StatusOK)
		a.into(&op)
		return a
	}
	patched(`{"instances":5}`)
	if len(op.Instances) != 5 || op.ThetaMax != 0.05 || *op.TableLimit != 100 || op.Strategy != "optimal" ||
		op.Hash.Function != "kafka" ||
		!op.RequireApproval || op.ConfigVersion != 2 {
		t.Errorf("%+v", op)
	}
	a := patched(`{"table_limit":null,"approval":{"ttl":"1h"},"theta_max":0.2}`)
	if op.TableLimit != nil || op.Approval.OnPending != "keep" || op.Approval.TTL != "1h0m0s" || op.ThetaMax != 0.2 ||
		len(op.Instances) != 5 {
		t.Errorf("%s", a.body)
	}
	// The same once more changes nothing; an old tag does not hold.
	if again := patched(`{"theta_max":0.2}`); op.ConfigVersion != 3 || again.header.Get("ETag") != a.header.Get("ETag") {
		t.Errorf("%s", again.body)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"instances":2}`, `If-Match: "old"`).
		fails(http.StatusPreconditionFailed, "precondition_failed", "")
	e.do("PATCH", "/v1/operators/clicks", `{"instances":2}`, "If-Match: "+a.header.Get("ETag")).want(http.StatusOK)
	for _, c := range []struct{ body, code, where string }{
		{`{"instances":0}`, "invalid", "/instances"},
		{`{"instancs":3}`, "invalid", "/instancs"},
		{`{"theta_max":-1}`, "invalid", "/theta_max"},
		{`{"scheme":"ring"}`, "invalid", "/table_limit"},
		{`{"config_version":7}`, "invalid", "/config_version"},
		{`{"hash":null,"approval":{"ttl":"x"}}`, "invalid", "/approval/ttl"},
	} {
		a := e.do("PATCH", "/v1/operators/clicks", c.body)
		if p := a.problem(); a.status != unprocessable || p.Code != c.code {
			t.Errorf("%s: %d %s", c.body, a.status, a.body)
		}
	}
	e.do("PATCH", "/v1/operators/clicks", `[]`).fails(unprocessable, "invalid", "")
	e.do("PATCH", "/v1/operators/clicks", `{`).fails(http.StatusBadRequest, "malformed", "")
	e.do("PATCH", "/v1/operators/clicks", `{"instances":3}`, "Content-Type: application/json").
		fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	e.do("PATCH", "/v1/operators/clicks", `{}`, "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("PATCH", "/v1/operators/clicks", strings.Repeat(" ", 1<<20+1)).
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	e.do("PATCH", "/v1/operators/clicks", `{"table_owner":"engine"}`).fails(http.StatusConflict, "table_owner_fixed", "")
	e.do("PATCH", "/v1/operators/none", `{"instances":3}`).fails(http.StatusNotFound, "operator_not_found", "")
}

// TestPutBack: what was read of an operator can be put again, changed or not.
func TestPutBack(t *testing.T) {
	for _, config := range []string{
		`{"instances":2}`, reported, `{"instances":3,"scheme":"ring","ring":{"method":"fitted"}}`,
		`{"instances":2,"scheme":"ranges"}`, `{"instances":2,"scheme":"pkg","pkg":{"method":"w_choices","choices":3}}`,
		`{"instances":[{"id":4,"capacity":2}],"table_owner":"engine","strategy":"optimal","objective":"min_imbalance","migration_limit":{"fraction":0.1},"deadline":"2s"}`,
	} {
		e := newEnv(t)
		e.operator("clicks", config)
		read := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK)
		same := e.do("PUT", "/v1/operators/clicks", string(read.body)).want(http.StatusOK)
		if string(same.body) != string(read.body) {
			t.Errorf("%s became %s", read.body, same.body)
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(read.body, &members); err != nil {
			t.Fatal(err)
		}
		members["instances"] = jsontext.Value("5")
		changed, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		if a := e.do("PUT", "/v1/operators/clicks", string(changed)).
			want(http.StatusOK); !strings.Contains(string(a.body), `"config_version":2`) {
			t.Errorf("%s", a.body)
		}
		// By now the operator has another version.
		e.do("PUT", "/v1/operators/clicks", string(changed)).fails(unprocessable, "invalid", "/config_version")
		e.do("PUT", "/v1/operators/others", string(changed)).fails(http.StatusNotFound, "operator_not_found", "")
	}
}

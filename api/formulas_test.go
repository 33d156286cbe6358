package api_test

import (
	stdcsv "encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestFormulas: keys that a spreadsheet takes for formulas are escaped on request, and nothing else is.
func TestFormulas(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	keys := []string{"=cmd|' /C calc'!A0", "+1+1", "-2", "@sum", "\tx", "a,\"=b\"", "plain", "=\"a\nb\",=c", "-x"}
	var rows []string
	for _, key := range keys {
		for _, end := range []string{"", "1", "22"} {
			rows = append(rows, `{"key":`+strconv.Quote(key+end)+`,"cost":1,"instance":0,"hash_instance":0}`)
		}
	}
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[`+strings.Join(rows, ",")+`]}`).
		want(http.StatusCreated).plan()
	e.verb(p.Id, "commit", `{"stopped":true}`).want(http.StatusOK)
	list := "/v1/operators/clicks/routing-table"
	read := func(query string) map[string]bool {
		a := e.do("GET", list+query, "", "Accept: text/csv").want(http.StatusOK)
		lines, err := stdcsv.NewReader(strings.NewReader(string(a.body))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, line := range lines[1:] {
			found[line[0]] = true
		}
		return found
	}
	plain, escaped := read(""), read("?formulas=escape")
	if len(plain) < 10 || len(plain) != len(escaped) {
		t.Fatalf("%d keys, %d escaped", len(plain), len(escaped))
	}
	for key := range plain {
		want := key
		if strings.ContainsAny(key[:1], "=+-@\t") && strings.Trim(key, "-12") != "" {
			want = "'" + key
		}
		if !escaped[want] {
			t.Errorf("%q is not %q in %v", key, want, escaped)
		}
	}
	e.do("GET", list+"?formulas=no", "", "Accept: text/csv").fails(http.StatusUnprocessableEntity, "invalid", "?formulas")
}

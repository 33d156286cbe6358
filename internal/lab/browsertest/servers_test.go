package browsertest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"plannerd/internal/demo"
	"plannerd/internal/web/access"
)

// TestFilled holds what is there against what Filled says of it. The server asks for
// tokens: it is one for all.
func TestFilled(t *testing.T) {
	s := Secured(t)
	ask := func(method, path, body string, out any) (status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Tokens[access.Viewer])
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if err := json.NewDecoder(a.Body).Decode(out); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return a.StatusCode
	}
	type seen struct {
		Operator string `json:"operator"`
		Status   string `json:"status"`
		Migrates string `json:"migrates"`
	}
	plans := reflect.ValueOf(s.Plans)
	want := map[string]seen{
		"Committed":  {demo.Clicks, "committed", "keys"},
		"NoAction":   {demo.Clicks, "no_action", "keys"},
		"Expired":    {demo.Clicks, "expired", "keys"},
		"Rejected":   {demo.Clicks, "rejected", "keys"},
		"Superseded": {demo.Clicks, "superseded", "keys"},
		"Proposed":   {demo.Clicks, "proposed", "keys"},
		"Pending":    {demo.Clicks, "no_action", "keys"},
		"HotKeys":    {demo.Functions, "committed", "keys"},
		"Rescaled":   {demo.Pages, "approved", "keys"},
		"Applying":   {demo.Volume, "applying", "keys"},
		"Ring":       {demo.Products, "approved", "arcs"},
		"Ranges":     {demo.Files, "approved", "ranges"},
		"Classes":    {demo.Names, "approved", "classes"},
		"Unbalanced": {demo.Edits, "committed", "keys"},
		"Split":      {demo.Channels, "applying", "keys"},
		"Big":        {demo.Big, "proposed", "keys"},
	}
	if len(want) != plans.NumField() {
		t.Errorf("Filled has %d plans", plans.NumField())
	}
	for name, want := range want {
		var got seen
		if ask(http.MethodGet, "/v1/plans/"+plans.FieldByName(name).String(), "", &got); got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	var idle struct {
		Plan *string `json:"current_plan"`
	}
	if status := ask(http.MethodGet, "/v1/operators/"+demo.Idle, "", &idle); status != http.StatusOK || idle.Plan != nil {
		t.Errorf("%d, plan %v", status, idle.Plan)
	}
	if status := ask(http.MethodPut, "/v1/operators/"+demo.Idle, `{"instances": 2}`,
		&idle); status != http.StatusForbidden {
		t.Errorf("a viewer configures an operator: %d", status)
	}
}

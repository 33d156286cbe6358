package fill

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"plannerd/internal/access"
)

// dataDir holds the real key streams, beside the project.
const dataDir = "../../../../shared/data"

func serve(t *testing.T, secured bool) *Server {
	t.Helper()
	if _, err := os.Stat(dataDir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(ErrNoStreams)
		}
		t.Skip(ErrNoStreams)
	}
	folder := t.TempDir()
	program, err := Build(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), Config{Program: program, Folder: folder, Secured: secured})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestFill holds what is there against what Filled says of it. The server asks
// for tokens: it is one for all.
func TestFill(t *testing.T) {
	s := serve(t, true)
	plans, err := Fill(t.Context(), s.URL, Options{Data: dataDir, Token: s.Tokens[access.Admin]})
	if err != nil {
		t.Fatal(err)
	}
	viewer := client{base: s.URL, token: s.Tokens[access.Viewer]}
	for _, want := range []struct {
		id, operator, status, migrates string
	}{
		{plans.Committed, Clicks, committed, "keys"},
		{plans.NoAction, Clicks, noAction, "keys"},
		{plans.Expired, Clicks, expired, "keys"},
		{plans.Rejected, Clicks, rejected, "keys"},
		{plans.Superseded, Clicks, superseded, "keys"},
		{plans.Proposed, Clicks, proposed, "keys"},
		{plans.Pending, Clicks, noAction, "keys"},
		{plans.HotKeys, Functions, committed, "keys"},
		{plans.Rescaled, Pages, approved, "keys"},
		{plans.Applying, Volume, applying, "keys"},
		{plans.Ring, Products, approved, "arcs"},
		{plans.Ranges, Files, approved, "ranges"},
		{plans.Classes, Names, approved, "classes"},
		{plans.Unbalanced, Edits, committed, "keys"},
		{plans.Big, Big, proposed, "keys"},
	} {
		var got struct {
			Operator string `json:"operator"`
			Status   string `json:"status"`
			Migrates string `json:"migrates"`
		}
		if err := viewer.call(t.Context(), http.MethodGet, "/v1/plans/"+want.id, nil, &got); err != nil {
			t.Error(err)
		}
		if got.Operator != want.operator || got.Status != want.status || got.Migrates != want.migrates {
			t.Errorf("a plan of %s is %+v, want %+v", want.operator, got, want)
		}
	}
	for i, v := 0, reflect.ValueOf(plans); i < v.NumField(); i++ {
		if v.Field(i).String() == "" {
			t.Errorf("there is no plan %s", v.Type().Field(i).Name)
		}
	}
	var idle struct {
		Plan *string `json:"current_plan"`
	}
	if err := viewer.call(t.Context(), http.MethodGet, "/v1/operators/"+Idle, nil, &idle); err != nil || idle.Plan != nil {
		t.Errorf("plan %v, %v", idle.Plan, err)
	}
	if err := viewer.put(t.Context(), Idle, object{"instances": 2}); err == nil {
		t.Error("a viewer configures an operator")
	}
}

func TestNoStreams(t *testing.T) {
	if _, err := Fill(t.Context(), "http://127.0.0.1:1", Options{Data: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, ErrNoStreams) {
		t.Errorf("%v", err)
	}
}

package access

import (
	"slices"
	"strings"
	"testing"
)

// TestGrants: which role may do what asks for which.
func TestGrants(t *testing.T) {
	needs := []Role{Open, Viewer, Engine, Approver, Admin}
	for role, granted := range map[Role][]Role{
		Viewer:   {Open, Viewer},
		Engine:   {Open, Viewer, Engine},
		Approver: {Open, Viewer, Approver},
		Admin:    needs,
		"":       {Open},
		"root":   {Open},
	} {
		for _, need := range needs {
			if got, want := role.Grants(need), slices.Contains(granted, need); got != want {
				t.Errorf("%q may what asks for %s: %t, want %t", role, need, got, want)
			}
		}
	}
	for _, name := range []string{"", "open", "Admin", "root"} {
		if _, err := ParseRole(name); err == nil {
			t.Errorf("%q is the role of a caller", name)
		}
	}
}

func TestSees(t *testing.T) {
	for _, c := range []struct {
		patterns, operator string
		want               bool
	}{
		{"*", "anything.at-all_1", true},
		{"clicks", "clicks", true},
		{"clicks", "Clicks", false},
		{"clicks", "clicks2", false},
		{"team-a.*", "team-a.clicks", true},
		{"team-a.*", "team-a.", true},
		{"team-a.*", "team-a", false},
		{"team-a.*", "team-axclicks", false},
		{"team-a.*,shared", "shared", true},
		{"team-a.*,shared", "team-b.clicks", false},
		{"*.clicks", "team-b.clicks", true},
		{"v?", "v1", true},
		{"v?", "v10", false},
	} {
		patterns, err := ParseOperators(c.patterns)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Caller{Operators: patterns}).Sees(c.operator); got != c.want {
			t.Errorf("%s sees %s: %t", c.patterns, c.operator, got)
		}
	}
	for _, bad := range []string{"", "a,", ",a", "a b", "[a-z]", `\*`, "a/b", "é", "^a"} {
		if _, err := ParseOperators(bad); err == nil {
			t.Errorf("%q is taken for patterns", bad)
		}
	}
}

// TestAhead: no operator that the caller sees is passed over, and those between are.
func TestAhead(t *testing.T) {
	names := []string{"A", "a", "team", "team-", "team-a", "team-a.", "team-a.clicks", "team-a.z", "team-a0", "team-b.x",
		"v", "v1", "v10", "z", "zz"}
	for _, list := range []string{"*", "team-a.*", "team-a.*,z", "z,team-a.*", "v?", "*.clicks", "team-a", "A", "v1,v",
		"team-b.?"} {
		patterns, err := ParseOperators(list)
		if err != nil {
			t.Fatal(err)
		}
		c := &Caller{Operators: patterns}
		for _, after := range append([]string{""}, names...) {
			ahead, more := c.Ahead(after)
			if more && ahead < after {
				t.Errorf("%s after %q: back to %q", list, after, ahead)
			}
			for _, name := range names {
				if name > after && c.Sees(name) && (!more || name <= ahead) {
					t.Errorf("%s after %q: %q is passed over by %q, %t", list, after, name, ahead, more)
				}
			}
		}
	}
	c := &Caller{Operators: []string{"team-a.*"}}
	for after, next := range map[string]string{
		"": "team-a.", "team-a-z": "team-a.", "team-a.q": "team-a.r", "team-a/": "",
	} {
		ahead, more := c.Ahead(after)
		if more != (next != "") || more && (ahead >= next || ahead < "team-a-zzz") {
			t.Errorf("after %q: %q, %t; want what is right before %q", after, ahead, more, next)
		}
	}
}

// TestRead: what Line writes is what Read reads, and Find finds who it was for.
func TestRead(t *testing.T) {
	engine := Caller{"job-manager", Engine, []string{"team-a.*", "shared"}}
	viewer := Caller{"prometheus@ops", Viewer, []string{"*"}}
	old, renewed, other := NewSecret(), NewSecret(), NewSecret()
	var tokens Tokens
	text := "# who\n\n" + Line(old, engine) + " # the old one\r\n\t" + Line(renewed, engine) + "\n" + Line(other, viewer)
	if err := tokens.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]*Caller{old: &engine, renewed: &engine, other: &viewer, "": nil, NewSecret(): nil,
		old[:len(old)-1]: nil} {
		got := tokens.Find(secret)
		if (got == nil) != (want == nil) || got != nil && (got.Name != want.Name || !got.Same(*want)) {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
	if strings.Contains(text, old) || tokens.Len() != 3 {
		t.Errorf("%d tokens of %s", tokens.Len(), text)
	}
}

func TestReadErrors(t *testing.T) {
	secret := NewSecret()
	line := Line(secret, Caller{"a", Viewer, []string{"*"}})
	for text, want := range map[string]string{
		"a viewer *":                        "line 1: write: ",
		line + " more":                      "line 1: write: ",
		"a viewer * " + secret:              "64 hexadecimal digits",
		"a viewer * sha256:12":              "64 hexadecimal digits",
		"a viewer * " + line[18:]:           "64 hexadecimal digits",
		"a root * sha256:12":                "none of the roles",
		"a open * sha256:12":                "none of the roles",
		"a,b viewer * sha256:12":            "no name",
		strings.Repeat("a", 65) + " b * c":  "no name",
		"a viewer a[b] sha256:12":           "no pattern",
		line + "\n" + line:                  "line 2: a and a have the same token",
		line + "\n" + "b" + line[1:]:        "line 2: a and b have the same token",
		line + "\n" + otherRole("a", Admin): "different roles",
	} {
		err := new(Tokens).Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func otherRole(name string, role Role) string {
	return Line(NewSecret(), Caller{name, role, []string{"*"}})
}

func TestAdd(t *testing.T) {
	var tokens Tokens
	for _, short := range []string{"", "guessed"} {
		if err := tokens.Read(strings.NewReader(Line(short, Caller{"a", Admin, []string{"*"}}))); err != nil {
			t.Fatal(err)
		}
		if tokens.Find(short) != nil {
			t.Errorf("%q lets somebody in", short)
		}
	}
	for _, bad := range []string{"", "short", strings.Repeat("a", 31), strings.Repeat("a", 32) + " ",
		strings.Repeat("é", 32)} {
		if err := tokens.Add(bad, Caller{"a", Admin, []string{"*"}}); err == nil || bad != "" &&
			strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := tokens.Add(strings.Repeat("a", 32), Caller{"a", Admin, []string{"*"}}); err != nil {
		t.Error(err)
	}
}

func BenchmarkFind(b *testing.B) {
	var tokens Tokens
	var last string
	for range 100 {
		last = NewSecret()
		if err := tokens.Add(last, Caller{"a", Viewer, []string{"*"}}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if tokens.Find(last) == nil {
			b.Fatal("not found")
		}
	}
}

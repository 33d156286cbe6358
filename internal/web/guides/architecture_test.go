package guides

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAreWhereTheyAreSaidToBe: each file that ARCHITECTURE.md names is there, and
// declares the functions that the page says it has.
func TestRulesAreWhereTheyAreSaidToBe(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	// A place is a file, and after a colon perhaps the names that it declares.
	place := regexp.MustCompile("`([a-z0-9_/]+\\.(?:go|yaml))`(?:: ((?:`[A-Za-z0-9_.]+`(?:, )?)+))?")
	name := regexp.MustCompile("`([^`]+)`")
	found := 0
	for _, m := range place.FindAllStringSubmatch(string(text), -1) {
		file := filepath.Join(root, m[1])
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s is not there", m[1])
			continue
		}
		if m[2] == "" {
			continue
		}
		there := declared(t, file)
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			if found++; !there[n[1]] {
				t.Errorf("%s declares no %s", m[1], n[1])
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d names", found)
	}
}

// declared are the functions of a file; a method is written Type.method.
func declared(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			name = strings.Join([]string{receiver.(*ast.Ident).Name, name}, ".")
		}
		there[name] = true
	}
	return there
}

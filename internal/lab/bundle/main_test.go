package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	firstPart = `# The first part.
x-files:
  - b.yaml
openapi: 3.0.3
info: {title: test, version: "1"} # kept
paths:
  /a:
    get:
      responses:
        default: {$ref: "#/components/responses/Any"}
`
	secondPart = `# The second part.
components:
  schemas:
    # Kept, too.
    Text: {type: string}
  responses:
    Any:
      description: |
        components:
          parameters:
      content:
        text/plain:
          schema: {$ref: "#/components/schemas/Text"}
`
)

const joined = `openapi: 3.0.3
info: {title: test, version: "1"} # kept
paths:
  /a:
    get:
      responses:
        default: {$ref: "#/components/responses/Any"}
components:
  responses:
    Any:
      description: |
        components:
          parameters:
      content:
        text/plain:
          schema: {$ref: "#/components/schemas/Text"}
  schemas:
    # Kept, too.
    Text: {type: string}
`

func TestBundle(t *testing.T) {
	tests := []struct {
		name   string
		second string
		third  string // "": there is none
		fails  string // "": it does not
	}{
		{name: "joined", second: secondPart},
		{name: "unknown section", second: strings.Replace(secondPart, "  schemas:", "  schemata:", 1), fails: `"schemata"`},
		{name: "file not named", second: secondPart, third: secondPart, fails: "c.yaml is not in x-files"},
		{name: "dangling reference", second: strings.Replace(secondPart, "    Text:", "    Texts:", 1),
			fails: "schemas/Text"},
		{name: "a name twice", second: secondPart + "  schemas:\n    Text: {type: integer}\n", fails: "Text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			first := write("a.yaml", firstPart)
			write("b.yaml", test.second)
			if test.third != "" {
				write("c.yaml", test.third)
			}
			document := filepath.Join(t.TempDir(), "document.yaml")
			err := bundle(first, document)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("error %v, want one about %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			if _, text, _ := strings.Cut(string(got), "\n"); text != joined {
				t.Errorf("the document is\n%s\nwant\n%s", text, joined)
			}
		})
	}
}

package guides

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd"
)

// TestReference: what the guides list is what the contract has: statuses, causes,
// problem codes, and the fields of an operator.
func TestReference(t *testing.T) {
	contract, err := openapi3.NewLoader().LoadFromData(plannerd.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(name string) *openapi3.Schema { return contract.Components.Schemas[name].Value }
	values := func(name string) (all []string) {
		for _, v := range schema(name).Enum {
			all = append(all, v.(string))
		}
		return all
	}
	var fields []string
	for name, field := range schema("OperatorConfiguration").Properties {
		if field.Value.ReadOnly {
			continue
		}
		if name == "compact" || name == "splitting" || name == "hash" || name == "ring" || name == "ranges" ||
			name == "pkg" || name == "trigger" || name == "approval" || name == "reports" || name == "retention" {
			for part := range field.Value.Properties {
				fields = append(fields, name+"."+part)
			}
			for _, of := range field.Value.AllOf {
				for part := range of.Value.Properties {
					fields = append(fields, name+"."+part)
				}
			}
			continue
		}
		fields = append(fields, name)
	}
	causes := firstCells(schema("Causes").Description)
	for _, c := range []struct {
		page, heading string
		want          []string
	}{
		{"docs/plans.md", "Statuses", values("PlanStatus")},
		{"docs/plans.md", "When there is a plan, and when there is none", causes},
		{"docs/reference.md", "Statuses of a plan", values("PlanStatus")},
		{"docs/reference.md", "Problem codes", values("Code")},
		{"docs/reference.md", "Configuration of an operator", fields},
		{"docs/strategies.md", "The strategies", values("Strategy")},
		{"docs/schemes.md", "Hash functions of a table", values("HashFunction")},
		{"docs/access.md", "Roles", values("Role")},
	} {
		text, err := os.ReadFile(filepath.Join(root, c.page))
		if err != nil {
			t.Fatal(err)
		}
		_, section, found := strings.Cut(string(text), "\n## "+c.heading+"\n")
		if !found {
			t.Errorf("%s has no heading %q", c.page, c.heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		got := firstCells(section)
		slices.Sort(got)
		slices.Sort(c.want)
		for _, name := range c.want {
			if !slices.Contains(got, name) {
				t.Errorf("%s, %s: %s is missing", c.page, c.heading, name)
			}
		}
		for _, name := range got {
			if !slices.Contains(c.want, name) {
				t.Errorf("%s, %s: the contract has no %s", c.page, c.heading, name)
			}
		}
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`[^|]*) \\|")
	code = regexp.MustCompile("`([^`]+)`")
)

// firstCells are the names in the first column of a table.
func firstCells(text string) (names []string) {
	for _, cells := range row.FindAllStringSubmatch(text, -1) {
		for _, name := range code.FindAllStringSubmatch(cells[1], -1) {
			names = append(names, name[1])
		}
	}
	return names
}

package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type grafanaPanel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ Expr, LegendFormat string }
}

// TestGrafana: the dashboard for Grafana asks for metrics that there are, by labels that
// they have, leaves none out, and its panels lie side by side.
func TestGrafana(t *testing.T) {
	var board struct{ Panels []grafanaPanel }
	if err := json.Unmarshal([]byte(readRoot(t, "deploy", "plannerd", "files", "grafana.json")), &board); err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(plannerd_\\w+)` \\|([^|]*)\\|").
		FindAllStringSubmatch(readRoot(t, "docs", "monitoring.md"), -1) {
		labels[row[1]] = append(names("`(\\w+)`", row[2]), "job", "instance", "le")
	}
	served := names(`(?m)^# TYPE (plannerd_\w+) `, string(newEnv(t).do("GET", "/metrics", "").want(http.StatusOK).body))
	var asked []string
	for i, p := range board.Panels {
		for _, other := range board.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if p.ID == other.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s and %s are in the same place", p.Title, other.Title)
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s shows nothing, or is too wide", p.Title)
		}
		for _, target := range p.Targets {
			asked = append(asked, checkExpression(t, target.Expr, target.LegendFormat, labels)...)
		}
	}
	for _, name := range served { // others appear with the first plan
		if !slices.Contains(asked, name) {
			t.Errorf("%s is on no panel", name)
		}
	}
}

// checkExpression checks an expression against the metrics that there are, with their
// labels, and returns which it asks for.
func checkExpression(t *testing.T, expr, legend string, labels map[string][]string) (asked []string) {
	t.Helper()
	var known []string
	for _, name := range names(`\b(plannerd_\w+)`, expr) {
		if labels[name] == nil {
			name = regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, "")
		}
		if labels[name] == nil {
			t.Errorf("%s: there is no %s", expr, name)
		}
		known, asked = append(known, labels[name]...), append(asked, name)
	}
	used := names(`(\w+)(?:=~|!~|=|!=)"`, expr)
	for _, group := range names(`(?:by|on|group_left) \(([^)]*)\)`, expr) {
		used = append(used, strings.FieldsFunc(group, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	shown := names(`{{(\w+)}}`, legend)
	for _, label := range append(used, shown...) {
		if !slices.Contains(known, label) {
			t.Errorf("%s: the label %s is not there", expr, label)
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") {
		t.Errorf("%s: the parentheses do not match", expr)
	}
	return asked
}

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// axeFile is where axe-core is, seen from the root of the module.
const axeFile = "web/testdata/axe/axe.min.js"

// axeScript reads axe-core.
var axeScript = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(axeFile)))
	return string(text), err
})

// violation is a rule that elements of a page break.
type violation struct {
	Rule, Impact, Help string
	Nodes              []struct{ Target, Summary string }
}

func (v *violation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "accessibility: %s (%s): %s", v.Rule, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&text, "\n%s\n\t%s", n.Target, strings.ReplaceAll(n.Summary, "\n", "\n\t"))
	}
	return text.String()
}

// axeRun runs axe-core as its options say.
const axeRun = `axe.run(document, {runOnly: %s, resultTypes: ['violations']}).then(found => found.violations.map(v => ({
	rule: v.id, impact: v.impact, help: v.help,
	nodes: v.nodes.map(n => ({target: n.target.join(' '), summary: n.failureSummary})),
})))`

// The rules of axe-core for WCAG 2.1 AA and its best practices, and those of them that look
// at colours.
const (
	allRules    = `{type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}`
	colourRules = `{type: 'rule', values: ['color-contrast', 'link-in-text-block']}`
)

// Axe looks for what keeps people from using the page as it is now, by the rules
// of axe-core for WCAG 2.1 AA and its best practices. What is serious or critical
// fails the test, the rest is logged.
func (p *Page) Axe() {
	p.t.Helper()
	p.axe(allRules, "minor", "moderate")
}

// AxeAll is [Page.Axe] that lets nothing pass.
func (p *Page) AxeAll() {
	p.t.Helper()
	p.axe(allRules)
}

// AxeColours looks for that by the rules alone that look at colours: nothing else is
// otherwise in a page that [Page.Axe] has looked at in other colours.
func (p *Page) AxeColours() {
	p.t.Helper()
	p.axe(colourRules, "minor", "moderate")
}

func (p *Page) axe(rules string, passes ...string) {
	p.t.Helper()
	script, err := axeScript()
	if err != nil {
		p.t.Fatal(err)
	}
	if !Eval[bool](p, "'axe' in window") {
		Eval[*bool](p, script+";null")
	}
	for _, v := range Eval[[]violation](p, fmt.Sprintf(axeRun, rules)) {
		if slices.Contains(passes, v.Impact) {
			p.t.Log(v.String())
		} else {
			p.t.Error(v.String())
		}
	}
}

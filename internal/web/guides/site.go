package guides

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// File is what a server shows at an address.
type File struct {
	Media string // its Content-Type
	Body  []byte
}

// Index is the name of the page that stands for the folder of the guides.
const Index = ""

// Names of what a page of the site may link to besides other pages.
const (
	indexSource    = "docs/README.md"
	contractSource = "openapi.yaml"
	styleSheet     = "guides.css"
)

//go:embed guides.css
var style []byte

//go:embed page.html
var pageText string

// reachable lets the keyboard scroll what is wider than a phone, and has no head that says nothing.
var reachable = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`,
	"<th></th>", "<td></td>")

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Site renders the pages of Markdown at the root and in the folder docs of files, and
// takes along the pictures there. Its keys are the last parts of addresses: the
// page docs/tutorial.md is tutorial, ARCHITECTURE.md is architecture, and docs/README.md
// is [Index], the page of the folder itself. All links are relative, so the site works
// below any prefix. A link to a file that is not part of it becomes plain text.
func Site(files fs.FS) (map[string]File, error) {
	site := map[string]File{styleSheet: {Media: "text/css; charset=utf-8", Body: style}}
	sources := map[string]string{} // address by path
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*.png", "docs/*.svg"} {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			sources[name] = address(name)
		}
	}
	for name, at := range sources {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		f := File{Media: "image/png", Body: body}
		switch path.Ext(name) {
		case ".svg":
			f.Media = "image/svg+xml"
		case ".md":
			f.Media = "text/html; charset=utf-8"
			if f.Body, err = render(name, body, sources); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		site[at] = f
	}
	return site, nil
}

func address(name string) string {
	if name == indexSource {
		return Index
	}
	base := path.Base(name)
	if path.Ext(base) == ".md" {
		base = strings.ToLower(strings.TrimSuffix(base, ".md"))
	}
	return base
}

// render makes a page of HTML of a page of Markdown.
func render(name string, source []byte, sources map[string]string) ([]byte, error) {
	// The index stands one level above what it links to.
	below, above := "", "../"
	if name == indexSource {
		below, above = "docs/", ""
	}
	document := parse(source)
	// Links may be replaced, so they are gathered first.
	var links []ast.Node
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if k := n.Kind(); entering && (k == ast.KindLink || k == ast.KindImage) {
			links = append(links, n)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	for _, n := range links {
		switch n := n.(type) {
		case *ast.Image:
			if at, ok := sources[path.Join(path.Dir(name), string(n.Destination))]; ok {
				n.Destination = []byte(below + at)
			}
		case *ast.Link:
			to, ok := target(name, string(n.Destination), below, above, sources)
			if n.Destination = []byte(to); !ok {
				unlink(n)
			}
		}
	}
	var body, page bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, document); err != nil {
		return nil, err
	}
	err = pageTemplate.Execute(&page, map[string]any{
		"Title": title(document, source), "Below": below, "Above": above, "Style": below + styleSheet,
		"Body": template.HTML(reachable.Replace(body.String())), //nolint:gosec // goldmark leaves out HTML of a page
	})
	return page.Bytes(), err
}

// target is where a link of a page leads in the site, if it does.
func target(name, link, below, above string, sources map[string]string) (to string, ok bool) {
	file, fragment, _ := strings.Cut(link, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	switch at, found := sources[path.Join(path.Dir(name), file)]; {
	case file == "":
		return fragment, true
	case strings.HasPrefix(file, "https://"):
		return link, true
	case path.Join(path.Dir(name), file) == contractSource:
		return above + contractSource, true
	case !found:
		return "", false
	case at == Index:
		return above + "docs" + fragment, true
	default:
		return below + at + fragment, true
	}
}

// unlink leaves the text of a link in its place.
func unlink(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		parent.InsertBefore(parent, n, c)
		c = next
	}
	parent.RemoveChild(parent, n)
}

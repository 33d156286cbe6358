// Package guides reads the project's Markdown: it finds the code blocks, links and
// headings of a page, and makes the pages that a running server shows.
package guides

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown knows what the pages use: CommonMark and tables. HTML in a page is
// left out when it is rendered, so that a page cannot bring scripts along, and cells
// are aligned without the style attributes that the policy of the pages forbids.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// Block is a fenced block of code.
type Block struct {
	Language string // the first word after the fence
	Note     string // what stands behind the language
	Text     string
	Line     int // of its first line in the page, from 1
}

// Page is what tests ask about a page of Markdown.
type Page struct {
	Title   string // the first heading
	Blocks  []Block
	Links   []string // destinations of links and images
	Anchors map[string]bool
}

// Parse reads a page.
func Parse(source []byte) Page {
	document := parse(source)
	page := Page{Title: title(document, source), Anchors: map[string]bool{}}
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok {
				page.Anchors[string(id.([]byte))] = true
			}
		case *ast.Link:
			page.Links = append(page.Links, string(n.Destination))
		case *ast.Image:
			page.Links = append(page.Links, string(n.Destination))
		case *ast.CodeBlock: // indented, so without a language
			page.Blocks = append(page.Blocks, block(n, "", source))
		case *ast.FencedCodeBlock:
			info := ""
			if n.Info != nil {
				info = string(n.Info.Value(source))
			}
			page.Blocks = append(page.Blocks, block(n, info, source))
		}
		return ast.WalkContinue, nil
	})
	return page
}

func parse(source []byte) ast.Node {
	context := parser.NewContext(parser.WithIDs(&headingIDs{used: map[string]int{}}))
	return markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
}

func block(n ast.Node, info string, source []byte) Block {
	b := Block{}
	b.Language, b.Note, _ = strings.Cut(info, " ")
	lines := n.Lines()
	var all strings.Builder
	for i := range lines.Len() {
		line := lines.At(i)
		if i == 0 {
			b.Line = 1 + strings.Count(string(source[:line.Start]), "\n")
		}
		all.Write(line.Value(source))
	}
	b.Text = all.String()
	return b
}

// title is the text of the first heading.
func title(document ast.Node, source []byte) string {
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			return string(headingText(n, source))
		}
	}
	return ""
}

func headingText(n ast.Node, source []byte) (all []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			all = append(all, t.Value(source)...)
		} else {
			all = append(all, headingText(c, source)...)
		}
	}
	return all
}

// headingIDs names headings as GitHub does, so that a link to one works there and
// here: lower case, letters, digits, - and _ are kept, blanks become -, and the
// second heading of a name gets -1.
type headingIDs struct{ used map[string]int }

func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := h.used[id]
	h.used[id] = n + 1
	if n > 0 {
		id += "-" + strconv.Itoa(n)
	}
	return []byte(id)
}

func (h *headingIDs) Put(value []byte) { h.used[util.BytesToReadOnlyString(value)]++ }

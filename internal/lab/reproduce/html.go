package reproduce

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
)

//go:embed report.html
var reportText string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"number":  func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) },
	"plotted": plotted,
	"deref":   func(b *bool) bool { return *b },
}).Parse(reportText))

// WriteHTML writes results as one page that needs nothing else, with a plot of each item
// that is over numbers. charts is the module of ECharts, which draws them as SVG.
func WriteHTML(w io.Writer, results []*Result, charts []byte) error {
	page := struct {
		Items                    []*Result
		Agree, Differ, ImageOnly int
		Charts                   template.HTML
	}{Items: results, Charts: template.HTML(importMap(charts))} //nolint:gosec // base64
	for _, r := range results {
		switch r.Verdict {
		case Agrees:
			page.Agree++
		case Differs:
			page.Differ++
		case ImageOnly:
			page.ImageOnly++
		}
	}
	return report.Execute(w, page)
}

// importMap lets a page import a module that it has in itself.
func importMap(module []byte) string {
	return `<script type="importmap">{"imports":{"echarts":"data:text/javascript;base64,` +
		base64.StdEncoding.EncodeToString(module) + `"}}</script>`
}

// plotted says whether some series of a result is over numbers, two at least.
func plotted(r *Result) bool {
	for _, s := range r.Series {
		if len(s.Points) > 1 && s.Points[0].At != nil {
			return true
		}
	}
	return false
}

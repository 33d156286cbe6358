package reproduce

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	draw2d "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

//go:embed report.html
var reportText string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) },
	"deref":  func(x *float64) float64 { return *x },
}).Parse(reportText))

// WriteHTML writes results as one page that needs nothing else, with a plot of each item
// that is over numbers.
func WriteHTML(w io.Writer, results []*Result) error {
	type shown struct {
		*Result
		Plot template.HTML
	}
	var page struct {
		Items                    []shown
		Agree, Differ, ImageOnly int
	}
	for _, r := range results {
		image, err := draw(r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		page.Items = append(page.Items, shown{r, template.HTML(image)}) //nolint:gosec // the plot is drawn here
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

// The size of a plot.
const (
	plotWidth  = 6 * vg.Inch
	plotHeight = 3.4 * vg.Inch
)

// draw draws the series of a result that are over numbers as an SVG; without any it is empty.
func draw(r *Result) ([]byte, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = r.X, r.Y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	drawn, positive := 0, true
	for _, s := range r.Series {
		var points, values plotter.XYs
		for _, point := range s.Points {
			if point.At == nil {
				continue
			}
			points = append(points, plotter.XY{X: *point.At, Y: point.Median})
			positive = positive && point.Median > 0
			if point.Published != nil {
				values = append(values, plotter.XY{X: *point.At, Y: *point.Published})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = plotutil.Color(drawn), vg.Points(1.5)
		dots.Color, dots.Shape = line.Color, plotutil.Shape(drawn)
		p.Add(line, dots)
		p.Legend.Add(s.Name, line, dots)
		if len(values) > 0 {
			marks, err := plotter.NewScatter(values)
			if err != nil {
				return nil, err
			}
			marks.Color, marks.Shape, marks.Radius = line.Color, plotutil.Shape(4), vg.Points(5)
			p.Add(marks)
			p.Legend.Add(s.Name+", published", marks)
		}
		drawn++
	}
	if drawn == 0 {
		return nil, nil
	}
	if r.Log && positive {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	} else if p.Y.Min > 0 && !r.Log {
		p.Y.Min = 0
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw2d.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	_, image, _ := bytes.Cut(out.Bytes(), []byte("<svg")) // without the declaration of XML
	return append([]byte("<svg"), image...), nil
}

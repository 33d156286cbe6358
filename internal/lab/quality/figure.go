package main

import (
	"fmt"
	"math"
	"strings"
)

// The figure, in pixels: its size, and where its axes are.
const (
	figureWidth, figureHeight = 640, 400
	axisLeft, axisRight       = 60, 600
	axisTop, axisBottom       = 30, 350
)

// ratioTicks are the marks of the axis of the ratio, which is logarithmic.
var ratioTicks = []float64{1, 1.02, 1.05, 1.15, 1.5, 2, 5, 10, 50}

// curve is one line of the figure.
type curve struct {
	name, colour string
	of           func(gap) float64
}

var curves = []curve{
	{"median", "#2b6cb0", func(g gap) float64 { return g.median }},
	{"p90", "#2f855a", func(g gap) float64 { return g.p90 }},
	{"p95", "#c05621", func(g gap) float64 { return g.p95 }},
}

// drawGaps draws the ratio against the work as an SVG, both logarithmic. What is off the
// scale, such as the ratio of no plan, is at its upper edge.
func drawGaps(gaps []gap) string {
	low, high, most := math.Inf(1), 0.0, ratioTicks[2]
	for _, g := range gaps {
		low, high = min(low, max(g.work, 1)), max(high, g.work, 2)
		for _, c := range curves {
			if y := c.of(g); y <= ratioTicks[len(ratioTicks)-1] {
				most = max(most, y)
			}
		}
	}
	x := func(work float64) float64 {
		share := math.Log(max(work, 1)/low) / max(math.Log(high/low), 1e-9)
		return axisLeft + share*(axisRight-axisLeft)
	}
	y := func(ratio float64) float64 {
		return axisBottom - min(1, math.Log(ratio)/math.Log(most))*(axisBottom-axisTop)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", figureWidth, figureHeight)
	for _, tick := range ratioTicks {
		if tick <= most*1.001 {
			fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
				axisLeft, y(tick), axisRight, axisLeft-6, y(tick)+4, tick)
		}
	}
	for i, g := range gaps { // labels take turns in two lines
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(g.work), axisBottom+16+i%2*13, g.label)
	}
	for i, c := range curves {
		drawCurve(&b, c, gaps, x, y)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", axisRight-50, axisTop+16*i, c.colour, c.name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">mean work units, %.3g to %.3g, logarithmic</text>`+"\n",
		(axisLeft+axisRight)/2, axisBottom+46, low, high)
	fmt.Fprintf(&b, `<text x="%d" y="%d">moved ÷ proven least, logarithmic</text>`+"\n</svg>\n", axisLeft, axisTop-12)
	return b.String()
}

func drawCurve(b *strings.Builder, c curve, gaps []gap, x, y func(float64) float64) {
	points := make([]string, len(gaps))
	for i, g := range gaps {
		points[i] = fmt.Sprintf("%.1f,%.1f", x(g.work), y(c.of(g)))
		at := strings.Split(points[i], ",")
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", at[0], at[1], c.colour)
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), c.colour)
}

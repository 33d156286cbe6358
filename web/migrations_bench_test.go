package web_test

import (
	"fmt"
	"testing"
	"time"

	"plannerd/internal/lab/browsertest"
)

// BenchmarkMigrations measures the list of more than 100 000 migrations in the browser:
// from navigation to the first rows painted; the frames of scrolling by 400 pixels each,
// those over 33 ms and those with a row in view that is not filled; and how long a jump
// to anywhere takes until its rows are there.
//
//	go test ./web -run '^$' -bench Migrations -benchtime 1x
func BenchmarkMigrations(b *testing.B) {
	site := browsertest.Filled(b)
	for b.Loop() {
		p := browsertest.Start(b).Page(b, site.URL)
		p.Viewport(1280, 900, false)
		p.Goto("about:blank")
		begin := time.Now()
		p.Goto("/#/plans/" + site.Plans.Big)
		p.WaitFor(".migrations .vtable-rows .vrow:not(.blank)")
		b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/first-rows")

		s := scroll(p, 400, 600)
		b.ReportMetric(float64(s.Frames), "frames")
		b.ReportMetric(100*float64(s.Slow)/float64(s.Frames), "%over-33ms")
		b.ReportMetric(100*float64(s.Blank+s.Open)/float64(s.Frames), "%unfilled")
		b.ReportMetric(s.Longest, "ms/longest-frame")
		b.ReportMetric(float64(s.Most), "rows-in-page")

		jump := browsertest.Eval[[]float64](p, fmt.Sprintf(jumping, filled(-1)))
		b.ReportMetric(jump[len(jump)/2], "ms/jump-median")
		b.ReportMetric(jump[len(jump)-1], "ms/jump-longest")
	}
}

// jumping jumps to 20 places, and says how long each took to be filled, ascending.
const jumping = `(async () => {
	const view = document.querySelector('.vtable-view'), took = []
	for (let i = 1; i <= 20; i++) {
		const begin = performance.now()
		view.scrollTop = ((i * 0.618034) %% 1) * (view.scrollHeight - view.clientHeight)
		do await new Promise(requestAnimationFrame)
		while (!(%s))
		took.push(performance.now() - begin)
	}
	return took.sort((a, b) => a - b)
})()`

package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Screenshots is the environment variable that names the folder of screenshots.
// Where it is empty none are made.
const Screenshots = "PLANNERD_SCREENSHOTS"

// maxHeight is that of a screenshot, in pixels.
const maxHeight = 4000

// Screenshot writes what the whole page looks like to a file
// "<view>-<width>[-dark].png".
func (p *Page) Screenshot(view string) {
	p.t.Helper()
	name := fmt.Sprintf("%s-%d", view, p.width)
	if p.dark {
		name += "-dark"
	}
	p.capture(name, "document.documentElement.scrollHeight")
}

// Picture writes what the window shows to a file "<name>.png".
func (p *Page) Picture(name string) {
	p.t.Helper()
	p.capture(name, "innerHeight")
}

// capture writes the upper part of the page, as high as the script says.
func (p *Page) capture(name, height string) {
	p.t.Helper()
	folder := os.Getenv(Screenshots)
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	beyond, fast := true, true // to make files smaller takes longer than to draw the page
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &beyond, OptimizeForSpeed: &fast,
		Clip: &page.Viewport{Width: float64(p.width), Height: min(Eval[float64](p, height), maxHeight), Scale: 1},
	})
	if err != nil {
		p.t.Fatalf("screenshot %s: %v", name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), shot.Data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

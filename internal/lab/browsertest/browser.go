// Package browsertest tests pages in a real, headless Chromium: one for a test
// binary, a fresh context of it for each page. A page fails its test when it
// writes errors to the console, breaks its content security policy, or asks
// another server than its own for anything.
//
// The packages that use it have
//
//	func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Require is the environment variable that makes tests fail instead of being
// skipped where there is no Chromium, when it is 1.
const Require = "PLANNERD_REQUIRE_CHROMIUM"

// names are those of Chromium's program.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// unneeded are features of Chromium that cost each page more than the page itself does: processes
// that draw the browser's own buttons and menus, which nobody sees, or that wait for other sites, or
// that keep what a page was for whoever goes back.
const unneeded = "BackForwardCache,Translate,BlinkGenPropertyTrees,InitialWebUI,PreloadTopChromeWebUI," +
	"SpareRendererForSitePerProcess,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIReloadButton"

// Browser is a running Chromium.
type Browser struct {
	ctx    context.Context // of chromedp
	cancel context.CancelFunc

	mu   sync.Mutex
	idle []*tab // that no page uses
}

// binary is what the tests of a binary share.
var binary struct {
	folder  string // of everything temporary; empty: Main was not called
	browser func() (*Browser, error)
	started *Browser
	servers servers
}

// Main runs the tests of a package, ends Chromium and all servers, and returns
// the exit code.
func Main(m *testing.M) int {
	folder, err := os.MkdirTemp("", "plannerd-browsertest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary.folder = folder
	binary.browser = sync.OnceValues(func() (b *Browser, err error) {
		binary.started, err = start(filepath.Join(folder, "home"))
		return binary.started, err
	})
	binary.servers.prepare(folder)
	code := m.Run()
	if err := errors.Join(binary.started.stop(), binary.servers.stop(), os.RemoveAll(folder)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Start returns the Chromium of the test binary. Where there is none the test is
// skipped, or fails; see [Require].
func Start(t testing.TB) *Browser {
	t.Helper()
	ready(t)
	b, err := binary.browser()
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv(Require) != "1":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return b
}

// ready fails a test whose binary has no Main.
func ready(t testing.TB) {
	t.Helper()
	if binary.folder == "" {
		t.Fatal("TestMain must call browsertest.Main")
	}
}

// moduleRoot is the folder of go.mod: tests run in that of their package.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("there is no go.mod above the working directory")
		}
	}
	return "", err
}

// find returns the path of Chromium.
func find() (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium: none of %v: %w", names, exec.ErrNotFound)
}

// start starts it with a home folder that is made. That of its profile chromedp
// makes, and removes in the end together with all processes that use it.
func start(home string) (*Browser, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home),
		chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-features", unneeded),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// Whatever a page tries, nothing leaves this machine.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	b := &Browser{ctx: ctx, cancel: func() { cancel(); release() }}
	if err := chromedp.Do(ctx); err != nil {
		b.cancel()
		return nil, fmt.Errorf("%s does not start: %w", path, err)
	}
	return b, nil
}

// stop ends it, kindly or by force, with all its processes. A nil Browser has
// nothing to end.
func (b *Browser) stop() error {
	if b == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	err := chromedp.Cancel(ctx)
	b.cancel()
	return err
}

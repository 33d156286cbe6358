package plannerd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A boundary says what the packages of one place may depend on, tests aside. A
// pattern is an import path, or one followed by "/..." for that package and all
// below it. Packages of this module are written without the module's path: ""
// is its root.
type boundary struct {
	place string
	// project is what they may import of this module, besides their own place.
	project []string
	// imports, unless nil, is all that they may import from elsewhere.
	imports []string
	// never is what they must not import themselves.
	never []string
	// reach is what they must not depend on, be it through others.
	reach []string
}

// impure is what would let a result depend on more than the arguments, and the
// packages that bring such a thing along: fmt reaches os, context reaches time.
// Of math/rand/v2 only the generators with an explicit seed are pure; the
// linter forbids its global functions.
var impure = []string{
	"context", "crypto/rand", "database/sql/...", "encoding/json/...", "fmt", "log/...",
	"math/rand", "net/...", "os/...", "syscall", "time",
}

const (
	murmur  = "github.com/twmb/murmur3"
	cdp     = "github.com/chromedp/..."
	chi     = "github.com/go-chi/chi/..."
	pgx     = "github.com/jackc/pgx/..."
	sqlite  = "modernc.org/sqlite/..."
	anySQL  = "database/sql/..."
	anyHTTP = "net/http/..."
)

var boundaries = slices.Concat(floors(), inputParts(), []boundary{
	{place: "", imports: []string{"embed"}},
	{place: "internal/exact", reach: impure},
	{place: "sdk/go/route", imports: []string{
		"bytes", "cmp", "encoding/binary", "errors", "iter", "math", "math/bits", "slices", "strconv", "strings",
		"sync/atomic", "unicode/utf16", "unicode/utf8", murmur,
	}, reach: impure},
	{place: "sdk/go/sketch", reach: impure, imports: []string{
		"bytes", "cmp", "encoding/binary", "errors", "iter", "math", "math/bits", "math/rand/v2", "slices", "strconv"}},
	{place: "sdk/go/wire", imports: []string{"bytes", "encoding/json", "strconv", "time"}},
	{place: "sdk/go/client", project: []string{"sdk/go/wire"}, reach: []string{anySQL}},
	{place: "sdk/go/arrow", project: []string{"sdk/go/client"}, reach: []string{anySQL}},
	{place: "sdk/go/router", project: []string{"sdk/go/client", "sdk/go/handoff", "sdk/go/route", "sdk/go/wire"},
		reach: []string{anySQL}},
	{place: "sdk/go/kafka", project: []string{"sdk/go/route", "sdk/go/router", "sdk/go/wire"}, reach: []string{anySQL}},
	{place: "sdk/go/live", project: []string{"sdk/go/client", "sdk/go/handoff", "sdk/go/router", "sdk/go/wire"},
		reach: []string{anySQL}},
	{place: "sdk/go/stats", project: []string{"sdk/go/client", "sdk/go/route", "sdk/go/wire"}, reach: []string{anySQL}},
	{place: "sdk/go/internal/leaktest", imports: []string{"fmt", "io", "runtime", "strings", "testing", "time"}},
	{place: "sdk/go/handoff", imports: []string{"cmp", "errors", "fmt", "iter", "maps", "slices"},
		project: []string{"sdk/go/route"}, reach: []string{"context", "net/..."}},
	{place: "planner/...", project: []string{"internal/exact", "sdk/go/route", "sdk/go/sketch"}, reach: impure},
	{place: "planner/internal/assign", project: []string{"internal/exact"}, reach: impure},
	{place: "planner/internal/knapsack", project: []string{"internal/exact"}, reach: impure},
	{place: "planner/internal/packing", project: []string{"internal/exact", "planner/internal/assign"}, reach: impure},
	{place: "planner/internal/relaxation", reach: impure,
		project: []string{"planner/internal/assign", "planner/internal/knapsack", "internal/exact"}},
	{place: "planner/internal/covering", reach: impure, project: []string{
		"planner/internal/assign", "planner/internal/knapsack", "planner/internal/relaxation", "internal/exact"}},
	{place: "planner/internal/bound", reach: impure, project: []string{
		"planner/internal/assign", "planner/internal/covering", "planner/internal/knapsack",
		"planner/internal/relaxation", "internal/exact"}},
	{place: "planner/internal/division", reach: impure,
		project: []string{"planner/internal/assign", "planner/internal/bound", "sdk/go/route"}},
	{place: "planner/internal/search", reach: impure, project: []string{
		"planner/internal/assign", "planner/internal/bound", "planner/internal/covering", "planner/internal/knapsack",
		"planner/internal/relaxation", "internal/exact"}},
	{place: "planner/internal/optimal", reach: impure, project: []string{
		"planner/internal/assign", "planner/internal/bound", "planner/internal/covering",
		"planner/internal/relaxation", "planner/internal/search", "internal/exact"}},
	{place: "planner/plannertest", project: []string{ // support for tests
		"planner", "planner/internal/...", "internal/exact"}},
	{place: "compact/...", project: []string{"planner", "internal/exact"}, reach: impure},
	{place: "internal/...", project: []string{"planner/...", "compact", "sdk/go/sketch"}},
	{
		place: "internal/backtest",
		project: []string{"planner", "planner/forecast", "planner/hindsight", "planner/policy", "internal/drive",
			"internal/exact"},
		reach: []string{anyHTTP, anySQL},
	},
	{
		place: "internal/lab/reproduce", // it asks a server like any client
		project: []string{"sdk/go/client", "sdk/go/route", "sdk/go/wire", "planner/...", "compact", "internal/lab/queueing",
			"internal/lab/workload"},
		reach: []string{anySQL, pgx, sqlite},
	},
	{
		place: "internal/lab/history", // its routers follow the table as those of engines do
		project: []string{"sdk/go/client", "sdk/go/router", "sdk/go/route", "sdk/go/wire", "planner/...", "compact",
			"internal/..."},
	},
	{place: "internal/lab/openapi", project: []string{""}, reach: []string{anySQL}}, // support for tests
	{place: "internal/lab/...", project: []string{"sdk/go/wire", "planner/...", "compact", "internal/..."}},
	{
		place:   "internal/lab/browsertest/...", // support for tests; the server is another process
		project: []string{"internal/web/access", "internal/demo", "internal/lab/process"},
		reach:   []string{anySQL, pgx, sqlite},
	},
	{
		place: "internal/demo", // it talks HTTP like any client
		project: []string{
			"sdk/go/client", "sdk/go/wire", "planner", "planner/partitioner", "compact", "internal/input/...",
			"internal/lab/streams",
		},
		reach: []string{anySQL, pgx, sqlite, cdp},
	},
	{place: "internal/lab/streams", project: []string{"planner", "internal/lab/workload"},
		reach: []string{anyHTTP, anySQL}},
	{
		place:   "internal/input/...",
		project: []string{"planner", "compact"},
		reach:   []string{anyHTTP, anySQL},
	},
	{
		place: "internal/web/httpkit", // HTTP alone: it imports nothing of this module
		imports: []string{
			"bufio", "cmp", "context", "crypto/rand", "crypto/sha256", "encoding/base64", "encoding/hex", "errors", "fmt", "io",
			"log/slog", "maps", "net", anyHTTP, "net/url", "os", "runtime/debug", "slices", "strconv", "strings", "sync", "time",
			chi, "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
			"github.com/klauspost/compress/...",
			"github.com/prometheus/client_golang/prometheus", "go.opentelemetry.io/...",
		},
		reach: []string{anySQL, pgx, sqlite},
	},
	{place: "internal/web/contract", project: []string{"internal/web/httpkit", "internal/nearest"},
		reach: []string{anySQL}},
	{
		place:   "api/...",
		project: []string{"", "planner/...", "compact", "internal/...", "sdk/go/wire"}, // the store is below the service only
		never:   []string{anySQL},
		reach:   []string{pgx, sqlite},
	},
	{place: "internal/web/observe", project: []string{"planner", "internal/web/admission", "internal/service/...",
		"store"},
		never: []string{anyHTTP, anySQL}},
	{place: "internal/web/webhook", project: []string{"store"}, reach: []string{anySQL, pgx, sqlite}},
	{place: "internal/refusal", project: []string{"planner", "store"}, reach: []string{anyHTTP, pgx, sqlite}},
	{
		place: "internal/operator",
		project: []string{"planner/...", "store", "internal/absence", "internal/nearest", "internal/parameters",
			"internal/refusal"},
		reach: []string{anyHTTP, pgx, sqlite},
	},
	{
		place: "internal/service",
		project: []string{"store", "store/metered", "internal/service/...", "internal/input/stored", "internal/refusal",
			"internal/web/admission"},
		never: []string{anyHTTP, chi, anySQL},
		reach: []string{pgx, sqlite},
	},
	{place: "store", reach: []string{anyHTTP, anySQL, chi}},
	{place: "store/internal/...", project: []string{"store", "migrations"}, reach: []string{chi, pgx, sqlite}},
	{place: "store/metered", project: []string{"store"}, reach: []string{anySQL, chi, pgx, sqlite}},
	{place: "store/storetest", project: []string{"store", "store/internal/...", "internal/..."},
		reach: []string{chi, pgx, sqlite}},
	{
		place:   "store/postgres/...",
		project: []string{"store", "store/internal/...", "migrations", "internal/..."},
		reach:   []string{chi, sqlite},
	},
	{
		place:   "store/sqlite/...",
		project: []string{"store", "store/internal/...", "migrations", "internal/..."},
		reach:   []string{chi, pgx},
	},
	{place: "migrations/...", imports: []string{"embed", "io/fs"}},
	{place: "web/...", reach: []string{anySQL}},
	{
		place: "plannerdtest", // the whole server, for tests of engines
		project: []string{"api", "web", "store", "store/sqlite", "internal/web/access", "internal/web/httpkit",
			"sdk/go/client"},
		never: []string{anySQL, chi, pgx, sqlite},
	},
	{place: "internal/cli/analyzing", project: []string{"planner/...", "compact", "internal/..."}},
	{place: "internal/cli/asking", project: []string{"internal/cli", "sdk/go/client", "sdk/go/wire"}},
	{place: "internal/cli/backtesting", project: []string{"planner/...", "compact", "internal/..."}},
	{place: "internal/cli/collecting", project: []string{"planner", "internal/...", "sdk/go/client", "sdk/go/wire"}},
	{place: "internal/cli/offline", project: []string{"planner/...", "compact", "internal/...", "sdk/go/wire"}},
	{place: "internal/cli/reading", project: []string{"planner/...", "compact", "internal/..."}},
	{
		place:   "internal/cli/serving",
		project: []string{"api", "web", "store/...", "planner", "internal/..."},
		never:   []string{anySQL, chi, pgx, sqlite},
	},
	{
		place:   "cmd/...",
		project: []string{"", "api", "web", "store/...", "planner/...", "compact", "internal/...", "sdk/go/wire"},
		never:   []string{anySQL, chi, pgx, sqlite},
	},
})

// serviceParts are the packages below internal/service: each may import those before it alone.
var serviceParts = []string{
	"figures", "listing", "reading", "claim", "scheme", "scheme/table", "scheme/layout", "schemes", "intake", "foresight",
	"archive", "feed", "propose", "life", "announce",
}

// floors are the boundaries of these packages.
func floors() (out []boundary) {
	below := []string{
		"planner/...", "compact", "store", "sdk/go/sketch", "internal/absence", "internal/analyses", "internal/backtest",
		"internal/drive", "internal/exact", "internal/input/...", "internal/operator", "internal/parameters",
		"internal/refusal", "internal/resources", "internal/web/admission",
	}
	for _, part := range serviceParts {
		place := "internal/service/" + part
		out = append(out, boundary{
			place: place, project: slices.Clone(below), never: []string{anyHTTP, chi, anySQL}, reach: []string{pgx, sqlite},
		})
		below = append(below, place)
	}
	return out
}

// inputParts are the packages below internal/input: each may import those of this list that it
// names alone, so that formats do not know of each other, nor readers of writers.
func inputParts() (out []boundary) {
	const parts = "internal/input/internal/"
	for _, b := range []boundary{
		{place: parts + "problem"},
		{place: parts + "inputtest"}, // for tests
		{place: parts + "columns", project: []string{parts + "problem", "internal/exact", "internal/nearest",
			"planner/partitioner"}},
		{place: parts + "window", project: []string{parts + "columns", parts + "problem"}},
		{place: parts + "jsonrows", project: []string{parts + "columns", parts + "problem", parts + "window"}},
		{place: parts + "csvrows", project: []string{parts + "columns", parts + "problem", parts + "window"}},
		{place: parts + "arrowrows", project: []string{parts + "columns", parts + "problem", parts + "window",
			"internal/input/compression"}},
		{place: parts + "blob"},
		{place: "internal/input/compression", project: []string{parts + "problem"}},
		{place: "internal/input/lists"},
		{place: "internal/input/arrowout", project: []string{"internal/input/lists"}},
		{place: "internal/input/stored", project: []string{parts + "blob", "internal/input/lists"}},
		{place: "internal/input/merging", project: []string{parts + "blob", parts + "problem", "internal/input/stored"}},
	} {
		b.project = append(b.project, "planner", "compact")
		b.reach = []string{anyHTTP, anySQL}
		out = append(out, b)
	}
	return out
}

// drivers names the places that alone may import what drives a database or a
// browser, in tests too.
var drivers = map[string][]string{
	cdp:    {"internal/lab/browsertest"},
	pgx:    {"store/postgres/...", "internal/lab/pgserver", "internal/lab/pgtest"},
	sqlite: {"store/sqlite/..."},
}

// TestBoundaries holds the table against what go list says. The test cache does
// not see what go list reads: run it with -count=1.
func TestBoundaries(t *testing.T) {
	for _, p := range slices.Concat(listPackages(t, "."), listPackages(t, "sdk/go"), listPackages(t, "sdk/go/arrow"),
		listPackages(t, "sdk/go/kafka")) {
		b, ok := boundaryOf(p)
		if !ok {
			t.Errorf("%s has no place in the table of boundaries", p.ImportPath)
		}
		for _, v := range append(b.violations(p), driverViolations(p)...) {
			t.Error(v)
		}
	}
}

// TestNoMachinePaths: what is in the tree must not know where somebody's copy
// of it lay.
func TestNoMachinePaths(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "git", "rev-parse", "--git-dir").Run(); err != nil {
		t.Skip("not a git work tree:", err)
	}
	out, err := exec.CommandContext(t.Context(), "git", "grep", "--untracked", "--line-number", "-IE",
		`(^|[^[:alnum:]_.~/-])/(home|root|work|Users)/[[:alnum:]._]|[A-Z]:\\Users\\`).Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Errorf("paths of a machine:\n%s", out)
	case errors.As(err, &exit) && exit.ExitCode() == 1: // no match
	default:
		t.Fatalf("git grep: %v", err)
	}
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string // all that it depends on, without its tests
}

// listPackages lists the packages of the module in a folder.
func listPackages(t *testing.T, folder string) (pkgs []pkg) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list",
		"-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	list.Dir = folder
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// boundaryOf returns the rules of the narrowest place that p is in.
func boundaryOf(p pkg) (best boundary, ok bool) {
	for _, b := range boundaries {
		if matches(b.place, local(p.ImportPath)) && (!ok || narrower(b.place, best.place)) {
			best, ok = b, true
		}
	}
	return best, ok
}

// narrower compares two patterns that match the same path.
func narrower(a, b string) bool {
	a, aTree := strings.CutSuffix(a, "/...")
	b, bTree := strings.CutSuffix(b, "/...")
	return len(a) > len(b) || len(a) == len(b) && !aTree && bTree
}

// violations returns a line for each dependency of p that b forbids.
func (b boundary) violations(p pkg) (lines []string) {
	for _, path := range p.Imports {
		var allowed bool
		if ours(path) {
			allowed = matches(b.place, local(path)) || matchesAny(b.project, local(path))
		} else {
			allowed = !matchesAny(b.never, path) && (b.imports == nil || matchesAny(b.imports, path))
		}
		if !allowed {
			lines = append(lines, p.ImportPath+" must not import "+path)
		}
	}
	for _, path := range p.Deps {
		if matchesAny(b.reach, path) {
			lines = append(lines, p.ImportPath+" must not depend on "+path)
		}
	}
	return lines
}

func driverViolations(p pkg) (lines []string) {
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		for driver, places := range drivers {
			if matches(driver, path) && !matchesAny(places, local(p.ImportPath)) {
				lines = append(lines, fmt.Sprintf("%s or its test must not import %s", p.ImportPath, path))
			}
		}
	}
	return lines
}

// module is the path of this module; those nested in it have paths below it.
const module = "plannerd"

func ours(path string) bool { return matches(module+"/...", path) }

// local leaves the module's path out of the path of one of its packages.
func local(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, path) })
}

func matches(pattern, path string) bool {
	tree, all := strings.CutSuffix(pattern, "/...")
	return path == tree || all && strings.HasPrefix(path, tree+"/")
}

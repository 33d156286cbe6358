package grouping

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plannerd/planner"
)

// scale is the size of the experiments as a part of the paper's, with 20 seeds and
// on all streams, when PLANNERD_GROUPING says it: 1 takes hours, 0.1 half of one.
var scale, scaled = func() (float64, bool) {
	if x, err := strconv.ParseFloat(os.Getenv("PLANNERD_GROUPING"), 64); err == nil {
		return x, true
	}
	return 0.01, false
}()

// dataDir is ../shared/data as seen from the project.
const dataDir = "../../../shared/data"

// recordings lists the recorded streams with an order, or skips the test.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dataDir, "*", "*keys*.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("the real key streams are not there: they are expected in ../shared/data beside the project")
		}
		t.Skip("the real key streams are not there: they are expected in ../shared/data beside the project")
	}
	return files
}

// nameOf is the short name of a recording.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".txt.gz")
	return filepath.Base(filepath.Dir(file)) + "/" + base
}

// recording reads a stream, one key a line.
func recording(t *testing.T, file string) *Stream {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	keys, numbers := planner.NewKeys(0), map[string]int32{}
	var sample []int32
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		n, ok := numbers[lines.Text()]
		if !ok {
			n = int32(keys.Len())
			numbers[lines.Text()] = n
			keys.Append(lines.Bytes())
		}
		sample = append(sample, n)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := NewStream(keys, sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logNormal is a stream of m draws of exp(μ + σ·N(0,1)), the key being the draw
// rounded to a whole number: so LN1 and LN2 of partial-key-grouping have the p1 of
// its Table 1.
func logNormal(t *testing.T, mu, sigma float64, m int, seed uint64) *Stream {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	numbers := map[float64]int32{}
	sample := make([]int32, m)
	for i := range sample {
		x := math.Round(math.Exp(mu + sigma*rng.NormFloat64()))
		n, ok := numbers[x]
		if !ok {
			n = int32(len(numbers))
			numbers[x] = n
		}
		sample[i] = n
	}
	s, err := NewStream(numbered(len(numbers)), sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/process"
)

// TestPeakMemory sends a server bodies of every format, whole, damaged, and such as become much more
// than they are, eight at a time, and looks at the most memory that the process ever held. No answer
// is a failure of the server.
func TestPeakMemory(t *testing.T) {
	program, err := process.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, mib := range []int64{192, 256, 512} {
		t.Run(fmt.Sprintf("%d MiB", mib), func(t *testing.T) {
			folder, seed := t.TempDir(), deep.Seed(t, uint64(mib))
			p, err := process.Start(t.Context(), process.Config{
				Program: program, Database: "sqlite:" + filepath.Join(folder, "data.db"), LogFolder: folder,
				Arguments: []string{fmt.Sprintf("--memory-budget=%dMiB", mib)},
			})
			if err != nil {
				t.Fatal(err)
			}
			statuses := sendBodies(t, p.URL, seed, deep.Count(250, 100_000))
			peak, err := p.PeakMemory()
			if err := errors.Join(err, p.Stop()); err != nil {
				t.Fatal(err, p.Said())
			}
			t.Logf("%d MiB at most; answers: %v", peak>>20, statuses)
			if peak > mib<<20 {
				t.Errorf("%d MiB of memory, of a budget of %d", peak>>20, mib)
			}
			for status, n := range statuses {
				if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
					t.Errorf("%d answers %d: %v", n, status, p.Said())
				}
			}
			if statuses[http.StatusOK] == 0 || statuses[http.StatusRequestEntityTooLarge] == 0 {
				t.Error("some bodies should be good, and some too much")
			}
		})
	}
}

// sendBodies sends n bodies and returns how often each status was the answer.
func sendBodies(t *testing.T, url string, seed uint64, n int) map[int]int {
	t.Helper()
	ctx := t.Context()
	if _, err := send(ctx, http.MethodPut, url+"/v1/operators/clicks", "application/json", "", []byte(`{"instances":4}`)); err != nil {
		t.Fatal(err)
	}
	var (
		all      sync.WaitGroup
		mu       sync.Mutex
		statuses = map[int]int{}
		next     = make(chan uint64)
	)
	for range 8 {
		all.Go(func() {
			for i := range next {
				b := makeBody(rand.New(rand.NewPCG(seed, i)))
				status, err := send(ctx, b.method, url+b.target, b.media, b.encoding, b.data)
				if err != nil { // the server may close a connection whose body it refused
					status = 0
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- uint64(i)
	}
	close(next)
	all.Wait()
	if statuses[0] > n/50 {
		t.Errorf("%d of %d requests got no answer", statuses[0], n)
	}
	return statuses
}

func send(ctx context.Context, method, url, media, encoding string, body []byte) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", media)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// requestBody is a request with its body.
type requestBody struct {
	method, target, media, encoding string
	data                            []byte
}

// makeBody draws a request: mostly short, some long, some that are much longer when decompressed, and a
// third of them damaged.
func makeBody(r *rand.Rand) requestBody {
	b := requestBody{method: http.MethodPost}
	rows := int(math.Exp(r.Float64() * math.Log(60_000))) // of every magnitude alike
	if r.IntN(4) > 0 {
		rows = 1 + rows%300
	}
	b.media, b.data = makeRows(r, rows)
	interval := r.IntN(1000)
	targets := []string{
		"/v1/what-if?instances=4", "/v1/what-if?instances=4&strategies=mixed,optimal&plans=true",
		fmt.Sprintf("/v1/operators/clicks/plans?interval=%d", interval),
		fmt.Sprintf("/v1/operators/clicks/intervals/%d/reports/%d", interval, r.IntN(4)),
		"/v1/analyses/schemes?instances=4", "/v1/analyses/ranges?instances=4",
	}
	if b.target = targets[r.IntN(len(targets))]; strings.Contains(b.target, "/reports/") {
		b.method = http.MethodPut
	}
	if b.media == "application/json" { // what is beside rows stands in the body
		b.target, _, _ = strings.Cut(b.target, "?")
		head := map[bool]string{true: `{"operator":{"instances":4},`, false: `{"instances":4,`}[strings.Contains(b.target, "what-if")]
		if strings.Contains(b.target, "operators") {
			head = fmt.Sprintf(`{"interval":%d,`, interval)
		}
		b.data = append([]byte(head), b.data...)
	}
	if r.IntN(50) == 0 { // far more of the same
		filler := [][]byte{{' '}, {'\n'}, []byte("k,1\n"), []byte(`{"key":"k","cost":1},`), {0}, []byte(`","`)}[r.IntN(6)]
		b.data = append(b.data, bytes.Repeat(filler, (1+r.IntN(96))<<20/len(filler))...)
		b.encoding = []string{"gzip", "zstd"}[r.IntN(2)]
	}
	if r.IntN(3) == 0 {
		b.data = damage(r, b.data)
	}
	if b.encoding == "" {
		b.encoding = []string{"", "", "gzip", "zstd"}[r.IntN(4)]
	}
	if b.data = compressed(b.encoding, b.data); b.encoding != "" && r.IntN(8) == 0 {
		b.data = damage(r, b.data)
	}
	return b
}

// damage changes some bytes, cuts the end off, or repeats a part.
func damage(r *rand.Rand, data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	switch at := r.IntN(len(data)); r.IntN(3) {
	case 0:
		return data[:at]
	case 1:
		return append(data[:at:at], data[at/2:]...)
	}
	for range 1 + r.IntN(8) {
		data[r.IntN(len(data))] = byte(r.Uint32())
	}
	return data
}

func compressed(encoding string, data []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed)
	case "zstd":
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	default:
		return data
	}
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	return out.Bytes()
}

// makeRows writes rows in some format; as JSON, all but the beginning of the object.
func makeRows(r *rand.Rand, n int) (media string, data []byte) {
	key := func(i int) string { return fmt.Sprintf("key-%d", i) }
	if r.IntN(8) == 0 {
		long := strings.Repeat("k", r.IntN(500))
		key = func(i int) string { return fmt.Sprint(long, i) }
	}
	cost := func(i int) float64 { return math.Round(1000 / float64(1+i)) }
	var out bytes.Buffer
	list := func(one func(i int) string) string {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = one(i)
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	switch r.IntN(7) {
	case 0:
		out.WriteString("key,cost,state,instance\n")
		for i := range n {
			fmt.Fprintf(&out, "%s,%g,%d,%d\n", key(i), cost(i), i%7, i%4)
		}
		return "text/csv", out.Bytes()
	case 1:
		for i := range n {
			fmt.Fprintf(&out, `{"key":%q,"cost":%g,"state":%d}`+"\n", key(i), cost(i), i%7)
		}
		return "application/x-ndjson", out.Bytes()
	case 2:
		fmt.Fprintf(&out, `"keys":%s}`, list(func(i int) string { return fmt.Sprintf(`{"key":%q,"cost":%g}`, key(i), cost(i)) }))
	case 3:
		fmt.Fprintf(&out, `"columns":{"key":%s,"cost":%s}}`, list(func(i int) string { return fmt.Sprintf("%q", key(i)) }),
			list(func(i int) string { return fmt.Sprint(cost(i)) }))
	case 4:
		fmt.Fprintf(&out, `"sketch":%q}`, base64.StdEncoding.EncodeToString(randomBytes(r, 10*n)))
	case 5:
		fmt.Fprintf(&out, `"compact":{"degree":8,"cost_scale":1,"state_scale":1,"records":%s}}`,
			list(func(i int) string { return fmt.Sprintf("[%d,%d,%d,1,0,%d]", i%4, i%4, i%4, i) }))
	default:
		return "application/vnd.apache.arrow.stream", makeArrow(r, n, key, cost)
	}
	return "application/json", out.Bytes()
}

func randomBytes(r *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// makeArrow is a stream of one batch, whose buffers may be compressed, and of one in five all rows are
// the same, so that they decode to much more than they take.
func makeArrow(r *rand.Rand, n int, key func(int) string, cost func(int) float64) []byte {
	same := r.IntN(5) == 0
	if same {
		n *= 20
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String}, {Name: "cost", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range n {
		if same {
			i = 0
		}
		b.Field(0).(*array.StringBuilder).Append(key(i))
		b.Field(1).(*array.Float64Builder).Append(cost(i))
	}
	options := [][]ipc.Option{{}, {ipc.WithZstd()}, {ipc.WithLZ4()}}[r.IntN(3)]
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	_ = w.Write(b.NewRecordBatch()) // into memory
	_ = w.Close()
	return out.Bytes()
}

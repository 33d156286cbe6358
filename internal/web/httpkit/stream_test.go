package httpkit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/input/lists"
)

const (
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
)

var (
	streamedMedia   = []string{"application/json", mediaNDJSON, mediaCSV}
	streamedCodings = []string{"identity", "gzip", "zstd"}
)

// numbered yields n entries, and panics behind them if it is told to.
func numbered(n int, breaks bool) iter.Seq[lists.Entry] {
	return func(yield func(lists.Entry) bool) {
		for i := range n {
			if !yield(lists.Entry{Key: fmt.Appendf(nil, "user:%x", uint32(i)*2654435761), Instance: int32(i % 40)}) {
				return
			}
		}
		if breaks {
			panic("out of entries")
		}
	}
}

// streaming answers with as many entries as the query says, as Accept says.
func streaming() http.Handler {
	errorHandler := ErrorHandler{Log: slog.New(slog.DiscardHandler), ProblemOf: func(error) *Problem {
		return &Problem{Status: http.StatusInternalServerError, Code: "internal"}
	}}
	return Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		errorHandler.Handle(w, r, func(w http.ResponseWriter) error {
			var n int
			if _, err := fmt.Sscan(r.URL.Query().Get("n"), &n); err != nil {
				return err
			}
			if NotModified(w, r, `"tag"`) {
				return nil
			}
			records := numbered(n, r.URL.Query().Has("breaks"))
			media := r.Header.Get("Accept")
			return WriteStream(w, r, http.StatusOK, media, func(out *bufio.Writer) error { return writeAs(out, media, records) })
		})
	}))
}

func ask(t *testing.T, client *http.Client, method, target, media, coding string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Accept": {media}, "Accept-Encoding": {coding}}
	return client.Do(r)
}

func decoded(t *testing.T, coding string, body []byte) ([]byte, error) {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r); err == nil {
			defer d.Close()
		}
		r = d
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// onBoth runs f against a server of HTTP/1.1 and one of HTTP/2.
func onBoth(t *testing.T, h http.Handler, f func(t *testing.T, client *http.Client, target string)) {
	for _, two := range []bool{false, true} {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = two
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.StartTLS()
		t.Run(fmt.Sprintf("http2=%t", two), func(t *testing.T) { f(t, s.Client(), s.URL) })
		s.Close()
	}
}

// TestStreams: what is sent in pieces is what is written; short answers say how
// long they are.
func TestStreams(t *testing.T) {
	onBoth(t, streaming(), func(t *testing.T, client *http.Client, target string) {
		for _, media := range streamedMedia {
			for _, coding := range streamedCodings {
				for _, n := range []int{0, 10, 1000, 20_000} {
					a, err := ask(t, client, http.MethodGet, fmt.Sprintf("%s/?n=%d", target, n), media, coding)
					if err != nil {
						t.Fatal(err)
					}
					sent, err := io.ReadAll(a.Body)
					a.Body.Close()
					if err != nil {
						t.Fatal(err)
					}
					body, err := decoded(t, a.Header.Get("Content-Encoding"), sent)
					if want := streamed(t, media, n); err != nil || !bytes.Equal(body, want) {
						t.Errorf("%s, %s, %d: %v, %d bytes, want %d", media, coding, n, err, len(body), len(want))
					}
					encoded := coding != "identity" && len(body) >= minCompressed
					known := a.ContentLength >= 0
					if known != (!encoded && len(body) <= streamBytes) || encoded != (a.Header.Get("Content-Encoding") == coding) {
						t.Errorf("%s, %s, %d: %v", media, coding, n, a.Header)
					}
					head, err := ask(t, client, http.MethodHead, fmt.Sprintf("%s/?n=%d", target, n), media, coding)
					if err != nil {
						t.Fatal(err)
					}
					head.Body.Close()
					for _, name := range []string{"ETag", "Content-Type", "Content-Encoding", "Content-Length", "Vary"} {
						if got, want := head.Header.Get(name), a.Header.Get(name); got != want {
							t.Errorf("%s, %s, %d: HEAD has %s %q, GET %q", media, coding, n, name, got, want)
						}
					}
				}
			}
		}
	})
}

func streamed(t *testing.T, media string, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeAs(&b, media, numbered(n, false)); err != nil {
		t.Fatal(err)
	}
	if media == "application/json" {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// TestCutStreams: an answer that breaks off is an error to whoever reads it, and one
// that has not begun is a problem.
func TestCutStreams(t *testing.T) {
	onBoth(t, streaming(), func(t *testing.T, client *http.Client, target string) {
		for _, media := range streamedMedia {
			for _, coding := range streamedCodings {
				a, err := ask(t, client, http.MethodGet, target+"/?breaks&n=100000", media, coding)
				if err != nil {
					t.Errorf("%s, %s: %v", media, coding, err)
					continue
				}
				sent, err := io.ReadAll(a.Body)
				a.Body.Close()
				if a.StatusCode != http.StatusOK || err == nil || len(sent) == 0 {
					t.Errorf("%s, %s: %s, %d bytes and no error", media, coding, a.Status, len(sent))
				}
				if _, err := decoded(t, coding, sent); coding != "identity" && err == nil {
					t.Errorf("%s, %s: the body looks whole", media, coding)
				}
				if a, err = ask(t, client, http.MethodGet, target+"/?breaks&n=10", media, coding); err != nil {
					t.Fatal(err)
				}
				a.Body.Close()
				if a.StatusCode != http.StatusInternalServerError || a.Header.Get("ETag") != "" ||
					a.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s, %s: %s %v", media, coding, a.Status, a.Header)
				}
			}
		}
	})
}

// TestHeadOfStream: what nobody reads is not made.
func TestHeadOfStream(t *testing.T) {
	made := 0
	var records lists.Records[lists.Entry] = func(yield func(lists.Entry) bool) {
		for e := range numbered(1_000_000, false) {
			made++
			if !yield(e) {
				return
			}
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodHead, "/", nil)
	err := WriteStream(w, r, http.StatusOK, mediaNDJSON, func(out *bufio.Writer) error {
		return records.WriteNDJSON(out, false)
	})
	if err != nil || w.Body.Len() > 0 || made > streamBytes/20 {
		t.Errorf("%v, %d bytes, %d entries", err, w.Body.Len(), made)
	}
}

// TestFlushedFirst: a flush before the first byte sends the header that belongs to
// the coded body.
func TestFlushedFirst(t *testing.T) {
	h := Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "text")
	}))
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(w, r)
	body, err := decoded(t, w.Result().Header.Get("Content-Encoding"), w.Body.Bytes())
	if err != nil || string(body) != "text" {
		t.Errorf("%q, %v, %v", body, err, w.Result().Header)
	}
}

func TestChooseCoding(t *testing.T) {
	for accept, want := range map[string]struct {
		coding string
		always bool
	}{
		"": {}, "identity": {}, "br": {}, "gzip;q=0": {}, "identity;q=0": {"", true}, "*;q=0": {"", true},
		"gzip": {"gzip", false}, "GZip ; Q=0.1": {"gzip", false}, "gzip, zstd": {"zstd", false},
		"zstd;q=0.5, gzip": {"gzip", false},
		"*":                {"zstd", false}, "*, zstd;q=0": {"gzip", false}, "gzip;q=0.5, identity": {},
		"gzip, identity":     {"gzip", false},
		"gzip, identity;q=0": {"gzip", true}, "gzip, *;q=0": {"gzip", true}, "*;q=0.5, identity;q=0": {"zstd", true},
		"*;q=0.5, identity;q=0.7": {}, "gzip;q=x": {}, "gzip;q=NaN": {}, "gzip;q=2": {},
	} {
		if coding, always := chooseCoding(strings.Split(accept, ", ")); coding != want.coding || always != want.always {
			t.Errorf("%q: %q, %t", accept, coding, always)
		}
	}
}

// BenchmarkStream measures answers with a million migrations, up to the connection.
func BenchmarkStream(b *testing.B) {
	const n = 1_000_000
	all := make([]lists.Migration, n)
	for i := range all {
		x := uint32(i) * 2654435761
		all[i] = lists.Migration{
			Key: fmt.Appendf(nil, "user:%07d", x%1e7), From: int32(x % 40), To: int32(x % 39),
			Cost: float64(x%1e6) / 100, State: float64(x % 65536),
		}
	}
	records := slices.Values(all)
	for _, media := range streamedMedia {
		for _, coding := range streamedCodings {
			name := fmt.Sprintf("media=%s/coding=%s/moves=1e6", media[strings.IndexByte(media, '/')+1:], coding)
			b.Run(name, func(b *testing.B) {
				plain := 0
				h := Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					to := &counted{ResponseWriter: w}
					err := WriteStream(to, r, http.StatusOK, media, func(out *bufio.Writer) error {
						return writeAs(out, media, records)
					})
					if err != nil {
						b.Error(err)
					}
					plain = to.n
				}))
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept-Encoding", coding)
				var w *counted
				b.ReportAllocs()
				for b.Loop() {
					w = &counted{ResponseWriter: discard{}}
					h.ServeHTTP(w, r)
				}
				b.SetBytes(int64(plain))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
				b.ReportMetric(float64(w.n)/float64(plain), "ratio")
				b.ReportMetric(float64(w.writes), "writes")
			})
		}
	}
}

// writeAs writes records in the way that media names.
func writeAs[R lists.Record](out io.Writer, media string, records iter.Seq[R]) error {
	list := lists.Records[R](records)
	switch media {
	case mediaNDJSON:
		return list.WriteNDJSON(out, false)
	case mediaCSV:
		return list.WriteCSV(out, false, nil)
	}
	return list.WriteJSON(out, false)
}

// counted counts what is written.
type counted struct {
	http.ResponseWriter
	n, writes int
}

func (c *counted) Write(p []byte) (int, error) {
	c.n, c.writes = c.n+len(p), c.writes+1
	return c.ResponseWriter.Write(p)
}

// discard is a client that takes everything.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return len(p), nil }

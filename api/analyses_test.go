package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/api"
	"plannerd/internal/analyses"
	"plannerd/internal/input"
	"plannerd/planner"
	"plannerd/store"
)

const text = "Content-Type: text/plain"

// kind is one of the analyses: a request of it, and what it answers to it when
// called directly.
type kind struct {
	name, fields, query string
	run                 func(ctx context.Context, in *analyses.Input, fields string, p analyses.Progress) (any, error)
}

func (k kind) path() string { return "/v1/analyses/" + k.name }

// body is a JSON body with the fields and one more member.
func (k kind) body(member string) string { return "{" + k.fields + "," + member + "}" }

// direct calls an analysis as internal/analyses has it.
func direct[Q, R any](run func(context.Context, *analyses.Input, Q, analyses.Progress) (*R, error)) func(
	context.Context, *analyses.Input, string, analyses.Progress) (any, error) {
	return func(ctx context.Context, in *analyses.Input, fields string, p analyses.Progress) (any, error) {
		var q Q
		if err := json.Unmarshal([]byte("{"+fields+"}"), &q); err != nil {
			return nil, err
		}
		return run(ctx, in, q, p)
	}
}

var kinds = []kind{
	{"ring", `"nodes":3,"tau":0.5,"queues":[7,2,1],"plan":true,"method":"doubling","max_rounds":3`,
		"nodes=3&tau=0.5&queues=7,2,1&plan=true&method=doubling&max_rounds=3", direct(analyses.RunRing)},
	{"pkg", `"workers":3,"schemes":["hash","pkg"],"choices":[2,3],"seed":9,"distinct":true`,
		"workers=3&schemes=hash,pkg&choices=2,3&seed=9&distinct=true", direct(analyses.RunPKG)},
	{"ranges", `"followers":3,"event":"join","position":1,"theta_max":0.05,"methods":["min_movement"]`,
		"followers=3&event=join&position=1&theta_max=0.05&methods=min_movement", direct(analyses.RunRanges)},
	{"schemes", `"instances":2,"mergeable":false,"seeds":2,"hash":"modulo"`,
		"instances=2&mergeable=false&seeds=2&hash=modulo", direct(analyses.RunSchemes)},
}

// messages are a stream; costs and states are those of its keys.
var (
	messages = strings.Split("a b a c a b d a e a b f a c", " ")
	costed   = "key,cost,state\na,6,9\nb,3,4\nc,2,1\nd,1,1\ne,1,2\nf,1,1\n"
)

// streamed is an input of the messages.
func streamed(t testing.TB, list []string) *analyses.Input {
	t.Helper()
	b := analyses.NewStreamBuilder(input.Options{})
	for _, m := range list {
		if err := b.Add([]byte(m), 1); err != nil {
			t.Fatal(err)
		}
	}
	return b.Input()
}

// rows is the input of the costs.
func rows() *analyses.Input {
	return &analyses.Input{
		Keys: planner.KeysOf("a", "b", "c", "d", "e", "f"), Cost: []float64{6, 3, 2, 1, 1, 1},
		State: []float64{9, 4, 1, 1, 2, 1},
	}
}

// expect is what the analysis answers when called directly, as JSON.
func (k kind) expect(t testing.TB, in *analyses.Input) string {
	t.Helper()
	result, err := k.run(t.Context(), in, k.fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// equalText compares texts, which may end with their line or not.
func equalText(t testing.TB, what, got, want string) {
	t.Helper()
	if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestAnalysisInputs: the same keys give what the analysis itself gives, however
// they are sent.
func TestAnalysisInputs(t *testing.T) {
	ndjsonRows := `{"key":"a","cost":6,"state":9}
{"key":"b","cost":3,"state":4}
{"key":"c","cost":2,"state":1}
{"key":"d","cost":1,"state":1}
{"key":"e","cost":1,"state":2}
{"key":"f","cost":1,"state":1}
`
	e := newEnv(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			asked := k.path() + "?" + k.query
			ordered, costs := k.expect(t, streamed(t, messages)), k.expect(t, rows())
			for what, c := range map[string]struct {
				answer *answer
				want   string
			}{
				"stream":     {e.do("POST", k.path(), k.body(`"stream":`+jsonOf(t, messages))), ordered},
				"text":       {e.do("POST", asked, strings.Join(messages, "\n"), text), ordered},
				"text, CRLF": {e.do("POST", asked, strings.Join(messages, "\r\n")+"\r\n", text+"; charset=utf-8"), ordered},
				"keys": {e.do("POST", k.path(), k.body(`"keys":[`+
					strings.ReplaceAll(strings.TrimSpace(ndjsonRows), "\n", ",")+`]`)), costs},
				"columns": {e.do("POST", k.path(), k.body(
					`"columns":{"key":["a","b","c","d","e","f"],"frequency":[6,3,2,1,1,1],"state":[9,4,1,1,2,1],"instance":[0,0,0,1,1,1]}`)), costs},
				"CSV":    {e.do("POST", asked, costed, csv), costs},
				"NDJSON": {e.do("POST", asked, ndjsonRows, ndjson), costs},
			} {
				equalText(t, what, string(c.answer.want(http.StatusOK).body), c.want)
			}
		})
	}
}

// TestAnalysisEncodings: keys in base64, and compressed bodies.
func TestAnalysisEncodings(t *testing.T) {
	binary := []string{"a", "\xff", "line\n", "a", "\xff", "a"}
	coded := make([]string, len(binary))
	for i, key := range binary {
		coded[i] = base64.StdEncoding.EncodeToString([]byte(key))
	}
	e := newEnv(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			in := streamed(t, binary)
			in.Base64 = true
			want := k.expect(t, in)
			asked := k.path() + "?" + k.query
			equalText(t, "stream", string(e.do("POST", k.path(), k.body(`"key_encoding":"base64","stream":`+jsonOf(t, coded))).
				want(http.StatusOK).body), want)
			equalText(t, "text", string(e.do("POST", asked+"&key_encoding=base64", strings.Join(coded, "\n"), text).
				want(http.StatusOK).body), want)
			// Text is taken as it is, but for ends of lines.
			plain := k.expect(t, streamed(t, []string{"a", "\xff", "a"}))
			equalText(t, "plain", string(e.do("POST", asked+"&key_encoding=utf8", "a\n\xff\na\n", text).
				want(http.StatusOK).body), plain)

			want = k.expect(t, rows())
			var zipped, zstded bytes.Buffer
			z := gzip.NewWriter(&zipped)
			z.Write([]byte(costed))
			z.Close()
			s, err := zstd.NewWriter(&zstded)
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte(costed))
			s.Close()
			equalText(t, "gzip", string(e.send(t.Context(), "POST", asked, &zipped, csv, "Content-Encoding: gzip").
				want(http.StatusOK).body), want)
			equalText(t, "zstd", string(e.send(t.Context(), "POST", asked, &zstded, csv, "Content-Encoding: zstd").
				want(http.StatusOK).body), want)
		})
	}
}

// TestStreamCosts: a message of a JSON stream may say what it costs.
func TestStreamCosts(t *testing.T) {
	e := newEnv(t)
	b := analyses.NewStreamBuilder(input.Options{})
	for _, m := range []struct {
		key  string
		cost float64
	}{{"a", 1}, {"b", 2.5}, {"a", 0}} {
		if err := b.Add([]byte(m.key), m.cost); err != nil {
			t.Fatal(err)
		}
	}
	k := kinds[0]
	a := e.do("POST", k.path(), k.body(`"stream":["a",["b",2.5],["a",0]]`)).want(http.StatusOK)
	equalText(t, "ring", string(a.body), k.expect(t, b.Input()))
}

// TestAnalysisOfStoredInput: the statistics of a plan are analysed as if they were
// sent again.
func TestAnalysisOfStoredInput(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0,"retention":{"inputs":4}}`)
	const plans = "/v1/operators/clicks/plans"
	e.do("POST", plans+"?interval=1", "key,cost\ngone,1\n", csv).want(http.StatusCreated)
	e.do("POST", plans+"?interval=2", "key,cost\nold,1\n", csv).want(http.StatusCreated)
	e.do("POST", plans+"?interval=3", costed, csv).want(http.StatusCreated)
	e.do("POST", plans, `{"interval":4,"compact":{"records":[[0,0,4,1,4]]}}`).want(http.StatusCreated)
	e.do("POST", plans, `{"interval":5,"coverage":"partial","keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
	e.do("POST", plans+"?interval=2&epoch=1", costed, csv).want(http.StatusCreated)
	e.operator("unstored", `{"instances":2,"store_inputs":false}`)
	e.do("POST", "/v1/operators/unstored/plans?interval=1", costed, csv).want(http.StatusCreated)
	before := e.state()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			post := func(operator string, rest string) *answer {
				return e.do("POST", k.path(), k.body(`"operator":"`+operator+`",`+rest))
			}
			want := k.expect(t, rows())
			equalText(t, "interval 3", string(post("clicks", `"interval":3`).want(http.StatusOK).body), want)
			equalText(t, "the newest epoch", string(post("clicks", `"interval":2`).want(http.StatusOK).body), want)
			equalText(t, "epoch 1", string(post("clicks", `"interval":2,"epoch":1`).want(http.StatusOK).body), want)
			post("clicks", `"interval":1`).fails(http.StatusGone, "purged", "")
			post("clicks", `"interval":2,"epoch":0`).fails(http.StatusGone, "purged", "")
			post("unstored", `"interval":1`).fails(http.StatusGone, "purged", "")
			post("clicks", `"interval":4`).fails(http.StatusConflict, "keys_not_known", "")
			post("clicks", `"interval":5`).fails(http.StatusConflict, "keys_not_known", "")
			post("clicks", `"interval":6`).fails(http.StatusNotFound, "interval_not_found", "")
			post("clicks", `"interval":3,"epoch":2`).fails(http.StatusNotFound, "interval_not_found", "")
			post("none", `"interval":3`).fails(http.StatusNotFound, "operator_not_found", "")
		})
	}
	equalText(t, "what is stored", e.state(), before)
}

// Input is the fault of reading an input.
func (f *faults) Input(ctx context.Context, id string) ([]byte, error) {
	if err := f.fault("Input"); err != nil {
		return nil, err
	}
	return f.Store.Input(ctx, id)
}

// TestAnalysisStoreFailures: what the store reports reaches the client.
func TestAnalysisStoreFailures(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) {
		f.Store = c.Store
		c.Store = f
	})
	e.operator("clicks", `{"instances":2}`)
	e.do("POST", "/v1/operators/clicks/plans?interval=1", costed, csv).want(http.StatusCreated)
	for _, k := range kinds {
		body := k.body(`"operator":"clicks","interval":1`)
		for _, method := range []string{"Plans", "Input"} {
			f.set(method, fmt.Errorf("dialing 10.1.2.3: %w", store.ErrUnavailable))
			e.do("POST", k.path(), body).fails(http.StatusServiceUnavailable, "unavailable", "")
			f.set(method, fmt.Errorf("secret of the database"))
			a := e.do("POST", k.path(), body).fails(http.StatusInternalServerError, "internal", "")
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("insides in the answer: %s", a.body)
			}
			f.set(method, nil)
		}
		f.set("Input", store.ErrPurged) // between two looks
		e.do("POST", k.path(), body).fails(http.StatusGone, "purged", "")
		f.set("Input", nil)
		e.do("POST", k.path(), body).want(http.StatusOK)
	}
	f.set("Input", store.Unreadable("the input", errors.New("nonsense")))
	e.do("POST", kinds[0].path(), kinds[0].body(`"operator":"clicks","interval":1`), "Accept: application/x-ndjson").
		fails(http.StatusServiceUnavailable, "unavailable", "")
	f.set("Input", nil)
	e.do("PUT", "/v1/operators/more", `{"instances":2}`).fails(http.StatusServiceUnavailable, "unavailable", "")
}

func TestRefusedAnalyses(t *testing.T) {
	e, _ := prepared(t)
	long := strings.Repeat("k", 1025)
	var cases []refusal
	for _, k := range kinds {
		number := map[string]string{"ring": "max_rounds", "pkg": "seed", "ranges": "max_intervals", "schemes": "seed"}[k.name]
		post := func(name, body string, status int, code, where string, headers ...string) {
			cases = append(cases, refusal{k.name + ", " + name, "POST", k.path(), body, headers, status, code, where})
		}
		asked := func(name, query, body, media string, status int, code, where string) {
			cases = append(cases, refusal{k.name + ", " + name, "POST", k.path() + "?" + query, body, []string{media},
				status, code, where})
		}
		member := func(name, text, where string) { post(name, k.body(text), unprocessable, "invalid", where) }
		member("unknown field", `"stream":["a"],"colour":1`, "/colour")
		member("compact records", `"compact":{"records":[[0,0,1,1,1]]}`, "/compact")
		member("stream and keys", `"stream":["a"],"keys":[{"key":"a","cost":1}]`, "/stream")
		member("stream and stored", `"stream":["a"],"operator":"clicks","interval":1`, "/operator")
		member("columns and stored", `"columns":{"key":["a"],"cost":[1]},"operator":"clicks","interval":1`, "/operator")
		member("interval alone", `"interval":1`, "/operator")
		member("epoch and interval alone", `"epoch":0,"interval":1`, "/operator")
		member("operator alone", `"operator":"clicks"`, "/interval")
		member("operator of no name", `"operator":"-","interval":1`, "/operator")
		member("negative interval", `"operator":"clicks","interval":-1`, "/interval")
		member("empty key", `"stream":["a",""]`, "/stream/1")
		member("long key", `"stream":["a","`+long+`"]`, "/stream/1")
		member("number for a key", `"stream":["a",1]`, "/stream/1")
		member("cost of a message", `"stream":["a",["b",-1]]`, "/stream/1")
		member("no cost of a message", `"stream":[["a"]]`, "/stream/0")
		member("text for a cost", `"stream":[["a","1"]]`, "/stream/0")
		member("stream of no list", `"stream":"a"`, "/stream")
		member("no base64", `"key_encoding":"base64","stream":["a!"]`, "/stream/0")
		member("negative cost", `"keys":[{"key":"a","cost":-1}]`, "/keys/0/cost")
		member("duplicate key", `"keys":[{"key":"a","cost":1},{"key":"a","cost":1}]`, "/keys/1/key")
		field := map[bool]string{false: "seed", true: "sources"}[k.name == "pkg"] // "seed" is one of the fields of pkg
		member("negative number", `"stream":["a"],"`+field+`":-1`, "/"+field)
		post("truncated", `{"stream":["a"`, badRequest, "malformed", "")
		post("no object", `[]`, badRequest, "malformed", "")
		post("member twice", `{"stream":["a"],"stream":["a"]}`, badRequest, "malformed", "")
		post("content type", "<a/>", http.StatusUnsupportedMediaType, "unsupported_media_type", "", "Content-Type: text/xml")
		post("charset", "{}", http.StatusUnsupportedMediaType, "unsupported_media_type", "",
			"Content-Type: application/json; charset=latin1")
		post("content encoding", "{}", http.StatusUnsupportedMediaType, "unsupported_media_type", "", "Content-Encoding: br")
		post("no gzip", "a\n", badRequest, "malformed", "", text, "Content-Encoding: gzip")
		post("accept", k.body(`"stream":["a"]`), http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html")
		post("many fields", `{"owners":"`+strings.Repeat("x", 9<<20)+`"}`, http.StatusRequestEntityTooLarge, "too_large", "")
		asked("query with JSON", "seed=1", "{}", "Content-Type: application/json", unprocessable, "invalid", "?seed")
		asked("unknown parameter", "colour=1", costed, csv, unprocessable, "invalid", "?colour")
		asked("stored by query", "operator=clicks", costed, csv, unprocessable, "invalid", "?operator")
		asked("no integer", number+"=x", costed, csv, badRequest, "malformed", "?"+number)
		asked("out of range", number+"=-1", costed, csv, unprocessable, "invalid", "?"+number)
		asked("compact CSV", "", "instance,hash_instance,cost,state,count\n0,0,1,1,1\n", csv, unprocessable, "invalid", "")
		asked("CSV", "", "key,cost\na,1\nb,-1\n", csv, unprocessable, "invalid", "/1/cost")
		asked("NDJSON", "", `{"key":"a","cost":1,"colour":1}`, ndjson, unprocessable, "invalid", "/0/colour")
		asked("long line", "", "a\n"+long+"\n", text, unprocessable, "invalid", "/1/key")
		asked("longer line", "", strings.Repeat("k", 100_000), text, unprocessable, "invalid", "/0/key")
		asked("empty line", "", "a\n\nb\n", text, unprocessable, "invalid", "/1/key")
		asked("no base64 line", "key_encoding=base64", "YQ==\nx!\n", text, unprocessable, "invalid", "/1/key")
		asked("long base64 line", "key_encoding=base64", strings.Repeat("QUFB", 30_000), text, unprocessable, "invalid", "")
	}
	e.refused(t, cases)
}

// TestRefusedFields: what only the analysis knows to be wrong is said of the field
// or the parameter.
func TestRefusedFields(t *testing.T) {
	e, _ := prepared(t)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&many, i)
	}
	post := func(name, path, body, where string, headers ...string) refusal {
		return refusal{name, "POST", "/v1/analyses/" + path, body, headers, unprocessable, "invalid", where}
	}
	e.refused(t, []refusal{
		post("two nodes of an id", "ring", `{"nodes":[{"id":1},{"id":1}],"stream":["a"]}`, "/nodes/1/id"),
		post("queues of other nodes", "ring", `{"nodes":3,"queues":[1,2]}`, "/queues"),
		post("queues of other nodes", "ring?nodes=3&queues=1,2", costed, "?queues", csv),
		post("no nodes", "ring", `{"nodes":0,"stream":["a"]}`, "/nodes"),
		post("too many nodes", "ring", `{"nodes":65537,"stream":["a"]}`, "/nodes"),
		post("fractional nodes", "ring", `{"nodes":1.5,"stream":["a"]}`, "/nodes"),
		post("an unknown field of a node", "ring", `{"nodes":[{"id":1,"colour":1}],"stream":["a"]}`, "/nodes/0/colour"),
		post("nothing to analyse", "ring", `{}`, ""),
		post("nothing to analyse", "pkg", `{}`, ""),
		post("nothing to analyse", "ranges", `{}`, ""),
		post("nothing to analyse", "schemes", `{}`, ""),
		post("an unknown scheme", "pkg", `{"schemes":["best"],"stream":["a"]}`, "/schemes/0"),
		post("an unknown scheme", "pkg?schemes=best", "a\n", "?schemes", text),
		post("order of a stream", "pkg", `{"order":"shuffled","stream":["a"]}`, "/order"),
		post("probing without a period", "pkg?load_information=local_probing", "a\n", "?probe_period", text),
		post("great position", "ranges", `{"followers":3,"event":"join","position":4,"stream":["a"]}`, "/position"),
		post("owners that do not begin at the lowest key", "ranges",
			`{"followers":2,"owners":[{"low":"b","follower":0},{"low":"c","follower":1}],"stream":["a"]}`, "/owners/0/low"),
		post("great position", "ranges?followers=3&event=join&position=4", "a\n", "?position", text),
		post("loads of very many sources", "pkg", `{"workers":65536,"sources":[1,65536],"stream":["a"]}`, "/sources"),
		post("candidates of very many keys", "pkg?workers=65536&choices=65536", many.String(), "?choices", text),
		post("loads of very many sources", "schemes", `{"instances":65536,"sources":65536,"stream":["a"]}`, "/sources"),
		post("candidates of very many keys", "schemes?instances=65536&max_choices=65536", many.String(),
			"?max_choices", text),
		post("an unknown hash", "schemes", `{"hash":"crc","stream":["a"]}`, "/hash"),
		post("two instances of an id", "schemes", `{"instances":[{"id":1},{"id":1}],"stream":["a"]}`, "/instances"),
	})
}

// TestAnalysisLimits: the limits of statistics hold for streams, too.
func TestAnalysisLimits(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Statistics = input.Limits{Rows: 3, Bytes: 4000} })
	for _, k := range kinds {
		too := func(target, body string, headers ...string) {
			t.Helper()
			e.do("POST", target, body, headers...).fails(http.StatusRequestEntityTooLarge, "too_large", "")
		}
		too(k.path(), k.body(`"stream":["a","b","a","a"]`))
		too(k.path(), k.body(`"keys":[{"key":"a","cost":1},{"key":"b","cost":1},{"key":"c","cost":1},{"key":"d","cost":1}]`))
		too(k.path(), "a\na\na\na\n", text)
		too(k.path()+"?key_encoding=base64", "YQ==\nYQ==\nYQ==\nYQ==\n", text)
		too(k.path(), "key,cost\na,1\nb,1\nc,1\nd,1\n", csv)
		too(k.path(), k.body(`"stream":["`+strings.Repeat("a", 5000)+`"]`))
		too(k.path(), strings.Repeat("k", 1000)+strings.Repeat("\n", 4000), text)
		e.do("POST", k.path(), "a\na\na\n", text).want(http.StatusOK)
	}
}

// TestAnalysisMetrics: analyses are timed by their name.
func TestAnalysisMetrics(t *testing.T) {
	e := newEnv(t)
	for _, k := range kinds {
		e.do("POST", k.path(), k.body(`"stream":["a","b","a"]`)).want(http.StatusOK)
	}
	metrics := string(e.do("GET", "/metrics", "").body)
	for _, k := range kinds {
		if !strings.Contains(metrics, `plannerd_analysis_duration_seconds_count{analysis="`+k.name+`"} 1`) {
			t.Errorf("%s is not timed", k.name)
		}
	}
}

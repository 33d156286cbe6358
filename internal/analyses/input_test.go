package analyses

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"plannerd/internal/input"
	"plannerd/planner"
)

// keysOf are the messages of a stream as text.
func keysOf(in *Input) []string {
	out := []string{}
	for _, k := range in.Messages {
		out = append(out, string(in.Keys.At(int(k))))
	}
	return out
}

func TestReadStream(t *testing.T) {
	long := strings.Repeat("x", planner.MaxKeyBytes)
	for text, want := range map[string][]string{
		"":                        {},
		"\n\r\n":                  {},
		"a":                       {"a"},
		"a\nb\na\n":               {"a", "b", "a"},
		"a\r\nb \r\n\n":           {"a", "b "},
		"\xff\xfe\n,\n":           {"\xff\xfe", ","},
		long + "\n" + long + "\n": {long, long},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text),
			"bytewise": iotest.OneByteReader(strings.NewReader(text))} {
			in, err := ReadStream(r, input.Options{})
			if err != nil {
				t.Errorf("%q, %s: %v", text, name, err)
				continue
			}
			if diff := cmp.Diff(want, keysOf(in)); diff != "" {
				t.Errorf("%q, %s (-want +got):\n%s", text, name, diff)
			}
		}
	}
}

func TestReadStreamRefuses(t *testing.T) {
	for _, c := range []struct {
		text    string
		limits  input.Limits
		kind    input.Kind
		pointer string
	}{
		{"a\n\nb\n", input.Limits{}, input.Invalid, "/1/key"},
		{"\na\n", input.Limits{}, input.Invalid, "/0/key"},
		{"a\n" + strings.Repeat("x", planner.MaxKeyBytes+1) + "\n", input.Limits{}, input.Invalid, "/1/key"},
		{"a\nb\n" + strings.Repeat("x", 1<<20), input.Limits{}, input.Invalid, "/2/key"},
		{"a\nb\nc\n", input.Limits{Rows: 2}, input.TooLarge, ""},
		{"aa\nbb\n", input.Limits{Bytes: 3}, input.TooLarge, ""},
	} {
		_, err := ReadStream(strings.NewReader(c.text), input.Options{Limits: c.limits})
		var refused *input.Error
		if !errors.As(err, &refused) || refused.Kind != c.kind || refused.Problems[0].Pointer != c.pointer {
			t.Errorf("%.20q: %v, want %v at %q", c.text, err, c.kind, c.pointer)
		}
	}
	broken := errors.New("broken")
	if _, err := ReadStream(iotest.ErrReader(broken), input.Options{}); !errors.Is(err, broken) {
		t.Errorf("an error of the reader came back as %v", err)
	}
}

func TestStreamBuilder(t *testing.T) {
	b := NewStreamBuilder(input.Options{})
	for _, m := range []struct {
		key  string
		cost float64
	}{{"a", 1}, {"b", 1}, {"a", 2.5}, {"b", 1}, {"c", 0}} {
		if err := b.Add([]byte(m.key), m.cost); err != nil {
			t.Fatal(err)
		}
	}
	in, err := b.Input().check()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, 1, 2.5, 1, 0}, in.MessageCost); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{3.5, 2, 0}, in.Cost); diff != "" {
		t.Error(diff)
	}
	for _, cost := range []float64{-1, 1e300} {
		var refused *input.Error
		if err := b.Add([]byte("d"), cost); !errors.As(err, &refused) || refused.Problems[0].Pointer != "/5/cost" {
			t.Errorf("cost %v: %v", cost, err)
		}
	}
}

func TestFromStatistics(t *testing.T) {
	s := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}}
	if in, err := FromStatistics(s); err != nil || in.Len() != 2 {
		t.Errorf("%+v, %v", in, err)
	}
	s.Partial = true
	if _, err := FromStatistics(s); fieldOf(err) != "coverage" {
		t.Errorf("partial statistics: %v", err)
	}
	if _, err := FromStatistics(&planner.Statistics{Keys: s.Keys, Cost: s.Cost, Count: []int64{1, 2}}); fieldOf(
		err) != "compact" {
		t.Errorf("classes: %v", err)
	}
}

// fieldOf is the field of an input error.
func fieldOf(err error) string {
	var given *planner.InputError
	if errors.As(err, &given) {
		return given.Field
	}
	return ""
}

// A list of nodes may be a number, and nothing unknown hides in it.
func TestCounted(t *testing.T) {
	var r RingRequest
	if err := json.Unmarshal([]byte(`{"nodes": 3}`), &r, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(RingNodes{{ID: 0}, {ID: 1}, {ID: 2}}, r.Nodes); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"nodes": [{"id": 7, "tokens": 5, "capacity": 1.5, "joins": true}]}`), &r,
		json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(RingNodes{{ID: 7, Tokens: 5, Capacity: 1.5, Joins: true}}, r.Nodes); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{`{"nodes": "3"}`, `{"nodes": 1.5}`, `{"nodes": 3000000000}`,
		`{"nodes": [{"name": 1}]}`} {
		if err := json.Unmarshal([]byte(text), &r, json.RejectUnknownMembers(true)); err == nil {
			t.Errorf("%s was read as %v", text, r.Nodes)
		}
	}
	for text, want := range map[string]int{`{"nodes": -4}`: 0, `{"nodes": 2000000000}`: MaxNodes + 1} {
		r.Nodes = nil
		if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Nodes) != want {
			t.Errorf("%s: %d nodes, %v", text, len(r.Nodes), err)
		}
		if _, err := RunRing(t.Context(), nil, r, nil); fieldOf(err) != "nodes" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What is read are the lines, or one of them is refused.
func FuzzReadStream(f *testing.F) {
	for _, seed := range []string{"", "a\nb\na\n", "a\r\n\r\n", "\n\nx", "a\r\r\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		for i := range lines {
			if lines[i] = strings.TrimSuffix(lines[i], "\r"); i == len(lines)-1 && lines[i] == "" {
				lines = lines[:i]
			}
		}
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		good := !slices.ContainsFunc(lines, func(s string) bool { return s == "" || len(s) > planner.MaxKeyBytes })
		in, err := ReadStream(strings.NewReader(text), input.Options{})
		if (err == nil) != good || err == nil && !slices.Equal(keysOf(in), lines) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

package route

import (
	"strings"
	"testing"
)

// TestRoutedKey: a tag, or what stands before a text, is the routed key; that of a routed key is itself.
func TestRoutedKey(t *testing.T) {
	tag, slash := Affinity{Tag: true}, Affinity{Until: "/"}
	second := Affinity{Until: "::", Count: 2}
	for _, c := range []struct {
		by        Affinity
		key, want string
	}{
		{Affinity{}, "a{b}/c", "a{b}/c"},
		{tag, "a{b}c", "b"}, {tag, "a{b}{c}", "b"}, {tag, "a{{b}}", "{b"}, {tag, "a}{b}", "b"},
		{tag, "{}a{b}", "{}a{b}"}, {tag, "a{b", "a{b"}, {tag, "a}b{", "a}b{"}, {tag, "", ""},
		{slash, "order7/lines/1", "order7"}, {slash, "order7", "order7"}, {slash, "/a", "/a"}, {slash, "a/", "a"},
		{second, "a::b::c", "a::b"}, {second, "a::b", "a::b"}, {second, "a::::b", "a::"}, {second, "a:::b::c", "a:::b"},
		{second, "::::a", "::"},
	} {
		got := c.by.RoutedKey([]byte(c.key))
		if string(got) != c.want || string(c.by.RoutedKey(got)) != c.want {
			t.Errorf("%+v: %q of %q, want %q", c.by, got, c.key, c.want)
		}
	}
}

// TestAffinityConfig: an affinity is a part of the function, and has to make sense.
func TestAffinityConfig(t *testing.T) {
	two := []Instance{{ID: 0}, {ID: 1}}
	if !Same(Config{Affinity: Affinity{Until: "/"}}, two, Config{Affinity: Affinity{Until: "/", Count: 1}}, two) ||
		Same(Config{Affinity: Affinity{Tag: true}}, two, Config{}, two) {
		t.Error("which functions are the same")
	}
	for _, a := range []Affinity{
		{Tag: true, Until: "/"}, {Count: 1}, {Tag: true, Count: 1}, {Until: "/", Count: -1},
		{Until: "/", Count: MaxCount + 1}, {Until: strings.Repeat("x", 65)},
	} {
		if _, err := New(Config{Affinity: a}, two); err == nil {
			t.Errorf("%+v is taken", a)
		}
	}
}

func BenchmarkLookupAffinity(b *testing.B) {
	for _, a := range []Affinity{{}, {Tag: true}, {Until: "/"}} {
		hash := mustNew(b, Config{Affinity: a}, []Instance{{ID: 0}, {ID: 1}, {ID: 2}})
		table, err := NewTable(1, hash, nil, "")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(a.Until+map[bool]string{true: "tag"}[a.Tag], func(b *testing.B) {
			b.ReportAllocs()
			for key := []byte("customer:{order7}/lines"); b.Loop(); {
				if _, err := table.Lookup(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

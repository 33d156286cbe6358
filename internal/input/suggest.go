package input

import (
	"slices"
	"strconv"
	"strings"
)

// guesses are words in the names that other systems give to fields, those that say most first.
var guesses = []struct {
	field string
	words []string
}{
	{"cost", []string{"cost", "lag", "requests", "count", "hits", "events", "messages", "records", "load", "cpu", "rate",
		"value", "total", "weight"}},
	{"state", []string{"state", "bytes", "size", "memory"}},
	{"instance", []string{"instance", "worker", "pod", "node", "consumer-id", "host", "client", "server"}},
	{"key", []string{"key", "user", "customer", "tenant", "account", "topic", "subtask", "name", "path", "id"}},
}

// Suggest returns the mapping that may read rows whose columns, or members, are called like that, such
// as key=user,cost=hits; empty where there are fewer than two, or where one is rather a value. The
// optional fields are those that are of use.
func Suggest(names []string, optional ...string) string {
	isNumber := func(name string) bool { _, err := strconv.ParseFloat(name, 64); return err == nil }
	if len(names) < 2 || slices.ContainsFunc(names, isNumber) {
		return ""
	}
	left := slices.Clone(names)
	chosen := map[string]string{}
	take := func(field string, i int) {
		chosen[field] = left[i]
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range guesses {
		if i := guessed(left, g.words); i >= 0 {
			take(g.field, i)
		}
	}
	for _, field := range []string{"key", "cost"} {
		if chosen[field] == "" && len(left) > 0 {
			take(field, 0)
		}
	}
	key := chosen["key"]
	if i := slices.IndexFunc(left, func(name string) bool { return strings.EqualFold(name, "partition") }); i >= 0 {
		key += "+" + left[i]
	}
	pairs := []string{"key=" + key, "cost=" + chosen["cost"]}
	for _, field := range optional {
		if chosen[field] != "" {
			pairs = append(pairs, field+"="+chosen[field])
		}
	}
	return strings.Join(pairs, ",")
}

// guessed is the first of the names that has the first of the words which any has; −1 without one. Of
// a time and a value, as Prometheus writes them, the value comes last.
func guessed(names, words []string) int {
	for _, word := range words {
		has := func(name string) bool { return strings.Contains(strings.ToLower(name), word) }
		i := slices.IndexFunc(names, has)
		for j := i + 1; i >= 0 && word == "value" && j < len(names); j++ {
			if has(names[j]) {
				i = j
			}
		}
		if i >= 0 {
			return i
		}
	}
	return -1
}

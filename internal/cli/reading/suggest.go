package reading

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/input"
)

// guesses are words in the names that other systems give to fields, those that say most first.
var guesses = []struct {
	field string
	words []string
}{
	{"cost", []string{"cost", "lag", "requests", "count", "hits", "events", "messages", "load", "cpu", "rate", "value",
		"total", "weight"}},
	{"state", []string{"state", "bytes", "size", "memory"}},
	{"instance", []string{"instance", "worker", "pod", "node", "consumer-id", "host", "client", "server"}},
	{"key", []string{"key", "user", "customer", "tenant", "account", "topic", "name", "path", "id"}},
}

// suggested are the flags that may read a file whose columns, or members, are called like that;
// empty where there are fewer than two. The optional fields are those that the command can use.
func suggested(records string, names, optional []string) string {
	if len(names) < 2 {
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
	text := "--columns " + shellWord(strings.Join(pairs, ","))
	if records != "" {
		text = "--records " + shellWord(records) + " " + text
	}
	return text
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

// shellWord quotes what a shell would not take for one word.
func shellWord(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=,./:") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// try is the command that may read this file, whose columns or members are called like that.
func (in *Input) try(records string, names []string) string {
	optional := []string{"state"}
	if in.Names != nil {
		optional = append(optional, "instance")
	}
	flags := suggested(records, names, optional)
	if flags == "" || len(in.flags.Columns) > 0 || slices.ContainsFunc(names, isNumber) {
		return ""
	}
	command := "plannerd " + in.command + " " + shellWord(in.flags.File) + " " + flags
	return "if they have other names, say which, such as: " + command
}

// accessLog is what lines of access logs begin with: a host, users, a time and a request.
var accessLog = regexp.MustCompile(`^\S+ \S+ .*\[[^\]\n]*\] "`)

// hint says what reads a file that has these problems; empty: nothing is known.
func (in *Input) hint(problems []input.Problem) string {
	keyless := slices.ContainsFunc(problems, func(p input.Problem) bool {
		return p.Column == "key" && strings.HasSuffix(p.Detail, "is required")
	})
	switch {
	case in.seen > 0:
	case in.format == input.CSV && accessLog.Match(in.head):
		return "an access log? plannerd count " + shellWord(in.flags.File) + " makes statistics of it"
	case in.format != input.CSV && keyless:
		return in.try(input.LookForRecords(in.head))
	}
	return ""
}

// isNumber tells whether a name is rather a value.
func isNumber(name string) bool {
	_, err := strconv.ParseFloat(name, 64)
	return err == nil
}

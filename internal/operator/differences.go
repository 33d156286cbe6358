package operator

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Difference is a member of a configuration that another one has otherwise.
type Difference struct {
	Member string         `json:"member"` // "/" stands between an object and its member
	From   jsontext.Value `json:"from"`   // null: it is not said
	To     jsontext.Value `json:"to"`
}

// Differences are what changes from one configuration to another, in ascending order of the members.
// What only repeats another member is left out.
func Differences(from, to Configuration) ([]Difference, error) {
	was, err := from.Encode()
	if err != nil {
		return nil, err
	}
	is, err := to.Encode()
	if err != nil {
		return nil, err
	}
	out := differences([]Difference{}, "", was, is)
	out = slices.DeleteFunc(out, func(d Difference) bool { return d.Member == "require_approval" })
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Member, b.Member) })
	return out, nil
}

func differences(out []Difference, member string, from, to jsontext.Value) []Difference {
	if from.Kind() != '{' || to.Kind() != '{' {
		if bytes.Equal(from, to) {
			return out
		}
		return append(out, Difference{member, orNull(from), orNull(to)})
	}
	was, is := membersOf(from), membersOf(to)
	for name := range is {
		if _, both := was[name]; !both {
			was[name] = nil
		}
	}
	for name, value := range was {
		out = differences(out, strings.TrimPrefix(member+"/"+name, "/"), value, is[name])
	}
	return out
}

func orNull(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

// Package access says who may do what: roles, the callers that have them, and the
// tokens by which callers are known.
package access

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Role is what a caller may do, and what an operation asks for.
type Role string

// The roles. Engine and approver are beside each other: who makes and carries out
// plans need not be who decides on them.
const (
	// Open is asked for by what everybody may have; no caller has it.
	Open Role = "open"
	// Viewer reads, and asks what would be: what-ifs, analyses, replays.
	Viewer Role = "viewer"
	// Engine is a viewer that sends statistics and carries plans out.
	Engine Role = "engine"
	// Approver is a viewer that decides whether plans are carried out.
	Approver Role = "approver"
	// Admin may do everything. It alone configures and deletes operators.
	Admin Role = "admin"
)

// Roles are those that a caller may have.
var roles = []Role{Viewer, Engine, Approver, Admin}

// ParseRole returns the role of that name, which a caller may have.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("%q is none of the roles viewer, engine, approver, admin", name)
}

// Known reports whether an operation may ask for r.
func (r Role) Known() bool { return r == Open || slices.Contains(roles, r) }

// Grants reports whether a caller with this role may do what asks for need.
func (r Role) Grants(need Role) bool {
	return need == Open || r == Admin || r == need || need == Viewer && slices.Contains(roles, r)
}

// Caller is somebody who is known by a token.
type Caller struct {
	// Name stands in logs and is the actor of what the caller does.
	Name string
	Role Role
	// Operators are patterns of the names of the operators that the caller sees; see
	// ParseOperators.
	Operators []string
}

// Everywhere is the pattern of all operators.
const Everywhere = "*"

// ParseOperators reads comma-separated patterns of operator names, such as
// "team-a.*,shared": * stands for any characters, none included, ? for one, and all
// else for itself.
func ParseOperators(list string) ([]string, error) {
	patterns := strings.Split(list, ",")
	for _, p := range patterns {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool { return !nameRune(r) && r != '*' && r != '?' }) {
			return nil, fmt.Errorf("%q is no pattern of operator names: write letters, digits, '.', '_' and '-', * for any of "+
				"them and ? for one", p)
		}
	}
	return patterns, nil
}

// nameRune reports whether r may stand in the name of an operator.
func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r)
}

// SeesAll reports whether the caller sees every operator there may be.
func (c *Caller) SeesAll() bool { return slices.Contains(c.Operators, Everywhere) }

// Sees reports whether the caller sees the operator.
func (c *Caller) Sees(operator string) bool {
	return slices.ContainsFunc(c.Operators, func(pattern string) bool {
		// Names have no '/', at which * would stop, and the only error is that of a
		// pattern that ParseOperators refuses.
		matched, err := path.Match(pattern, operator)
		return err == nil && matched
	})
}

// Ahead returns a text such that the caller sees no operator whose name is after the given
// one but not after the text; false: the caller sees none after the given one at all. The
// operators of a caller are often few of very many, side by side.
func (c *Caller) Ahead(after string) (text string, more bool) {
	for _, pattern := range c.Operators {
		prefix, wildcard := pattern, false
		if i := strings.IndexAny(pattern, "*?"); i >= 0 {
			prefix, wildcard = pattern[:i], true
		}
		switch {
		case wildcard && strings.HasPrefix(after, prefix):
			return after, true
		case after < prefix:
			// No name has a rune as high as that: names with the prefix come next.
			before := prefix[:len(prefix)-1] + string(rune(prefix[len(prefix)-1]-1)) + "\x7f"
			if before = max(before, after); !more || before < text {
				text, more = before, true
			}
		}
	}
	return text, more
}

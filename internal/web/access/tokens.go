package access

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// prefix makes secrets known for what they are where they should not be: in a
	// log, in a repository.
	prefix = "plannerd_"
	// hashPrefix names the hash in a line of a file of tokens.
	hashPrefix = "sha256:"
	// minSecret is the length of the shortest secret that is taken, in bytes: 128
	// bits in hexadecimal.
	minSecret = 32
)

// NewSecret returns a secret of 256 random bits.
func NewSecret() string {
	var b [sha256.Size]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// token is a secret, by its hash, and the caller who is known by it.
//
// The hash is a fast one on purpose. A slow one, such as bcrypt, makes the guessing
// of passwords slow; nobody guesses 256 random bits, however fast, and every request
// would pay for it.
type token struct {
	hash   [sha256.Size]byte
	caller Caller
}

// Tokens are those that let callers in. The zero value lets nobody in. They do not
// change: they may be used by many goroutines.
type Tokens struct {
	all []token
}

// Len is the number of tokens.
func (t *Tokens) Len() int { return len(t.all) }

// Find returns the caller who is known by the secret, nil if there is none. How long
// it takes does not depend on which it is, nor on whether there is one. What is too
// short is none, though a file may have its hash: that of no secret at all is
// everybody's.
func (t *Tokens) Find(secret string) *Caller {
	if len(secret) < minSecret {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	found := -1
	for i := range t.all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], t.all[i].hash[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return &t.all[found].caller
}

// Add adds a secret by which the caller is known.
func (t *Tokens) Add(secret string, caller Caller) error {
	if len(secret) < minSecret || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("a token has at least %d characters, all of them ASCII and none a blank: make one with plannerd "+
			"token new", minSecret)
	}
	return t.add(token{sha256.Sum256([]byte(secret)), caller})
}

// add adds a token. A caller may have several, so that a new one can take the place
// of an old one.
func (t *Tokens) add(added token) error {
	for i := range t.all {
		switch before := &t.all[i]; {
		case before.hash == added.hash:
			return fmt.Errorf("%s and %s have the same token", before.caller.Name, added.caller.Name)
		case before.caller.Name == added.caller.Name && !before.caller.Same(added.caller):
			return fmt.Errorf("%s has tokens with different roles or operators", added.caller.Name)
		}
	}
	t.all = append(t.all, added)
	return nil
}

// Same reports whether two callers have the same name, role and operators.
func (c Caller) Same(other Caller) bool {
	return c.Name == other.Name && c.Role == other.Role && slices.Equal(c.Operators, other.Operators)
}

// Line returns the line of a file of tokens by which the caller is known by the
// secret.
func Line(secret string, caller Caller) string {
	hash := sha256.Sum256([]byte(secret))
	return strings.Join([]string{caller.Name, string(caller.Role), strings.Join(caller.Operators, ","), hashPrefix +
		hex.EncodeToString(hash[:])}, " ")
}

// Read adds the tokens of a file: one a line, its name, role, operators and hash
// separated by blanks. Empty lines and what follows a # are left out.
func (t *Tokens) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		added, err := parseToken(fields)
		if err == nil {
			err = t.add(added)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

func parseToken(fields []string) (t token, err error) {
	if len(fields) != 4 {
		return t, fmt.Errorf("write: name role operators %s…", hashPrefix)
	}
	if t.caller, err = NewCaller(fields[0], fields[1], fields[2]); err != nil {
		return t, err
	}
	// What is wrong with a hash is not shown: it may be a secret by mistake.
	digits, named := strings.CutPrefix(fields[3], hashPrefix)
	hash, err := hex.DecodeString(digits)
	if err != nil || !named || len(hash) != len(t.hash) {
		return t, fmt.Errorf("the last word must be %s and 64 hexadecimal digits; plannerd token new prints it", hashPrefix)
	}
	copy(t.hash[:], hash)
	return t, nil
}

// maxName is the length of the longest name of a caller.
const maxName = 64

// NewCaller returns a caller by what stands in a line of a file of tokens.
func NewCaller(name, role, operators string) (c Caller, err error) {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name,
		func(r rune) bool { return !nameRune(r) && r != '@' }) {
		return c, fmt.Errorf("%q is no name of a caller: write at most %d letters, digits, '.', '_', '-' and '@'",
			name, maxName)
	}
	c.Name = name
	if c.Role, err = ParseRole(role); err != nil {
		return c, err
	}
	c.Operators, err = ParseOperators(operators)
	return c, err
}

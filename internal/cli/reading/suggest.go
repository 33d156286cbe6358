package reading

import (
	"regexp"
	"slices"
	"strings"

	"plannerd/internal/input"
)

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
	if in.flags.Names != nil {
		optional = append(optional, "instance")
	}
	columns := input.Suggest(names, optional...)
	if columns == "" || len(in.flags.Columns) > 0 {
		return ""
	}
	flags := "--columns " + shellWord(columns)
	if records != "" {
		flags = "--records " + shellWord(records) + " " + flags
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
	case in.format == 0 && keyless: // of count
		return "--key says what the key is, such as --key user.id"
	case in.format != input.CSV && keyless:
		return in.try(input.LookForRecords(in.head))
	}
	return ""
}

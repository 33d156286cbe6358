package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/planner"
)

type manCmd struct{}

// Help tells how to read and install the page.
func (*manCmd) Help() string {
	return `Examples:

    plannerd man | man -l -
    plannerd man > /usr/local/share/man/man1/plannerd.1`
}

// Run prints the manual page of all commands.
func (manCmd) Run(env *cli.Environment, model *kong.Application) error {
	return cli.Buffered(env.Stdout, func(w io.Writer) error {
		m := manPage{w: w}
		m.printf(".TH PLANNERD 1 \"\" %s\n", roffQuote("plannerd, planner revision "+planner.Revision))
		m.printf(".SH NAME\nplannerd \\- plan the rebalancing of partitioned stream operators\n")
		m.printf(".SH SYNOPSIS\n.B plannerd\n.I command\n[\\fIflags\\fR]\n.SH DESCRIPTION\n")
		m.text(description)
		m.printf(".SH COMMANDS\n")
		for _, leaf := range model.Leaves(true) {
			m.command(leaf)
		}
		return m.err
	})
}

// manPage writes a page in the macros of man(7).
type manPage struct {
	w   io.Writer
	err error
}

func (m *manPage) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

// command describes one command.
func (m *manPage) command(node *kong.Node) {
	m.printf(".SS %s\n", roffQuote(strings.TrimSpace(node.Summary())))
	m.text(node.Help)
	m.text(node.Detail)
	for _, argument := range node.Positional {
		m.printf(".TP\n.I %s\n", roff(argument.Summary()))
		m.text(argument.Help)
	}
	for _, flag := range node.Flags {
		if flag.Hidden || flag.Name == "help" {
			continue
		}
		m.printf(".TP\n.B %s\n", roff("--"+flag.Name+flagValue(flag)))
		m.text(flag.Help)
	}
}

// flagValue is how the value of a flag is shown behind its name.
func flagValue(flag *kong.Flag) string {
	if flag.IsBool() {
		return ""
	}
	return "=" + flag.FormatPlaceHolder()
}

// text writes paragraphs; indented lines stay as they are.
func (m *manPage) text(text string) {
	literal := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !literal:
			m.printf(".PP\n.EX\n")
		case !indented && literal:
			m.printf(".EE\n.PP\n")
		case line == "":
			m.printf(".PP\n")
		}
		literal = indented
		if line != "" {
			m.printf("%s\n", roff(line))
		}
	}
	if literal {
		m.printf(".EE\n")
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roff escapes a line of text.
func roff(line string) string {
	line = roffEscapes.Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// roffQuote escapes the argument of a macro.
func roffQuote(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }

package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
)

// completionScripts tell each shell to ask "plannerd __complete WORD…" what may stand
// in the place of the last word.
//
//go:embed completion/plannerd.*
var completionScripts embed.FS

// completeArg is the first argument by which the scripts ask.
const completeArg = "__complete"

// filesDirective is the answer that leaves the completion of files to the shell.
const filesDirective = ":files"

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCmd) Run(env *cli.Environment) error {
	script, err := completionScripts.ReadFile("completion/plannerd." + c.Shell)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(script)
	return err
}

// complete prints what may stand in the place of the last word, a candidate with its
// description on each line.
func complete(env *cli.Environment, root *kong.Node, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	node, flag := follow(root, words[:last])
	word := words[last]
	name, value, assigned := strings.Cut(word, "=")
	switch {
	case flag != nil && word == "=": // bash cuts words there
		return completeValue(env.Stdout, flag, "", "")
	case flag != nil:
		return completeValue(env.Stdout, flag, "", word)
	case assigned && strings.HasPrefix(name, "--"):
		if flag = flagOf(node, name); flag != nil {
			return completeValue(env.Stdout, flag, name+"=", value)
		}
		return nil
	case strings.HasPrefix(word, "-"):
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			if err := candidate(env.Stdout, "--"+f.Name, word, f.Help); err != nil {
				return err
			}
		}
		return nil
	}
	return completeArgument(env.Stdout, node, word)
}

// completeArgument prints the commands below a node, or what its argument may be.
func completeArgument(w io.Writer, node *kong.Node, word string) error {
	for _, child := range node.Children {
		if err := candidate(w, child.Name, word, child.Help); err != nil {
			return err
		}
	}
	for _, argument := range node.Positional {
		if argument.Enum == "" && argument.Name == "file" {
			_, err := fmt.Fprintln(w, filesDirective)
			return err
		}
		for _, value := range argument.EnumSlice() {
			if err := candidate(w, value, word, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow goes through the words before the one that is completed. It returns the
// command that they select, and the flag that waits for its value.
func follow(node *kong.Node, words []string) (*kong.Node, *kong.Flag) {
	if len(words) > 0 && words[0] == "help" {
		words = words[1:]
	}
	var flag *kong.Flag
	for _, word := range words {
		switch {
		case word == "=":
		case flag != nil:
			flag = nil
		case strings.HasPrefix(word, "--"):
			if flag = flagOf(node, word); flag != nil && flag.IsBool() {
				flag = nil
			}
		default:
			if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
				node = node.Children[i]
			}
		}
	}
	return node, flag
}

// flagOf finds the flag of a command that is written as --name.
func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, f := range slices.Concat(node.AllFlags(false)...) {
		if "--"+f.Name == word {
			return f
		}
	}
	return nil
}

// completeValue prints the values that a flag may have. Of a list the last part is
// completed.
func completeValue(w io.Writer, flag *kong.Flag, prefix, value string) error {
	values := flag.EnumSlice()
	switch {
	case flag.Name == "strategy", flag.Name == "strategies":
		values = reading.StrategyNames()
	case flag.Enum == "" && (flag.PlaceHolder == "FILE" || flag.Tag.Type == "path"):
		_, err := fmt.Fprintln(w, filesDirective)
		return err
	}
	if comma := strings.LastIndexByte(value, ','); comma >= 0 {
		prefix, value = prefix+value[:comma+1], value[comma+1:]
	}
	for _, v := range values {
		if v != "" && strings.HasPrefix(v, value) {
			if err := candidate(w, prefix+v, "", ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidate prints a candidate that begins with the word, and the first sentence of
// its help.
func candidate(w io.Writer, name, word, help string) error {
	if !strings.HasPrefix(name, word) {
		return nil
	}
	sentence, _, _ := strings.Cut(help, ". ")
	_, err := fmt.Fprintf(w, "%s\t%s\n", name, strings.TrimSuffix(sentence, "."))
	return err
}

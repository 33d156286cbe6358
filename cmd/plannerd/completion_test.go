package main

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What completes a word, as the scripts ask for it.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		words string // the last one is completed
		want  string
	}{
		{"pl", "plan"},
		{"",
			"serve demo plan compare backtest compact analyze reproduce resolve count collect kafka-group convert undo " +
				"generate migrate check backup restore token healthcheck version help completion"},
		{"analyze ", "ring pkg ranges schemes"},
		{"analyze r", "ring ranges"},
		{"help analyze s", "schemes"},
		{"plan stats.csv --theta", "--theta-max --theta-min"},
		{"plan --strategy m", "mixed mixed_bf minmig mintable"},
		{"plan --strategy=mi", "--strategy=mixed --strategy=mixed_bf --strategy=minmig --strategy=mintable"},
		{"plan --strategy = mi", "mixed mixed_bf minmig mintable"},
		{"plan --output =", "table json csv"},
		{"compare --strategies mixed,l", "mixed,llfd mixed,lpt"},
		{"plan --all --check --out", "--output"},
		{"plan ", ":files"},
		{"plan --routing-table x", ":files"},
		{"plan --instances ", ""},
		{"completion ", "bash zsh fish"},
		{"dance ", "serve demo plan compare backtest compact analyze reproduce resolve count collect kafka-group convert " +
			"undo generate migrate check backup restore token healthcheck version help completion"},
		{"plan --nonsense=x", ""},
	} {
		var got []string
		for line := range strings.Lines(succeed(t, "", append([]string{completeArg}, strings.Split(c.words, " ")...)...)) {
			name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

// zshInTerminal types the words into a zsh that has a terminal, as its completion needs,
// and prints for each what was offered.
const zshInTerminal = `cat >$HOME/setup.zsh <<'END'
		autoload -Uz compinit && compinit -u -D
		source <(plannerd completion zsh)
		typeset -gaU offered
		compadd() {
			local -a found
			builtin compadd -O found "$@"
			offered+=($found)
			builtin compadd "$@"
		}
		answer() {
			offered=()
			zle complete-word
			print -r -- "$offered" >>$HOME/answers
			BUFFER=
		}
		zle -N answer
		bindkey '^I' answer
		print READY
END
	zmodload zsh/zpty
	zpty terminal zsh -f -i
	zpty -w terminal 'source $HOME/setup.zsh'
	zpty -r terminal started '*READY*'
	for line in "$@"; do
		zpty -w -n terminal "$line"$'\t'
	done
	zpty -w terminal exit
	while zpty -r terminal rest; do :; done
	cat $HOME/answers`

// Each shell completes what is typed into it.
func TestCompletionInShells(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "plannerd")); err != nil {
		t.Fatal(err)
	}
	for shell, program := range map[string]string{
		"bash": `source <(plannerd completion bash)
			for line in "$@"; do
				COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
				_plannerd
				echo "${COMPREPLY[*]}"
			done`,
		"fish": `plannerd completion fish | source
			for line in $argv
				complete -C $line | string replace -r '\t.*' '' | string join ' '
			end
			true`,
		"zsh": zshInTerminal,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := osexec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := map[string][]string{
				"bash": {"--norc", "-c", program, "bash"}, "fish": {"--no-config", "-c", program},
				"zsh": {"-f", "-c", program, "zsh"},
			}[shell]
			c := osexec.CommandContext(ctx, path, append(args, "plannerd analyze r", "plannerd plan --outp",
				"plannerd plan --strategy mint")...)
			c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
				return strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "PLANNERD_")
			}),
				"PATH="+bin+":"+os.Getenv("PATH"), asProgram+"=1", "HOME="+bin, "TERM=dumb")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := map[string]bool{"ring ranges": true, "ranges ring": true, "--output": true, "mintable": true}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			for _, line := range lines {
				if !want[line] {
					t.Errorf("completed to %q", line)
				}
			}
			if len(lines) != 3 {
				t.Errorf("%q", lines)
			}
		})
	}
}

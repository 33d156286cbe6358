package main

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input/lists"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

type resolveCmd struct {
	recordFlags
	Moves  string `required:"true" type:"path" placeholder:"FILE" help:"The moves of classes: what plannerd plan or the service answered on compact records, as JSON, NDJSON or CSV; - for standard input (default: none; it must be given)."`
	From   *int32 `placeholder:"ID" help:"Name the keys of this instance alone: the statistics are those that it reported (default: of all)."`
	Output string `own:"" enum:"csv,ndjson" default:"csv" group:"Output" help:"Format: csv or ndjson."`
}

// Run writes the keys.
func (c *resolveCmd) Run(env *cli.Environment) error {
	if c.File == "-" && c.Moves == "-" {
		return cli.Usagef("--moves: the statistics and the moves cannot both be on standard input")
	}
	moves, err := readMoves(env, c.Moves)
	if err != nil {
		return err
	}
	var keys []resolvedKey
	intervals := 0
	err = c.run(env, func(in *reading.Input, of *compacted) (err error) {
		if intervals++; intervals > 1 {
			return cli.Usagef("%s has several intervals: --interval says of which one the plan is", in.Name)
		}
		in.Progress.Describe("resolving")
		keys, err = c.resolve(of.Compression, moves)
		return err
	})
	if err != nil {
		return err
	}
	encoded := c.Encoder()
	if !bool(encoded) && slices.ContainsFunc(keys, func(k resolvedKey) bool { return !utf8.ValidString(k.Key) }) {
		encoded = true
		fmt.Fprintln(env.Stderr, "plannerd: the keys are written in base64, as not all are UTF-8: tell the service with "+
			"?key_encoding=base64")
	}
	for i := range keys {
		keys[i].Key = encoded.Encode([]byte(keys[i].Key))
	}
	if c.Output == "csv" {
		columns := "key from to"
		if c.Hash == partitioner.Reported {
			columns += " hash_instance"
		}
		return cli.Buffered(env.Stdout, cli.CsvOf(keys, columns))
	}
	return cli.Buffered(env.Stdout, func(w io.Writer) error {
		lines := jsontext.NewEncoder(w)
		for _, k := range keys {
			if err := json.MarshalEncode(lines, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// resolve names the keys that carry the moves out.
func (c *resolveCmd) resolve(compression *compact.Compression, in *compact.Statistics) ([]resolvedKey, error) {
	if err := checkForm(compression, in); err != nil {
		return nil, err
	}
	if c.From != nil {
		in.Records = slices.DeleteFunc(in.Records, func(m compact.Record) bool { return m.Current != *c.From })
	}
	moves, err := compression.Resolve(in.Records)
	if row := parameters.InputError(err); row != nil {
		return nil, moveError(in.Records[row.Row], row)
	}
	if err != nil {
		return nil, err
	}
	return c.resolvedKeys(compression, moves), nil
}

// checkForm holds what a plan says about its records against those of the flags. One
// that does not know their degree was not told their scales either.
func checkForm(here *compact.Compression, of *compact.Statistics) error {
	mismatch := func(what string, plan, here any) error {
		return cli.Usagef("--moves: the plan is of records with %s %v, but the flags give %v", what, plan, here)
	}
	switch {
	case of.Degree == 0:
	case of.Degree != here.Degree:
		return mismatch("degree", of.Degree, here.Degree)
	case of.Scales.Cost != here.Scales.Cost:
		return mismatch("cost scale", of.Scales.Cost, here.Scales.Cost)
	case of.Scales.State != here.Scales.State:
		return mismatch("state scale", of.Scales.State, here.Scales.State)
	}
	return nil
}

// moveError says which move cannot be resolved.
func moveError(m compact.Record, err *planner.InputError) error {
	text := err.Detail +
		": were the statistics, the instances, --degree and the scales those that the records were made with?"
	if err.Field != "" {
		text = err.Field + ": " + err.Detail
	}
	return fmt.Errorf("--moves: move %d, %s: %s", err.Row+1, lists.AppendJSON(nil, lists.ClassMove(m), false), text)
}

// resolvedKey is a key that moves, or that stays elsewhere than its hash puts it.
type resolvedKey struct {
	Key          string `json:"key"`
	From         int32  `json:"from"`
	To           int32  `json:"to"`
	HashInstance *int32 `json:"hash_instance,omitzero"` // of --hash reported
}

// resolvedKeys returns the keys that move and, when the hash changed, those that
// stay elsewhere than it puts them, in the order of the statistics. What becomes of keys that
// are named beside the records is known.
func (c *resolveCmd) resolvedKeys(of *compact.Compression, moves []planner.Move) (keys []resolvedKey) {
	s := of.Keys
	to := slices.Clone(s.Current)
	for _, m := range moves {
		to[m.Item] = m.To
	}
	for i, d := range to {
		if of.IsNamed(of.ClassOf[i]) || d == s.Current[i] && (!s.HashChanged || d == s.Hash[i]) {
			continue
		}
		k := resolvedKey{Key: string(s.Keys.At(i)), From: s.Instances[s.Current[i]].ID, To: s.Instances[d].ID}
		if c.Hash == partitioner.Reported {
			k.HashInstance = &s.Instances[s.Hash[i]].ID
		}
		keys = append(keys, k)
	}
	return keys
}

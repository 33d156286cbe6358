package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// moveColumns are the numbers of a move of a class, in order.
var moveColumns = []string{"planned", "instance", "hash_instance", "cost", "state", "count"}

// readMoves reads the moves of a file, or of standard input for -.
func readMoves(env *cli.Environment, name string) (*compact.Statistics, error) {
	raw := env.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--moves: %w", err)
		}
		defer func() { _ = file.Close() }() // only read from
		raw = file
	}
	moves, err := decodeMoves(new(cli.Progress).Reader(env, raw))
	if err != nil {
		return nil, fmt.Errorf("--moves %s: %w", name, err)
	}
	return moves, nil
}

// decodeMoves reads moves of classes, and what a whole plan says about its records: JSON (a list
// of lists, a plan, or one list a line) or CSV.
func decodeMoves(raw io.Reader) (*compact.Statistics, error) {
	plain, _, err := input.Open(raw)
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.Close() }()
	text := bufio.NewReaderSize(plain, reading.BlankBytes)
	head, err := text.Peek(reading.BlankBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch head = bytes.TrimSpace(head); {
	case len(head) == 0:
		return nil, errors.New("it is empty; expected moves of classes as a plan lists them")
	case head[0] == '[', head[0] == '{':
		return decodeMovesJSON(text)
	}
	moves, err := decodeMovesCSV(text)
	return &compact.Statistics{Records: moves}, err
}

// decodeMovesJSON reads JSON texts one after the other: each a move, a list of
// moves or a plan.
func decodeMovesJSON(r io.Reader) (*compact.Statistics, error) {
	out := &compact.Statistics{}
	decoder := json.NewDecoder(r)
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("not valid JSON: %w", err)
		}
		if err := addJSON(out, value); err != nil {
			return nil, err
		}
	}
}

// addJSON takes in one JSON text.
func addJSON(c *compact.Statistics, value json.RawMessage) error {
	if value[0] == '{' {
		return addPlan(c, value)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) > 0 && list[0][0] != '[' && list[0][0] != '{' {
		return addMove(c, value)
	}
	before := len(c.Records)
	if err := addMoves(c, list); err != nil || len(c.Records) > before || len(list) == 0 {
		return err
	}
	return addMove(c, list[0]) // they are all of keys
}

// addMoves takes in the moves of a list, but for those of keys that are named.
func addMoves(c *compact.Statistics, list []json.RawMessage) error {
	for _, move := range list {
		var named struct {
			Key *string `json:"key"`
		}
		if json.Unmarshal(move, &named) == nil && named.Key != nil {
			continue
		}
		if err := addMove(c, move); err != nil {
			return err
		}
	}
	return nil
}

// addPlan takes in a plan as the service or plannerd plan answers it, or a list of
// its migrations.
func addPlan(c *compact.Statistics, value json.RawMessage) error {
	var plan struct {
		Key        *string            `json:"key"` // of a migration in the place of a plan
		Migrates   string             `json:"migrates"`
		Migrations *[]json.RawMessage `json:"migrations"`
		Plan       struct {
			Migrations *[]json.RawMessage `json:"migrations"`
		} `json:"plan"` // as plannerd plan writes it
		Compaction    *wire.Compaction `json:"compaction"`
		NextPageToken string           `json:"next_page_token"`
		Code          string           `json:"code"` // of a refusal
	}
	if err := json.Unmarshal(value, &plan); err != nil {
		return fmt.Errorf("not a plan: %w", err)
	}
	if plan.Migrations == nil {
		plan.Migrations = plan.Plan.Migrations
	}
	switch {
	case plan.Key != nil:
		return nil // what becomes of a key that is named is known
	case plan.Migrates == "keys":
		return errors.New("the plan moves keys, not classes of them: there is nothing to resolve")
	case plan.Code != "":
		return fmt.Errorf("it is not a plan but a refusal of the service: %s", refusalText(value))
	case plan.Migrations == nil:
		return errors.New(`the plan does not list its "migrations": the service adds them with ?include=migrations`)
	case plan.NextPageToken != "":
		return errors.New("this is one page of several: ask the service for the whole list, with Accept: text/csv")
	}
	if form := plan.Compaction; form != nil && form.Degree != nil {
		c.Degree, c.Scales = int(*form.Degree), compact.Scales{Cost: form.CostScale, State: form.StateScale}
	}
	return addMoves(c, *plan.Migrations)
}

// refusalText is the detail of a refusal, and the first thing that is wrong.
func refusalText(value json.RawMessage) string {
	var p wire.Problem
	if err := json.Unmarshal(value, &p); err != nil || p.Errors == nil || len(*p.Errors) == 0 {
		return p.Detail
	}
	first := (*p.Errors)[0]
	where := cmp.Or(first.Pointer, first.Parameter, new(string))
	return fmt.Sprintf("%s %s: %s", p.Detail, *where, first.Detail)
}

// addMove takes in [d', d, d_h, v_c, v_S, #].
func addMove(c *compact.Statistics, value json.RawMessage) error {
	var numbers []json.Number
	if err := json.Unmarshal(value, &numbers); err != nil || len(numbers) != len(moveColumns) {
		return fmt.Errorf("move %d: %s is not a list of 6 numbers [d', d, d_h, v_c, v_S, #]", len(c.Records)+1,
			reading.Clip(string(value)))
	}
	fields := make([]string, len(numbers))
	for i, n := range numbers {
		fields[i] = n.String()
	}
	move, err := parseMove(fields)
	if err != nil {
		return fmt.Errorf("move %d: %w", len(c.Records)+1, err)
	}
	c.Records = append(c.Records, move)
	return nil
}

// decodeMovesCSV reads the columns of a move in any order.
func decodeMovesCSV(r io.Reader) ([]compact.Record, error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if err != nil {
		return nil, err
	}
	at, key, known := make([]int, len(moveColumns)), slices.Index(header, "key"), len(moveColumns)
	if key >= 0 {
		known += 2 // the reason, too
	}
	for i, name := range moveColumns {
		if at[i] = slices.Index(header, name); at[i] < 0 || len(header) != known {
			return nil, errors.New("its first line must be the header " + strings.Join(moveColumns, ","))
		}
	}
	moves := []compact.Record{}
	fields := make([]string, len(at))
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return moves, nil
		}
		if err != nil {
			return nil, err
		}
		if key >= 0 && line[key] != "" {
			continue // what becomes of a key that is named is known
		}
		for i := range at {
			fields[i] = line[at[i]]
		}
		move, err := parseMove(fields)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(moves)+1, err)
		}
		moves = append(moves, move)
	}
}

// parseMove reads the numbers of a move, in the order of moveColumns.
func parseMove(fields []string) (compact.Record, error) {
	var m compact.Record
	for i, instance := range []*int32{&m.Planned, &m.Current, &m.Hash} {
		n, err := strconv.ParseInt(fields[i], 10, 32)
		if err != nil || n < 0 {
			return m, fmt.Errorf("%s: %q is not an id ≥ 0", moveColumns[i], fields[i])
		}
		*instance = int32(n)
	}
	for i, value := range []*float64{&m.Cost, &m.State} {
		x, err := strconv.ParseFloat(fields[3+i], 64)
		if err != nil || !(x >= 0 && x <= planner.MaxAmount) {
			return m, fmt.Errorf("%s: %q is not a number from 0 to 1e290", moveColumns[3+i], fields[3+i])
		}
		*value = x + 0 // −0 becomes 0
	}
	count, err := strconv.ParseInt(fields[5], 10, 64)
	if err != nil || count < 1 || count > planner.MaxCount {
		return m, fmt.Errorf("count: %q is not a number of keys from 1 to 2^53−1", fields[5])
	}
	m.Count = count
	return m, nil
}

package counting

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/planner"
)

// Convert is the command that writes statistics as plannerd reads them.
type Convert struct {
	reading.InputFlags
}

// Run executes the command.
func (c *Convert) Run(env *cli.Environment) error {
	c.Names = &input.Names{}
	in, err := c.Open(env)
	if err != nil {
		return err
	}
	defer in.Close()
	buffered := bufio.NewWriterSize(env.Stdout, 64<<10)
	out := csv.NewWriter(buffered)
	var header []string
	for {
		interval, d, err := in.Next()
		if errors.Is(err, io.EOF) {
			out.Flush()
			return errors.Join(out.Error(), buffered.Flush())
		}
		if err == nil && d.Records != nil {
			err = errors.New("it holds compact records, not rows of keys")
		}
		if err != nil {
			return in.Wrap(err)
		}
		rows := statistics{d.Stats, c.Names, c.Encoder() || reading.KeyEncoder(d.Base64Keys)}
		if header, err = rows.write(out, rows.columns(in.Stream.HasInterval(), interval), header); err != nil {
			return err
		}
	}
}

// statistics are rows of an interval, and the names that instances have.
type statistics struct {
	*planner.Statistics
	instances *input.Names
	encoder   reading.KeyEncoder
}

// column is one of what is written.
type column struct {
	name string
	text func(row int) string
}

// columns are those that the rows have.
func (s statistics) columns(named bool, interval int64) []column {
	var out []column
	add := func(has bool, name string, text func(row int) string) {
		if has {
			out = append(out, column{name, text})
		}
	}
	add(named, "interval", func(int) string { return strconv.FormatInt(interval, 10) })
	add(true, "key", func(row int) string { return s.encoder.Encode(s.Keys.At(row)) })
	add(true, "cost", func(row int) string { return cli.Exact(s.Cost[row]) })
	add(s.State != nil, "state", func(row int) string { return cli.Exact(s.State[row]) })
	add(s.Instance != nil, "instance", func(row int) string { return s.name(s.Instance[row]) })
	add(s.HashInstance != nil, "hash_instance", func(row int) string { return s.name(s.HashInstance[row]) })
	for _, x := range s.Costs {
		add(true, "cost."+x.Name, func(row int) string { return cli.Exact(x.Rows[row]) })
	}
	return out
}

// write writes the rows. header is that of the intervals before; empty: there are none.
func (s statistics) write(out *csv.Writer, columns []column, header []string) ([]string, error) {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.name
	}
	if header == nil {
		header = slices.Clone(cells)
		if err := out.Write(header); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(cells, header) {
		return nil, fmt.Errorf("an interval has the columns %s, but those before have %s",
			strings.Join(cells, ","), strings.Join(header, ","))
	}
	for row := range s.Len() {
		for i, c := range columns {
			cells[i] = c.text(row)
		}
		if err := out.Write(cells); err != nil {
			return nil, err
		}
	}
	return header, nil
}

// name is that of an instance; empty for none.
func (s statistics) name(id int32) string {
	if id == planner.NoInstance {
		return ""
	}
	return cmp.Or(s.instances.Name(id), cli.ID(id))
}

package counting

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/planner"
)

// Count is the command that counts events.
type Count struct {
	File   string        `arg:"" help:"Events: a file, or - for standard input."`
	Format string        `enum:"auto,lines,combined,csv,ndjson,json,arrow,parquet" default:"auto" help:"Format of the events: lines (a key a line), combined (access logs of nginx and Apache), csv, ndjson, json, arrow, parquet, or auto, which looks at them; lines have to be named. Compression is always recognised."`
	Key    string        `placeholder:"NAME" help:"What the key is: of access logs host, user, path, method or status (default host); else a column or member, or several joined by + (default key)."`
	Cost   string        `placeholder:"NAME" help:"What is added up as the cost of a key, such as bytes (default: each event costs 1)."`
	State  string        `placeholder:"NAME" help:"What is added up as the state of a key (default: nothing)."`
	Time   string        `placeholder:"NAME" help:"The column or member that has the time of an event: RFC 3339, or a number of seconds, ms, µs or ns since 1970. Access logs have their own."`
	Every  time.Duration `placeholder:"DURATION" least:"0" help:"How long an interval is, such as 1m; the first one is 0 (default: all events are one interval)."`
	Top    int           `placeholder:"N" least:"0" help:"Write only the N keys of each interval that cost most (default 0: all)."`
	Memory int64         `type:"bytes" least:"1048576" default:"512MiB" placeholder:"SIZE" help:"Memory that counts may take, beside what the program takes anyway. Where they would take more, keys of little cost are forgotten, and standard error says how much that is (default 512MiB)."`
	Header []string      `type:"header" placeholder:"none|NAME,…" default:"auto" help:"Header of CSV: auto takes the first line for it; none says that there is none, and that columns are called 1, 2 and so on; user,at or the like names them (default auto)."`
	reading.MappingFlags

	env    *cli.Environment
	name   string
	out    *csv.Writer
	open   []*openInterval // those that events may still be of, in ascending order
	wrote  bool            // an interval is written
	origin int64           // the number of the first one since 1970
	closed int64           // that of the newest one that is written
	late   int64           // events that came too late
	bad    int             // lines that are left out
	buffer [4]string
}

// openInterval is one that is being counted.
type openInterval struct {
	number int64
	*Counts
}

// mostOpen is how many intervals are counted at the same time: logs are nearly in the order of
// time.
const mostOpen = 2

// Run executes the command.
func (c *Count) Run(env *cli.Environment) error {
	in, raw, err := (&reading.InputFlags{File: c.File}).OpenRaw(env)
	if err != nil {
		return err
	}
	defer in.Close()
	text, format, err := input.Open(raw)
	if err != nil {
		return in.Wrap(err)
	}
	ahead := readAhead(text)
	defer ahead.stop()
	buffered := bufio.NewWriterSize(env.Stdout, 64<<10)
	c.env, c.name, c.out = env, in.Name, csv.NewWriter(buffered)
	if err := c.count(ahead, format); err != nil {
		return in.Wrap(err)
	}
	if len(c.open) == 0 {
		return fmt.Errorf("%s: it has no events", c.name)
	}
	for len(c.open) > 0 {
		if err := c.close(); err != nil {
			return err
		}
	}
	if c.late > 0 {
		c.warn("%s left out: older than the interval before the newest one", cli.Plural(int(c.late), "event"))
	}
	if c.bad > reading.MostProblems {
		c.warn("and %s more left out", cli.Plural(c.bad-reading.MostProblems, "line"))
	}
	c.out.Flush()
	return errors.Join(c.out.Error(), buffered.Flush())
}

func (c *Count) warn(format string, args ...any) {
	fmt.Fprintf(c.env.Stderr, "plannerd: "+c.name+": "+format+"\n", args...)
}

// count reads all events.
func (c *Count) count(r io.Reader, format input.Format) error {
	if c.Format == "auto" && format == input.CSV {
		buffered := bufio.NewReaderSize(r, 64<<10)
		r = buffered
		head, err := buffered.Peek(buffered.Size())
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line, _, _ := bytes.Cut(head, []byte("\n"))
		if new(logLine).read(line) {
			c.Format = "combined"
		}
	}
	switch c.Format {
	case "lines":
		return c.lines(r, func(line []byte, e *event) error {
			e.key, e.cost = line, 1
			return nil
		})
	case "combined":
		for _, name := range []string{c.Key, c.Cost, c.State} {
			if name != "" && !slices.Contains(parts, name) {
				return cli.Usagef("%q is no part of an access log; those are %s", name, strings.Join(parts, ", "))
			}
		}
		log := &combined{key: c.Key, cost: c.Cost, state: c.State, timed: c.Every > 0}
		if log.key == "" {
			log.key = "host"
		}
		return c.lines(r, log.read)
	}
	if c.Time == "" != (c.Every == 0) {
		return cli.Usagef("--time and --every belong together")
	}
	return c.rows(r, format)
}

// lines counts lines that read understands.
func (c *Count) lines(r io.Reader, read func([]byte, *event) error) error {
	const longest = 1 << 20
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 256<<10), longest)
	var e event
	number := 0
	for scanner.Scan() {
		number++
		line := scanner.Bytes()
		if len(line) == 0 || number <= c.Skip {
			continue
		}
		err := read(line, &e)
		if err == nil && len(e.key) == 0 || len(e.key) > planner.MaxKeyBytes {
			err = errors.New("the key must be 1 to 1024 bytes")
		}
		switch {
		case err == nil:
			if err := c.add(e.key, e.cost, e.state, c.interval(e.time)); err != nil {
				return err
			}
		case c.BadRows != "skip":
			return fmt.Errorf("line %d: %w; --bad-rows skip leaves such lines out", number, err)
		default:
			if c.bad++; c.bad <= reading.MostProblems {
				c.warn("line %d: %v; the line is left out", number, err)
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

// rows counts rows of other formats.
func (c *Count) rows(r io.Reader, format input.Format) error {
	f := reading.InputFlags{Format: c.Format,
		TextFlags: reading.TextFlags{Header: c.Header, MappingFlags: c.MappingFlags}}
	f.Columns = map[string][]string{"key": {"key"}}
	maps.Copy(f.Columns, c.Columns)
	for field, name := range map[string]string{"cost": c.Cost, "state": c.State, "interval": c.Time} {
		if name != "" {
			f.Columns[field] = []string{name}
		}
	}
	if c.Key != "" {
		f.Columns["key"] = strings.Split(c.Key, "+")
	}
	options := f.Options()
	if c.BadRows == "skip" {
		options.LeaveOut = func(p input.Problem) {
			if c.bad++; c.bad <= reading.MostProblems {
				c.warn("line %d: %s: %s; the row is left out", p.Line, p.Column, p.Text())
			}
		}
	}
	if c.Time != "" {
		options.IntervalOf = func(text []byte) (int64, error) {
			t, err := parseTime(text)
			return c.interval(t), err
		}
	}
	rows, as, err := reading.AsCSV(r, f.FormatOf(format), &options)
	if err != nil {
		return err
	}
	return input.Events(rows, as, options, func(row *input.Row) error {
		cost := row.Cost
		if f.Columns["cost"] == nil {
			cost = 1
		}
		return c.add(row.Key, cost, row.State, row.Interval)
	})
}

// interval is the number since 1970 of the interval that a time is in; 0 where all are one.
func (c *Count) interval(t time.Time) int64 {
	if c.Every == 0 {
		return 0
	}
	if c.Every%time.Second == 0 { // of which there are fewer
		return t.Unix() / int64(c.Every/time.Second)
	}
	return t.UnixNano() / int64(c.Every)
}

// add counts an event of an interval.
func (c *Count) add(key []byte, cost, state float64, interval int64) error {
	n := len(c.open)
	if n > 0 && c.open[n-1].number == interval {
		c.open[n-1].Add(key, cost, state)
		return nil
	}
	i, found := slices.BinarySearchFunc(c.open, interval, func(o *openInterval, number int64) int {
		return int(max(-1, min(1, o.number-number)))
	})
	if !found {
		if i == 0 && n == mostOpen || c.wrote && interval <= c.closed {
			c.late++
			return nil
		}
		c.open = slices.Insert(c.open, i, &openInterval{interval, NewCounts(c.share())})
	}
	c.open[i].Add(key, cost, state)
	if len(c.open) > mostOpen {
		return c.close()
	}
	return nil
}

// share is the memory that the counts of an interval may take. As much is for what is not collected
// yet, and as much for the copy that shrinking makes.
func (c *Count) share() int {
	parts := int64(3)
	if c.Every > 0 {
		parts *= mostOpen
	}
	return int(c.Memory / parts)
}

// close writes the oldest interval.
func (c *Count) close() error {
	o := c.open[0]
	c.open, c.closed = c.open[1:], o.number
	if c.wrote {
		return c.write(o)
	}
	c.wrote, c.origin = true, o.number
	if err := c.out.Write(c.cells("interval", "key", "cost", "state")); err != nil {
		return err
	}
	return c.write(o)
}

// cells are those of a row that are asked for.
func (c *Count) cells(interval, key, cost, state string) []string {
	cells := append(c.buffer[:0], interval, key, cost, state)
	if c.State == "" {
		cells = cells[:3]
	}
	if c.Every == 0 {
		cells = cells[1:]
	}
	return cells
}

func (c *Count) write(o *openInterval) error {
	number := strconv.FormatInt(o.number-c.origin, 10)
	written := 0.0
	rows := o.Rows(c.Top)
	for _, row := range rows {
		if err := c.out.Write(c.cells(number, row.Key, cli.Exact(row.Cost), cli.Exact(row.State))); err != nil {
			return err
		}
		written += row.Cost
	}
	if left := o.Total - written; o.Missed > 0 || len(rows) < len(o.keys) {
		c.warn("interval %s: the rows have %s of the cost; of each key at most %s is missing",
			number, cli.Percent(1-left/max(o.Total, math.SmallestNonzeroFloat64)), cli.Exact(o.Missed))
	}
	return nil
}

package collecting

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"os"
	"strconv"
	"time"

	"plannerd/internal/cli"
	"plannerd/internal/cli/asking"
	"plannerd/internal/cli/reading"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// Target says where statistics go.
type Target struct {
	Output    string `placeholder:"FILE" help:"Write the statistics to a file (default: standard output)."`
	To        string `placeholder:"URL" group:"Statistics for a server" help:"Send each interval to the plannerd there, which plans it (default: they are written)."`
	Operator  string `placeholder:"NAME" group:"Statistics for a server" help:"The operator that the intervals are of."`
	TokenFile string `placeholder:"FILE" group:"Statistics for a server" help:"The file that has the token for the server. It is read again for each request (default: the environment variable PLANNERD_TOKEN)."`
	reading.EncodingFlags
}

// interval are the statistics of an interval.
type interval struct {
	number int64
	order  []string // the keys, in the order of their rows
	*look
}

// sink is where intervals go, each as a whole.
type sink interface {
	take(ctx context.Context, i *interval) error
	io.Closer
}

// open returns where the intervals go. numbered: they are written with their numbers.
func (t *Target) open(env *cli.Environment, numbered bool) (sink, error) {
	switch {
	case t.To == "" && t.Operator == "":
		return &writer{to: env.Stdout, file: t.Output, numbered: numbered, encoder: t.Encoder()}, nil
	case t.To == "" || t.Operator == "" || t.Output != "":
		return nil, cli.Usagef("--to and --operator belong together, without --output")
	}
	server, err := asking.Server(env, "--to", t.To, t.TokenFile, "collect")
	return &sender{server, t.Operator}, err
}

// writer writes intervals as CSV.
type writer struct {
	to       io.Writer
	file     string // opened with the first interval; empty: to
	opened   *os.File
	numbered bool
	encoder  reading.KeyEncoder
	wrote    bool
}

func (w *writer) take(_ context.Context, i *interval) (err error) {
	if w.file != "" && w.opened == nil {
		if w.opened, err = os.Create(w.file); err != nil {
			return &lostError{err}
		}
		w.to = w.opened
	}
	var text bytes.Buffer
	if err := i.csv(&text, !w.wrote, w.numbered, w.encoder); err != nil {
		return err
	}
	w.wrote = true
	if _, err := w.to.Write(text.Bytes()); err != nil {
		return &lostError{err}
	}
	return nil
}

func (w *writer) Close() error {
	if w.opened == nil {
		return nil
	}
	return w.opened.Close()
}

// csv writes the rows.
func (i *interval) csv(to io.Writer, header, numbered bool, keys reading.KeyEncoder) error {
	out := csv.NewWriter(to)
	write := func(number, key, cost, state, instance string) {
		cells := append(make([]string, 0, 5), number, key, cost)
		if !i.stateless {
			cells = append(cells, state)
		}
		if i.located {
			cells = append(cells, instance)
		}
		if !numbered {
			cells = cells[1:]
		}
		_ = out.Write(cells) // out remembers its error
	}
	if header {
		write("interval", "key", "cost", "state", "instance")
	}
	for _, key := range i.order {
		s := i.keys[key]
		write(strconv.FormatInt(i.number, 10), keys.Encode([]byte(key)), cli.Exact(s.cost), cli.Exact(s.state), s.instance)
	}
	out.Flush()
	return out.Error()
}

// sender has a server plan intervals.
type sender struct {
	server   *client.Client
	operator string
}

// patience is for how long an interval is sent, with all attempts.
const patience = time.Minute

func (s *sender) take(ctx context.Context, i *interval) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request := wire.PlanRequest{Interval: i.number}
	if i.partial {
		coverage := wire.CoveragePartial
		request.Coverage = &coverage
	}
	rows := client.Statistics{Rows: client.Rows(nil), Count: len(i.order), Encoding: named{i}}
	_, err := s.server.CreatePlanFrom(ctx, s.operator, request, rows)
	return err
}

func (*sender) Close() error { return nil }

// named is the form in which statistics are sent: CSV, in which instances have names.
type named struct{ *interval }

func (named) ContentType() string { return "text/csv" }

func (n named) Encode(to io.Writer, _ client.Statistics) error {
	return n.csv(to, true, false, true) // keys in base64
}

package client

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"plannerd/sdk/go/wire"
)

// Row is what a key cost in an interval.
type Row struct {
	Key  []byte
	Cost float64
	// State is what migrating the key moves. See [Statistics].
	State float64
	// Costs are what the key takes of each of the Resources of [Statistics]; those that are missing at the
	// end are 0.
	Costs []float64
	// Instance is where the key is, HashInstance where its hash would put it.
	Instance, HashInstance int32
}

// Encoding is a form in which statistics are sent. [plannerd/sdk/go/arrow] has another one.
//
// [plannerd/sdk/go/arrow]: https://pkg.go.dev/plannerd/sdk/go/arrow
type Encoding interface {
	// ContentType is its media type.
	ContentType() string
	// Encode writes all rows of the statistics, with what they say to have. It returns the
	// first error, of a row or of the writer.
	Encode(to io.Writer, s Statistics) error
}

// Statistics are rows that are sent while they are made, compressed with zstd.
type Statistics struct {
	// Rows yields each key once. An error ends the call, and nothing is planned. Every
	// attempt of a call asks for all rows anew, and has to get the same. The rows are asked
	// for by another goroutine, which ends before the call returns; keys may be reused from
	// one row to the next.
	Rows iter.Seq2[Row, error]
	// Once: the rows can be asked for once only, so that the call is not repeated.
	Once bool
	// Count is about how many rows there are, which saves the server memory; 0: unknown.
	Count int
	// Stateless: the rows have no State; each key counts 1.
	Stateless bool
	// Resources are the names of those that rows have Costs of: see resources of operators.
	Resources []string
	// Located: the rows have an Instance. Hashed: they have a HashInstance, too.
	Located, Hashed bool
	// Encoding is how they are written. Defaults to NDJSON.
	Encoding Encoding
}

// Rows yields rows that are there already.
func Rows(rows []Row) iter.Seq2[Row, error] { return infallible(rows) }

func infallible[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// send returns what streams the statistics.
func (s Statistics) send() func() (*body, error) {
	if s.Encoding != nil && s.Rows != nil {
		return stream(s.Encoding.ContentType(), s.Count, func(to io.Writer) error { return s.Encoding.Encode(to, s) })
	}
	return ndjson(s.Rows, s.Count, func(line []byte, r Row) ([]byte, error) {
		line = appendKey(append(line, '{'), r.Key)
		line, err := appendNumber(append(line, `,"cost":`...), r.Cost)
		if err != nil {
			return nil, fmt.Errorf("the cost of key %q: %w", r.Key, err)
		}
		if !s.Stateless {
			if line, err = appendNumber(append(line, `,"state":`...), r.State); err != nil {
				return nil, fmt.Errorf("the state of key %q: %w", r.Key, err)
			}
		}
		if line, err = s.appendCosts(line, r); err != nil {
			return nil, err
		}
		if s.Located {
			line = strconv.AppendInt(append(line, `,"instance":`...), int64(r.Instance), 10)
		}
		if s.Hashed {
			line = strconv.AppendInt(append(line, `,"hash_instance":`...), int64(r.HashInstance), 10)
		}
		return append(line, '}'), nil
	})
}

// appendCosts writes what a row takes of resources.
func (s Statistics) appendCosts(line []byte, r Row) (_ []byte, err error) {
	if err := s.CheckCosts(r); err != nil {
		return nil, err
	}
	before := `,"costs":{"`
	for i, x := range r.Costs {
		line = append(append(append(line, before...), s.Resources[i]...), `":`...)
		if line, err = appendNumber(line, x); err != nil {
			return nil, fmt.Errorf("what key %q takes of %s: %w", r.Key, s.Resources[i], err)
		}
		before = `,"`
	}
	if len(r.Costs) > 0 {
		line = append(line, '}')
	}
	return line, nil
}

// CheckCosts tells whether a row takes of more resources than there are.
func (s Statistics) CheckCosts(r Row) error {
	if len(r.Costs) > len(s.Resources) {
		return fmt.Errorf("key %q has %d Costs, and there are %d Resources", r.Key, len(r.Costs), len(s.Resources))
	}
	return nil
}

// beside is send for a request that has its residual in the query, which has no place for what keys
// without a row take of resources.
func (s Statistics) beside(all []wire.Residual) func() (*body, error) {
	if slices.ContainsFunc(all, func(r wire.Residual) bool { return r.Costs != nil }) {
		return func() (*body, error) {
			return nil, errors.New("a residual with Costs cannot be sent beside streamed rows: send the rows as Keys")
		}
	}
	return s.send()
}

// Move is a key that a plan of classes moves.
type Move struct {
	Key      []byte
	From, To int32
	// HashInstance is where the key's hash would put it. See [Resolution].
	HashInstance int32
}

// Resolution says which keys the classes of a plan are.
type Resolution struct {
	// Moves yields each key once, as Rows of [Statistics] do.
	Moves iter.Seq2[Move, error]
	// Hashed: the moves have a HashInstance, which the hash function "reported" asks for.
	Hashed bool
	// Once: the moves can be asked for once only, so that the call is not repeated.
	Once bool
	// Count is about how many there are; 0: unknown.
	Count int
}

// Moves yields moves that are there already.
func Moves(moves []Move) iter.Seq2[Move, error] { return infallible(moves) }

func (r Resolution) send() func() (*body, error) {
	return ndjson(r.Moves, r.Count, func(line []byte, m Move) ([]byte, error) {
		line = appendKey(append(line, '{'), m.Key)
		line = strconv.AppendInt(append(line, `,"from":`...), int64(m.From), 10)
		line = strconv.AppendInt(append(line, `,"to":`...), int64(m.To), 10)
		if r.Hashed {
			line = strconv.AppendInt(append(line, `,"hash_instance":`...), int64(m.HashInstance), 10)
		}
		return append(line, '}'), nil
	})
}

// appendKey writes a key in base64: it may be any bytes.
func appendKey(line, key []byte) []byte {
	line = base64.StdEncoding.AppendEncode(append(line, `"key":"`...), key)
	return append(line, '"')
}

var errNotFinite = errors.New("must be a finite number")

func appendNumber(line []byte, x float64) ([]byte, error) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, errNotFinite
	}
	return strconv.AppendFloat(line, x, 'g', -1, 64), nil
}

// ndjson returns what sends a line for each row.
func ndjson[T any](
	rows iter.Seq2[T, error], count int, appendRow func([]byte, T) ([]byte, error),
) func() (*body, error) {
	if rows == nil {
		return func() (*body, error) { return nil, errors.New("there are no rows to ask for") }
	}
	return stream("application/x-ndjson", count, func(to io.Writer) error {
		lines := bufio.NewWriterSize(to, 1<<16)
		var line []byte
		for row, err := range rows {
			if err == nil {
				line, err = appendRow(line[:0], row)
			}
			if err != nil {
				return err
			}
			if _, err := lines.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return lines.Flush()
	})
}

// stream returns what sends what is encoded, compressed. A pipe connects the encoder to the
// request, so that it waits for the network.
func stream(contentType string, count int, encode func(io.Writer) error) func() (*body, error) {
	return func() (*body, error) {
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			to := &sending{to: w}
			err := compress(to, encode)
			// The server sees a body that was cut, which it refuses, unless all went well.
			w.CloseWithError(err)
			if to.failed {
				err = nil // the call knows better why
			}
			ended <- err
		}()
		return &body{
			Reader: r, contentType: contentType, encoding: "zstd", rows: count,
			close: func() error {
				r.CloseWithError(io.ErrClosedPipe)
				return <-ended
			},
		}, nil
	}
}

// compress compresses what is encoded. After an error the end of the compression is missing.
func compress(to io.Writer, encode func(io.Writer) error) error {
	z, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err == nil {
		err = encode(z)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// sending is a writer that remembers whether it failed.
type sending struct {
	to     io.Writer
	failed bool
}

// Write implements [io.Writer].
func (s *sending) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.failed = s.failed || err != nil
	return n, err
}

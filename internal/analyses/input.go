package analyses

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"plannerd/internal/input"
	"plannerd/planner"
)

// Input is what is analysed: a stream of keys, or what keys cost. It is not changed
// and may be analysed several times, at once too.
type Input struct {
	// Keys are distinct, 1 to planner.MaxKeyBytes bytes.
	Keys *planner.Keys
	// Cost is what each key costs, in any unit: its frequency, say. Of a stream it may be
	// nil: the sum of what the key's messages cost.
	Cost []float64
	// State is how much state each key holds, in any unit. Nil: 1 each.
	State []float64
	// Messages are the keys of a stream's messages in their order, as indices into Keys.
	// Nil: there is no order, only frequencies.
	Messages []int32
	// MessageCost is what each message costs, parallel to Messages. Nil: 1 each.
	MessageCost []float64
	// Base64 asks for results with keys in base64.
	Base64 bool
}

// FromStatistics takes the rows of one interval for frequencies: key, cost and state.
// Where the rows say that a key is does not matter to any analysis. The error is a
// planner.InputError: partial statistics and rows of several keys are refused.
func FromStatistics(s *planner.Statistics) (*Input, error) {
	switch {
	case s.Partial || len(s.Residual) > 0:
		return nil, planner.Invalid("coverage", "must be complete for an analysis")
	case s.Count != nil:
		return nil, planner.Invalid("compact", "an analysis needs keys, not classes of them")
	}
	return &Input{Keys: s.Keys, Cost: s.Cost, State: s.State}, nil
}

// Len is the number of keys, 0 of a nil input.
func (in *Input) Len() int {
	if in == nil {
		return 0
	}
	return in.Keys.Len()
}

// statistics are the columns of the keys.
func (in *Input) statistics() *planner.Statistics {
	return &planner.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}
}

// Bytes is how much memory the input holds, of a nil one 0.
func (in *Input) Bytes() int64 {
	if in == nil {
		return 0
	}
	return int64(in.Keys.Bytes()) + 8*int64(cap(in.Cost)+cap(in.State)+cap(in.MessageCost)) + 4*int64(cap(in.Messages))
}

// check returns the input with the costs of its keys, frequencies in canonical key
// order, so that the order of the rows makes no difference, or says what is wrong.
func (in *Input) check() (*Input, error) {
	n := in.Len()
	switch {
	case n == 0:
		return nil, planner.Invalid("keys", "must not be empty")
	case in.Messages == nil && len(in.Cost) != n, in.Cost != nil && len(in.Cost) != n, in.State != nil &&
		len(in.State) != n,
		in.MessageCost != nil && len(in.MessageCost) != len(in.Messages):
		return nil, planner.Invalid("keys", "the columns differ in length")
	}
	if err := errors.Join(checkAmounts("cost", in.Cost), checkAmounts("state", in.State)); err != nil {
		return nil, err
	}
	if in.Messages == nil {
		return in.sorted()
	}
	if in.Cost != nil {
		return in, nil
	}
	filled := *in
	filled.Cost = make([]float64, n)
	for i, k := range in.Messages {
		cost := 1.0
		if in.MessageCost != nil {
			cost = in.MessageCost[i]
		}
		filled.Cost[k] = min(filled.Cost[k]+cost, planner.MaxAmount)
	}
	return &filled, nil
}

// checkAmounts reports the first row out of range.
func checkAmounts(field string, amounts []float64) error {
	for i, x := range amounts {
		if !(x >= 0 && x <= planner.MaxAmount) {
			return planner.InvalidRow(i, field, "must be ≥ 0 and finite")
		}
	}
	return nil
}

// sorted returns the rows in canonical key order.
func (in *Input) sorted() (*Input, error) {
	order := make([]int32, in.Keys.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, in.Keys.Compare)
	out := &Input{Keys: planner.NewKeys(len(order)), Cost: make([]float64, 0, len(order)), Base64: in.Base64}
	for i, row := range order {
		key := in.Keys.At(int(row))
		switch {
		case len(key) == 0:
			return nil, planner.InvalidRow(int(row), "key", "must not be empty")
		case i > 0 && in.Keys.Compare(order[i-1], row) == 0:
			return nil, planner.InvalidRow(int(max(row, order[i-1])), "key", "stands twice")
		}
		out.Keys.Append(key)
		out.Cost = append(out.Cost, in.Cost[row])
		if in.State != nil {
			out.State = append(out.State, in.State[row])
		}
	}
	return out, nil
}

// total adds up amounts in ascending order, so that the order of the rows makes no
// difference. Nil: each counts 1.
func total(amounts []float64, n int) float64 {
	if amounts == nil {
		return float64(n)
	}
	sum := 0.0
	for _, x := range slices.Sorted(slices.Values(amounts)) {
		sum += x
	}
	return sum
}

// StreamBuilder makes an Input of messages in their order.
type StreamBuilder struct {
	options input.Options
	in      Input
	index   map[string]int32
	bytes   int64
	costs   bool
}

// NewStreamBuilder returns a builder of a stream within the limits: rows are messages,
// bytes those of their keys. Of the options only the limits and Reserve matter.
func NewStreamBuilder(o input.Options) *StreamBuilder {
	if o.Limits.Rows <= 0 {
		o.Limits.Rows = input.DefaultRows
	}
	if o.Limits.Bytes <= 0 {
		o.Limits.Bytes = input.DefaultBytes
	}
	return &StreamBuilder{options: o, in: Input{Keys: planner.NewKeys(0)}, index: map[string]int32{}}
}

// Add appends a message of the given cost ≥ 0, usually 1. The error is a
// *input.Error whose pointer is that of the message, such as /17/key.
func (b *StreamBuilder) Add(key []byte, cost float64) error {
	row := len(b.in.Messages)
	b.bytes += int64(len(key))
	switch limits := b.options.Limits; {
	case row >= limits.Rows:
		return refuse(input.TooLarge, -1, "", "more than "+strconv.Itoa(limits.Rows)+" messages")
	case b.bytes > limits.Bytes:
		return refuse(input.TooLarge, -1, "", "more than "+strconv.FormatInt(limits.Bytes, 10)+" bytes")
	case len(key) == 0 || len(key) > planner.MaxKeyBytes:
		return refuse(input.Invalid, row, "key", "must have 1 to "+strconv.Itoa(planner.MaxKeyBytes)+" bytes")
	case !(cost >= 0 && cost <= planner.MaxAmount):
		return refuse(input.Invalid, row, "cost", "must be ≥ 0 and finite")
	}
	k, ok := b.index[string(key)]
	if err := b.reserve(key, ok); err != nil {
		return err
	}
	if !ok {
		k = int32(b.in.Keys.Len())
		b.index[string(key)] = k
		b.in.Keys.Append(key)
	}
	if cost != 1 && !b.costs {
		b.costs = true
		b.in.MessageCost = make([]float64, row, row+1)
		for i := range b.in.MessageCost {
			b.in.MessageCost[i] = 1
		}
	}
	if b.costs {
		b.in.MessageCost = append(b.in.MessageCost, cost)
	}
	b.in.Messages = append(b.in.Messages, k)
	return nil
}

// addText appends a message whose key is as the text has it.
func (b *StreamBuilder) addText(key []byte) error {
	if !b.options.Base64Keys {
		return b.Add(key, 1)
	}
	decoded, err := base64.StdEncoding.Strict().AppendDecode(nil, key)
	if err != nil {
		return refuse(input.Invalid, len(b.in.Messages), "key", "must be base64 (standard alphabet, padded)")
	}
	return b.Add(decoded, 1)
}

// What a message and a new key make a builder hold, in bytes, with the room that
// slices and maps keep to grow.
const (
	messageBytes     = 8
	messageCostBytes = 16
	streamKeyBytes   = 128
)

// reserve tells what the next message takes.
func (b *StreamBuilder) reserve(key []byte, known bool) error {
	if b.options.Reserve == nil {
		return nil
	}
	n := messageBytes
	if b.costs {
		n += messageCostBytes
	}
	if !known {
		n += streamKeyBytes + 2*len(key)
	}
	return b.options.Reserve(int64(n))
}

// Input returns the stream; the builder must not be used any more.
func (b *StreamBuilder) Input() *Input { return &b.in }

// refuse is an error about a field of a message, or about all of them where row is −1.
func refuse(kind input.Kind, row int, field, detail string) error {
	p := input.Problem{Detail: detail}
	if row >= 0 {
		p.Pointer = "/" + strconv.Itoa(row) + "/" + field
		p.Location = input.Location{Row: row + 1, Column: field}
	}
	return &input.Error{Kind: kind, Problems: []input.Problem{p}}
}

// ReadStream reads a stream of one key a line. Lines end in LF or CRLF; empty ones at
// the end are skipped. Bytes are taken as they are, unless the options say that they
// are base64. The error is a *input.Error, or one of the reader.
func ReadStream(r io.Reader, o input.Options) (*Input, error) {
	b := NewStreamBuilder(o)
	lines := bufio.NewReaderSize(r, 64<<10)
	empty := 0
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, refuse(input.Invalid, len(b.in.Messages)+empty, "key", "must have 1 to "+
				strconv.Itoa(planner.MaxKeyBytes)+" bytes")
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, fmt.Errorf("reading keys: %w", err)
		}
		key := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		switch {
		case len(key) == 0 && len(line) > 0:
			empty++
		case len(key) > 0 && empty > 0:
			return nil, refuse(input.Invalid, len(b.in.Messages), "key", "must have 1 to "+
				strconv.Itoa(planner.MaxKeyBytes)+" bytes")
		case len(key) > 0:
			if err := b.addText(key); err != nil {
				return nil, err
			}
		}
		if ended {
			b.in.Base64 = o.Base64Keys
			return b.Input(), nil
		}
	}
}

// encoder writes keys as text, or all in base64.
type encoder struct{ base64 bool }

// encoderOf looks at all keys of the input.
func encoderOf(in *Input) encoder {
	if in == nil || in.Base64 {
		return encoder{in != nil}
	}
	for i := range in.Keys.Len() {
		if !utf8.Valid(in.Keys.At(i)) {
			return encoder{true}
		}
	}
	return encoder{}
}

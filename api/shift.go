package api

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner/ring"
	"plannerd/store"
)

// shift is what a plan of scheme ring or ranges changes, in place of entries of a
// routing table.
type shift interface {
	encode() []byte
	migrations() migrationList
	moves() moveList
	// writeJSON writes its lists as further members of an object. It has no other
	// errors than those of the writer.
	writeJSON(out *bufio.Writer, base64 bool) error
	needsBase64() bool
	// affects names the instances that it concerns, some of them several times.
	affects(name func(id int32))
}

type (
	ringShift   struct{ statsio.RingPlan }
	rangesShift struct{ statsio.RangesPlan }
)

func (s ringShift) encode() []byte            { return s.Encode() }
func (s ringShift) migrations() migrationList { return listOf(s.Arcs) }
func (ringShift) needsBase64() bool           { return false }

func (s rangesShift) encode() []byte            { return s.Encode() }
func (s rangesShift) migrations() migrationList { return listOf(s.Moves) }
func (s rangesShift) needsBase64() bool         { return statsio.NeedsBase64(slices.Values(s.Owners)) }

func (s ringShift) affects(name func(id int32)) {
	for _, m := range s.Arcs {
		name(m.From)
		name(m.To)
	}
}

func (s rangesShift) affects(name func(id int32)) {
	for _, m := range s.Moves {
		name(m.From)
		name(m.To)
	}
}

func listOf[R statsio.Record](records []R) migrationList {
	return migrations[R](slices.Values(records))
}

func (s ringShift) writeJSON(out *bufio.Writer, _ bool) error {
	added := func(c statsio.TokenChange) (from, to int32) { return c.Before, c.After }
	removed := func(c statsio.TokenChange) (from, to int32) { return c.After, c.Before }
	if err := writeTokens(out, "tokens_added", s.Tokens, added); err != nil {
		return err
	}
	return writeTokens(out, "tokens_removed", s.Tokens, removed)
}

// writeTokens writes a member with the tokens of each change that span names.
func writeTokens(out *bufio.Writer, member string, changes []statsio.TokenChange, span func(statsio.TokenChange) (from, to int32)) error {
	opening := `,"` + member + `":[`
	for _, c := range changes {
		from, to := span(c)
		name := append(strconv.AppendInt([]byte("token-"), int64(c.Instance), 10), '-')
		for j := from; j < to; j++ {
			b := append(out.AvailableBuffer(), opening...)
			opening = ","
			b = strconv.AppendInt(append(b, `{"instance":`...), int64(c.Instance), 10)
			b = strconv.AppendInt(append(b, `,"index":`...), int64(j), 10)
			at := ring.Position(strconv.AppendInt(name[:len(name):len(name)], int64(j), 10))
			b = append(strconv.AppendUint(append(b, `,"position":`...), uint64(at), 10), '}')
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
	}
	if opening == "," {
		opening = ""
	}
	_, err := out.WriteString(opening + "]")
	return err
}

func (s rangesShift) writeJSON(out *bufio.Writer, base64 bool) error {
	if _, err := out.WriteString(`,"owners":`); err != nil {
		return err
	}
	return statsio.WriteJSON(out, slices.Values(s.Owners), base64)
}

// shift reads what a plan of scheme ring or ranges changes.
func (s *server) shift(ctx context.Context, p store.Plan) (shift, error) {
	blob, err := s.store.Migrations(ctx, p.ID)
	if err != nil {
		return nil, aboutPlan(p.ID, err)
	}
	var out shift
	if schemeOf(p.Strategy) == wire.SchemeRing {
		var r statsio.RingPlan
		r, err = statsio.DecodeRingPlan(blob)
		out = ringShift{r}
	} else {
		var r statsio.RangesPlan
		r, err = statsio.DecodeRangesPlan(blob)
		out = rangesShift{r}
	}
	if err != nil {
		return nil, fmt.Errorf("reading what plan %s changes: %w", p.ID, err)
	}
	return out, nil
}

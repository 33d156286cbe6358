package lists

import (
	"io"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"plannerd/compact"
	"plannerd/planner"
)

// ClassMove is a move of a class: Count keys go from Current to Planned.
type ClassMove compact.Record

func (ClassMove) key() []byte       { return nil }
func (ClassMove) csvHeader() string { return "planned," + recordHeader }

// AppendJSON appends [d′, d, d_h, v_c, v_S, #], with null for a d′ that is
// planner.NoInstance; see [Record].
func (m ClassMove) AppendJSON(dst []byte, _ bool) []byte {
	dst = appendInstance(append(dst, '['), m.Planned, "null")
	dst = appendRecord(append(dst, ','), compact.Record(m))
	return append(dst, ']')
}

// AppendCSV appends planned, empty for planner.NoInstance, instance,
// hash_instance, cost, state and count; see [Record].
func (m ClassMove) AppendCSV(dst []byte, _ bool) []byte {
	dst = appendInstance(dst, m.Planned, "")
	dst = appendRecord(append(dst, ','), compact.Record(m))
	return append(dst, '\n')
}

// ClassMovesOf yields records as moves.
func ClassMovesOf(records []compact.Record) iter.Seq[ClassMove] {
	return func(yield func(ClassMove) bool) {
		for _, r := range records {
			if !yield(ClassMove(r)) {
				return
			}
		}
	}
}

const recordHeader = "instance,hash_instance,cost,state,count\n"

// appendRecord appends d, d_h, v_c, v_S and # with commas between them.
func appendRecord(dst []byte, r compact.Record) []byte {
	dst = append(strconv.AppendInt(dst, int64(r.Current), 10), ',')
	dst = append(strconv.AppendInt(dst, int64(r.Hash), 10), ',')
	dst = append(appendNumber(dst, r.Cost), ',')
	dst = append(appendNumber(dst, r.State), ',')
	return strconv.AppendInt(dst, r.Count, 10)
}

// WriteCompactJSON writes the body of a request with compact statistics, which
// must be complete: {"interval": …, "compact": {"degree": …, "cost_scale": …,
// "state_scale": …, "records": […]}}, without the interval when it is negative,
// and without a degree of 0. Keys that are named stand in "keys" before "compact"; with
// base64, or where one is not UTF-8, "key_encoding" says that they are in base64.
func WriteCompactJSON(w io.Writer, interval int64, s *compact.Statistics, base64 bool) error {
	head := []byte{'{'}
	if interval >= 0 {
		head = append(head, `"interval":`...)
		head = append(strconv.AppendInt(head, interval, 10), ',')
	}
	if s.Named != nil && s.Named.Len() > 0 {
		head = appendNamed(head, s.Named, base64)
	}
	head = append(head, `"compact":{`...)
	if s.Degree != 0 {
		head = append(head, `"degree":`...)
		head = append(strconv.AppendInt(head, int64(s.Degree), 10), ',')
	}
	head = append(head, `"cost_scale":`...)
	head = appendNumber(head, s.Scales.Cost)
	head = append(head, `,"state_scale":`...)
	head = appendNumber(head, s.Scales.State)
	head = append(head, `,"records":[`...)
	opening := "["
	err := write(w, head, slices.Values(s.Records), func(dst []byte, r compact.Record) ([]byte, error) {
		dst = appendRecord(append(dst, opening...), r)
		opening = ",["
		return append(dst, ']'), nil
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "]}}")
	return err
}

// appendNamed appends rows of keys as a member, and how their keys are written.
func appendNamed(dst []byte, s *planner.Statistics, base64 bool) []byte {
	for i := range s.Len() {
		base64 = base64 || !utf8.Valid(s.Keys.At(i))
	}
	if base64 {
		dst = append(dst, `"key_encoding":"base64",`...)
	}
	opening := `"keys":[`
	for i := range s.Len() {
		dst = append(append(dst, opening...), `{"key":`...)
		dst = append(appendText(dst, s.Keys.At(i), base64), `,"cost":`...)
		dst = appendNumber(dst, s.Cost[i])
		if s.State != nil {
			dst = appendNumber(append(dst, `,"state":`...), s.State[i])
		}
		for _, id := range []struct {
			name   string
			column []int32
		}{{`,"instance":`, s.Instance}, {`,"hash_instance":`, s.HashInstance}} {
			if id.column != nil && id.column[i] != planner.NoInstance {
				dst = strconv.AppendInt(append(dst, id.name...), int64(id.column[i]), 10)
			}
		}
		dst, opening = append(dst, '}'), ","
	}
	return append(dst, "],"...)
}

// WriteCompactCSV writes a header and each record as a line: instance,
// hash_instance, cost, state and count. The scales are not in it.
func WriteCompactCSV(w io.Writer, records []compact.Record) error {
	return write(w, []byte(recordHeader), slices.Values(records), func(dst []byte, r compact.Record) ([]byte, error) {
		return append(appendRecord(dst, r), '\n'), nil
	})
}

// WriteCompactIntervals writes the records of several intervals as one file, as
// [WriteCompactCSV] does, with the interval as the first column. Intervals do
// not decrease. All must be of the same scales.
func WriteCompactIntervals(w io.Writer, intervals iter.Seq2[int64, []compact.Record]) error {
	var interval []byte
	lines := func(yield func(compact.Record) bool) {
		for n, records := range intervals {
			interval = append(strconv.AppendInt(interval[:0], n, 10), ',')
			for _, r := range records {
				if !yield(r) {
					return
				}
			}
		}
	}
	return write(w, []byte("interval,"+recordHeader), lines, func(dst []byte, r compact.Record) ([]byte, error) {
		return append(appendRecord(append(dst, interval...), r), '\n'), nil
	})
}

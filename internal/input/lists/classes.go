package lists

import (
	"io"
	"iter"
	"strconv"

	"plannerd/compact"
	"plannerd/planner"
)

// class is a record of the compact form without d′: a list of five numbers in JSON.
type class compact.Record

func (r class) cells(c *cells) {
	if !c.bare {
		c.array('[', ']')
	}
	c.id(`"instance":`, r.Current)
	c.int(`"hash_instance":`, int64(r.Hash))
	c.number(`"cost":`, r.Cost)
	c.number(`"state":`, r.State)
	c.int(`"count":`, r.Count)
}

// ClassMove is a move of a class: Count keys go from Current to Planned, which is
// planner.NoInstance of those that wait for a place. In JSON it is a list of six numbers.
type ClassMove compact.Record

func (m ClassMove) cells(c *cells) {
	c.array('[', ']')
	c.id(`"planned":`, m.Planned)
	class(m).cells(c)
}

// ClassMovesOf lists records as moves.
func ClassMovesOf(records []compact.Record) Records[ClassMove] {
	return recordsAs(records, func(r compact.Record) ClassMove { return ClassMove(r) })
}

// recordsAs lists records in a form.
func recordsAs[R Record](records []compact.Record, as func(compact.Record) R) Records[R] {
	return func(yield func(R) bool) {
		for _, r := range records {
			if !yield(as(r)) {
				return
			}
		}
	}
}

// ItemMove is a migration of a plan of classes beside which keys are named: of a class, or of
// such a key.
type ItemMove struct {
	Class compact.Record
	Named *Migration // nil: it is of the class
}

// ItemMovesOf lists moves of classes, and behind them those of keys that are named.
func ItemMovesOf(classes []compact.Record, named Records[Migration]) Records[ItemMove] {
	return func(yield func(ItemMove) bool) {
		for _, r := range classes {
			if !yield(ItemMove{Class: r}) {
				return
			}
		}
		for m := range named {
			if !yield(ItemMove{Named: &m}) {
				return
			}
		}
	}
}

// cells writes what [ClassMove] or [Migration] is in JSON. In CSV a class has no key and no
// reason; of a key that is named cost and state are real values, its hash instance is empty and the
// count is 1.
func (m ItemMove) cells(c *cells) {
	x := Migration{From: m.Class.Current, To: m.Class.Planned, Cost: m.Class.Cost, State: m.Class.State}
	hash, count, reason := m.Class.Hash, m.Class.Count, ""
	switch {
	case m.Named != nil && c.form == asJSON:
		m.Named.cells(c)
		return
	case c.form == asJSON:
		ClassMove(m.Class).cells(c)
		return
	case m.Named != nil:
		x, hash, count, reason = *m.Named, planner.NoInstance, 1, m.Named.Reason.String()
	}
	c.key(x.Key)
	c.id(`"planned":`, x.To)
	c.id(`"instance":`, x.From)
	c.id(`"hash_instance":`, hash)
	c.number(`"cost":`, x.Cost)
	c.number(`"state":`, x.State)
	c.int(`"count":`, count)
	c.word(`"reason":`, reason)
}

// namedKey is a row of statistics beside records.
type namedKey struct {
	s *planner.Statistics
	i int
}

func (k namedKey) cells(c *cells) {
	c.key(k.s.Keys.At(k.i))
	c.number(`"cost":`, k.s.Cost[k.i])
	if k.s.State != nil {
		c.number(`"state":`, k.s.State[k.i])
	}
	if k.s.Instance != nil && k.s.Instance[k.i] != planner.NoInstance {
		c.id(`"instance":`, k.s.Instance[k.i])
	}
	if k.s.HashInstance != nil && k.s.HashInstance[k.i] != planner.NoInstance {
		c.id(`"hash_instance":`, k.s.HashInstance[k.i])
	}
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
		named := Records[namedKey](func(yield func(namedKey) bool) {
			for i := 0; i < s.Named.Len() && yield(namedKey{s.Named, i}); i++ {
			}
		})
		if base64 = base64 || named.NeedsBase64(); base64 {
			head = append(head, `"key_encoding":"base64",`...)
		}
		head = append(named.AppendJSON(append(head, `"keys":`...), base64), ',')
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
	if _, err := w.Write(append(head, `,"records":`...)); err != nil {
		return err
	}
	if err := classesOf(s.Records).WriteJSON(w, base64); err != nil {
		return err
	}
	_, err := io.WriteString(w, "}}")
	return err
}

func classesOf(records []compact.Record) Records[class] {
	return recordsAs(records, func(r compact.Record) class { return class(r) })
}

// WriteCompactCSV writes a header and each record as a line: instance,
// hash_instance, cost, state and count. The scales are not in it.
func WriteCompactCSV(w io.Writer, records []compact.Record) error {
	return classesOf(records).WriteCSV(w, false, nil)
}

// classAt is a record of one of several intervals.
type classAt struct {
	interval int64
	class
}

func (r classAt) cells(c *cells) {
	c.int(`"interval":`, r.interval)
	r.class.cells(c)
}

// WriteCompactIntervals writes the records of several intervals as one file, as
// [WriteCompactCSV] does, with the interval as the first column. Intervals do
// not decrease. All must be of the same scales.
func WriteCompactIntervals(w io.Writer, intervals iter.Seq2[int64, []compact.Record]) error {
	return Records[classAt](func(yield func(classAt) bool) {
		for n, records := range intervals {
			for _, r := range records {
				if !yield(classAt{n, class(r)}) {
					return
				}
			}
		}
	}).WriteCSV(w, false, nil)
}

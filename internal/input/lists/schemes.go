package lists

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"plannerd/planner"
)

// RingTokens says that an instance holds tokens 0…Tokens−1 of a ring.
type RingTokens struct{ Instance, Tokens int32 }

func (RingTokens) key() []byte { return nil }
func (ArcMove) key() []byte    { return nil }

// key is a text that is valid UTF-8 if and only if both ends are: nothing that
// breaks off before the NUL goes on behind it.
func (x Range) key() []byte {
	return slices.Concat(x.From, []byte{0}, x.To)
}

func (o RangeOwner) key() []byte { return o.Range.key() }
func (m RangeMove) key() []byte  { return m.Range.key() }

// ArcMove is an arc of the ring that changes its instance: the positions after
// Start up to and including End, wrapping round when Start ≥ End.
type ArcMove struct {
	Start, End uint32
	From, To   int32 // ids of instances
	// The keys of the statistics that lie on it, what they cost and how much state
	// they hold.
	Keys        int64
	Cost, State float64
	Reason      planner.Reason
}

// Range is the keys from From on and below To: an empty From is the lowest end of
// the key space, an empty To its end.
type Range struct{ From, To []byte }

// RangeOwner says that an instance owns a range.
type RangeOwner struct {
	Range    Range
	Instance int32
}

// RangeMove is a range that changes its owner.
type RangeMove struct {
	Range    Range
	From, To int32 // ids of instances
	// The keys of the statistics that lie in it, what they cost and how much state
	// they hold.
	Keys        int64
	Cost, State float64
	Reason      planner.Reason
}

const movedHeader = ",from,to,keys,cost,state,reason\n"

func (RingTokens) csvHeader() string { return "instance,tokens\n" }
func (ArcMove) csvHeader() string    { return "arc_start,arc_end" + movedHeader }
func (RangeOwner) csvHeader() string { return "from,to,instance\n" }
func (RangeMove) csvHeader() string  { return "range_from,range_to" + movedHeader }

// AppendJSON appends {"instance": …, "tokens": …}; see [Record].
func (t RingTokens) AppendJSON(dst []byte, _ bool) []byte {
	dst = strconv.AppendInt(append(dst, `{"instance":`...), int64(t.Instance), 10)
	dst = strconv.AppendInt(append(dst, `,"tokens":`...), int64(t.Tokens), 10)
	return append(dst, '}')
}

// AppendCSV appends instance and tokens; see [Record].
func (t RingTokens) AppendCSV(dst []byte, _ bool) []byte {
	dst = append(strconv.AppendInt(dst, int64(t.Instance), 10), ',')
	return append(strconv.AppendInt(dst, int64(t.Tokens), 10), '\n')
}

// HeadKey is a key that has another number of candidates than others.
type HeadKey struct {
	Key     []byte
	Choices int32
}

func (k HeadKey) key() []byte     { return k.Key }
func (HeadKey) csvHeader() string { return "key,choices\n" }

// AppendJSON appends {"key": …, "choices": …}; see [Record].
func (k HeadKey) AppendJSON(dst []byte, base64 bool) []byte {
	dst = append(appendKeyMember(dst, k.Key, base64), `,"choices":`...)
	return append(strconv.AppendInt(dst, int64(k.Choices), 10), '}')
}

// AppendCSV appends key and choices; see [Record].
func (k HeadKey) AppendCSV(dst []byte, base64 bool) []byte {
	dst = append(appendCell(dst, k.Key, base64), ',')
	return append(strconv.AppendInt(dst, int64(k.Choices), 10), '\n')
}

// AppendJSON appends {"arc": {"start": …, "end": …}, "from": …, "to": …,
// "keys": …, "cost": …, "state": …, "reason": …}; see [Record].
func (m ArcMove) AppendJSON(dst []byte, _ bool) []byte {
	dst = strconv.AppendUint(append(dst, `{"arc":{"start":`...), uint64(m.Start), 10)
	dst = strconv.AppendUint(append(dst, `,"end":`...), uint64(m.End), 10)
	return m.moved().appendJSON(append(dst, '}'))
}

// AppendCSV appends the ends of the arc, from, to, keys, cost, state and reason;
// see [Record].
func (m ArcMove) AppendCSV(dst []byte, _ bool) []byte {
	dst = append(strconv.AppendUint(dst, uint64(m.Start), 10), ',')
	return m.moved().appendCSV(strconv.AppendUint(dst, uint64(m.End), 10))
}

// AppendJSON appends {"from": …, "to": …, "instance": …}; see [Record]. Of a
// range that is not valid UTF-8 both ends are in base64.
func (o RangeOwner) AppendJSON(dst []byte, base64 bool) []byte {
	dst = o.Range.appendMembers(append(dst, '{'), base64)
	dst = strconv.AppendInt(append(dst, `,"instance":`...), int64(o.Instance), 10)
	return append(dst, '}')
}

// AppendCSV appends the ends of the range and the instance; see [Record].
func (o RangeOwner) AppendCSV(dst []byte, base64 bool) []byte {
	dst = append(o.Range.appendCells(dst, base64), ',')
	return append(strconv.AppendInt(dst, int64(o.Instance), 10), '\n')
}

// AppendJSON appends {"range": {"from": …, "to": …}, "from": …, "to": …,
// "keys": …, "cost": …, "state": …, "reason": …}; see [Record]. Of a range that
// is not valid UTF-8 both ends are in base64.
func (m RangeMove) AppendJSON(dst []byte, base64 bool) []byte {
	dst = m.Range.appendMembers(append(dst, `{"range":{`...), base64)
	return m.moved().appendJSON(append(dst, '}'))
}

// AppendCSV appends the ends of the range, from, to, keys, cost, state and
// reason; see [Record].
func (m RangeMove) AppendCSV(dst []byte, base64 bool) []byte {
	return m.moved().appendCSV(m.Range.appendCells(dst, base64))
}

// appendMembers appends "from" and "to", which is null at the end of the key
// space.
func (x Range) appendMembers(dst []byte, base64 bool) []byte {
	mixed := !base64 && !utf8.Valid(x.key())
	dst = appendText(append(dst, `"from":`...), x.From, base64 || mixed)
	dst = append(dst, `,"to":`...)
	if len(x.To) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = appendText(dst, x.To, base64 || mixed)
	}
	if mixed {
		dst = append(dst, `,"key_encoding":"base64"`...)
	}
	return dst
}

func (x Range) appendCells(dst []byte, base64 bool) []byte {
	dst = append(appendCell(dst, x.From, base64), ',')
	return appendCell(dst, x.To, base64)
}

// moved is what moves of arcs and of ranges have in common.
type moved struct {
	from, to    int32
	keys        int64
	cost, state float64
	reason      planner.Reason
}

func (m ArcMove) moved() moved   { return moved{m.From, m.To, m.Keys, m.Cost, m.State, m.Reason} }
func (m RangeMove) moved() moved { return moved{m.From, m.To, m.Keys, m.Cost, m.State, m.Reason} }

// appendJSON closes an object with the members that moves have in common.
func (m moved) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `,"from":`...), int64(m.from), 10)
	dst = strconv.AppendInt(append(dst, `,"to":`...), int64(m.to), 10)
	dst = strconv.AppendInt(append(dst, `,"keys":`...), m.keys, 10)
	dst = appendNumber(append(dst, `,"cost":`...), m.cost)
	dst = appendNumber(append(dst, `,"state":`...), m.state)
	dst = append(append(dst, `,"reason":"`...), m.reason.String()...)
	return append(dst, '"', '}')
}

// appendCSV ends a line with the cells that moves have in common.
func (m moved) appendCSV(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, ','), int64(m.from), 10)
	dst = strconv.AppendInt(append(dst, ','), int64(m.to), 10)
	dst = strconv.AppendInt(append(dst, ','), m.keys, 10)
	dst = appendNumber(append(dst, ','), m.cost)
	dst = appendNumber(append(dst, ','), m.state)
	dst = append(append(dst, ','), m.reason.String()...)
	return append(dst, '\n')
}

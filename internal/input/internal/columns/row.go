package columns

import (
	"math"
	"math/bits"

	"plannerd/planner"
)

// Field is a member of a row, or a set of them.
type Field uint16

// The fields.
const (
	Key Field = 1 << iota
	Cost
	Frequency
	State
	Instance
	HashInstance
	Interval
	Count
	From
	To
	Costs // amounts of resources
	Unknown
)

// Which members rows may have; in files (streams) also Interval.
const (
	StatisticsRow = Key | Cost | Frequency | State | Instance | HashInstance | Costs
	RecordRow     = Instance | HashInstance | Cost | State | Count
	ResolutionRow = Key | From | To | HashInstance
	EventRow      = Key | Cost | State | Interval // one of those that make up a row of statistics
)

// all are the fields of rows of a kind that must have all of them: those of f,
// but for the interval, for the hash instance of a resolution and for what events may lack.
func (f Field) all() Field {
	if f == EventRow {
		return Key
	}
	if f&From != 0 {
		f &^= HashInstance
	}
	return f &^ Interval
}

// fieldNames are the names of fields in bodies, by the numbers of their bits.
var fieldNames = [...]string{"key", "cost", "frequency", "state", "instance", "hash_instance", "interval", "count",
	"from", "to", "costs", "unknown"}

// String returns the field's name in bodies.
func (f Field) String() string { return fieldNames[BitOf(f)] }

// names are those of a set of fields.
func (f Field) names() []string {
	var out []string
	for one := range f.each {
		out = append(out, one.String())
	}
	return out
}

// FieldOf is the inverse of String in rows of the given fields. In files the
// state of a key may be called state_bytes.
func FieldOf(name []byte, fields Field) Field {
	f := namedField(name)
	const file = Key | Interval
	if fields&file == file && string(name) == "state_bytes" {
		f = State
	}
	if f&fields == 0 {
		return Unknown
	}
	return f
}

func namedField(name []byte) Field {
	for i, known := range fieldNames {
		if string(name) == known {
			return Field(1) << i
		}
	}
	return Unknown
}

// each yields the fields of a set.
func (f Field) each(yield func(Field) bool) {
	for ; f != 0; f &= f - 1 {
		if !yield(f & -f) {
			return
		}
	}
}

// BitOf is the number of a field's bit.
func BitOf(f Field) int { return bits.TrailingZeros16(uint16(f)) }

// Bounds that are not configurable.
const (
	MaxMembers  = 256       // other members of a JSON body, columns of an Arrow stream
	MaxInterval = 1<<53 - 1 // number of an interval
	MaxCount    = 1<<53 - 1 // keys of one record, and of all records
)

// Details of problems.
const (
	DetailNumber   = "must be ≥ 0 and finite"
	DetailGreat    = "must be at most 1e290"
	DetailInstance = "must be an integer from 0 to 2147483647"
	DetailName     = "must be an id, or a name of 1 to 255 bytes"
	DetailInterval = "must be an integer from 0 to 9007199254740991"
	DetailKey      = "must be 1 to 1024 bytes"
	DetailBase64   = "must be base64 (standard alphabet, padded)"
	DetailString   = "must be a string"
	DetailRow      = "must be an object"
	DetailUnknown  = "unknown field"
	DetailColumn   = "unknown column"
	DetailRequired = "is required"
	DetailNoCost   = "is required, or frequency in its place"
	DetailBoth     = "excludes cost"
	DetailNoCount  = "excludes key"
	DetailCount    = "must be an integer from 1 to 9007199254740991"
	DetailKeyed    = "brings the keys of all records above 9007199254740991"
	DetailRecord   = "must be a list of five numbers"
	DetailState    = "is required: other rows name their state"
	DetailUnnamed  = "other rows name no interval"
	DetailCosts    = "must be an object of numbers"

	DetailResource  = "must be the name of a resource: a letter, then up to 31 letters, digits and _"
	DetailResources = "is one resource too many: rows may name 16"
)

// Row is one row as it is parsed. Seen tells which members it has; instances
// that are null or left out are planner.NoInstance.
type Row struct {
	Key                    []byte // text as written; nil: a problem is noted already
	Cost, State            float64
	Costs                  []float64 // of resources, by their places; see SetCost
	Instance, HashInstance int32
	From, To               int32 // of a resolution
	Interval               int64
	Count                  int64 // of a record
	Seen                   Field
	costs                  uint16 // resources that it names
	Broken                 bool   // not a row at all, which is a problem already noted
}

// Reset makes it a row that has nothing.
func (r *Row) Reset() {
	costs := r.Costs[:0]
	*r = Row{Instance: planner.NoInstance, HashInstance: planner.NoInstance} // in place, without a copy
	r.Costs = costs
}

// RecordFields names the numbers of a compact record in their order in JSON.
var RecordFields = [...]string{"instance", "hash_instance", "cost", "state", "count"}

// IsAmount tells whether x may be a cost or a state.
func IsAmount(x float64) bool { return x >= 0 && x <= planner.MaxAmount }

// AmountDetail says why x may not; empty: it may.
func AmountDetail(x float64) string {
	switch {
	case IsAmount(x):
		return ""
	case x > planner.MaxAmount && !math.IsInf(x, 0):
		return DetailGreat
	}
	return DetailNumber
}

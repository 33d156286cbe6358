package analyses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// Bounds of all requests.
const (
	MaxNodes  = 65536 // nodes, workers, followers or instances
	MaxSeed   = 1<<53 - 1
	MaxTop    = 10_000 // greatest length of a list of keys, arcs or transfers
	MaxPoints = 10_000 // greatest length of a series
	MaxRuns   = 256    // runs of one request
	MaxSeeds  = 1000   // by which one figure is judged
	// MaxMessages bounds the streams that are made of frequencies and simulated.
	MaxMessages = 1 << 28
)

// Defaults of all requests.
const (
	DefaultTop      = 20
	DefaultPoints   = 200
	DefaultThetaMax = planner.DefaultThetaMax
	// DefaultMessages are drawn of frequencies that are no stream themselves.
	DefaultMessages = 1_000_000
)

// Progress is told, now and then and from one goroutine, what is being done and
// how much of how much of it is done. Nil: nobody.
type Progress func(phase string, done, total int64)

// Counted is a list that may stand as a number n in JSON, short for n elements with
// the ids from 0.
type Counted[T any, P numbered[T]] []T

// numbered is an element that can be given an id.
type numbered[T any] interface {
	*T
	number(id int32)
}

func (n *RingNode) number(id int32)        { n.ID = id }
func (f *RangesFollower) number(id int32)  { f.ID = id }
func (i *SchemesInstance) number(id int32) { i.ID = id }

// UnmarshalJSONFrom reads a number or an array.
func (c *Counted[T, P]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '0' {
		return json.UnmarshalDecode(dec, (*[]T)(c))
	}
	var n int32
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	// One more than allowed is refused as well as many more.
	*c = Count[T, P](min(int(max(n, 0)), MaxNodes+1))
	return nil
}

// Count returns n elements with the ids from 0.
func Count[T any, P numbered[T]](n int) Counted[T, P] {
	out := make(Counted[T, P], n)
	for i := range out {
		P(&out[i]).number(int32(i))
	}
	return out
}

package analyses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/planner"
)

// Bounds of all requests.
const (
	MaxNodes  = 65536 // workers or instances
	MaxSeed   = 1<<53 - 1
	MaxTop    = 10_000 // greatest length of a list of keys
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

// Instances is a list that may stand as a number n in JSON, short for n instances with the
// ids from 0.
type Instances []SchemesInstance

// UnmarshalJSONFrom reads a number or an array.
func (c *Instances) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '0' {
		return json.UnmarshalDecode(dec, (*[]SchemesInstance)(c))
	}
	var n int32
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	*c = Count(min(int(max(n, 0)), MaxNodes+1)) // one more than allowed is refused as well as many more
	return nil
}

// Count returns n instances with the ids from 0.
func Count(n int) Instances {
	out := make(Instances, n)
	for i := range out {
		out[i].ID = int32(i)
	}
	return out
}

package lists

import (
	"unicode/utf8"

	"plannerd/planner"
)

// RingTokens says that an instance holds tokens 0…Tokens−1 of a ring.
type RingTokens struct{ Instance, Tokens int32 }

func (t RingTokens) cells(c *cells) {
	c.id(`"instance":`, t.Instance)
	c.int(`"tokens":`, int64(t.Tokens))
}

// RingToken is one token of an instance on a ring.
type RingToken struct {
	Instance, Index int32
	Position        uint32
}

func (t RingToken) cells(c *cells) {
	c.id(`"instance":`, t.Instance)
	c.int(`"index":`, int64(t.Index))
	c.int(`"position":`, int64(t.Position))
}

// Flow is what a plan moves from one instance to another.
type Flow struct {
	From, To    int32 // ids of instances
	Keys        int64
	Cost, State float64 // of all these keys
}

func (f Flow) cells(c *cells) {
	c.id(`"from":`, f.From)
	c.id(`"to":`, f.To)
	c.int(`"keys":`, f.Keys)
	c.number(`"cost":`, f.Cost)
	c.number(`"state":`, f.State)
}

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

func (m ArcMove) cells(c *cells) {
	c.within(`"arc":`, func() {
		c.int(`"start":`, int64(m.Start))
		c.int(`"end":`, int64(m.End))
	})
	Flow{m.From, m.To, m.Keys, m.Cost, m.State}.cells(c)
	c.word(`"reason":`, m.Reason.String())
}

// Range is the keys from From on and below To: an empty From is the lowest end of
// the key space, an empty To its end.
type Range struct{ From, To []byte }

// cells writes both ends; the end of the key space is null. Of a range that is not valid UTF-8
// both are in base64.
func (x Range) cells(c *cells) {
	mixed := c.form == asJSON && !c.base64 && !(utf8.Valid(x.From) && utf8.Valid(x.To))
	c.text(`"from":`, x.From, c.base64 || mixed)
	if len(x.To) == 0 {
		c.none(`"to":`)
	} else {
		c.text(`"to":`, x.To, c.base64 || mixed)
	}
	if mixed {
		c.word(`"key_encoding":`, "base64")
	}
}

// RangeOwner says that an instance owns a range.
type RangeOwner struct {
	Range    Range
	Instance int32
}

func (o RangeOwner) cells(c *cells) {
	o.Range.cells(c)
	c.id(`"instance":`, o.Instance)
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

func (m RangeMove) cells(c *cells) {
	c.within(`"range":`, func() { m.Range.cells(c) })
	Flow{m.From, m.To, m.Keys, m.Cost, m.State}.cells(c)
	c.word(`"reason":`, m.Reason.String())
}

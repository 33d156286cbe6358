package ranges

import (
	"bytes"
	"slices"
)

// grid is the points at which the key space may be cut, numbered upward: the known
// keys and, between them, the borders there are already, the lower end of the key
// space first among them. Point len() is its upper end. Weights lie at known keys.
type grid struct {
	cdf   *CDF
	extra []extraPoint // points that are no known keys
}

type extraPoint struct {
	key   []byte
	at    int // its number
	known int // known keys before it
}

func newGrid(c *CDF, owners Owners) *grid {
	g := &grid{cdf: c}
	add := func(key []byte) {
		if i := c.search(key); i == c.Len() || !bytes.Equal(c.Key(i), key) {
			g.extra = append(g.extra, extraPoint{key, i + len(g.extra), i})
		}
	}
	add([]byte{})
	for i, x := range owners {
		if i > 0 {
			add(x.Low)
		}
	}
	return g
}

func (g *grid) len() int { return g.cdf.Len() + len(g.extra) }

// known splits a point into the number of known keys before it and its index in
// extra if it is there.
func (g *grid) known(p int) (before, extra int, isExtra bool) {
	i, found := slices.BinarySearchFunc(g.extra, p, func(x extraPoint, p int) int { return x.at - p })
	return p - i, i, found
}

// key returns point p; nil for the end.
func (g *grid) key(p int) []byte {
	before, i, extra := g.known(p)
	switch {
	case extra:
		return g.extra[i].key
	case before == g.cdf.Len():
		return nil
	}
	return g.cdf.Key(before)
}

// find returns the point that is that key.
func (g *grid) find(key []byte) int {
	i, _ := slices.BinarySearchFunc(g.extra, key, func(x extraPoint, key []byte) int { return bytes.Compare(x.key, key) })
	return g.cdf.search(key) + i
}

// below is the weight before point p.
func (g *grid) below(p int) int64 {
	before, _, _ := g.known(p)
	return g.cdf.below[before]
}

// weight is that of the points from a on and before b.
func (g *grid) weight(a, b int) int64 { return g.below(b) - g.below(a) }

// nearest returns the point before which the weight is nearest to the given one.
// Of several it is the lowest.
func (g *grid) nearest(weight float64) int { return g.lowest(g.cdf.nearest(weight)) }

// lowest returns the first point that has just so many known keys before it.
func (g *grid) lowest(known int) int {
	i, _ := slices.BinarySearchFunc(g.extra, known, func(x extraPoint, known int) int { return x.known - known })
	return known + i
}

package reproduce

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
)

// published is what a paper states about an item.
type published struct {
	// Source is the place in the paper's text.
	Source string `json:"source"`
	// Values stand beside the points of their series and x.
	Values []publishedValue `json:"values"`
	// Within is how near ours has to be; Because says why that is near.
	Within  within `json:"within"`
	Because string `json:"because"`
	// Differs says why ours does differ.
	Differs string `json:"differs"`
}

type publishedValue struct {
	Series string  `json:"series"`
	X      string  `json:"x"`
	Value  float64 `json:"value"`
	// Within is the tolerance of this value, where it is not that of the item.
	Within *within `json:"within"`
}

// within is a tolerance: any of its bounds suffices.
type within struct {
	Absolute float64 `json:"absolute"` // |ours − published|
	Relative float64 `json:"relative"` // the same over |published|
	Factor   float64 `json:"factor"`   // ours / published, and the inverse of that
}

func (w within) allows(ours, published float64) bool {
	off := math.Abs(ours - published)
	return off <= w.Absolute || off <= w.Relative*math.Abs(published) ||
		w.Factor > 0 && ours*published > 0 && math.Abs(math.Log(ours/published)) <= math.Log(w.Factor)
}

// String is the tolerance in words.
func (w within) String() string {
	switch {
	case w.Factor > 0:
		return fmt.Sprintf("a factor of %v", w.Factor)
	case w.Relative > 0:
		return fmt.Sprintf("%v %%", 100*w.Relative)
	case w.Absolute > 0:
		return fmt.Sprintf("± %v", w.Absolute)
	}
	return "exactly"
}

//go:embed published.json
var publishedText []byte

// publications are by the ids of items.
var publications = sync.OnceValues(func() (all map[string]published, err error) {
	return all, json.Unmarshal(publishedText, &all)
})

// judge puts the published values beside the points, and gives the verdict.
func judge(r *Result) error {
	all, err := publications()
	if err != nil {
		return err
	}
	p := all[r.ID]
	r.Source = p.Source
	for _, v := range p.Values {
		series, point := r.find(v.Series, v.X)
		if point == nil {
			continue // another size measures other points
		}
		near := p.Within
		if v.Within != nil {
			near = *v.Within
		}
		ok := near.allows(point.Median, v.Value)
		point.Published, point.Agrees = &v.Value, &ok
		r.Tolerance = p.Within.String()
		if p.Because != "" {
			r.Tolerance += ": " + p.Because
		}
		if !series.Variation {
			r.Counts.Values++
			r.Counts.ValuesAgree += count(ok)
		}
	}
	for _, c := range r.Claims {
		r.Counts.Claims++
		r.Counts.ClaimsHold += count(c.Holds)
	}
	switch n := r.Counts; {
	case n.ValuesAgree < n.Values || n.ClaimsHold < n.Claims:
		r.Verdict, r.Why = Differs, p.Differs
	case n.Values+n.Claims == 0:
		r.Verdict = ImageOnly
	default:
		r.Verdict = Agrees
	}
	return nil
}

// String says how many agree, such as "3 of 4 published values and 2 of 2 claims agree".
func (c Counts) String() string {
	var parts []string
	for _, x := range []struct {
		agree, of int
		what      string
	}{{c.ValuesAgree, c.Values, "published value"}, {c.ClaimsHold, c.Claims, "claim"}} {
		if x.of > 1 {
			x.what += "s"
		}
		if x.of > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", x.agree, x.of, x.what))
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, " and ") + " agree"
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// find returns a point and its series, or nil.
func (r *Result) find(series, x string) (*Series, *Point) {
	for s := range r.Series {
		for p := range r.Series[s].Points {
			if point := &r.Series[s].Points[p]; r.Series[s].Name == series && point.X == x {
				return &r.Series[s], point
			}
		}
	}
	return nil, nil
}

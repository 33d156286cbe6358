package httpkit

import (
	"strconv"
	"strings"
)

// Negotiate returns the offered media type that the values of Accept headers
// prefer (RFC 9110, section 12.5.1). Of equal ones it is the first, as it is
// without any header. It reports false when none is acceptable.
func Negotiate(accept, offers []string) (media string, ok bool) {
	if len(accept) == 0 {
		return offers[0], true
	}
	best := 0.0
	for _, offer := range offers {
		if q := acceptedWeight(strings.Join(accept, ","), offer); q > best {
			media, best = offer, q
		}
	}
	return media, best > 0
}

// acceptedWeight returns the weight of the most specific range of accept that
// covers media.
func acceptedWeight(accept, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	weight, specific := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		rank := 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case media:
			rank = 3
		case kind + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank > specific {
			weight, specific = weightOf(params), rank
		}
	}
	return weight
}

// weightOf returns the weight that the parameter q=0.5 gives, 1 when there is
// none, and 0 when it is not between 0 and 1.
func weightOf(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}

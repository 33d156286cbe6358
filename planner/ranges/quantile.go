package ranges

// quantiles gives each follower that stays the range of quantiles that follows
// that of the one before it, cut where the known keys come nearest.
func (d *division) quantiles() []segment {
	var segments []segment
	sum, end, last := 0.0, 0, d.lastStaying()
	for i, f := range d.followers {
		if !f.stays() {
			continue
		}
		from := end
		sum += d.fair[i]
		if i == last {
			end = d.g.len()
		} else {
			end = max(from, d.g.nearest(sum))
		}
		if end > from {
			segments = append(segments, segment{from, i})
		}
	}
	return segments
}

func (d *division) lastStaying() int {
	i := len(d.followers) - 1
	for !d.followers[i].stays() {
		i--
	}
	return i
}

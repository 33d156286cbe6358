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

// JoinShare is the share that a join moves by quantiles with i followers to the
// left and j to the right of the new one, if every key weighs next to nothing:
// [i(i+1)+j(j+1)] / [2n(n+1)], n = i+j ≥ 1 (Shuffler proposal).
func JoinShare(i, j int) float64 {
	n := i + j
	return float64(i*(i+1)+j*(j+1)) / float64(2*n*(n+1))
}

// LeaveShare is the share that a leave moves by quantiles with i followers to the
// left and j ≥ 0 to the right of the one that leaves, n = i+j+1 ≥ 2:
// [i(i+1)+j(j+1)] / [2n(n−1)].
func LeaveShare(i, j int) float64 {
	n := i + j + 1
	return float64(i*(i+1)+j*(j+1)) / float64(2*n*(n-1))
}

package search

import (
	"plannerd/planner/internal/ablation"
	"plannerd/planner/internal/assign"
)

// twoForOneExchange looks for two shifts at once to follow the first of a chain: one heavy
// key for two lighter ones, or the reverse. Chains, which choose one key after
// the other, see only those that nearly fit alone.
func (s *search) twoForOneExchange(gain float64) bool {
	if ablation.Off(ablation.Pairs) {
		return false
	}
	x := s.chain[0]
	if over := s.load[x.to] - s.p.Limit[x.to]; over > 0 && s.relieveByTwo(x.to, over, gain) {
		return true
	}
	room := s.p.Limit[x.at] - s.load[x.at]
	return room > 0 && s.p.IsLive[x.at] && s.fillByTwo(x.at, room, gain)
}

const partners = 2 // that are looked at for one key

// relieveByTwo looks for two keys that leave d and together just make up for
// what it has too much.
func (s *search) relieveByTwo(d int32, over int64, gain float64) bool {
	stay := s.stay[d]
	bound := gain - float64(s.perLoad[d]*float64(over)) + s.epsilon
	for _, list := range [2][]int32{s.guest[d], stay} {
		for _, i := range list {
			if s.cost[i] >= over {
				break
			}
			price := 0.0
			if s.from[i] == d {
				price = s.weight[i]
			}
			at := first(stay, s.cost, over-s.cost[i])
			for _, j := range stay[at:min(len(stay), at+partners)] {
				s.spend(1)
				if j != i && bound+price+s.weight[j] < 0 && s.pair(i, assign.None, j, assign.None, gain) {
					return true
				}
			}
		}
	}
	return false
}

// fillByTwo looks for two keys that come back to d and together just fit.
func (s *search) fillByTwo(d int32, room int64, gain float64) bool {
	away := s.away[d]
	for n, i := range away {
		if s.cost[i] > room {
			break
		}
		end := min(n, first(away, s.cost, room-s.cost[i]+1))
		for _, j := range away[max(0, end-partners):end] {
			s.spend(1)
			if gain-s.weight[i]-s.weight[j]+s.epsilon < 0 && s.pair(i, d, j, d, gain) {
				return true
			}
		}
	}
	return false
}

// pair shifts two keys, to the best place where none is given, if the chain
// gains something by that.
func (s *search) pair(i, iTo, j, jTo int32, gain float64) bool {
	before := len(s.chain)
	for _, x := range [2]candidate{{key: i, to: iTo}, {key: j, to: jTo}} {
		f := follow{search: s, gain: gain, width: 1}
		if x.to != assign.None {
			f.consider(x.key, x.to)
		} else {
			for _, d := range s.places(x.key, s.freed(0), &f.buffer) {
				f.consider(x.key, d)
			}
		}
		s.spend(f.evaluations)
		if f.n == 0 {
			break
		}
		gain = f.best[0].gain
		s.shift(x.key, f.best[0].to)
	}
	if len(s.chain) == before+2 && gain < -s.epsilon {
		s.commit()
		return true
	}
	for len(s.chain) > before {
		s.unshift()
	}
	return false
}

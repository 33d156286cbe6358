package ranges

import (
	"bytes"
	"slices"
	"strconv"
)

// Check reports every rule that the state breaks, one line for each and the
// interval where it does: it looks at each follower's own view, and not at how the
// state came about. In the put phase and until all are ready no key has an
// authority, then at most one, and in the get phase exactly one; the authority has
// the data, unless they are lost; and every key has one owner.
func (s *Shuffle) Check() []string {
	var broken []string
	for _, low := range s.borders() {
		for _, problem := range s.checkAt(low) {
			broken = append(broken, "from "+strconv.Quote(string(low))+" on: "+problem)
		}
	}
	return broken
}

// borders are the keys at which anything may change.
func (s *Shuffle) borders() [][]byte {
	lows := [][]byte{{}}
	add := func(t set) {
		for _, v := range t {
			lows = append(lows, v.Low)
			if v.High != nil {
				lows = append(lows, v.High)
			}
		}
	}
	add(s.lost)
	for _, m := range s.members {
		add(m.owns)
		add(m.holds)
	}
	slices.SortFunc(lows, bytes.Compare)
	return slices.CompactFunc(lows, bytes.Equal)
}

func (s *Shuffle) checkAt(key []byte) (problems []string) {
	owners, authorities := 0, 0
	for _, m := range s.members {
		if !m.owns.contains(key) {
			continue
		}
		owners++
		if m.getting {
			authorities++
		}
		if (m.getting || s.phase == Starting) && !m.holds.contains(key) && !s.lost.contains(key) {
			problems = append(problems, "follower "+strconv.Itoa(int(m.id))+" answers without the data")
		}
	}
	if owners != 1 {
		problems = append(problems, strconv.Itoa(owners)+" owners")
	}
	least, most := 0, 0
	switch s.phase {
	case Starting:
		most = 1
	case Getting:
		least, most = 1, 1
	}
	if authorities < least || authorities > most {
		problems = append(problems, strconv.Itoa(authorities)+" authorities in phase "+string(s.phase))
	}
	return problems
}

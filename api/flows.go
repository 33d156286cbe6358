package api

import (
	"cmp"
	"net/http"
	"slices"

	"plannerd/internal/statsio"
	"plannerd/planner"
)

// What summing up flows takes, in bytes: for a migration, and for a flow that is then
// answered.
const (
	summedBytes = 28
	flowBytes   = 160
)

func (s *server) listFlows(w http.ResponseWriter, c *call) error {
	id := c.param("id")
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	all, err := s.moves(c, p)
	if err != nil {
		return err
	}
	if err := c.memory.Reserve(int64(all.len()) * summedBytes); err != nil {
		return err
	}
	flows := all.flows()
	if err := c.memory.Reserve(int64(len(flows)) * flowBytes); err != nil {
		return err
	}
	return selection[statsio.Flow]{n: len(flows), at: func(i int) statsio.Flow { return flows[i] }}.answer(w, c, "flows", keyCoder{})
}

// flows sums the migrations up by where they come from and where they go, greatest
// state first.
func (m *moves[R]) flows() []statsio.Flow {
	type pair struct{ from, to int32 }
	var (
		out         []statsio.Flow
		places      = make(map[pair]int32)
		flowOf      = make([]int32, m.n)
		cost, state = make([]float64, m.n), make([]float64, m.n)
		times       = make([]int64, m.n)
	)
	for i := range m.n {
		x := m.of(i)
		place, known := places[pair{x.from, x.to}]
		if !known {
			place = int32(len(out))
			places[pair{x.from, x.to}] = place
			out = append(out, statsio.Flow{From: x.from, To: x.to})
		}
		out[place].Keys += x.keys
		flowOf[i], cost[i], state[i], times[i] = place, x.cost, x.state, x.times
	}
	costs, states := planner.SumsBy(len(out), flowOf, cost, times), planner.SumsBy(len(out), flowOf, state, times)
	for i := range out {
		out[i].Cost, out[i].State = costs[i], states[i]
	}
	slices.SortFunc(out, func(a, b statsio.Flow) int {
		return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

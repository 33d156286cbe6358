package lists

import (
	"iter"

	"plannerd/planner"
)

// Migration is one key that changes its instance.
type Migration struct {
	Key      []byte
	From, To int32   // ids of instances
	Cost     float64 // c(k); 0 where a share of the state is gathered
	State    float64 // S(k,w); 1 when no state was reported
	Reason   planner.Reason
}

// MigrationsOf yields the migrations of a plan of keys, in its order.
func MigrationsOf(p *planner.Plan) iter.Seq[Migration] {
	return func(yield func(Migration) bool) {
		for i := range p.Moves {
			if !yield(MigrationOf(p, i)) {
				return
			}
		}
	}
}

// MigrationOf is the migration that move i of a plan of keys makes.
func MigrationOf(p *planner.Plan, i int) Migration {
	s, m := p.Snapshot, p.Moves[i]
	cost := s.Cost[m.Item]
	if m.Reason == planner.ReasonGather {
		cost = 0 // it counts where the key is
	}
	return Migration{
		Key: s.Keys.At(int(m.Item)), From: s.Instances[m.From].ID, To: s.Instances[m.To].ID,
		Cost: cost, State: s.StateOf(m), Reason: m.Reason,
	}
}

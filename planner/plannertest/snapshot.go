package plannertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"plannerd/planner"
)

// CheckSnapshot reports what a snapshot violates of the rules that its fields state.
func CheckSnapshot(s *planner.Snapshot) error {
	n := s.Len()
	if s.Keys.Len() != n || len(s.Current) != n || len(s.Hash) != n ||
		s.State != nil && len(s.State) != n || s.Count != nil && len(s.Count) != n ||
		s.Entry != nil && len(s.Entry) != n || s.Entry == nil && s.Table.Len() > 0 ||
		s.Kept != nil && len(s.Kept) != s.Table.Len() {
		return errors.New("the columns of the snapshot differ in length")
	}
	if err := errors.Join(checkInstances(s), checkShares(s), checkResources(s)); err != nil {
		return err
	}
	seen, units := map[string]bool{}, int64(0)
	for i := range n {
		if err := checkItem(s, i); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if key := string(s.Keys.At(i)); seen[key] || key == "" {
			return fmt.Errorf("item %d: the key %q is empty or stands twice", i, key)
		}
		seen[string(s.Keys.At(i))] = true
		if s.Count != nil {
			units += min(s.Count[i], planner.MaxCount+1)
		}
		if units > planner.MaxCount {
			return fmt.Errorf("item %d: more than 2^53−1 keys", i)
		}
	}
	return nil
}

func isAmount(x float64) bool { return x >= 0 && x <= planner.MaxAmount }

func checkInstances(s *planner.Snapshot) error {
	for i, d := range s.Instances {
		residual := d.ResidualCost > 0 || d.ResidualState > 0 || d.ResidualKeys > 0
		switch {
		case d.ID < 0, i > 0 && d.ID <= s.Instances[i-1].ID:
			return fmt.Errorf("instance %d: ids must be ≥ 0 and ascend", i)
		case !(d.Capacity >= planner.MinCapacity && d.Capacity <= planner.MaxCapacity):
			return fmt.Errorf("instance %d: capacity %v", i, d.Capacity)
		case !isAmount(d.ResidualCost), !isAmount(d.ResidualState),
			d.ResidualKeys < 0, d.ResidualKeys > planner.MaxResidualKeys:
			return fmt.Errorf("instance %d: residual out of range", i)
		case d.Frozen && (residual || !d.Partial):
			return fmt.Errorf("instance %d: frozen, but not partial, or with a residual", i)
		}
	}
	if !slices.ContainsFunc(s.Instances, planner.Instance.Live) {
		return errors.New("no live instance")
	}
	return nil
}

func checkShares(s *planner.Snapshot) error {
	for i, x := range s.Shares {
		after := i == 0 || s.Shares[i-1].Row < x.Row ||
			s.Shares[i-1].Row == x.Row && s.Shares[i-1].Instance < x.Instance
		if x.Row < 0 || int(x.Row) >= s.Len() || x.Instance < 0 || int(x.Instance) >= len(s.Instances) ||
			s.Count != nil || !isAmount(x.State) || x.Instance == s.Current[x.Row] || !after {
			return fmt.Errorf("share %d: must ascend, and be elsewhere than its item", i)
		}
	}
	return nil
}

func checkItem(s *planner.Snapshot, i int) error {
	known := func(d int32) bool { return d >= 0 && int(d) < len(s.Instances) }
	switch {
	case !isAmount(s.Cost[i]), s.State != nil && !isAmount(s.State[i]):
		return errors.New("cost or state out of range")
	case s.Count != nil && s.Count[i] < 1:
		return errors.New("counts no key")
	case !known(s.Current[i]) || s.Instances[s.Current[i]].Frozen:
		return errors.New("is on an unknown or a frozen instance")
	case !known(s.Hash[i]) || s.Instances[s.Hash[i]].Drained:
		return errors.New("is hashed to an unknown or a drained instance")
	case s.Entry != nil && s.Entry[i] >= 0 && (int(s.Entry[i]) >= s.Table.Len() ||
		!bytes.Equal(s.Table.At(int(s.Entry[i])).Key, s.Keys.At(i))):
		return errors.New("names an entry of the routing table that is not its own")
	}
	return nil
}

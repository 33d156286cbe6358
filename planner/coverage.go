package planner

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
)

const isFrozen = "is a frozen instance, of which nothing is known"

// markCoverage marks the instances of which the statistics say little.
func (r *resolver) markCoverage() error {
	if len(r.stats.Frozen) > 0 && r.base.HashChanged {
		return Invalid("Frozen", "must be empty when the instances or the hash function change: then every instance has to "+
			"say what it holds")
	}
	if err := r.mark("PartialOn", r.stats.PartialOn, false); err != nil {
		return err
	}
	if err := r.mark("Frozen", r.stats.Frozen, true); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.s.Instances, Instance.Live) {
		return Invalid("Frozen", "leaves no live instance")
	}
	return nil
}

// mark makes the instances of a list that errors call field partial, or frozen.
func (r *resolver) mark(field string, ids []int32, frozen bool) error {
	for i, id := range ids {
		at := r.index.find(id)
		switch {
		case at < 0:
			return Invalid(field, "lists instance "+strconv.Itoa(int(id))+", which is not a known one")
		case i > 0 && id <= ids[i-1]:
			return Invalid(field, "must ascend without repetition")
		case r.s.Instances[at].Partial:
			return Invalid(field, "lists instance "+strconv.Itoa(int(id))+", which is partial besides")
		}
		r.s.Instances[at].Partial, r.s.Instances[at].Frozen = true, frozen
	}
	return nil
}

// refuseFrozen refuses the first row of a key on a frozen instance: whoever says
// so knows something of it.
func (r *resolver) refuseFrozen() error {
	if len(r.stats.Frozen) == 0 {
		return nil
	}
	for i, d := range r.s.Current {
		if r.s.Instances[d].Frozen {
			return InvalidRow(i, "Instance", isFrozen)
		}
	}
	return nil
}

// RetainedEntries is the number of table entries of other keys than the items
// that stay and count.
func (s *Snapshot) RetainedEntries() int64 {
	n := s.Retained
	if s.Table == nil {
		return n
	}
	for e, stays := range s.absentEntries() {
		if stays {
			n += s.Table.entrySize(e)
		}
	}
	return n
}

// absentEntries yields the entries of Table whose keys are no items, and whether
// they stay.
func (s *Snapshot) absentEntries() iter.Seq2[int32, bool] {
	return func(yield func(int32, bool) bool) {
		present := make([]bool, s.Table.Len())
		for _, e := range s.Entry {
			if e >= 0 {
				present[e] = true
			}
		}
		for e, named := range present {
			if !named && !yield(int32(e), s.Partial || s.stays(e)) {
				return
			}
		}
	}
}

// stays tells whether the entry of an absent key stays in a snapshot that is not Partial:
// that of a split key, if it would for each of its parts.
func (s *Snapshot) stays(entry int) bool {
	on := func(id int32) bool {
		d, found := slices.BinarySearchFunc(s.Instances, id,
			func(d Instance, id int32) int { return cmp.Compare(d.ID, id) })
		return found && (s.Instances[d].Partial || s.Kept != nil && s.Kept[entry] && !s.Instances[d].Drained)
	}
	parts := s.Table.parts[int32(entry)]
	if parts == nil {
		return on(s.Table.instances[entry])
	}
	return !slices.ContainsFunc(parts, func(x Part) bool { return !on(x.Instance) })
}

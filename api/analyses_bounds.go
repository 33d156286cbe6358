package api

import (
	"cmp"
	"slices"

	"plannerd/internal/analyses"
	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/schemes"
)

// maxAnalysisCells is how many numbers one analysis may hold of each kind, such as
// the load of each worker at each source: about a gigabyte.
const maxAnalysisCells = 1 << 28

// beyond refuses what would take more memory than an analysis may.
func beyond(field, detail string) error {
	return &planner.InputError{Row: -1, Field: field, Detail: detail + " would take more memory than this server gives to an analysis"}
}

// boundPKG refuses requests that would take too much memory. The most choices to
// think of are lowered where nothing is said of them.
func boundPKG(in *analyses.Input, r *analyses.PKGRequest) error {
	workers, sources := cmp.Or(r.Workers, analyses.DefaultWorkers), slices.Max(orOne(r.Sources, 1))
	counters := cmp.Or(r.SketchCounters, grouping.DefaultCountersPerWorker*workers)
	most := maxAnalysisCells / max(1, in.Len())
	if r.Target != nil && r.MaxChoices == 0 && most < 2*workers {
		r.MaxChoices = most
		if r.Distinct {
			r.MaxChoices = min(most, workers)
		}
	}
	switch {
	case sources > maxAnalysisCells/workers:
		return beyond("sources", "loads of so many workers at so many")
	case r.Head == grouping.HeadSketch && sources > maxAnalysisCells/8/counters:
		return beyond("sketch_counters", "at so many sources")
	case slices.Max(orOne(r.Choices, 1)) > most:
		return beyond("choices", "for so many keys")
	case r.MaxChoices > most:
		return beyond("max_choices", "for so many keys")
	}
	return nil
}

// boundSchemes is boundPKG for the comparison of all schemes.
func boundSchemes(in *analyses.Input, r *analyses.SchemesRequest) error {
	most := maxAnalysisCells / max(1, in.Len())
	if r.MaxChoices == 0 && most < schemes.MostChoices {
		r.MaxChoices = max(1, min(most, cmp.Or(len(r.Instances), analyses.DefaultInstances)))
	}
	switch {
	case r.Sources > maxAnalysisCells/cmp.Or(len(r.Instances), analyses.DefaultInstances):
		return beyond("sources", "loads of so many instances at so many")
	case r.MaxChoices > most:
		return beyond("max_choices", "for so many keys")
	}
	return nil
}

// unbounded is for analyses whose memory is bounded by their own limits.
func unbounded[Q any](*analyses.Input, *Q) error { return nil }

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
func boundPKG(in *analyses.Input, r *analyses.PKGRequest) (int64, error) {
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
		return 0, beyond("sources", "loads of so many workers at so many")
	case r.Head == grouping.HeadSketch && sources > maxAnalysisCells/8/counters:
		return 0, beyond("sketch_counters", "at so many sources")
	case slices.Max(orOne(r.Choices, 1)) > most:
		return 0, beyond("choices", "for so many keys")
	case r.MaxChoices > most:
		return 0, beyond("max_choices", "for so many keys")
	}
	choices := max(slices.Max(orOne(r.Choices, 1)), r.MaxChoices)
	bytes := rowBytes(in) + messagesBytes(in, r.Messages) + cellBytes*(int64(sources)*int64(workers)+int64(in.Len())*int64(choices)/2)
	if r.Head == grouping.HeadSketch {
		bytes += cellBytes * 8 * int64(sources) * int64(counters)
	}
	return bytes, nil
}

// boundSchemes is boundPKG for the comparison of all schemes.
func boundSchemes(in *analyses.Input, r *analyses.SchemesRequest) (int64, error) {
	most := maxAnalysisCells / max(1, in.Len())
	if r.MaxChoices == 0 && most < schemes.MostChoices {
		r.MaxChoices = max(1, min(most, cmp.Or(len(r.Instances), analyses.DefaultInstances)))
	}
	switch {
	case r.Sources > maxAnalysisCells/cmp.Or(len(r.Instances), analyses.DefaultInstances):
		return 0, beyond("sources", "loads of so many instances at so many")
	case r.MaxChoices > most:
		return 0, beyond("max_choices", "for so many keys")
	}
	workers := cmp.Or(len(r.Instances), analyses.DefaultInstances)
	return rowBytes(in) + messagesBytes(in, r.Messages) + cellBytes*(int64(max(1, r.Sources))*int64(workers)+int64(in.Len())*int64(r.MaxChoices)/2), nil
}

// rowsOnly is for analyses whose memory goes by the number of keys.
func rowsOnly[Q any](in *analyses.Input, _ *Q) (int64, error) { return rowBytes(in), nil }

// rowBytes is what any analysis takes for its keys and messages.
func rowBytes(in *analyses.Input) int64 { return int64(in.Len()) * analysisRowBytes }

// cellBytes is what a number takes; choices are half as long.
const cellBytes = 8

// shuffledMessages is the most messages that are made of frequencies at once.
const shuffledMessages = 1 << 24

// messagesBytes is what the order of messages takes that are made of frequencies.
func messagesBytes(in *analyses.Input, drawn int64) int64 {
	const messageBytes = 4
	if in == nil || in.Messages != nil {
		return 0
	}
	total := 0.0
	for _, c := range in.Cost {
		total += c
	}
	return messageBytes * max(drawn, int64(min(total, shuffledMessages)))
}

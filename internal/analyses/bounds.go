package analyses

import (
	"cmp"
	"slices"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/schemes"
)

// maxCells is how many numbers one analysis may hold of each kind, such as the
// load of each worker at each source: about a gigabyte.
const maxCells = 1 << 28

// beyond refuses what would take more memory than an analysis may.
func beyond(field, detail string) error {
	return planner.Invalid(field, detail+" would take more memory than this server gives to an analysis")
}

// BoundPKG returns the bytes that RunPKG takes besides its input. It refuses, by a
// [planner.InputError], requests that would take too much, and lowers the most choices
// to try where the request names none.
func BoundPKG(in *Input, r *PKGRequest) (int64, error) {
	workers, sources := cmp.Or(r.Workers, DefaultWorkers), most(r.Sources)
	counters := cmp.Or(r.SketchCounters, grouping.DefaultCountersPerWorker*workers)
	cells := maxCells / max(1, in.Len())
	if r.Target != nil && r.MaxChoices == 0 && cells < 2*workers {
		r.MaxChoices = cells
		if r.Distinct {
			r.MaxChoices = min(cells, workers)
		}
	}
	switch {
	case sources > maxCells/workers:
		return 0, beyond("sources", "loads of so many workers at so many")
	case r.Head == grouping.HeadSketch && sources > maxCells/8/counters:
		return 0, beyond("sketch_counters", "at so many sources")
	case most(r.Choices) > cells:
		return 0, beyond("choices", "for so many keys")
	case r.MaxChoices > cells:
		return 0, beyond("max_choices", "for so many keys")
	}
	choices := max(most(r.Choices), r.MaxChoices)
	bytes := rowBytes(in) + messagesBytes(in, r.Messages) +
		cellBytes*(int64(sources)*int64(workers)+int64(in.Len())*int64(choices)/2)
	if r.Head == grouping.HeadSketch {
		bytes += cellBytes * 8 * int64(sources) * int64(counters)
	}
	return bytes, nil
}

// BoundSchemes is BoundPKG for the comparison of all schemes.
func BoundSchemes(in *Input, r *SchemesRequest) (int64, error) {
	cells := maxCells / max(1, in.Len())
	if r.MaxChoices == 0 && cells < schemes.MostChoices {
		r.MaxChoices = max(1, min(cells, cmp.Or(len(r.Instances), DefaultInstances)))
	}
	switch {
	case r.Sources > maxCells/cmp.Or(len(r.Instances), DefaultInstances):
		return 0, beyond("sources", "loads of so many instances at so many")
	case r.MaxChoices > cells:
		return 0, beyond("max_choices", "for so many keys")
	}
	workers := cmp.Or(len(r.Instances), DefaultInstances)
	return rowBytes(in) + messagesBytes(in, r.Messages) +
		cellBytes*(int64(max(1, r.Sources))*int64(workers)+int64(in.Len())*int64(r.MaxChoices)/2), nil
}

// BoundRows returns the bytes that an analysis takes whose memory goes by the number of
// keys.
func BoundRows[Q any](in *Input, _ *Q) (int64, error) { return rowBytes(in), nil }

// analysisRowBytes is for a row of an analysis, by the measure of package planning.
const analysisRowBytes = 256

// most is the greatest of the values; 1 without any.
func most(values []int) int {
	if len(values) == 0 {
		return 1
	}
	return slices.Max(values)
}

// rowBytes is what any analysis takes for its keys and messages.
func rowBytes(in *Input) int64 { return int64(in.Len()) * analysisRowBytes }

// cellBytes is what a number takes; choices are half as long.
const cellBytes = 8

// shuffledMessages is the cells messages that are made of frequencies at once.
const shuffledMessages = 1 << 24

// messagesBytes is what the order of messages takes that are made of frequencies.
func messagesBytes(in *Input, drawn int64) int64 {
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

package analyses

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner"
	"plannerd/planner/grouping"
	"plannerd/planner/partitioner"
	"plannerd/planner/ring"
	"plannerd/planner/schemes"
)

// maxCells is how many numbers one analysis may hold of each kind, such as the
// load of each worker at each source: about a gigabyte.
const maxCells = 1 << 28

// beyond refuses what would take more memory than an analysis may.
func beyond(field, detail string) error {
	return planner.Invalid(field, detail+" would take more memory than this server gives to an analysis")
}

// What an analysis holds at most for one of each, in bytes, by the measure of package
// planning: [TestBounds] holds them against what is alive while analyses run.
const (
	rowBytes       = 256  // key
	nodeBytes      = 1024 // node, follower or instance, in the answer too
	tokenBytes     = 96   // token of the largest ring that is looked at
	hashedBytes    = 48   // token of a hash function besides
	choiceBytes    = 18   // node that a part of the ring can belong to
	pairBytes      = 72   // pair of a worker and a key
	workerBytes    = 96   // worker in the answer of one run
	pointBytes     = 256
	cellBytes      = 24 // worker at a source
	candidateBytes = 32 // candidate of a key, and for the best that these allow
)

// amount is a number of bytes that is no less than what it stands for.
type amount float64

// bytes is the amount, or so much that no budget allows for it.
func (a amount) bytes() int64 { return int64(min(a, 1<<60)) }

// rows is what any analysis takes for its keys.
func rows(in *Input) amount { return rowBytes * amount(in.Len()) }

// BoundRing returns the bytes that RunRing takes besides its input.
func BoundRing(in *Input, r *RingRequest) (int64, error) {
	nodes := max(len(r.Nodes), ring.DefaultReducers)
	standard := cmp.Or(r.TokensPerInstance, ring.DefaultTokens)
	tokens := 0
	for i := range nodes {
		n := standard
		if i < len(r.Nodes) {
			n = cmp.Or(r.Nodes[i].Tokens, standard)
		}
		tokens = min(tokens+n, mostTokens) // more are refused
	}
	largest := amount(tokens)
	if r.Method == ring.Doubling {
		rounds := 1
		if r.Plan {
			rounds = nodes * cmp.Or(r.MaxRounds, ring.DefaultMaxRounds)
		}
		limit := cmp.Or(r.TokenLimit, ring.DefaultTokenLimit)
		largest = max(largest, min(amount(limit), amount(math.Ldexp(float64(tokens), min(rounds, 64)))))
	}
	all := rows(in) + nodeBytes*amount(nodes)
	if r.Plan && r.Method == ring.Fitted {
		most := cmp.Or(r.NodeTokenLimit, ring.DefaultFittedTokens)
		largest = max(largest, min(amount(nodes)*amount(most), ring.MaxTokens))
		all += choices(in.Len(), nodes, most)
	}
	return (all + tokenBytes*largest).bytes(), nil
}

// choices is for the nodes that each part of a ring can belong to, up to the first that
// it always can: records of the lowest token of each node among as many tokens as one
// node has.
func choices(keys, nodes, most int) amount {
	r, l := float64(nodes), float64(most)
	each := min(l, r*(1+math.Log1p(l/r)))
	return choiceBytes * amount(min(float64(keys), r*l)*each)
}

// BoundRanges returns the bytes that RunRanges takes besides its input.
func BoundRanges(in *Input, r *RangesRequest) (int64, error) {
	return (rows(in) + nodeBytes*amount(len(r.Followers)+len(r.Owners))).bytes(), nil
}

// BoundPKG returns the bytes that RunPKG takes besides its input. It refuses, by a
// [planner.InputError], requests that would take too much.
func BoundPKG(in *Input, r *PKGRequest) (int64, error) {
	workers, sources := cmp.Or(r.Workers, DefaultWorkers), most(r.Sources)
	switch {
	case sources > maxCells/workers:
		return 0, beyond("sources", "loads of so many workers at so many")
	case most(r.Choices) > maxCells/max(1, in.Len()):
		return 0, beyond("choices", "for so many keys")
	}
	runs := amount(min(MaxRuns, max(len(r.Schemes), len(grouping.Schemes()))*max(1, len(r.Choices))*
		max(1, len(r.Sources))*max(1, len(r.LoadInformation))))
	points := DefaultPoints
	if r.Points != nil {
		points = *r.Points
	}
	all := rows(in) + headed(in, r, workers) + grouped(in, r.Order, r.Messages, workers, sources, most(r.Choices),
		r.AggregationPeriod > 0) + runs*(workerBytes*amount(workers)+pointBytes*amount(points))
	if r.SourceSkew != nil && in != nil {
		all += 4 * amount(len(in.Messages))
	}
	return all.bytes(), nil
}

// headed is for the candidates of the heaviest keys, of which each may have all workers.
func headed(in *Input, r *PKGRequest, workers int) amount {
	if in == nil || r.Schemes != nil && !slices.Contains(r.Schemes, grouping.DChoices) {
		return 0
	}
	cost := in.Cost
	if in.Messages != nil { // each counts 1, whatever it costs
		cost = make([]float64, in.Len())
		for _, k := range in.Messages {
			cost[k]++
		}
	}
	whole, head := total(cost, 0), 0
	for _, c := range cost {
		if 10*float64(workers)*c > whole { // half the share, as draws differ
			head++
		}
	}
	return candidateBytes * amount(head) * amount(workers)
}

// grouped is for one run of partial key grouping: messages are drawn as they are needed,
// but the pairs of workers and keys that meet are kept, and those of shuffling for
// comparison.
func grouped(in *Input, order grouping.Order, messages int64, workers, sources, choices int, periods bool) amount {
	if in != nil && in.Messages != nil {
		messages = int64(len(in.Messages))
	} else if messages == 0 {
		messages = wholeLimit(in, order)
	}
	keys, words := amount(in.Len()), (workers+63)/64
	if periods {
		words = 2*words + 1
	}
	pairs := min(pairBytes/4*keys*amount(words), pairBytes*min(amount(messages), keys*amount(workers))+2<<20)
	return 2*pairs + cellBytes*amount(sources)*amount(workers) + candidateBytes*keys*amount(choices)
}

// wholeLimit is no less than the number of messages that are made of frequencies.
func wholeLimit(in *Input, order grouping.Order) int64 {
	limit, sum := int64(mostShuffled), 0.0
	if order == grouping.Shuffled {
		limit = MaxMessages
	}
	if in != nil {
		for _, c := range in.Cost {
			sum += c
		}
	}
	return max(DefaultMessages, int64(min(sum, float64(limit))))
}

// BoundSchemes is BoundPKG for the comparison of all schemes. It lowers the most choices to
// try where the request names none.
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
	n := cmp.Or(len(r.Instances), DefaultInstances)
	o := schemes.Options{Instances: make([]planner.Instance, n), TokensPerInstance: r.TokensPerInstance}
	tokens := min(n*cmp.Or(r.TokensPerInstance, partitioner.DefaultTokensPerInstance), partitioner.MaxRingTokens)
	fitted := max(ring.DefaultFittedTokens, tokens/n)
	all := rows(in) + nodeBytes*amount(n) + hashedBytes*amount(tokens) + choices(in.Len(), n, fitted) +
		tokenBytes*max(amount(min(o.MostTokens(), ring.MaxTokens)), min(amount(n*fitted), ring.MaxTokens)) +
		grouped(in, r.Order, r.Messages, n, max(1, r.Sources),
			cmp.Or(r.MaxChoices, min(n, schemes.MostChoices)), r.AggregationPeriod > 0)
	return all.bytes(), nil
}

// most is the greatest of the values; 1 without any.
func most(values []int) int {
	if len(values) == 0 {
		return 1
	}
	return slices.Max(values)
}

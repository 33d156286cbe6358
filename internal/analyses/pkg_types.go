package analyses

import "plannerd/planner/grouping"

// PKGRequest asks how schemes spread a stream over workers ("Partial Key Grouping").
// Every scheme is run with every number of choices and sources and with every kind of
// load information, as far as it uses them: at most 256 runs in all.
type PKGRequest struct {
	// Workers is W, from 1 to 65536. Defaults to 8.
	Workers int `json:"workers,omitzero"`
	// Schemes: hash, shuffle, potc, on_greedy, off_greedy, pkg, d_choices, w_choices.
	// Defaults to all of them.
	Schemes []grouping.Scheme `json:"schemes,omitzero"`
	// Choices are values of d, the number of candidates of a key under potc and pkg,
	// and of keys outside of the head under d_choices and w_choices. Defaults to 2.
	Choices []int `json:"choices,omitzero"`
	// Sources are values of S; message i comes from source i mod S. Defaults to 1.
	Sources []int `json:"sources,omitzero"`
	// LoadInformation are what sources know under pkg, d_choices and w_choices:
	// "global", "local", "local_probing". Defaults to global.
	LoadInformation []grouping.LoadInformation `json:"load_information,omitzero"`
	// ProbePeriod is T_p ≥ 1 of local_probing, in messages of all sources, which needs
	// it.
	ProbePeriod int64 `json:"probe_period,omitzero"`
	// Distinct moves candidates of a key that coincide apart.
	Distinct bool `json:"distinct,omitzero"`
	// HashSeed is the seed of the first candidate. Defaults to 0.
	HashSeed uint32 `json:"hash_seed,omitzero"`
	// CompareGlobal tells how far decisions by local information agree with those by
	// global one. It takes twice the time.
	CompareGlobal bool `json:"compare_global,omitzero"`
	// AggregationPeriod is the number of messages after which the workers send on what
	// they have and forget it. Defaults to 0, once at the end.
	AggregationPeriod int64 `json:"aggregation_period,omitzero"`
	// Head is how d_choices and w_choices know the heavy keys: "exact" (default) or
	// "sketch", of sketch_counters each. Defaults to 50 for each worker.
	Head           grouping.HeadDetection `json:"head,omitzero"`
	SketchCounters int                    `json:"sketch_counters,omitzero"`
	// Epsilon is ε > 0 of the constraints of d_choices. Defaults to 1e-4.
	Epsilon *float64 `json:"epsilon,omitzero"`

	// Order of messages made of frequencies: "shuffled" has exactly as many messages of
	// each key as the frequencies say, "independent" draws the key of each message.
	// Defaults to shuffled, and to independent where messages are asked for, or the
	// frequencies are not whole numbers or more than 2^24. A stream has an order.
	Order grouping.Order `json:"order,omitzero"`
	// Messages are how many are drawn, at most 2^28. Only under independent; defaults to
	// the sum of the frequencies, at most 1,000,000.
	Messages int64 `json:"messages,omitzero"`
	// Seed, from 0 to 2^53−1, decides the order.
	Seed uint64 `json:"seed,omitzero"`
	// Seeds is by how many seeds each run is judged, from 1 to 1000. Seed number r moves
	// the candidates by 65536·r and, of frequencies, the order's seed by r. Defaults to
	// 1. Figures but imbalances are of the first.
	Seeds int `json:"seeds,omitzero"`

	// Target asks for advice: the smallest d with which pkg keeps the imbalance
	// I(m)/m within it, above 0 and at most 1, for a share of so many trials by seeds of
	// their own. It is given for the first of sources and of load_information.
	Target *float64 `json:"target,omitzero"`
	Trials int      `json:"trials,omitzero"` // Defaults to 20
	Share  float64  `json:"share,omitzero"`  // above 0, at most 1. Defaults to 0.9
	// MaxChoices is the most choices to think of. Defaults to workers, and without
	// distinct to twice that.
	MaxChoices int `json:"max_choices,omitzero"`

	// Top bounds each list of keys. Defaults to 20.
	Top *int `json:"top,omitzero"`
	// Points bounds each series. Defaults to 200.
	Points *int `json:"points,omitzero"`
}

// PKGResult is the answer to a PKGRequest.
type PKGResult struct {
	KeyEncoding KeyEncoding    `json:"key_encoding,omitzero"`
	Messages    int64          `json:"messages"`       // m
	Keys        int64          `json:"keys"`           // that have messages
	P1          float64        `json:"p1"`             // share of the most frequent key
	Order       grouping.Order `json:"order,omitzero"` // absent of a stream
	Workers     int            `json:"workers"`
	Seeds       int            `json:"seeds"` // by which each run was judged
	Runs        []PKGRun       `json:"runs"`
	// HeavyKeys are the keys above 1/(5W) of the messages, the first top, most frequent
	// first; HeavyKeyCount is how many there are.
	HeavyKeyCount int           `json:"heavy_key_count"`
	HeavyKeys     []PKGHeavyKey `json:"heavy_keys"`
	Advice        *PKGAdvice    `json:"advice,omitzero"`
}

// PKGRun is one run. Fractions are of the messages. What a scheme does not use is
// absent.
type PKGRun struct {
	Scheme          grouping.Scheme          `json:"scheme"`
	Choices         int                      `json:"choices,omitzero"`
	Sources         int                      `json:"sources"`
	LoadInformation grouping.LoadInformation `json:"load_information,omitzero"`
	ProbePeriod     int64                    `json:"probe_period,omitzero"`

	MaxLoad          int64   `json:"max_load"`          // messages
	Theta            float64 `json:"theta"`             // max load over the mean one, −1
	Imbalance        float64 `json:"imbalance"`         // I(m)/m
	AverageImbalance float64 `json:"average_imbalance"` // mean of I(t) over all t, divided by m
	PeakImbalance    float64 `json:"peak_imbalance"`    // greatest I(t), divided by m
	// OverSeeds is I(m)/m over all seeds.
	OverSeeds Spread `json:"over_seeds"`

	Bounds      PKGBounds      `json:"bounds"`
	Memory      PKGMemory      `json:"memory"`
	Aggregation PKGAggregation `json:"aggregation"`
	Agreement   *PKGAgreement  `json:"agreement,omitzero"` // with compare_global, of local information
	Head        *PKGHead       `json:"head,omitzero"`      // of d_choices and w_choices
	// Loads are the messages of each worker, by number, and WorkerKeys the keys of which
	// it ever had one.
	Loads      []int64    `json:"loads"`
	WorkerKeys []int64    `json:"worker_keys"`
	Series     []PKGPoint `json:"series"`
}

// PKGBounds hold for any order of the stream: the imbalance is at least top_key and
// split, and at most sources.
type PKGBounds struct {
	TopKey        float64 `json:"top_key"` // p1/d − 1/W, d = top_key_choices
	TopKeyChoices int     `json:"top_key_choices"`
	// LeastMaxLoad is T*, the least possible greatest load, in messages, if keys are
	// split at will over their candidates; split is T*/m − 1/W.
	LeastMaxLoad int64   `json:"least_max_load"`
	Split        float64 `json:"split"`
	// Bottleneck is how many workers prove T*: bottleneck_messages belong to keys with
	// no candidates but them.
	Bottleneck         int     `json:"bottleneck"`
	BottleneckMessages int64   `json:"bottleneck_messages"`
	Sources            float64 `json:"sources"` // Σ of the sources' own imbalances
}

// PKGMemory is the state held in the end, in pairs of a worker and a key.
type PKGMemory struct {
	Pairs           int64 `json:"pairs"`
	KeyGrouping     int64 `json:"key_grouping"`     // what hash holds
	ShuffleGrouping int64 `json:"shuffle_grouping"` // what shuffle holds
	Remembered      int64 `json:"remembered"`       // entries or counters that routing needs
}

// PKGAggregation is the messages that the workers send on to be merged.
type PKGAggregation struct {
	Periods   int64   `json:"periods"`
	Messages  int64   `json:"messages"`
	PerPeriod float64 `json:"per_period"` // mean
	Most      int64   `json:"most"`       // in one period
}

// PKGAgreement compares decisions by local with those by global information.
type PKGAgreement struct {
	Same    int64   `json:"same"`    // messages to the same worker
	Jaccard float64 `json:"jaccard"` // of the sets of (message, worker) pairs
	Oracle  int64   `json:"oracle"`  // decisions that the true loads of this run would have led to
}

// PKGHead is what became of the heavy keys.
type PKGHead struct {
	Keys    int `json:"keys"`    // in the head
	Choices int `json:"choices"` // of its keys; as many as workers: any worker
}

// PKGPoint is the state after some messages. Imbalances are in messages.
type PKGPoint struct {
	Messages    int64   `json:"messages"`
	Imbalance   float64 `json:"imbalance"`
	Peak        float64 `json:"peak"` // since the last point
	SourceBound float64 `json:"source_bound"`
	Pairs       int64   `json:"pairs"` // (worker, key), by then
}

// PKGHeavyKey is a key above 1/(5W) of the messages.
type PKGHeavyKey struct {
	Key      string  `json:"key"`
	Messages int64   `json:"messages"`
	Share    float64 `json:"share"`
	// LeastWorkers is the least number of workers over which it has to be split so that
	// none gets more than 1/W of all messages from it.
	LeastWorkers int64 `json:"least_workers"`
}

// PKGAdvice is how many choices the stream needs.
type PKGAdvice struct {
	Target float64 `json:"target"`
	// Choices is the d to take; null when there is none up to max_choices.
	Choices      *int        `json:"choices"`
	LeastChoices int         `json:"least_choices"` // proven: it takes at least as many
	MaxWorkers   int64       `json:"max_workers"`   // d/p1: with more, no placement of the top key is balanced
	Tried        []PKGTrials `json:"tried"`
	// Keys that need more than two choices, the first top, most frequent first;
	// KeyCount is how many there are.
	KeyCount int               `json:"key_count"`
	Keys     []PKGDemandingKey `json:"keys"`
}

// PKGTrials are what came of a number of choices.
type PKGTrials struct {
	Choices   int    `json:"choices"`
	Trials    int    `json:"trials"`
	Met       int    `json:"met"` // that met the target
	Imbalance Spread `json:"imbalance"`
}

// PKGDemandingKey is a key that needs more than two choices.
type PKGDemandingKey struct {
	Key      string `json:"key"`
	Messages int64  `json:"messages"`
	Choices  int    `json:"choices"` // the least that can do
}

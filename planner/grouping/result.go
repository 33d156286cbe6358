package grouping

// Result is what came of a run. Fractions are of the messages of the stream.
type Result struct {
	// Options are those of the run, with the defaults filled in, and what the
	// scheme does not use set to its zero value, Stop and Progress too.
	Options Options
	// Messages is m, Keys the number of keys that have messages.
	Messages int64
	Keys     int
	// P1 is p1, the share of the most frequent key.
	P1 float64
	// Workers, by number.
	Workers []Worker
	// MaxLoad is max_i L_i(m).
	MaxLoad int64
	// Imbalance is I(m)/m.
	Imbalance float64
	// AverageImbalance is the mean of I(t) over every t = 1…m, divided by m: the
	// "fraction of average imbalance" of partial-key-grouping, Table 2.
	AverageImbalance float64
	// PeakImbalance is the greatest I(t) of all t, divided by m.
	PeakImbalance float64
	Bounds        Bounds
	Memory        Memory
	Aggregation   Aggregation
	// Agreement with global information, with Options.CompareGlobal.
	Agreement *Agreement
	// Head of the stream, under DChoices and WChoices.
	Head *Head
	// Series is the imbalance through time, evenly spaced, the last point at m.
	Series []Point
}

// Worker is what a worker had by the end.
type Worker struct {
	Load int64 // L_i(m)
	Keys int64 // of which it ever had a message
}

// Bounds hold for every run, whatever the order of the stream: Imbalance is at
// least TopKey and Split, and at most Sources.
type Bounds struct {
	// TopKey is p1/d − 1/W with d = TopKeyChoices, the number of workers that the
	// scheme may give to the most frequent key: 1 where keys are not split, W
	// where it may go anywhere.
	TopKey        float64
	TopKeyChoices int
	// LeastMaxLoad is T*, the least possible greatest load if the messages of
	// every key may be split at will over its candidates of this very run, and
	// Split is T*/m − 1/W. All workers are candidates under Shuffle and the greedy
	// schemes, which do not choose among few.
	LeastMaxLoad int64
	Split        float64
	// Bottleneck proves T*: BottleneckMessages belong to keys with no candidate
	// but these workers, one of which therefore has
	// T* = ⌈BottleneckMessages/len(Bottleneck)⌉ messages at least.
	Bottleneck         []int32
	BottleneckMessages int64
	// Sources is Σ_j Î^j(m)/m, the imbalances of what each source has sent,
	// added up (partial-key-grouping §3.2).
	Sources float64
}

// Memory is the state that the workers hold in the end when nothing is
// aggregated before: pairs of a worker and a key that it had a message of.
type Memory struct {
	Pairs int64
	// KeyGrouping is what Hash holds, the number of keys, and ShuffleGrouping
	// what Shuffle holds, on the same stream with the same sources and workers.
	KeyGrouping     int64
	ShuffleGrouping int64
	// Remembered is what each source, or a service that all of them ask, has to
	// remember to route: entries of a routing table of keys. Loads are not counted.
	Remembered int64
}

// Aggregation is the messages that the workers send on, one for every key that
// they had since the last time. Where keys are not split there is nothing to
// merge in them.
type Aggregation struct {
	Periods  int64 // the last one may be shorter
	Messages int64 // in all periods
	Most     int64 // in one
}

// PerPeriod is the mean number of messages in a period.
func (a Aggregation) PerPeriod() float64 {
	if a.Periods == 0 {
		return 0
	}
	return float64(a.Messages) / float64(a.Periods)
}

// Agreement compares the decisions of local with those of global information
// (partial-key-grouping §6.2 Q2).
type Agreement struct {
	// Same is the number of messages that go to the same worker as in a run with
	// global information from the start.
	Same int64
	// Jaccard is the overlap of the two sets of (message, worker) pairs,
	// Same/(2m − Same). A share a of equal decisions is a Jaccard overlap of
	// a/(2−a) only.
	Jaccard float64
}

// Head is what DChoices and WChoices made of the heavy keys.
type Head struct {
	// Keys were in the head, by their counts.
	Keys int
	// Choices is d of the keys in the head. W: they could go to any worker.
	Choices int
}

// Point is the state after some messages. Imbalances are in messages.
type Point struct {
	Messages  int64   // t
	Imbalance float64 // I(t)
	// Peak is the greatest imbalance since the last point.
	Peak float64
	// SourceBound is Σ_j Î^j(t), never below Imbalance.
	SourceBound float64
	// Pairs of a worker and a key by then.
	Pairs int64
}

package grouping

import (
	"cmp"
	"strconv"

	"plannerd/planner"
)

// The bounds of what can be simulated: within them no sum overflows.
const (
	MaxMessages = 1<<32 - 1
	MaxWorkers  = 1 << 16
	MaxSources  = 1 << 16
	MaxChoices  = 1 << 16
	// maxCells bounds Sources·Workers, the cells of all local estimates.
	maxCells = 1 << 26
)

// Defaults of [Options].
const (
	DefaultChoices = 2
	DefaultPoints  = 200
)

// headEpsilon is ε of the constraints of DChoices.
const headEpsilon = 1e-4

// Scheme is how a source chooses the worker of a message.
type Scheme string

// The schemes. All but Shuffle, PKG, DChoices and WChoices keep every key on a
// single worker.
const (
	// Hash is key grouping (KG): candidate 0.
	Hash Scheme = "hash"
	// Shuffle is shuffle grouping (SG): every source goes round the workers,
	// whatever the key. Source j begins with worker ⌊j·W/S⌋.
	Shuffle Scheme = "shuffle"
	// PoTC is the power of d choices without key splitting: the first message of
	// a key goes to the least loaded of its d candidates, and all later ones of
	// the key follow it, from every source.
	PoTC Scheme = "potc"
	// OnGreedy sends the first message of a key to the least loaded of all
	// workers, and all later ones of the key after it.
	OnGreedy Scheme = "on_greedy"
	// OffGreedy knows the stream in advance: keys in descending frequency are put
	// on the worker of least total frequency, and stay there.
	OffGreedy Scheme = "off_greedy"
	// PKG is partial key grouping, Greedy-d with key splitting: every message
	// goes to the candidate of its key, out of d, that is least loaded then.
	PKG Scheme = "pkg"
	// DChoices is PKG with more candidates for the keys of the head, as many as
	// its constraints ask for (see Stream.headKeys); W-Choices where that is not less
	// than W.
	DChoices Scheme = "d_choices"
	// WChoices is PKG but for the keys of the head, each message of which goes to
	// the least loaded of all workers.
	WChoices Scheme = "w_choices"
)

// Schemes lists all schemes.
func Schemes() []Scheme {
	return []Scheme{Hash, Shuffle, PoTC, OnGreedy, OffGreedy, PKG, DChoices, WChoices}
}

// LoadInformation is what a source knows of the loads (partial-key-grouping
// §3.2, §6.2 Q2).
type LoadInformation string

// The kinds of load information.
const (
	Global LoadInformation = "global" // G: the true loads
	// Local: L, the messages that the source itself has sent to each worker.
	Local LoadInformation = "local"
	// LocalProbing: LP, as Local, but after every ProbePeriod messages of all
	// sources together each estimate is set to the true loads.
	LocalProbing LoadInformation = "local_probing"
)

// Options are the parameters of a run.
type Options struct {
	// Scheme defaults to PKG.
	Scheme Scheme
	// Workers is W, from 1 to MaxWorkers.
	Workers int
	// Sources is S, from 1 to MaxSources. Message i = 0, 1, … comes from source
	// i mod S, or, in a stream with source keys, from the source that the first
	// half of murmur3_x64_128 with seed 0 of its source key, modulo S, says.
	// Defaults to 1.
	Sources int
	// Choices is d, from 1 to MaxChoices, the number of candidates of a key under
	// PoTC and PKG, and of a key outside of the head under DChoices and WChoices.
	// The others do not use it. Defaults to DefaultChoices, or to the only worker.
	Choices int
	// Distinct moves a candidate c that is one of the candidates before it to
	// (c+1) mod W, (c+2) mod W, … until it is none. Choices must not exceed
	// Workers then.
	Distinct bool
	// HashSeed is the seed of candidate 0. Defaults to 0.
	HashSeed uint32
	// LoadInformation is what the sources know under PKG, DChoices and WChoices.
	// The others do not use it: their decisions are global. Defaults to Global.
	LoadInformation LoadInformation
	// ProbePeriod is T_p ≥ 1 of LocalProbing, in messages of all sources.
	ProbePeriod int64
	// CompareGlobal runs the scheme with global information alongside, and tells
	// how far its decisions agree; it takes twice the time. Only with local
	// information.
	CompareGlobal bool
	// AggregationPeriod is the number of messages after which the workers send on
	// what they have of each key and forget it. Defaults to 0, once at the end.
	AggregationPeriod int64
	// Points bounds the number of points of the series, ≥ 0. Nil: DefaultPoints.
	Points *int
	// Stop is asked now and then; true ends the run with planner.ErrStopped. Nil: never.
	Stop func() bool
	// Progress is told now and then how many messages of how many are done. Nil:
	// nobody.
	Progress func(done, total int64)
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o Options) Validate() error {
	o = o.withDefaults()
	probes := o.LoadInformation == LocalProbing
	return cmp.Or(
		planner.RequireOneOf("Scheme", o.Scheme, Schemes()...),
		planner.RequireWithin("Workers", o.Workers, 1, MaxWorkers),
		planner.RequireWithin("Sources", o.Sources, 1, MaxSources),
		planner.Require(o.Sources*o.Workers <= maxCells, "Sources", "times workers must not exceed "+strconv.Itoa(maxCells)),
		planner.RequireWithin("Choices", o.Choices, 1, MaxChoices),
		planner.Require(!o.Distinct || o.Choices <= o.Workers, "Choices", "must not exceed workers when distinct"),
		planner.RequireOneOf("LoadInformation", o.LoadInformation, Global, Local, LocalProbing),
		planner.Require(!probes || o.ProbePeriod >= 1, "ProbePeriod", "must be ≥ 1 with local_probing"),
		planner.Require(probes || o.ProbePeriod == 0, "ProbePeriod", "belongs to local_probing"),
		planner.RequireAtLeast("AggregationPeriod", o.AggregationPeriod, 0),
		planner.RequireWithin("Points", *o.Points, 0, 1_000_000),
	)
}

func (o Options) withDefaults() Options {
	if o.Choices == 0 {
		o.Choices = DefaultChoices
		if o.Distinct && o.Workers == 1 {
			o.Choices = 1
		}
	}
	o.Scheme, o.Sources = cmp.Or(o.Scheme, PKG), cmp.Or(o.Sources, 1)
	o.LoadInformation = cmp.Or(o.LoadInformation, Global)
	o.Points = cmp.Or(o.Points, new(DefaultPoints))
	return o
}

// splits reports whether the scheme estimates loads for every message.
func (o Options) splits() bool {
	return o.Scheme == PKG || o.Scheme == DChoices || o.Scheme == WChoices
}

func (o Options) local() bool { return o.splits() && o.LoadInformation != Global }

func (o Options) stopped() bool { return o.Stop != nil && o.Stop() }

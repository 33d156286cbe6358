package grouping

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"plannerd/planner"
)

// Defaults of [AdviceOptions].
const (
	DefaultTrials = 20
	DefaultShare  = 0.9
	// trialSeeds are the hash seeds that a trial has to itself.
	trialSeeds = 1 << 16
)

// AdviceOptions say what is asked of [Advise].
type AdviceOptions struct {
	// Options of the runs. The scheme is PKG, and Choices is not used.
	Options Options
	// Target is the greatest imbalance I(m)/m, as a fraction of all messages, that
	// is good enough. Above 0, at most 1.
	Target float64
	// Trials is how many seeds each number of choices is judged by, ≥ 1: with few
	// workers and much skew a single one says little, as much depends on whether
	// the candidates of the top key coincide. Trial r has the candidates of
	// Options.HashSeed + 2¹⁶·r, and of a stream that is generated the order of
	// seed + r; trial 0 is that of Options themselves. Defaults to DefaultTrials.
	Trials int
	// Share is the share of the trials that must meet the target, above 0 and at
	// most 1. Defaults to DefaultShare.
	Share float64
	// MaxChoices is the most choices to think of, ≥ 1. Defaults to Workers, the
	// most with which another candidate can help, without Options.Distinct twice
	// that.
	MaxChoices int
}

// Validate reports the first field that is out of range as a
// [planner.InputError].
func (o AdviceOptions) Validate() error {
	o = o.withDefaults()
	return cmp.Or(
		o.Options.Validate(),
		requireFraction("Target", o.Target),
		planner.RequireWithin("Trials", o.Trials, 1, math.MaxUint32/trialSeeds),
		requireFraction("Share", o.Share),
		planner.RequireWithin("MaxChoices", o.MaxChoices, 1, MaxChoices),
		planner.Require(!o.Options.Distinct || o.MaxChoices <= o.Options.Workers, "MaxChoices",
			"must not exceed workers when distinct"),
	)
}

func (o AdviceOptions) withDefaults() AdviceOptions {
	o.Options.Scheme, o.Options.Choices = PKG, 0
	o.Options.CompareGlobal, o.Options.Points = false, new(0)
	o.Trials, o.Share = cmp.Or(o.Trials, DefaultTrials), cmp.Or(o.Share, DefaultShare)
	if o.MaxChoices == 0 {
		o.MaxChoices = o.Options.Workers
		if !o.Options.Distinct {
			o.MaxChoices = min(2*o.Options.Workers, MaxChoices)
		}
	}
	return o
}

// Advice is how many choices a stream needs.
type Advice struct {
	// Choices is the d to take: as many trials as asked for meet the target with
	// it, and not with d − 1. 0 when they do not with MaxChoices either, or none
	// can: Greedy-d is then not the way.
	Choices int
	// LeastChoices is how many workers it takes at least to hold the top key's
	// messages when none of them exceeds the target: with fewer choices p1/d − 1/W
	// is above it, whatever the candidates.
	LeastChoices int
	// Tried are the numbers of choices that were tried, in ascending order. Between
	// the greatest that fails and the smallest that succeeds the search halves, so
	// it takes for granted that more choices are no worse.
	Tried []Trials
	// Keys are those that need more than two choices, most frequent first.
	Keys []DemandingKey
	// MaxWorkers is the greatest W ≤ d/p1, beyond which no placement of the top
	// key's messages over d workers is balanced: for d = Choices, or
	// LeastChoices where there is none.
	MaxWorkers int64
}

// Trials are what came of a number of choices. Imbalances are I(m)/m.
type Trials struct {
	Choices int
	// Trials were made, Met of them met the target. Fewer than asked for were made
	// when too many had failed.
	Trials, Met int
	// Median is the lower one of an even number.
	Least, Median, Greatest float64
}

// DemandingKey is a key that keeps the imbalance above the target unless it has
// so many workers.
type DemandingKey struct {
	Key      int32 // its number
	Messages int64
	// Choices is the least number of workers that can take its messages, if none
	// of them may have more than the target allows.
	Choices int
}

// Advise looks for the smallest number of choices with which partial key grouping
// keeps the imbalance of the stream within a target. Progress counts messages
// against the most that the search can take; the last call says that all is done.
// Errors are those of [AdviceOptions.Validate], and planner.ErrStopped.
func Advise(s *Stream, o AdviceOptions) (*Advice, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	room := o.room(s.messages)
	a := &Advice{LeastChoices: int(ceil(s.counts[s.top], room)), Keys: s.demanding(room)}
	search := adviceSearch{s: s, o: o, advice: a}
	// Doubling and halving each try a number for every bit of the range, at most.
	tries := 2*int64(bits.Len(uint(o.MaxChoices))) + 2
	search.total = tries * int64(o.Trials) * s.messages
	if err := search.run(); err != nil {
		return nil, err
	}
	if o.Options.Progress != nil {
		o.Options.Progress(search.total, search.total)
	}
	slices.SortFunc(a.Tried, func(x, y Trials) int { return x.Choices - y.Choices })
	d := a.Choices
	if d == 0 {
		d = a.LeastChoices
	}
	hi, lo := bits.Mul64(uint64(d), uint64(s.messages))
	limit, _ := bits.Div64(hi, lo, uint64(s.counts[s.top]))
	a.MaxWorkers = int64(limit)
	return a, nil
}

// room is the greatest load that meets the target, at least 1: the greatest L
// with L/m − 1/W ≤ Target.
func (o *AdviceOptions) room(messages int64) int64 {
	w := int64(o.Options.Workers)
	meets := func(load int64) bool { return fraction(load, 1, w, messages) <= o.Target }
	least, most := int64(0), messages
	for least < most {
		middle := least + (most-least+1)/2
		if meets(middle) {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return max(least, 1)
}

// demanding lists the keys that two workers have no room for.
func (s *Stream) demanding(room int64) (keys []DemandingKey) {
	for _, k := range s.above(2 * room) {
		n := s.counts[k]
		keys = append(keys, DemandingKey{Key: k, Messages: n, Choices: int(ceil(n, room))})
	}
	return keys
}

// adviceSearch tries numbers of choices.
type adviceSearch struct {
	s      *Stream
	o      AdviceOptions
	advice *Advice

	telling     sync.Mutex // who asks Stop or tells Progress
	done, total int64      // messages
}

// run goes up from the least number of choices in steps that double, then halves
// the gap between the last failure and the success.
func (a *adviceSearch) run() error {
	fails, d := a.advice.LeastChoices-1, a.advice.LeastChoices
	for step := 1; d <= a.o.MaxChoices; step *= 2 {
		met, err := a.try(d)
		if err != nil {
			return err
		}
		if met {
			a.advice.Choices = d
			break
		}
		if fails = d; d == a.o.MaxChoices {
			return nil
		}
		d = min(d+step, a.o.MaxChoices)
	}
	for d := a.advice.Choices; d-fails > 1; {
		middle := fails + (d-fails)/2
		met, err := a.try(middle)
		if err != nil {
			return err
		}
		if met {
			d, a.advice.Choices = middle, middle
		} else {
			fails = middle
		}
	}
	return nil
}

// try runs the trials of d choices, as long as enough can still meet the target,
// and reports whether enough did.
func (a *adviceSearch) try(d int) (bool, error) {
	needed := int(math.Ceil(a.o.Share*float64(a.o.Trials) - 1e-9))
	mayFail := a.o.Trials - needed
	var imbalances []float64
	met := 0
	for len(imbalances) < a.o.Trials && len(imbalances)-met <= mayFail {
		// So many more decide it when they all fail.
		n := min(mayFail-(len(imbalances)-met)+1, a.o.Trials-len(imbalances))
		more, err := a.trials(d, len(imbalances), n)
		if err != nil {
			return false, err
		}
		for _, x := range more {
			if x <= a.o.Target {
				met++
			}
		}
		imbalances = append(imbalances, more...)
	}
	slices.Sort(imbalances)
	a.advice.Tried = append(a.advice.Tried, Trials{
		Choices: d, Trials: len(imbalances), Met: met,
		Least: imbalances[0], Median: imbalances[(len(imbalances)-1)/2], Greatest: imbalances[len(imbalances)-1],
	})
	return met >= needed, nil
}

// trials runs n trials from the given one on, at the same time.
func (a *adviceSearch) trials(d, from, n int) ([]float64, error) {
	imbalances, errs := make([]float64, n), make([]error, n)
	var next atomic.Int64
	var others sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			imbalances[i], errs[i] = a.trial(d, from+i)
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return imbalances, nil
}

// trial returns the imbalance of one run.
func (a *adviceSearch) trial(d, number int) (float64, error) {
	o := a.o.Options
	o.Choices, o.HashSeed = d, o.HashSeed+uint32(number)*trialSeeds
	o.Stop = a.stopped
	before := int64(0)
	o.Progress = func(done, _ int64) {
		a.progress(done - before)
		before = done
	}
	r, err := prepare(a.s.uncounted(a.s.seed+uint64(number)), o)
	if err != nil {
		return 0, err
	}
	if err := r.simulate(); err != nil {
		return 0, err
	}
	return r.account.fraction(int64(r.account.max)), nil
}

func (a *adviceSearch) stopped() bool {
	a.telling.Lock()
	defer a.telling.Unlock()
	return a.o.Options.stopped()
}

func (a *adviceSearch) progress(more int64) {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.done += more
	if a.o.Options.Progress != nil {
		a.o.Options.Progress(a.done, a.total)
	}
}

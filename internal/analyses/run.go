package analyses

import (
	"context"
	"encoding/base64"
	"errors"
	"math"
	"strconv"

	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/planner/grouping"
)

// job is what all analyses have at hand.
type job struct {
	ctx      context.Context
	progress Progress
	input    *Input // nil: none
	keys     encoder
	top      int
}

// newJob checks the input, unless there need not be one, and the bounds of lists.
func newJob(ctx context.Context, in *Input, top *int, progress Progress) (job, error) {
	j := job{ctx: ctx, progress: progress, top: DefaultTop}
	if top != nil {
		j.top = *top
	}
	if j.top < 0 || j.top > MaxTop {
		return j, planner.Invalid("top", "must be from 0 to "+strconv.Itoa(MaxTop))
	}
	if in == nil {
		return j, nil
	}
	var err error
	j.input, err = in.check()
	j.keys = encoderOf(in)
	return j, err
}

// do does the steps of an analysis in their order.
func (j job) do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return j.failure(err, nil)
		}
		if j.stop() {
			return j.ctx.Err()
		}
	}
	return nil
}

// stop asks the context.
func (j job) stop() bool { return j.ctx.Err() != nil }

// tell reports progress in a phase.
func (j job) tell(phase string) func(done, total int64) {
	return func(done, total int64) {
		if j.progress != nil {
			j.progress(phase, done, total)
		}
	}
}

// failure is the error of an analysis: that of the context if this ended it, else with
// the field as the request has it.
func (j job) failure(err error, renamed map[string]string) error {
	input := parameters.InputError(err)
	switch {
	case errors.Is(err, planner.ErrStopped):
		if ended := j.ctx.Err(); ended != nil {
			return ended
		}
	case input != nil:
		if name, ok := renamed[input.Field]; ok {
			input.Field = name
		}
		return input
	}
	return err
}

func (e encoder) encode(key []byte) string {
	if e.base64 {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}

// encoding is what a result says of its keys.
func (e encoder) encoding() KeyEncoding {
	if e.base64 {
		return EncodingBase64
	}
	return ""
}

// checkSeed bounds a seed by what every JSON reader can hold.
func checkSeed(seed uint64) error {
	if seed > MaxSeed {
		return planner.Invalid("seed", "must be from 0 to 2^53−1")
	}
	return nil
}

// wholeSum is the sum of frequencies, if they are whole numbers that a stream of at
// most limit messages can have; otherwise 0.
func wholeSum(cost []float64, limit int64) int64 {
	sum := 0.0
	for _, c := range cost {
		if sum += c; c != math.Trunc(c) || sum > float64(limit) {
			return 0
		}
	}
	return int64(sum)
}

// mostShuffled is up to how many messages frequencies are shuffled unless an order is
// asked for.
const mostShuffled = 1 << 24

// grouped makes the input a stream for partial key grouping. Of frequencies it is
// generated; the order tells how. byCost takes a stream whose messages have a cost for
// frequencies as well.
func (j job) grouped(order grouping.Order, messages int64, seed uint64, byCost bool) (*grouping.Stream,
	grouping.Order, error) {
	in := j.input
	if in.Messages != nil && !(byCost && in.MessageCost != nil) {
		if order != "" || messages != 0 {
			return nil, "", planner.Invalid("order", "and messages belong to frequencies: a stream has both")
		}
		s, err := grouping.NewStream(in.Keys, in.Messages)
		return s, "", err
	}
	f := grouping.Frequencies{Keys: in.Keys, Order: order, Messages: messages, Seed: seed, Stop: j.stop}
	whole := wholeSum(in.Cost, MaxMessages)
	switch {
	case messages < 0 || messages > MaxMessages:
		return nil, "", planner.Invalid("messages", "must be from 0 to "+strconv.Itoa(MaxMessages))
	case order == grouping.Shuffled && whole == 0:
		return nil, "", planner.Invalid("order", "shuffled needs whole numbers for frequencies, which add up to 1 to "+
			strconv.Itoa(MaxMessages)+": ask for independent")
	case order == grouping.Shuffled && messages != 0:
		return nil, "", planner.Invalid("messages", "belong to order independent")
	case order == "" && whole > 0 && whole <= mostShuffled && messages == 0:
		f.Order = grouping.Shuffled
	case order == "":
		f.Order = grouping.Independent
	}
	if f.Order == grouping.Independent && f.Messages == 0 {
		f.Messages = DefaultMessages
		if whole > 0 {
			f.Messages = min(whole, DefaultMessages)
		}
	}
	var err error
	if f.Count, err = grouping.Weights(in.Cost); err != nil {
		return nil, "", err
	}
	s, err := grouping.Generate(f)
	return s, f.Order, j.failure(err, map[string]string{"count": "cost"})
}

package collecting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"plannerd/internal/cli"
)

// Collect are the commands, one for each source.
type Collect struct {
	Kafka      Kafka      `cmd:"" help:"Collect from a topic of Kafka, or from the partitions of a consumer group."`
	Redis      Redis      `cmd:"" help:"Collect from the slots of Redis or Valkey."`
	Prometheus Prometheus `cmd:"" help:"Collect from what a query of Prometheus returns."`
}

// Flags say what intervals are collected, and where they go.
type Flags struct {
	Every time.Duration `placeholder:"DURATION" least:"0" help:"How long an interval is, such as 1m. One after the other is collected, until the command is interrupted or the time that another flag names is over (default: one interval)."`
	Target
}

// source is what statistics are collected from.
type source interface {
	// wait returns at a time, or with the error of ctx before.
	wait(ctx context.Context, until time.Time) error
	// look tells what is known at the end of an interval. The first look, at the beginning of the
	// first interval, starts whatever needs a start.
	look(ctx context.Context, end time.Time) (*look, error)
}

// look is what a source knows at a time.
type look struct {
	at       time.Time
	keys     map[string]sample
	counters bool // costs count since some time: that of an interval is their difference
	instant  bool // it needs no interval, but tells how things are
	partial  bool // there are keys that it does not name
	// stateless: no key has a state. located: keys have instances.
	stateless, located bool
	problems           []string // what the statistics lack
	assumed            string   // what was assumed, in a sentence
}

// sample is what is known of a key.
type sample struct {
	cost, state float64
	// before is a counter's value where the look before has none, or a greater one.
	before   float64
	instance string  // its name; empty: unknown
	most     float64 // what it costs there, where others are added
}

// since returns the look with the costs of the time since another one.
func (l *look) since(before *look) *look {
	if !l.counters {
		return l
	}
	out, restarted := *l, 0
	out.keys = make(map[string]sample, len(l.keys))
	for key, s := range l.keys {
		was, found := before.keys[key]
		if !found || was.cost > s.cost {
			if was.cost = s.before; found || s.before > 0 {
				restarted++
			}
		}
		s.cost -= was.cost
		out.keys[key] = s
	}
	if restarted > 0 {
		out.problems = append(slices.Clone(l.problems), cli.Plural(restarted, "key")+
			" began to be counted within the interval, so the cost may be too low")
	}
	return &out
}

// schedule is when a run collects.
type schedule struct {
	every time.Duration
	most  int // intervals; 0: until it is interrupted
}

// scheduleOf cuts a time into intervals. Without a time there is no end to them, and without a length
// of intervals the time is one.
func (f *Flags) scheduleOf(whole, otherwise time.Duration) (schedule, error) {
	switch {
	case whole > 0 && f.Every > whole:
		return schedule{}, cli.Usagef("--every: an interval of %v does not fit into %v", f.Every, whole)
	case f.Every == 0 && whole == 0:
		return schedule{otherwise, 1}, nil
	case f.Every == 0:
		return schedule{whole, 1}, nil
	}
	return schedule{f.Every, int(whole / f.Every)}, nil
}

// run is a command that collects.
type run struct {
	schedule
	out    sink
	stderr io.Writer
	name   string // of the source
	told   map[string]bool
	taken  int           // intervals that the sink has
	retry  time.Duration // the first time to wait after an error
	now    func() time.Time
}

// longestRetry is the longest time to wait after an error.
const longestRetry = time.Minute

// begin returns a run of the flags. It has to be closed.
func (f *Flags) begin(env *cli.Environment, name string, s schedule) (*run, error) {
	out, err := f.open(env, f.Every > 0)
	return &run{schedule: s, out: out, stderr: env.Stderr, name: name, told: map[string]bool{}, retry: time.Second,
		now: time.Now}, err
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.stderr, "plannerd: "+r.name+": "+format+"\n", args...)
}

// tell says what is wrong with statistics, or was assumed, the first time.
func (r *run) tell(l *look) {
	for _, text := range append([]string{l.assumed}, l.problems...) {
		if text != "" && !r.told[text] {
			r.told[text] = true
			r.say("%s", text)
		}
	}
}

// live collects one interval after the other while they pass. An error before the first one ends it;
// later ones do so only where a single interval was asked for.
func (r *run) live(ctx context.Context, from source) error {
	before, err := from.look(ctx, r.now())
	if err != nil {
		return err
	}
	r.tell(before)
	if before.instant && r.most == 1 {
		return r.take(ctx, before.at, before)
	}
	start, next := before.at, 1
	for seen := 0; r.most == 0 || seen < r.most; seen++ {
		end := start.Add(time.Duration(next) * r.every)
		l, err := r.lookAt(ctx, from, end)
		if stopped := ctx.Err(); stopped != nil {
			r.say("interrupted after %s; what was collected since is left out", cli.Plural(r.taken, "interval"))
			if r.most > 0 {
				return stopped
			}
			return nil
		}
		if err != nil {
			return err
		}
		if l.at.Sub(end) > r.tolerance() && r.most != 1 {
			r.say("the interval until %s is left out: the source answered %v late", end.Format(time.TimeOnly),
				l.at.Sub(end).Round(time.Second))
			start, next, before = l.at, 1, l
			continue
		}
		if err := r.take(ctx, start.Add(time.Duration(next-1)*r.every), l.since(before)); err != nil {
			return err
		}
		before, next = l, next+1
	}
	return nil
}

// tolerance is how late a look may be for the interval to be whole.
func (r *run) tolerance() time.Duration { return min(max(r.every/10, time.Second), r.every/2) }

// lookAt waits for a time, and looks again until the source answers.
func (r *run) lookAt(ctx context.Context, from source, end time.Time) (*look, error) {
	if err := from.wait(ctx, end); err != nil {
		return nil, err
	}
	for pause := r.retry; ; pause = min(2*pause, longestRetry) {
		l, err := from.look(ctx, end)
		if err == nil || r.most == 1 || ctx.Err() != nil || errors.As(err, new(*lostError)) {
			return l, err
		}
		fmt.Fprintf(r.stderr, "plannerd: %s; trying again in %v\n", cli.OneLine(err.Error()), pause)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// lostError is one after which nothing whole can be collected any more.
type lostError struct{ error }

// take gives an interval to the sink.
func (r *run) take(ctx context.Context, start time.Time, l *look) error {
	r.tell(l)
	number := start.UnixNano() / int64(r.every)
	if len(l.keys) == 0 {
		if r.most == 1 {
			return fmt.Errorf("%s: there is no key in the interval", r.name)
		}
		r.say("interval %d has no keys, and is left out", number)
		return nil
	}
	// What is complete is sent to its end, also when the command is interrupted meanwhile.
	err := r.out.take(context.WithoutCancel(ctx), &interval{number, slices.Sorted(maps.Keys(l.keys)), l})
	if err != nil && r.taken > 0 && !errors.As(err, new(*lostError)) {
		r.say("interval %d is left out: %s", number, cli.OneLine(err.Error()))
		return nil
	}
	if err == nil {
		r.taken++
	}
	return err
}

// sleep waits, or returns the error of ctx before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// idle is a source that does nothing until a time.
type idle struct{}

func (idle) wait(ctx context.Context, until time.Time) error { return sleep(ctx, time.Until(until)) }

// past takes intervals that have passed, the first one from a time on.
func (r *run) past(ctx context.Context, start time.Time, looks []*look) error {
	for i, l := range looks {
		if err := errors.Join(ctx.Err(), r.take(ctx, start.Add(time.Duration(i)*r.every), l)); err != nil {
			return err
		}
	}
	if r.taken == 0 {
		return fmt.Errorf("%s: there is no key in any interval", r.name)
	}
	return nil
}

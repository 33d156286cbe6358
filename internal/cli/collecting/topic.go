package collecting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/internal/cli"
	"plannerd/internal/cli/counting"
	"plannerd/planner"
)

// topic counts the records of a topic by their keys and times.
type topic struct {
	*Kafka
	client *kgo.Client
	admin  *kadm.Client
	every  time.Duration

	start    time.Time // of the first interval; zero: nothing is read yet
	open     map[int64]*counting.Counts
	closed   int64           // intervals that are told
	position map[int32]int64 // what is read next of each partition
	read     time.Time       // when a record came last
	without  int64           // records that have no key that could be routed
	late     int64           // records of intervals that were told
}

// begin starts reading where list says.
func (t *topic) begin(
	ctx context.Context, start time.Time, list func(context.Context, ...string) (kadm.ListedOffsets, error),
) error {
	offsets, err := listed(ctx, list, t.Topic)
	if err != nil {
		return t.explain(err)
	}
	t.open, t.position = map[int64]*counting.Counts{}, map[int32]int64{}
	t.readFrom(offsets)
	t.start = start
	return nil
}

// readFrom reads partitions that are not read yet.
func (t *topic) readFrom(offsets kadm.ListedOffsets) {
	fresh := map[int32]kgo.Offset{}
	offsets.Each(func(o kadm.ListedOffset) {
		if _, known := t.position[o.Partition]; !known {
			t.position[o.Partition] = o.Offset
			fresh[o.Partition] = kgo.NewOffset().At(o.Offset)
		}
	})
	if len(fresh) > 0 {
		t.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{t.Topic: fresh})
	}
}

// grace is how long after the end of an interval its records may still come, of producers that send
// records in batches.
func (t *topic) grace() time.Duration { return min(t.every/10, 2*time.Second) }

func (t *topic) wait(ctx context.Context, until time.Time) error {
	soon, cancel := context.WithDeadline(ctx, until.Add(t.grace()))
	defer cancel()
	for soon.Err() == nil {
		if err := t.poll(soon); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// poll counts what has come.
func (t *topic) poll(ctx context.Context) error {
	fetches := t.client.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		if ctx.Err() == nil && errors.As(failed.Err, new(*kerr.Error)) && !kerr.IsRetriable(failed.Err) {
			return &lostError{fmt.Errorf("partition %d cannot be read on: %w", failed.Partition, t.explain(failed.Err))}
		}
	}
	fetches.EachRecord(func(r *kgo.Record) {
		t.read = time.Now()
		t.position[r.Partition] = r.Offset + 1
		if !r.Attrs.IsControl() {
			t.count(r)
		}
	})
	return nil
}

func (t *topic) count(r *kgo.Record) {
	passed := r.Timestamp.Sub(t.start)
	i := int64(passed / t.every)
	switch {
	case passed < 0: // it was sent before
	case i < t.closed:
		t.late++
	case len(r.Key) == 0 || len(r.Key) > planner.MaxKeyBytes:
		t.without++
	default:
		counts := t.open[i]
		if counts == nil {
			// As much memory is for what is not collected yet, and as much for what shrinking copies.
			share := int(t.Memory) / 3 / (len(t.open) + 1)
			for _, other := range t.open {
				other.Limit(share)
			}
			counts = counting.NewCounts(share)
			t.open[i] = counts
		}
		size := float64(len(r.Key) + len(r.Value))
		cost := 1.0
		if t.Cost == "bytes" {
			cost = size
		}
		counts.Add(r.Key, cost, size)
	}
}

func (t *topic) look(ctx context.Context, end time.Time) (*look, error) {
	if t.start.IsZero() {
		err := t.begin(ctx, end, t.admin.ListCommittedOffsets)
		return &look{at: end, assumed: t.assumed("that are written from now on")}, err
	}
	if err := t.readAll(ctx); err != nil {
		return nil, err
	}
	return t.tell(end, int64(end.Sub(t.start)/t.every)-1), nil
}

func (t *topic) assumed(which string) string {
	return fmt.Sprintf("all records of topic %s %s are counted, by their own times: a key costs its %s, and its "+
		"state is the bytes of its records in the interval", t.Topic, which, t.Cost)
}

// past counts n intervals that have passed.
func (t *topic) past(ctx context.Context, start time.Time, n int) ([]*look, error) {
	err := t.begin(ctx, start, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return t.admin.ListOffsetsAfterMilli(ctx, start.UnixMilli(), topics...)
	})
	if err != nil {
		return nil, err
	}
	if err := t.readAll(ctx); err != nil {
		return nil, err
	}
	looks := make([]*look, n)
	for i := range looks {
		looks[i] = t.tell(start.Add(time.Duration(i+1)*t.every), int64(i))
	}
	looks[0].assumed = t.assumed(fmt.Sprintf("of the last %v", t.From.Abs()))
	return looks, nil
}

// quiet is for how long no record comes where there is none any more: of a topic that is compacted,
// the last ones before its end may be gone. The broker was asked just before.
const quiet = 10 * time.Second

// readAll reads all that is committed now.
func (t *topic) readAll(ctx context.Context) error {
	ends, err := listed(ctx, t.admin.ListCommittedOffsets, t.Topic)
	if err != nil {
		return t.explain(err)
	}
	added := kadm.ListedOffsets{}
	for p, o := range ends[t.Topic] {
		if _, known := t.position[p]; !known { // the partition was added meanwhile
			o.Offset = 0
			added[t.Topic] = map[int32]kadm.ListedOffset{p: o}
			t.readFrom(added)
		}
	}
	t.read = time.Now()
	for t.behind(ends) && time.Since(t.read) < quiet {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		err := t.poll(soon)
		cancel()
		if stopped := ctx.Err(); stopped != nil || err != nil {
			return errors.Join(stopped, err)
		}
	}
	return nil
}

// behind tells whether there are records before these offsets that were not read.
func (t *topic) behind(ends kadm.ListedOffsets) bool {
	for p, o := range ends[t.Topic] {
		if t.position[p] < o.Offset {
			return true
		}
	}
	return false
}

// tell closes an interval.
func (t *topic) tell(end time.Time, i int64) *look {
	l := &look{at: end, keys: map[string]sample{}}
	if counts := t.open[i]; counts != nil {
		written := 0.0
		for _, row := range counts.Rows(0) {
			l.keys[row.Key] = sample{cost: row.Cost, state: row.State}
			written += row.Cost
		}
		if counts.Missed > 0 {
			l.partial = true
			l.problems = append(l.problems, fmt.Sprintf("there are more keys than fit into --memory: the rows have %s of "+
				"the cost; of each key at most %s is missing", cli.Percent(written/counts.Total), cli.Exact(counts.Missed)))
		}
	}
	delete(t.open, i)
	t.closed = max(t.closed, i+1)
	for _, left := range []struct {
		n    *int64
		text string
	}{
		{&t.without, "left out: they have no key, or one of more than 1024 bytes"},
		{&t.late, "left out: they came after the end of the interval that they are of"},
	} {
		if *left.n > 0 {
			l.problems = append(l.problems, cli.Plural(*left.n, "record")+" "+left.text)
			*left.n = 0
		}
	}
	return l
}

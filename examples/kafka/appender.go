package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"plannerd/examples/job"
)

// appender is the transactional producer of a router. Its transactional id is the router's name:
// the broker gives each producer of that name a higher epoch, aborts what those before
// have not committed, and refuses them from then on, in all partitions.
type appender struct {
	*kgo.Client
	router string
}

// patience is how long a transaction may take. One that is left open, by a process that
// died, hides what comes behind it in its partitions until the next producer of its name
// comes, which may be the driver's, or this time is up.
const patience = time.Minute

// Open implements [job.Bus].
func (b *bus) Open(ctx context.Context, router string) (job.Appender, error) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5) // the last that knows topics by name
	client, err := b.client(kgo.TransactionalID(router), kgo.TransactionTimeout(patience), kgo.MaxVersions(versions))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("opening the channels of %s: %w", router, err)
	}
	return &appender{client, router}, nil
}

// Append implements [job.Appender]: the frames, and how far the source has been appended, in
// one transaction.
func (a *appender) Append(ctx context.Context, frames []*job.Outgoing, sent func()) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := a.append(within, frames, sent); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isFenced(err) {
			log.Printf("%s: a transaction failed: %v", a.router, err)
		}
		a.Client.Close() // what is open is aborted by whoever comes next
		return job.ErrFenced
	}
	for _, f := range frames {
		f.Done = true
	}
	return nil
}

func (a *appender) append(ctx context.Context, frames []*job.Outgoing, sent func()) error {
	if len(frames) == 0 {
		return nil
	}
	if err := a.BeginTransaction(); err != nil {
		return err
	}
	records, floor := make([]*kgo.Record, 0, len(frames)), uint64(0)
	for _, f := range frames {
		floor = max(floor, f.Floor)
		records = append(records, &kgo.Record{Topic: channels, Partition: f.To, Key: []byte(a.router), Value: f.Encode()})
	}
	if err := a.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	sent()
	if err := a.commitFloor(ctx, floor); err != nil {
		return err
	}
	return a.EndTransaction(ctx, kgo.TryCommit)
}

// commitFloor commits the offset of the source in the transaction. There is no consumer group
// behind it: a router has its source alone.
func (a *appender) commitFloor(ctx context.Context, floor uint64) error {
	id, epoch, err := a.ProducerID(ctx)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group, request.ProducerID, request.ProducerEpoch = a.router, a.router, id, epoch
	request.Generation = -1
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = int64(floor)
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = source(a.router)
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	return insist(ctx, func() error {
		answer, err := request.RequestWith(ctx, a.Client)
		if err != nil {
			return err
		}
		return refusal(answer)
	})
}

// refusal is why offsets were not committed; nil: they were.
func refusal(answer *kmsg.TxnOffsetCommitResponse) error {
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFenced reports whether another producer of the same name has a higher epoch.
func isFenced(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced)
}

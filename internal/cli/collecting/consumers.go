package collecting

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumers are those of a group, whose partitions are the keys.
type consumers struct {
	*Kafka
	idle
	admin *kadm.Client
}

// member is one of a group.
type member struct {
	static           *string // group.instance.id
	client, host, id string
	topics           kadm.TopicsSet
	tasks            map[partition]string // ids, in Kafka Streams
}

func (g *consumers) look(ctx context.Context, _ time.Time) (*look, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*brokerTime)
	defer cancel()
	described, err := describe(ctx, g.admin, g.Group)
	if err != nil {
		return nil, g.explain(err)
	}
	committed, err := g.admin.FetchOffsets(ctx, g.Group)
	if err = errors.Join(err, committed.Error()); err != nil {
		return nil, g.explain(err)
	}
	l := &look{at: time.Now(), counters: true, located: true, keys: map[string]sample{}}
	l.assumed = fmt.Sprintf("the partitions of group %s are the keys: they cost the records that were consumed by the "+
		"offsets that are committed, their state is the lag, and their instances are the members", g.Group)
	owners, passing := ownersOf(described.members)
	if passing {
		l.problems = append(l.problems, "several members have the same client id and host: they are called by their "+
			"member ids, which change with each start; group.instance.id gives them names that last")
	}
	uncommitted := 0
	for of := range owners {
		if _, known := committed.Lookup(of.topic, of.partition); !known && g.wants(of.topic) {
			uncommitted++
		}
	}
	l.problem(uncommitted, "partitions left out that have a member but no committed offset")
	topics := committed.Offsets()
	topics.DeleteFunc(func(o kadm.Offset) bool { return !g.wants(o.Topic) || o.At < 0 })
	if len(topics) == 0 {
		return nil, g.explain(errors.New("there is no such group, or it has no committed offset of a topic that " +
			"the user may describe"))
	}
	ends, err := listed(ctx, g.admin.ListCommittedOffsets, topics.TopicsSet().Topics()...)
	if err != nil {
		return nil, g.explain(err)
	}
	topics.Each(func(o kadm.Offset) {
		end, _ := ends.Lookup(o.Topic, o.Partition)
		at := float64(o.At)
		l.keys[fmt.Sprintf("%s/%d", o.Topic, o.Partition)] = sample{
			cost: at, before: at, state: max(0, float64(end.Offset)-at), instance: owners[partition{o.Topic, o.Partition}]}
	})
	return l, nil
}

// wants tells whether a topic is collected.
func (g *consumers) wants(topic string) bool { return g.Topic == "" || g.Topic == topic }

// description is what the coordinator says of a group.
type description struct {
	members []member
	newer   bool   // it is of the newer protocol of groups (KIP-848)
	state   string // such as Stable
	kind    string // "consumer", but for what is no group of consumers
	by      string // the assignor
}

// describe describes a group, by the newer protocol of groups or the older one.
func describe(ctx context.Context, admin *kadm.Client, group string) (*description, error) {
	newer, err := admin.DescribeConsumerGroups(ctx, group)
	if err = errors.Join(err, newer.Error()); err == nil {
		of := newer[group]
		d := &description{newer: true, state: of.State, kind: "consumer", by: of.AssignorName}
		for _, m := range of.Members {
			d.members = append(d.members, member{m.InstanceID, m.ClientID, m.ClientHost, m.MemberID, m.Assignment, nil})
		}
		return d, nil
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.SaslAuthenticationFailed) || ctx.Err() != nil {
		return nil, err
	}
	older, err := admin.DescribeGroups(ctx, group)
	if err = errors.Join(err, older.Error()); err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, err
	}
	of := older[group]
	d := &description{state: of.State, kind: of.ProtocolType, by: of.Protocol}
	for _, m := range of.Members {
		topics, tasks := kadm.TopicsSet{}, map[partition]string(nil)
		if of, is := m.Assigned.AsConsumer(); is {
			assigned(topics, of)
			if d.by == streams {
				tasks = tasksOf(of)
			}
		}
		d.members = append(d.members, member{m.InstanceID, m.ClientID, m.ClientHost, m.MemberID, topics, tasks})
	}
	return d, nil
}

func assigned(to kadm.TopicsSet, of *kmsg.ConsumerMemberAssignment) {
	for _, t := range of.Topics {
		to.Add(t.Topic, t.Partitions...)
	}
}

// streams is what groups call the assignor of Kafka Streams.
const streams = "stream"

// tasksOf are the ids of the tasks that read the partitions of a member of a Kafka Streams application, from what
// it was told beside its assignment: big-endian numbers of 32 bits, which are two versions, how many partitions
// there are, then for each, in ascending order, the subtopology and the number of its task, and from version 10
// on the length of the topology's name. It is nil where that is not so, or topologies have names.
func tasksOf(a *kmsg.ConsumerMemberAssignment) map[partition]string {
	var partitions []partition
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			partitions = append(partitions, partition{t.Topic, p})
		}
	}
	slices.SortFunc(partitions, func(p, q partition) int {
		return cmp.Or(cmp.Compare(p.topic, q.topic), cmp.Compare(p.partition, q.partition))
	})
	data := a.UserData
	next := func() (n int32) {
		if len(data) < 4 {
			return -1
		}
		n, data = int32(binary.BigEndian.Uint32(data)), data[4:]
		return n
	}
	version, _ := next(), next()
	if n := next(); version < 3 || int(n) != len(partitions) {
		return nil
	}
	tasks := map[partition]string{}
	for _, p := range partitions {
		subtopology, number := next(), next()
		if number != p.partition || version >= 10 && next() != 0 {
			return nil
		}
		tasks[p] = fmt.Sprintf("%d_%d", subtopology, number)
	}
	return tasks
}

// partition is one of a topic.
type partition struct {
	topic     string
	partition int32
}

// ownersOf names the member that has each partition: by its group.instance.id, else by the client id,
// with the host where several have the same one. Where that is not enough it is its member id: passing.
func ownersOf(members []member) (owners map[partition]string, passing bool) {
	clients, hosts := map[string]int{}, map[string]int{}
	for _, m := range members {
		clients[m.client]++
		hosts[m.client+m.host]++
	}
	owners = map[partition]string{}
	for _, m := range members {
		name := m.client
		switch {
		case m.static != nil:
			name = *m.static
		case hosts[m.client+m.host] > 1:
			name, passing = m.id, true
		case clients[m.client] > 1:
			name = m.client + "@" + strings.TrimPrefix(m.host, "/")
		}
		for topic, partitions := range m.topics {
			for p := range partitions {
				owners[partition{topic, p}] = name
			}
		}
	}
	return owners, passing
}

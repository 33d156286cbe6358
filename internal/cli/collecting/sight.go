package collecting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// sight is what is seen of a group at a time.
type sight struct {
	*description
	names  []string // of the members, ascending
	owners map[partition]string
	tasks  map[partition]string // the ids of those that read them; nil: it is no application of Kafka Streams
	// Of all partitions of the topics that the group has any of:
	ends   map[partition]int64
	states map[partition]float64
	size   map[partition]float64 // bytes of a record; 1 where records count
}

// stable tells whether the members have what they were assigned, and all that they had before.
func (s *sight) stable(before *sight) bool {
	for p := range s.ends {
		if s.owners[p] == "" && before != nil && before.owners[p] != "" {
			return false // it is on its way from one to another
		}
	}
	return s.state == "Stable"
}

// asTable is the protocol of assignors that follow a routing table, as groups name it.
const asTable = "plannerd"

// nudger is the group.instance.id with which a group of the newer protocol is made to assign anew.
const nudger = "plannerd-kafka-group"

// see looks at a group. Without ends it costs one request, and tells where partitions are.
func (c *KafkaGroup) see(ctx context.Context, admin *kadm.Client, withEnds bool) (*sight, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*brokerTime)
	defer cancel()
	d, err := describe(ctx, admin, c.Group)
	if err != nil {
		return nil, c.explainOf(c.Group, "", err)
	}
	s := &sight{description: d, owners: map[partition]string{}}
	d.members = slices.DeleteFunc(d.members, func(m member) bool { return m.static != nil && *m.static == nudger })
	topics, tasks := kadm.TopicsSet{}, map[partition]string{}
	for i, name := range memberNames(d) {
		if !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
		for topic, partitions := range d.members[i].topics {
			topics.Add(topic)
			for p := range partitions {
				s.owners[partition{topic, p}] = name
			}
		}
		maps.Copy(tasks, d.members[i].tasks)
	}
	if len(tasks) == len(s.owners) {
		s.tasks = tasks
	}
	slices.Sort(s.names)
	if withEnds && len(topics) > 0 {
		err = s.measure(ctx, c, admin, topics.Topics())
	}
	return s, c.explainOf(c.Group, "", err)
}

// measure asks how far topics are.
func (s *sight) measure(ctx context.Context, c *KafkaGroup, admin *kadm.Client, topics []string) error {
	ends, err := listed(ctx, admin.ListEndOffsets, topics...)
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) { // else one was deleted, as the group learns soon
		return err
	}
	s.ends, s.states, s.size = map[partition]int64{}, map[partition]float64{}, map[partition]float64{}
	committed := kadm.OffsetResponses{}
	if c.State == "lag" {
		committed, err = admin.FetchOffsets(ctx, c.Group)
		if err := errors.Join(err, committed.Error()); err != nil {
			return err
		}
	}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			return
		}
		p := partition{o.Topic, o.Partition}
		s.ends[p], s.size[p] = o.Offset, 1
		if at, known := committed.Lookup(o.Topic, o.Partition); known {
			s.states[p] = max(0, float64(o.Offset-at.At))
		}
	})
	if c.State == "stores" {
		if err := s.stores(ctx, c.Group, admin); err != nil {
			return err
		}
	}
	if c.Cost == "bytes" {
		return s.weigh(ctx, admin, topics)
	}
	return nil
}

// stores asks how many bytes the changelogs of an application of Kafka Streams have. A changelog belongs to the
// topic that the application makes for the same store, if it reads one, else to the first that it reads with as
// many partitions.
func (s *sight) stores(ctx context.Context, application string, admin *kadm.Client) error {
	all, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for p := range s.ends {
		counts[p.topic]++
	}
	of := kadm.TopicsSet{}
	for name, topic := range all {
		if isChangelog(application, name) {
			of.Add(name, topic.Partitions.Numbers()...)
		}
	}
	if len(of) == 0 {
		return nil
	}
	sizes, err := logSizes(ctx, admin, of)
	for p, bytes := range sizes {
		if source := sourceOf(p.topic, len(of[p.topic]), counts); source != "" {
			s.states[partition{source, p.partition}] += bytes
		}
	}
	return err
}

// changelog is how Kafka Streams ends the names of changelogs.
const changelog = "-changelog"

func isChangelog(application, topic string) bool {
	return strings.HasPrefix(topic, application+"-") && strings.HasSuffix(topic, changelog)
}

// sourceOf is the topic that tasks read whose stores have a changelog, of some by numbers of partitions; "":
// it is none of these.
func sourceOf(log string, partitions int, counts map[string]int) string {
	const made = "-repartition"
	if own := strings.TrimSuffix(log, changelog) + made; counts[own] == partitions {
		return own
	}
	for _, topic := range slices.Sorted(maps.Keys(counts)) {
		if counts[topic] == partitions && !strings.HasSuffix(topic, made) {
			return topic
		}
	}
	return ""
}

// logSizes are how many bytes brokers keep of partitions.
func logSizes(ctx context.Context, admin *kadm.Client, of kadm.TopicsSet) (map[partition]float64, error) {
	sizes := map[partition]float64{}
	logs, err := admin.DescribeAllLogDirs(ctx, of)
	for _, broker := range logs {
		broker.EachPartition(func(d kadm.DescribedLogDirPartition) {
			p := partition{d.Topic, d.Partition}
			sizes[p] = max(sizes[p], float64(d.Size))
		})
	}
	return sizes, err
}

// weigh asks how many bytes the records of partitions have, by what the brokers keep of them.
func (s *sight) weigh(ctx context.Context, admin *kadm.Client, topics []string) error {
	starts, err := listed(ctx, admin.ListStartOffsets, topics...)
	if err != nil {
		return err
	}
	of := kadm.TopicsSet{}
	for p := range s.ends {
		of.Add(p.topic, p.partition)
	}
	sizes, err := logSizes(ctx, admin, of)
	for p, end := range s.ends {
		if start, _ := starts.Lookup(p.topic, p.partition); end > start.Offset && sizes[p] > 0 {
			s.size[p] = sizes[p] / float64(end-start.Offset)
		}
	}
	return err
}

// key is what a partition is called, or the task that reads it.
func (s *sight) key(p partition) string {
	if task, known := s.tasks[p]; known {
		return task
	}
	return fmt.Sprintf("%s/%d", p.topic, p.partition)
}

// since are the statistics of the time since a look before.
func (s *sight) since(before *sight, number int64, weighed bool) *interval {
	l := &look{at: time.Now(), located: true, stateless: !weighed, keys: map[string]sample{}}
	for p, owner := range s.owners {
		end, known := s.ends[p]
		if !known {
			continue
		}
		arrived := 0.0
		if was, known := before.ends[p]; known {
			arrived = max(0, float64(end-was))
		}
		was := l.keys[s.key(p)] // of another partition that the task reads
		l.keys[s.key(p)] = sample{cost: was.cost + arrived*s.size[p], state: was.state + s.states[p], instance: owner}
	}
	return &interval{number, slices.Sorted(maps.Keys(l.keys)), l}
}

// digits are what no name of an instance consists of alone.
var digits = regexp.MustCompile(`^[0-9]+$`)

// memberNames are what the routing table calls the members, as assignors find it: by the
// group.instance.id, else by the client id, where no other has the same, else by the member id.
// Threads of Kafka Streams have the name of their process.
func memberNames(d *description) []string {
	clients := map[string]int{}
	for _, m := range d.members {
		if m.static == nil {
			clients[m.client]++
		}
	}
	names := make([]string, len(d.members))
	for i, m := range d.members {
		names[i] = m.id
		process := strings.LastIndex(m.client, "-StreamThread-")
		switch {
		case m.static != nil:
			names[i] = *m.static
		case d.by == streams && process > 0:
			names[i] = m.client[:process]
		case !d.newer && clients[m.client] == 1 && m.client != "":
			names[i] = m.client
		}
		names[i] = digits.ReplaceAllString(names[i], "#$0")
	}
	return names
}

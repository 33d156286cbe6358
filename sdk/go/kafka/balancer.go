package kafka

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plannerd/sdk/go/route"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// ProtocolName is what groups call the way in which they are balanced.
const ProtocolName = "plannerd"

// Config says what a balancer follows.
type Config struct {
	// Source answers for the routing table: a [plannerd/sdk/go/client.Client].
	Source router.Source
	// Operator is the one whose keys are the group's partitions, as topic/number.
	Operator string
	// File is where the last table is kept over restarts; "": nowhere. Each process has its own.
	File string
	// Wait is how long the first assignment waits for the first table. Defaults to 2 s.
	Wait time.Duration
}

// Balancer is a [kgo.GroupBalancer], cooperative, of one client. [Balancer.Run] has to run beside it.
type Balancer struct {
	table *router.Follower
	wait  time.Duration
	like  kgo.GroupBalancer // what members tell is as it has it

	mu      sync.Mutex
	waited  bool
	leading *group // as it was assigned, if this client did that; nil: it is not the leader
	// owing is since when another rebalance has to come, zero: none has to. Brokers leave it out for members
	// with a group.instance.id that start anew: a leader that has not assigned the group, and one that ended
	// after it gave partitions away, and before others got them.
	owing time.Time
}

// New returns a balancer.
func New(c Config) (*Balancer, error) {
	table, err := router.Open(router.Config{Source: c.Source, Operator: c.Operator, File: c.File})
	if err != nil {
		return nil, err
	}
	if c.Wait == 0 {
		c.Wait = 2 * time.Second
	}
	return &Balancer{table: table, wait: c.Wait, like: kgo.CooperativeStickyBalancer()}, nil
}

// ProtocolName implements [kgo.GroupBalancer].
func (*Balancer) ProtocolName() string { return ProtocolName }

// IsCooperative implements [kgo.GroupBalancer].
func (*Balancer) IsCooperative() bool { return true }

// JoinGroupMetadata implements [kgo.GroupBalancer].
func (b *Balancer) JoinGroupMetadata(topics []string, has map[string][]int32, generation int32) []byte {
	b.lead(nil, false)
	return b.like.JoinGroupMetadata(topics, has, generation)
}

// ParseSyncAssignment implements [kgo.GroupBalancer].
func (b *Balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	return b.like.ParseSyncAssignment(assignment)
}

// MemberBalancer implements [kgo.GroupBalancer].
func (b *Balancer) MemberBalancer(
	members []kmsg.JoinGroupResponseMember,
) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	b.lead(nil, true)
	c, err := kgo.NewConsumerBalancer(b, members)
	topics := c.MemberTopics()
	return c, topics, err
}

// Balance implements [kgo.ConsumerBalancerBalance].
func (b *Balancer) Balance(c *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	b.waitOnce()
	g := groupOf(c, topics)
	before := g.owners
	g.owners = g.assign(g.target(b.table.View()))
	plan := c.NewPlan()
	given := false
	for p, m := range g.owners {
		given = given || before[p] != nobody && before[p] != m
		if m != nobody {
			member, _ := c.MemberAt(m)
			plan.AddPartition(member, g.partitions[p].topic, g.partitions[p].number)
		}
	}
	plan.AdjustCooperative(c)
	b.lead(g, given)
	return plan
}

// waitOnce waits for the first table, but only the first time.
func (b *Balancer) waitOnce() {
	b.mu.Lock()
	first := !b.waited
	b.waited = true
	b.mu.Unlock()
	if first {
		ctx, cancel := context.WithTimeout(context.Background(), b.wait)
		defer cancel()
		_ = b.table.Ready(ctx) // without a table partitions are balanced by number
	}
}

func (b *Balancer) lead(g *group, owing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leading, b.owing = g, (time.Time{}); owing {
		b.owing = time.Now()
	}
}

// behind tells whether this client leads the group, and would assign it otherwise by now, or may.
func (b *Balancer) behind() bool {
	b.mu.Lock()
	g, owing := b.leading, b.owing
	b.mu.Unlock()
	overdue := !owing.IsZero() && time.Since(owing) > between
	return overdue || g != nil && !slices.Equal(g.owners, g.assign(g.target(b.table.View())))
}

// Rebalancer is a consumer that joins its group again when it is asked to: a [kgo.Client].
type Rebalancer interface{ ForceRebalance() }

// between is the least time between two rebalances that a balancer asks for.
const between = 5 * time.Second

// Run follows the routing table until the context ends, and asks for a rebalance when the group is not as
// the table says. Its error is that of the context, or says that the operator has no routing table and
// never will: the group is then balanced by number.
func (b *Balancer) Run(ctx context.Context, client Rebalancer) error {
	ended := make(chan error, 1)
	go func() { ended <- b.table.Run(ctx) }()
	news := make(chan struct{}, 1)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for v, err := b.table.Next(ctx, nil); err == nil; v, err = b.table.Next(ctx, v) {
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}()
	defer func() { <-watching }()
	tick := time.NewTicker(between / 5)
	defer tick.Stop()
	var last time.Time
	for {
		select {
		case err := <-ended:
			<-ctx.Done() // the last table goes on counting
			return err
		case <-news:
		case <-tick.C:
		}
		if time.Since(last) >= between && b.behind() {
			last = time.Now()
			client.ForceRebalance()
		}
	}
}

// suffix is what brokers make member ids of, behind the client id.
var suffix = regexp.MustCompile(`-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// digits are what no name consists of alone: in tables that is an id.
var digits = regexp.MustCompile(`^[0-9]+$`)

// Name is what routing tables call a member: by its group.instance.id, else by its client id, where no
// other of the member ids has the same, else by its member id. Digits alone have a # before them.
func Name(instance *string, member string, members []string) string {
	name := member
	if id := suffix.ReplaceAllString(member, ""); instance != nil {
		name = *instance
	} else if id != "" {
		same := 0
		for _, m := range members {
			if suffix.ReplaceAllString(m, "") == id {
				same++
			}
		}
		if same < 2 {
			name = id
		}
	}
	return digits.ReplaceAllString(name, "#$0")
}

// groupOf is the group as its members tell it.
func groupOf(c *kgo.ConsumerBalancer, topics map[string]int32) *group {
	g, index, first := &group{}, map[string]int{}, map[partition]int{}
	for topic, n := range topics {
		for number := range n {
			g.partitions = append(g.partitions, partition{topic, number})
		}
	}
	slices.SortFunc(g.partitions, partition.compare)
	g.topicOf = make([]int, len(g.partitions))
	for p, x := range g.partitions {
		if _, known := index[x.topic]; !known {
			index[x.topic] = len(index)
		}
		g.topicOf[p], first[x] = index[x.topic], p
	}
	g.owners = slices.Repeat([]int{nobody}, len(g.partitions))
	claims := make([]int32, len(g.partitions)) // the generations of the owners
	var ids []string
	c.EachMember(func(m *kmsg.JoinGroupResponseMember, _ *kmsg.ConsumerMemberMetadata) {
		if m.InstanceID == nil {
			ids = append(ids, m.MemberID)
		}
	})
	c.EachMember(func(m *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		at, subscribed := len(g.names), make([]bool, len(index))
		for _, topic := range meta.Topics {
			if i, known := index[topic]; known {
				subscribed[i] = true
			}
		}
		g.names, g.topics = append(g.names, Name(m.InstanceID, m.MemberID, ids)), append(g.topics, subscribed)
		for _, owned := range meta.OwnedPartitions {
			for _, number := range owned.Partitions {
				p, known := first[partition{owned.Topic, number}]
				if known && g.takes(at, p) && (g.owners[p] == nobody || meta.Generation > claims[p]) {
					g.owners[p], claims[p] = at, meta.Generation
				}
			}
		}
	})
	return g
}

// target is what a view of the table says of the group; nil: there is none.
func (g *group) target(v *router.View) *target {
	if v == nil {
		return nil
	}
	table := v.Table
	if v.Pending != nil && v.Pending.Phase == wire.PendingTablePhaseHandingOver {
		table = table.Pending()
	}
	members := map[int32]int{}
	t := &target{placed: make([]bool, len(g.names)), at: slices.Repeat([]int{nobody}, len(g.partitions))}
	for m, name := range g.names {
		if id, known := v.ID(name); known {
			members[id], t.placed[m] = m, true
		}
	}
	for p, x := range g.partitions {
		if m, known := memberOf(table, members, x); known && g.takes(m, p) {
			t.at[p] = m
		}
	}
	return t
}

// memberOf is the member that the entry of a partition names.
func memberOf(table *route.Table, members map[int32]int, p partition) (m int, known bool) {
	to, err := table.Lookup(p.key())
	if err != nil || to.Parts() != nil {
		return nobody, false
	}
	m, known = members[to.Instance]
	return m, known
}

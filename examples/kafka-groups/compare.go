package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plannerd/sdk/go/wire"
)

// policies are those that are measured beside each other. The ideal is one queue for all consumers.
var policies = []string{"range", "cooperative-sticky", "by lag", "plannerd", "ideal"}

// byLag assigns by the lag of partitions, anew at each rebalance: the one with the most lag goes to the
// member that has the least so far. It rebalances as often as plannerd is asked. It is eager, as nobody
// who assigns anew can be otherwise: what a cooperative one revokes would be assigned anew once more.
type byLag struct {
	kgo.GroupBalancer // what members tell is as it has it
	run               *run
	leads             atomic.Bool
}

// JoinGroupMetadata implements [kgo.GroupBalancer].
func (b *byLag) JoinGroupMetadata(topics []string, has map[string][]int32, generation int32) []byte {
	b.leads.Store(false)
	return b.GroupBalancer.JoinGroupMetadata(topics, has, generation)
}

func (*byLag) ProtocolName() string { return "lag" }

func (b *byLag) MemberBalancer(
	members []kmsg.JoinGroupResponseMember,
) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	c, err := kgo.NewConsumerBalancer(b, members)
	topics := c.MemberTopics()
	return c, topics, err
}

// Balance implements [kgo.ConsumerBalancerBalance].
func (b *byLag) Balance(c *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	b.leads.Store(true)
	r := b.run
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	committed, _ := r.admin.FetchOffsets(ctx, r.group)
	ends, _ := r.admin.ListEndOffsets(ctx, r.group)
	lag := make([]int64, topics[r.group])
	order := make([]int32, len(lag))
	for p := range lag {
		end, _ := ends.Lookup(r.group, int32(p))
		at, _ := committed.Lookup(r.group, int32(p))
		lag[p], order[p] = end.Offset-at.At, int32(p)
	}
	slices.SortFunc(order, func(p, q int32) int { return cmp.Or(cmp.Compare(lag[q], lag[p]), cmp.Compare(p, q)) })
	has, count, plan := make([]int64, len(c.Members())), make([]int, len(c.Members())), c.NewPlan()
	for _, p := range order {
		least := 0
		for m := range has {
			if cmp.Or(cmp.Compare(has[m], has[least]), cmp.Compare(count[m], count[least])) < 0 {
				least = m
			}
		}
		member, _ := c.MemberAt(least)
		plan.AddPartition(member, r.group, p)
		has[least] += lag[p]
		count[least]++
	}
	return plan
}

// again has the group be rebalanced every now and then, if the client is its leader.
func (b *byLag) again(ctx context.Context, client *kgo.Client) {
	for pause(ctx, b.run.every) == nil {
		if b.leads.Load() {
			client.ForceRebalance()
		}
	}
}

// figures are those of a run.
type figures struct {
	throughput float64 // a second, at saturation
	lag        time.Duration
	moved      int64
	state      float64 // the part of all state that moved
	rebalances int64
}

// measure runs a policy.
func measure(ctx context.Context, s *service, c config, name string) (f figures, err error) {
	r, err := begin(ctx, s, c, name)
	if err != nil {
		return f, err
	}
	defer r.end()
	if c.policy == "plannerd" {
		var most *float64
		var more []string
		if c.streams {
			most, more = room(r.stores, c.members, c.room), []string{"--act", "--state", "stores"}
		}
		if err := s.configure(ctx, name, c.members, c.theta, most); err != nil {
			return f, err
		}
		controller, err := s.control(ctx, name, c.every, more...)
		if err != nil {
			return f, err
		}
		defer end(controller, syscall.SIGTERM)
	}
	r.offer(c.load / 2) // so that there is no backlog of the time before
	if err := pause(ctx, c.warm); err != nil {
		return f, err
	}
	r.offer(c.load)
	r.reset()
	if err := pause(ctx, c.duration); err != nil {
		return f, err
	}
	f = figures{lag: r.late().quantile(0.99), moved: r.moved.Load(), rebalances: r.rebalances(),
		state: float64(r.carried.Load()) / float64(max(1, sum(r.stores)))}
	r.offer(0)
	if err := pause(ctx, c.every); err != nil { // until what was on its way before is processed
		return f, err
	}
	r.reset()
	if err := pause(ctx, c.flood); err != nil {
		return f, err
	}
	f.throughput = float64(r.done()) / c.flood.Seconds()
	return f, nil
}

// configure makes the operator of a group, which the controller would make otherwise, with its own defaults.
// Members have so much room for state; nil: for any.
func (s *service) configure(ctx context.Context, group string, members int, theta float64, room *float64) error {
	c := wire.OperatorConfiguration{ThetaMax: &theta, Hash: &wire.Hash{Function: new(wire.HashFunctionReported)}}
	for m := range members {
		c.Instances = append(c.Instances, wire.Named("member-"+strconv.Itoa(m))...)
		if room != nil {
			c.Instances[m].Capacities = &wire.InstanceCapacities{"stores": *room}
		}
	}
	if room != nil {
		c.Resources = &wire.Resources{{Name: "load"}, {Name: "stores", From: new(wire.ResourceFromState), Limit: new(true)}}
	}
	_, err := s.api.PutOperator(ctx, group, c)
	return err
}

// comparePolicies measures policies in several runs, each under other messages, and prints what comes of each.
func comparePolicies(ctx context.Context, s *service, c config, only string) error {
	list, first := policies, c.seed
	if c.streams {
		list = streamsPolicies
	}
	if only != "" {
		list = strings.Split(only, ",")
	}
	fmt.Printf("| run | policy | messages/s at saturation | p99 of lag at %.0f %% load | partitions moved | "+
		"state moved | rebalances |\n|---|---|--:|--:|--:|--:|--:|\n", 100*c.load)
	for run := range c.runs {
		for _, policy := range list {
			c.policy, c.seed = policy, first+uint64(run)
			f, err := measure(ctx, s, c, fmt.Sprintf("%s-%d", strings.ReplaceAll(policy, " ", "-"), c.seed))
			if err != nil {
				return fmt.Errorf("%s: %w", policy, err)
			}
			fmt.Printf("| %d | %s | %.0f | %v | %d | %.0f %% | %d |\n", c.seed, policy, f.throughput,
				f.lag.Round(time.Millisecond), f.moved, 100*f.state, f.rebalances)
		}
	}
	return nil
}

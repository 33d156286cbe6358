package collecting

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"plannerd/internal/cli"
	"plannerd/sdk/go/wire"
)

// TestMemberNames: members are called as assignors call them.
func TestMemberNames(t *testing.T) {
	members := []member{{static: new("worker-1"), client: "kgo"}, {client: "own", id: "own-1"},
		{client: "kgo", id: "kgo-1"},
		{client: "kgo", id: "kgo-2"}, {client: "7", id: "7-1"}, {client: "app-StreamThread-1-consumer", id: "app-1"}}
	for want, d := range map[string]description{
		"worker-1 own kgo-1 kgo-2 #7 app-StreamThread-1-consumer": {by: "range"},
		"worker-1 own kgo-1 kgo-2 #7 app":                         {by: "stream"},
		"worker-1 own-1 kgo-1 kgo-2 7-1 app-1":                    {newer: true},
	} {
		d.members = members
		if got := strings.Join(memberNames(&d), " "); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestSince: a partition costs what arrived, wherever it was meanwhile; one that is new costs nothing yet,
// and one that went away has no row.
func TestSince(t *testing.T) {
	p := func(n int32) partition { return partition{"orders", n} }
	before := &sight{description: &description{state: "Stable"},
		owners: map[partition]string{p(0): "a", p(1): "a", p(3): "a"},
		ends:   map[partition]int64{p(0): 10, p(1): 20, p(3): 5}}
	now := &sight{description: before.description, owners: map[partition]string{p(0): "b", p(1): "a", p(2): "b"},
		ends: map[partition]int64{p(0): 15, p(1): 12, p(2): 100}, size: map[partition]float64{p(0): 2, p(1): 2, p(2): 2},
		states: map[partition]float64{p(0): 7}}
	of := now.since(before, 9, true)
	want := []sample{{cost: 10, state: 7, instance: "b"}, {instance: "a"}, {instance: "b"}}
	if of.number != 9 || len(of.order) != 3 || of.stateless {
		t.Fatalf("%+v", of)
	}
	for i, key := range []string{"orders/0", "orders/1", "orders/2"} {
		if of.order[i] != key || of.keys[key] != want[i] {
			t.Errorf("%s: %+v", key, of.keys[key])
		}
	}
	if !now.stable(before) {
		t.Error("a partition that is gone is taken for one that is on its way")
	}
	delete(now.owners, p(1))
	if now.stable(before) {
		t.Error("a partition that was revoked is not seen")
	}
}

// TestTasks: partitions that one task of Kafka Streams reads are one key, of which they are the cost together.
func TestTasks(t *testing.T) {
	told := []int32{11, 11, 3, 0, 1, 0, 1, 0, 0, 0, 1, 0}
	a := &kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{
		{Topic: "words", Partitions: []int32{1}}, {Topic: "made", Partitions: []int32{0}},
		{Topic: "lines", Partitions: []int32{1}}}}
	for _, n := range told {
		a.UserData = binary.BigEndian.AppendUint32(a.UserData, uint32(n))
	}
	lines, made, words := partition{"lines", 1}, partition{"made", 0}, partition{"words", 1}
	tasks := tasksOf(a)
	if want := map[partition]string{lines: "0_1", made: "1_0", words: "0_1"}; !maps.Equal(tasks, want) {
		t.Fatal(tasks)
	}
	before := &sight{ends: map[partition]int64{lines: 1, made: 2, words: 3}}
	now := &sight{owners: map[partition]string{lines: "a", made: "b", words: "a"}, tasks: tasks,
		ends: map[partition]int64{lines: 5, made: 4, words: 6}, size: map[partition]float64{lines: 1, made: 1, words: 1},
		states: map[partition]float64{words: 9, lines: 1}}
	of := now.since(before, 1, true)
	if want := (sample{cost: 7, state: 10, instance: "a"}); len(of.order) != 2 || of.keys["0_1"] != want {
		t.Errorf("%+v", of.keys)
	}
	a.UserData = a.UserData[:20]
	if tasks := tasksOf(a); tasks != nil {
		t.Error(tasks)
	}
}

// TestInstances: a member that joins has of resources as much as others, for an operator with a limit wants it said.
func TestInstances(t *testing.T) {
	half := wire.Capacity(0.5)
	o := &wire.Operator{Instances: []wire.Instance{{Id: 0, Name: "a", Capacity: &half,
		Capacities: &wire.InstanceCapacities{"disk": 9}}}}
	if got, same := instancesOf(o, []string{"a"}); !same || got[0].Capacity != half || (*got[0].Capacities)["disk"] != 9 {
		t.Errorf("%v, %+v", same, got)
	}
	if got, same := instancesOf(o, []string{"a", "b"}); same || (*got[1].Capacities)["disk"] != 9 {
		t.Errorf("%v, %+v", same, got)
	}
	if _, same := instancesOf(o, []string{"b"}); same {
		t.Error("one that left is still there")
	}
}

// TestSourceOf: a changelog belongs to the topic that was made for its store, else to one that the application reads.
func TestSourceOf(t *testing.T) {
	counts := map[string]int{"words": 4, "lines": 2, "app-made-repartition": 4}
	for log, want := range map[string]string{"app-made-changelog": "app-made-repartition",
		"app-count-changelog": "words"} {
		if got := sourceOf(log, 4, counts); got != want {
			t.Errorf("%s: %s", log, got)
		}
	}
	if got := sourceOf("app-other-changelog", 3, counts); got != "" {
		t.Error(got)
	}
	if isChangelog("app", "application-count-changelog") || isChangelog("app", "app-made-repartition") {
		t.Error("a topic of another one is taken for a changelog")
	}
}

// TestWhatWouldBeDone: two sentences and a table.
func TestWhatWouldBeDone(t *testing.T) {
	g := &controller{KafkaGroup: &KafkaGroup{Cost: "messages", Every: 30 * time.Second}}
	now := &sight{names: []string{"a", "b"}, owners: map[partition]string{{"orders", 0}: "a", {"orders", 1}: "a"}}
	r := &wire.WhatIfResult{Theta: wire.Theta{Before: 0.5, After: 0.04}, Plan: &wire.WhatIfPlan{},
		Instances: wire.Loads{{Id: 0, Name: "a", Capacity: 1, LoadBefore: 900},
			{Id: 1, Name: "b", Capacity: 1, LoadBefore: 300}}}
	told := func() []string {
		page := &cli.Page{Width: cli.PlainWidth}
		g.write(page, now, r)
		return slices.Collect(strings.Lines(page.String()))
	}
	const first = "The busiest of 2 members, a, got 1.50 times its share of 1,200 messages in 30s. "
	if got := told(); !slices.Equal(got, []string{first + "plannerd would leave all as it is.\n"}) {
		t.Errorf("%q", got)
	}
	r.Plan.Migrations = wire.Migrations{{Migration: wire.Migration{Key: "orders/1", Cost: 300, From: 0, To: 1}}}
	got := told()
	const moves = "plannerd would move 1 of 2 partitions, and nobody would get more than 1.04 times.\n"
	if got[0] != first+moves {
		t.Errorf("%q", got[0])
	}
	if last := got[len(got)-1]; strings.Join(strings.Fields(last), " ") != "orders/1 300 a b" {
		t.Errorf("%q", got)
	}
}

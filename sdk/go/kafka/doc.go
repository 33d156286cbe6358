// Package kafka balances a consumer group of franz-go as the routing table of an operator says,
// which "plannerd kafka-group" plans by the load of the partitions.
//
//	balancer, err := kafka.New(kafka.Config{Source: plannerd, Operator: "billing"})
//	if err != nil { … }
//	client, err := kgo.NewClient(
//		kgo.SeedBrokers("localhost:9092"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
//		kgo.InstanceID("billing-1"), kgo.Balancers(balancer),
//	)
//	if err != nil { … }
//	go balancer.Run(ctx, client)
//
// A rebalance never fails for want of plannerd, and never waits for it but once, when the process
// starts. While it is away, the last table that is known goes on counting. Members that the table
// does not know get as many partitions as others, and partitions that it does not know stay where
// they are. Without any table the group is balanced by number, and sticky.
//
// Give each member a group.instance.id ([kgo.InstanceID]) that survives restarts: the table knows
// members by it. Without one a member is known by its client id, where no other member has the same,
// else by its member id, which changes with each start.
package kafka

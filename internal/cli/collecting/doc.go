// Package collecting has the commands that make statistics of what runs: of the records of a Kafka
// topic, the partitions of a consumer group, the slots of Redis or Valkey, and the results of a
// Prometheus query. They write them, or send them to an operator after each interval.
// Beside them is the command that has a server balance a consumer group: it sends the same, and sees to it
// that the group becomes as the plans say.
package collecting

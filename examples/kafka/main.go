// Command kafka counts words on Apache Kafka, with keys that plannerd moves between
// instances while messages come. See README.md.
package main

import "plannerd/examples/job"

func main() { job.Main(transport{}) }

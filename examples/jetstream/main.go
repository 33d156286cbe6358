// Command jetstream counts words on NATS JetStream, with keys that plannerd moves between
// instances while messages come. See README.md.
package main

import "plannerd/examples/job"

func main() { job.Main(transport{}) }

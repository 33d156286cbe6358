package main

import "errors"

// Stream is a kind of ordered streams.
type Stream int

// The streams of a job.
const (
	Sources   Stream = iota // of a router: frames of events, numbered by key
	Channels                // of an instance: frames of what routers append
	Transfers               // of an instance: states of keys, and ends, of other instances
)

// Message is what is read of a stream, or heard.
type Message struct {
	Subject string // of what is heard
	From    string // Channels: the router that appended it
	At      uint64 // the position in the stream: those of messages after it are higher; above 0
	Content []byte
}

// errFenced says that another has a higher epoch.
var errFenced = errors.New("another has a higher epoch")

// Outgoing is a frame on its way to an instance.
type Outgoing struct {
	Frame
	To   int32
	Done bool // it is in the channel
}

// Addressed is something for an instance.
type Addressed struct {
	To      int32
	Content []byte
}

// What is published has these subjects.
const (
	ackSubject   = "ctl.acks"
	statsSubject = "ctl.statistics"
	// Statistics are asked for here.
	reportSubject = "ctl.report"
	liveSubject   = "ctl.live"
	wrongSubject  = "ctl.wrong"
	dumpSubject   = "ctl.dump"   // all that instances hold is asked for
	dumpedSubject = "ctl.dumped" // all that one holds
	dieSubject    = "ctl.die"    // .<role>.<name>: a step at which the process kills itself
	diedSubject   = "ctl.died"   // it did
	askSubject    = "ctl.again"  // what is owed to the driver is said again
)

// inbox listens to subjects. What comes while so much waits is lost.
func inbox(b *bus, size int, subjects ...string) (<-chan Message, error) {
	all := make(chan Message, size)
	for _, subject := range subjects {
		if err := b.Listen(subject, func(m Message) {
			select {
			case all <- m:
			default:
			}
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

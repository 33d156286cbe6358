package job

import (
	"context"
	"errors"
)

// Transport is a log on which a job runs.
type Transport interface {
	// Start starts a server of it on loopback, with its data in a folder, and makes what a job
	// of these routers and so many instances needs there. Stop ends it.
	Start(ctx context.Context, dir string, routers []string, instances int) (address string, stop func(), err error)
	// Connect connects a process.
	Connect(ctx context.Context, address string) (Bus, error)
}

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

// Bus is the connection of a process to the log.
type Bus interface {
	Close()

	// Publish tells all who listen. What is told may be lost.
	Publish(subject string, content []byte) error
	// Flush waits until what was published is at the server.
	Flush(ctx context.Context) error
	// Listen has what is published from now on under a subject taken, one after the other. Take
	// must not wait.
	Listen(subject string, take func(Message)) error

	// Follow reads the stream of a router, or of an instance by its number, after a position, in
	// order. The channel is closed when the context ends.
	Follow(ctx context.Context, stream Stream, of string, after uint64) (<-chan *Message, error)
	// Feed appends events to the source of a router.
	Feed(ctx context.Context, router string, content []byte) error
	// Floor is the highest Floor of frames that were appended for a router.
	Floor(ctx context.Context, router string) (uint64, error)
	// Open opens the channels of a router. Where the log orders openings, those of before are
	// refused from now on.
	Open(ctx context.Context, router string) (Appender, error)
	// Transfer appends to the transfers of instances, in order, and waits until all is there.
	Transfer(ctx context.Context, from int32, list []Addressed) error
}

// Appender appends to the channels of one router.
type Appender interface {
	// Append appends at most one frame to each channel, and marks those as done that are there.
	// Sent is called when they are on their way. The error is ErrFenced where the channels
	// refuse this appender, or one cannot know whether they did: it is closed then, and
	// what is not done has to be appended again by another.
	Append(ctx context.Context, frames []*Outgoing, sent func()) error
	Close()
}

// ErrFenced says that another has a higher epoch.
var ErrFenced = errors.New("another has a higher epoch")

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
func inbox(bus Bus, size int, subjects ...string) (<-chan Message, error) {
	all := make(chan Message, size)
	for _, subject := range subjects {
		if err := bus.Listen(subject, func(m Message) {
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

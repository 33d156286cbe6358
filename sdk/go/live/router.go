package live

import (
	"context"
	"sync"

	"plannerd/sdk/go/handoff"
)

// Send has the instance that owns a key process a message, and returns once that is durable
// there. After an error the message may still come, or have come: whoever sends it again has
// the engine tell by what is in it that it is the same.
func (n *Node) Send(ctx context.Context, key string, content []byte) error {
	m := &message{content, make(chan struct{})}
	for taken := false; !taken; {
		n.routing.Lock()
		ready := n.ready
		a, held, err := n.router.Take([]byte(key), m)
		if taken = err == nil; taken && !held {
			n.append(a)
		}
		n.routing.Unlock()
		switch {
		case err == handoff.ErrUnregistered: //nolint:errorlint // it comes as it is
			select {
			case <-ready:
			case <-ctx.Done():
				return ctx.Err()
			}
		case err != nil:
			return err
		}
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin opens the channels of a registration.
func (n *Node) begin(session context.Context, end context.CancelCauseFunc, epoch int64, beside *sync.WaitGroup) {
	n.routing.Lock()
	defer n.routing.Unlock()
	n.router.Registered(epoch)
	n.open = map[int32]*channel{}
	n.connect = func(to int32) *channel {
		c := &channel{to: to, epoch: epoch, first: 1, news: make(chan struct{}, 1)}
		beside.Go(func() { n.pump(session, end, c) })
		return c
	}
}

// pause has messages wait for the next registration.
func (n *Node) pause() {
	n.routing.Lock()
	defer n.routing.Unlock()
	n.router.Refused()
	select {
	case <-n.ready:
		n.ready = make(chan struct{})
	default:
	}
}

// takeBack has what is not known to have come be sent under the next registration. Nothing
// sends any more.
func (n *Node) takeBack() {
	n.routing.Lock()
	defer n.routing.Unlock()
	var rest []handoff.Append[*message]
	for _, c := range n.open {
		rest = append(rest, c.queue...)
	}
	n.router.Refused(rest...)
	n.open = nil
}

// forward tells the router what the service says now.
func (n *Node) forward(v handoff.View) error {
	n.routing.Lock()
	defer n.routing.Unlock()
	n.by = max(n.by, v.Version)
	list, err := n.router.See(v)
	for _, a := range list {
		n.append(a)
	}
	select {
	case <-n.ready:
	default:
		close(n.ready)
	}
	return err
}

// append puts a message or a marker into the channel to an instance.
func (n *Node) append(a handoff.Append[*message]) {
	c := n.open[a.To]
	if c == nil {
		c = n.connect(a.To)
		n.open[a.To] = c
	}
	f := frame{Version: n.by, Marker: a.Marker, Key: a.Key}
	if a.Message != nil {
		f.Message = a.Message.content
	}
	c.queue, c.frames = append(c.queue, a), append(c.frames, f)
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// channel is what this router sends to one instance, in order. The router's lock holds it.
type channel struct {
	to     int32
	epoch  int64
	first  int64 // the number of the first frame that is left
	queue  []handoff.Append[*message]
	frames []frame // as they are sent
	news   chan struct{}
}

// mostFrames bounds how many frames are sent at once.
const mostFrames = 256

// next are the frames that are sent next, at least one if there are any.
func (c *channel) next() []frame {
	n, size := 0, 0
	for n < min(len(c.frames), mostFrames) && size < mostTransferred {
		size += len(c.frames[n].Key) + len(c.frames[n].Message)
		n++
	}
	return c.frames[:n]
}

// pump sends what is in a channel until the session ends.
func (n *Node) pump(ctx context.Context, end context.CancelCauseFunc, c *channel) {
	for {
		select {
		case <-c.news:
		case <-ctx.Done():
			return
		}
		if persist(ctx, func() bool {
			n.routing.Lock()
			part := channelPart{Router: n.Router, Epoch: c.epoch, First: c.first, Frames: c.next()}
			n.routing.Unlock()
			if len(part.Frames) == 0 {
				return true
			}
			a, err := n.ask(ctx, c.to, request{Channel: &part})
			switch {
			case err != nil:
				return false
			case a.Position.Epoch > c.epoch:
				end(errFenced)
				return false
			}
			return n.arrived(c, a.Position) == 0
		}) != nil {
			return
		}
	}
}

// arrived drops what has come from a channel, and returns how much is left.
func (n *Node) arrived(c *channel, at position) int {
	n.routing.Lock()
	defer n.routing.Unlock()
	for at.Epoch == c.epoch && c.first <= at.Last && len(c.queue) > 0 {
		if m := c.queue[0].Message; m != nil {
			close(m.done)
		}
		c.queue, c.frames, c.first = c.queue[1:], c.frames[1:], c.first+1
	}
	return len(c.queue)
}

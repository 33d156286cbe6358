package live

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"plannerd/sdk/go/handoff"
)

// Engine is what a service gives: the states of the keys at one instance. Its methods are
// never called at the same time. Over [HTTP] a state, and a message, has at most 40 MB.
type Engine interface {
	// Process applies a message to the state of its key, unless it has been applied before.
	Process(key string, message []byte)
	// Keys yields the keys that have state here.
	Keys() iter.Seq[string]
	// Export returns the state of a key, which stays until Forget. Import adds such a state to
	// what the instance has of the key, which mostly is nothing.
	Export(key string) ([]byte, error)
	Import(key string, state []byte) error
	Forget(key string)
	// Commit makes what has changed since the last call durable, together with the record, at
	// once. It is called after every few messages.
	Commit(record []byte) error
}

// Exchange sends a request to the instance of that id, and returns its answer. A request
// that gets none is sent again: it may be lost, late, or answered twice.
type Exchange interface {
	Call(ctx context.Context, to int32, request []byte) ([]byte, error)
}

// request is what nodes ask each other, one of the three.
type request struct {
	Channel   *channelPart       `json:"channel,omitempty"`
	Transfers []handoff.Transfer `json:"transfers,omitempty"`
	Status    bool               `json:"status,omitempty"`
}

// channelPart is what follows in the channel of a router to an instance.
type channelPart struct {
	Router string  `json:"router"`
	Epoch  int64   `json:"epoch"`
	First  int64   `json:"first"` // the number of the first frame; the first of an epoch is 1
	Frames []frame `json:"frames"`
}

// frame is a message, or a marker.
type frame struct {
	Version int64  `json:"version"` // of the table by which it was sent
	Marker  int64  `json:"marker,omitempty"`
	Key     []byte `json:"key,omitempty"`
	Message []byte `json:"message,omitempty"`
}

// answer is what a node says to a request.
type answer struct {
	// Position is how far the channel was read; of a higher epoch the request is fenced.
	Position position `json:"position"`
	// Took: all transfers are taken.
	Took bool `json:"took,omitempty"`
	said
}

// position is how far a channel was read: the epoch of the router, and the number of the
// last frame.
type position struct {
	Epoch int64 `json:"epoch"`
	Last  int64 `json:"last"`
}

// said is what an instance has to tell the driver of a hand-over.
type said struct {
	Version int64 `json:"version,omitempty"`
	Acked   bool  `json:"acked,omitempty"`
	Voted   bool  `json:"voted,omitempty"`
}

// record is what becomes durable together with the states.
type record struct {
	Machine  handoff.Record[[]byte] `json:"machine"`
	Channels map[string]position    `json:"channels"`
	// Provisional are states that came with a hand-over which has not ended.
	Provisional []handoff.Transfer `json:"provisional,omitempty"`
}

// callTime is how long a node waits for an answer before it asks again.
const callTime = 10 * time.Second

// ask sends a request, once.
func ask(ctx context.Context, by Exchange, to int32, r request) (a answer, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if text, err = by.Call(ctx, to, text); err != nil {
		return a, err
	}
	err = json.Unmarshal(text, &a)
	return a, err
}

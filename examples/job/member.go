package job

import (
	"context"
	"encoding/json"
	"fmt"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/stats"
)

// member is an instance as others see it.
type member struct {
	config
	id  int32
	bus Bus
}

func (m member) say(subject string, what any) error {
	content, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return m.bus.Publish(subject, content)
}

// complain tells everybody that a message was lost, reordered, or in the wrong place.
func (m member) complain(format string, args ...any) error {
	return m.bus.Publish(wrongSubject, fmt.Appendf(nil, format, args...))
}

// sendStates sends states, some at a time.
func (m member) sendStates(ctx context.Context, list []handoff.Transfer) error {
	for len(list) > 0 {
		var some []Addressed
		size := 0
		for size < mostTransferred && len(list) > 0 {
			one, err := addressed(list[0])
			if err != nil {
				return err
			}
			some = append(some, one)
			size += len(list[0].State)
			list = list[1:]
		}
		if err := m.bus.Transfer(ctx, m.id, some); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// addressed is a transfer as it is sent.
func addressed(t handoff.Transfer) (Addressed, error) {
	content, err := json.Marshal(t)
	return Addressed{t.To, content}, err
}

// statistics are what an instance measured of its keys.
type statistics struct {
	Instance int32        `json:"instance"`
	Asked    int          `json:"asked"` // the question that this answers
	Keys     []client.Row `json:"keys"`
}

// costs are what keys cost, and how large they are.
type costs struct{ *stats.Exact }

// follow notes how large the state of a key is now, if it is here.
func (c costs) follow(s states, key string) error {
	state, _, found, err := s.get(key)
	if found {
		c.SetState([]byte(key), state.size())
	} else {
		c.Forget([]byte(key))
	}
	return err
}

package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// service makes each command of a client take a time at its node, by a DEBUG SLEEP in front
// of it: a node does one thing at a time, and sleeping takes no processor. So several nodes
// can be saturated on a machine of two cores.
type service time.Duration

func (s service) sleep(ctx context.Context) *redis.Cmd {
	return redis.NewCmd(ctx, "debug", "sleep", strconv.FormatFloat(time.Duration(s).Seconds(), 'f', -1, 64))
}

// clientCommand says whether a command is one of those that take their time.
func clientCommand(cmd redis.Cmder) bool { return cmd.Name() == "get" || cmd.Name() == "set" }

// hook is for the connections of one node.
type hook struct {
	service
	*redis.Client
}

// DialHook implements [redis.Hook].
func (hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

// ProcessHook implements [redis.Hook].
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !clientCommand(cmd) {
			return next(ctx, cmd)
		}
		p := h.Pipeline()
		_ = p.Process(ctx, h.sleep(ctx))
		_ = p.Process(ctx, cmd)
		if _, err := p.Exec(ctx); cmd.Err() == nil && err != nil {
			return err
		}
		return cmd.Err()
	}
}

// ProcessPipelineHook implements [redis.Hook]. What ASK redirects comes as ASKING and the
// command, between which nothing may be.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		if len(all) == 2 && all[0].Name() == "asking" && clientCommand(all[1]) {
			all = append([]redis.Cmder{h.sleep(ctx)}, all...)
		}
		return next(ctx, all)
	}
}

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"plannerd/sdk/go/wire"
)

// client talks to one server.
type client struct {
	base, token string
}

// call sends JSON, or nothing where in is nil, and reads the answer into out
// unless that is nil. Any status but 200 and 201 is an error.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var content io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	return c.send(ctx, method, path, content, out)
}

func (c *client) send(ctx context.Context, method, path string, content io.Reader, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	if content != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }() // only read from
	text, err := io.ReadAll(a.Body)
	switch {
	case err != nil:
	case a.StatusCode != http.StatusOK && a.StatusCode != http.StatusCreated:
		err = fmt.Errorf("status %d: %s", a.StatusCode, strings.TrimSpace(string(text[:min(len(text), 500)])))
	case out != nil:
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// object is a JSON object.
type object map[string]any

// plan is a plan as the service answers it.
type plan wire.Plan

// is returns an error unless the plan is of the status.
func (p *plan) is(status wire.PlanStatus) error {
	if p.Status != status {
		return fmt.Errorf("plan %s of interval %d is %s, not %s", p.Id, p.Interval, p.Status, status)
	}
	return nil
}

// put configures an operator.
func (c *client) put(ctx context.Context, operator string, configuration object) error {
	return c.call(ctx, http.MethodPut, "/v1/operators/"+operator, configuration, nil)
}

// plan posts the statistics of an interval.
func (c *client) plan(ctx context.Context, operator string, in *interval) (*plan, error) {
	p := new(plan)
	return p, c.call(ctx, http.MethodPost, "/v1/operators/"+operator+"/plans", in, p)
}

// planAs posts the statistics of an interval whose plan is to be of the status.
func (c *client) planAs(ctx context.Context, operator string, status wire.PlanStatus, in *interval) (*plan, error) {
	p, err := c.plan(ctx, operator, in)
	if err == nil {
		err = p.is(status)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operator, err)
	}
	return p, nil
}

// step takes a step of a plan's life.
func (c *client) step(ctx context.Context, id, verb string, in object) (*plan, error) {
	p := new(plan)
	return p, c.call(ctx, http.MethodPost, "/v1/plans/"+id+"/"+verb, in, p)
}

// drive posts intervals, committing every plan that asks for it, and returns the
// last one.
func (c *client) drive(ctx context.Context, operator string, intervals []*interval) (last *plan, err error) {
	for _, in := range intervals {
		if last, err = c.plan(ctx, operator, in); err != nil {
			return nil, err
		}
		if last.Status == approved {
			if last, err = c.step(ctx, last.Id, "commit", object{"stopped": true}); err != nil {
				return nil, err
			}
		}
	}
	return last, nil
}

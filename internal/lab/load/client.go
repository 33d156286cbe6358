package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"plannerd/sdk/go/wire"
)

// client talks to one server.
type client struct {
	base string
	http *http.Client
}

// newClient makes one without bounds on connections and time; requests have their
// contexts. Answers are asked for uncompressed.
func newClient(base string) *client {
	return &client{base: base, http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1 << 10, DisableCompression: true,
		WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10,
		ExpectContinueTimeout: 10 * time.Minute, // a server that queues must not get the body early
	}}}
}

// answer is what came of a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration // from before the first byte sent to after the last one received
}

// failure is the answer as an error.
func (a *answer) failure() error {
	return fmt.Errorf("status %d: %s", a.status, strings.TrimSpace(string(a.body[:min(len(a.body), 500)])))
}

// send sends one request and reads the whole answer.
func (c *client) send(r *http.Request) (*answer, error) {
	begin := time.Now()
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if response.ContentLength > 0 {
		text.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	_, err = text.ReadFrom(response.Body)
	return &answer{response.StatusCode, response.Header, text.Bytes(), time.Since(begin)}, err
}

// post posts the statistics of an interval. expecting: the body is sent only when
// the server says that it wants it.
func (c *client) post(ctx context.Context, operator string, b *body, interval int64, version *int64,
	expecting bool) (*answer, error) {
	content, length, query, err := b.open(interval, version)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/operators/"+operator+"/plans"+query, content)
	if err != nil {
		return nil, err
	}
	r.ContentLength = length
	r.Header.Set("Content-Type", mediaTypes[b.format])
	if b.encoding != identity {
		r.Header.Set("Content-Encoding", b.encoding)
	}
	if expecting {
		r.Header.Set("Expect", "100-continue")
	}
	return c.send(r)
}

// commit commits a plan.
func (c *client) commit(ctx context.Context, id string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/plans/"+id+"/commit",
		strings.NewReader(`{"stopped":true}`))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.send(r)
}

// call sends JSON, or nothing where in is nil, and reads the answer into out
// unless that is nil. Any status but 200 and 201 is an error.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	content := io.Reader(http.NoBody)
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.send(r)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		return fmt.Errorf("%s %s: %w", method, path, a.failure())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// put configures an operator.
func (c *client) put(ctx context.Context, operator string, configuration map[string]any) error {
	return c.call(ctx, http.MethodPut, "/v1/operators/"+operator, configuration, nil)
}

// plan is a plan as the service answers it.
type plan wire.Plan

// The status of plans that are about to be committed, and that are.
const (
	approved  = "approved"
	committed = "committed"
)

// parsePlan reads the answer to statistics.
func parsePlan(a *answer) (*plan, error) {
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return nil, a.failure()
	}
	p := new(plan)
	return p, json.Unmarshal(a.body, p)
}

// history returns the plans of an operator, without their lists, newest first.
func (c *client) history(ctx context.Context, operator string) (all []plan, err error) {
	for token := ""; ; {
		var page struct {
			Plans         []plan  `json:"plans"`
			NextPageToken *string `json:"next_page_token"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/operators/"+operator+"/plans?page_size=1000"+token, nil,
			&page); err != nil {
			return nil, err
		}
		all = append(all, page.Plans...)
		if page.NextPageToken == nil {
			return all, nil
		}
		token = "&page_token=" + url.QueryEscape(*page.NextPageToken)
	}
}

// whole returns a plan with its lists.
func (c *client) whole(ctx context.Context, id string) (*plan, error) {
	p := new(plan)
	return p, c.call(ctx, http.MethodGet, "/v1/plans/"+id+"?include=migrations,routing_table", nil, p)
}

// routingTable is the committed one.
type routingTable struct {
	Version int64                    `json:"version"`
	Entries []wire.RoutingTableEntry `json:"entries"`
}

func (c *client) routingTable(ctx context.Context, operator string) (*routingTable, error) {
	t := new(routingTable)
	return t, c.call(ctx, http.MethodGet, "/v1/operators/"+operator+"/routing-table", nil, t)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// answerTime is how long a client waits for an answer.
const answerTime = 15 * time.Second

// listLength is how many plans a client asks a list for.
const listLength = 20

// client asks whichever replica it is given.
type client struct{ http *http.Client }

func newClient(transport http.RoundTripper) *client {
	return &client{&http.Client{Transport: transport, Timeout: answerTime}}
}

// path is where a request goes and by which method.
func (q request) path(operator string) (method, path string) {
	switch q.kind {
	case createPlan:
		return http.MethodPost, "/v1/operators/" + operator + "/plans"
	case readPlan:
		return http.MethodGet, "/v1/plans/" + q.plan
	case listPlans:
		return http.MethodGet, fmt.Sprintf("/v1/operators/%s/plans?page_size=%d", operator, listLength)
	case readTable:
		return http.MethodGet, "/v1/operators/" + operator + "/routing-table"
	case readOperator:
		return http.MethodGet, "/v1/operators/" + operator
	case configure:
		return http.MethodPut, "/v1/operators/" + operator
	}
	return http.MethodPost, "/v1/plans/" + q.plan + "/" + string(q.kind)
}

// content is the body of a request; nil: none.
func (q request) content() ([]byte, error) {
	switch {
	case q.body != nil:
		return q.body.text, nil
	case q.config != nil:
		// What the model knows of a plan does not tell whether it breaks limits.
		return json.Marshal(struct {
			configuration
			Approval json.RawMessage `json:"approval"`
		}{*q.config, json.RawMessage(`{"auto":"always","min_statistics":{"keys":0,"cost_share":0}}`)})
	case q.kind == commitPlan:
		return []byte(`{"stopped":true}`), nil
	case q.kind == startPlan:
		return json.Marshal(map[string]any{"executor": q.executor, "executor_epoch": q.epoch})
	case q.kind == ackPlan:
		return json.Marshal(map[string]any{"instances": q.instances, "executor_epoch": q.epoch})
	case q.kind == abortPlan:
		return json.Marshal(map[string]any{"executor_epoch": q.epoch, "rolled_back": q.rolledBack})
	}
	return nil, nil
}

// do sends a request once. The error is about the request itself or about an
// answer that cannot be read; all that the service and the network do is an
// answer.
func (c *client) do(ctx context.Context, base, operator string, q request) (answer, error) {
	content, err := q.content()
	if err != nil {
		return answer{}, err
	}
	method, path := q.path(operator)
	status, text, err := c.send(ctx, method, base+path, content)
	if err != nil {
		if status > 0 { // the answer is cut
			return answer{outcome: unknown}, nil
		}
		return unanswered(err)
	}
	a := answer{status: status}
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		a.outcome = declined
	case status >= http.StatusInternalServerError:
		a.outcome = unknown
	}
	if status >= http.StatusBadRequest {
		var problem struct {
			Code string `json:"code"`
		}
		err = json.Unmarshal(text, &problem)
		a.code = problem.Code
	} else {
		err = a.read(q.kind, text)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: status %d: %w in %q", method, path, status, err, text[:min(len(text), 500)])
	}
	return a, nil
}

// send returns a status of 0 when no answer began.
func (c *client) send(ctx context.Context, method, address string, content []byte) (status int,
	text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// unanswered tells what a client knows that got no answer.
func unanswered(err error) (answer, error) {
	var (
		failed *url.Error
		dial   *net.OpError
	)
	switch {
	case !errors.As(err, &failed):
		return answer{}, err
	case errors.As(err, &dial) && dial.Op == "dial":
		return answer{outcome: unsent}, nil
	}
	return answer{outcome: unknown}, nil
}

// read takes the answer to a request that was not refused.
func (a *answer) read(of kind, text []byte) error {
	switch of {
	case listPlans:
		var page planPage
		err := json.Unmarshal(text, &page)
		a.plans = page.Plans
		return err
	case readTable:
		return json.Unmarshal(text, &a.table)
	case readOperator, configure:
		return json.Unmarshal(text, &a.operator)
	}
	return json.Unmarshal(text, &a.plan)
}

type planPage struct {
	Plans         []plan  `json:"plans"`
	NextPageToken *string `json:"next_page_token"`
}

// fetch reads JSON for the audit.
func (c *client) fetch(ctx context.Context, address string, into any) error {
	status, text, err := c.send(ctx, http.MethodGet, address, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, text[:min(len(text), 500)])
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

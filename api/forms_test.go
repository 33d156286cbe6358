package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"plannerd/api"
	"plannerd/store"
)

// requiring counts how often older programs are locked out, and fails then if it is to.
type requiring struct {
	store.Store
	times int
	err   error
}

func (r *requiring) RequireForms(ctx context.Context, form store.Form) error {
	r.times++
	if r.err != nil {
		return r.err
	}
	return r.Store.RequireForms(ctx, form)
}

// TestFormsAreRequired: programs that would misread it are locked out before anything is
// stored that they do not know, once, and by nothing else.
func TestFormsAreRequired(t *testing.T) {
	sketched := fmt.Sprintf(`{"sketch":%q}`, sketchOf(t, 8, 0, []string{"a"}))
	for name, c := range map[string]struct {
		config, report string
		requires       bool
	}{
		"keys":     {`{"instances":2}`, `{"keys":[{"key":"a","cost":1}]}`, false},
		"window":   {`{"instances":2,"window":5}`, "", true},
		"phase":    {`{"instances":2,"scheme":"ranges","ranges":{"phase":"put"}}`, "", true},
		"resource": {`{"instances":2,"resources":[{"name":"cpu"}]}`, "", true},
		"review":   {`{"instances":2,"approval":{"approvers":2}}`, "", true},
		"amount":   {`{"instances":2}`, `{"keys":[{"key":"a","cost":1,"costs":{"memory":1}}]}`, true},
		"get":      {`{"instances":2,"scheme":"ranges"}`, `{"keys":[{"key":"a","cost":1}]}`, false},
		"named":    {`{"instances":2}`, `{"keys":[{"key":"a","cost":1}],"compact":{"records":[[0,1,4,16,900]]}}`, true},
		"record":   {`{"instances":2}`, `{"compact":{"records":[[0,1,4,16,900]]}}`, true},
		"sketch":   {`{"instances":2,"scheme":"ranges"}`, sketched, true},
		"queue":    {`{"instances":2,"scheme":"ring"}`, `{"queue":4}`, false},
	} {
		f := &requiring{}
		e := newEnv(t, func(c *api.Config) {
			f.Store = c.Store
			c.Store = f
		})
		for i, err := range []error{store.ErrUnavailable, nil, nil} {
			e.operator("plain", `{"instances":2}`)
			e.do("DELETE", "/v1/operators/plain", "").want(http.StatusNoContent)
			f.err = err
			status := http.StatusCreated
			if err != nil && c.requires {
				status = http.StatusServiceUnavailable
			}
			if c.report == "" {
				e.do("PUT", fmt.Sprintf("/v1/operators/clicks-%d", i), c.config).want(status)
				continue
			}
			operator := fmt.Sprintf("clicks-%d", i)
			e.operator(operator, c.config)
			e.do("PUT", "/v1/operators/"+operator+"/intervals/1/reports/0", c.report).want(status)
		}
		want := 0
		if c.requires {
			want = 2 // one that failed, one that did not
		}
		if f.times != want {
			t.Errorf("%s: programs are locked out %d times, want %d", name, f.times, want)
		}
	}
}

// TestFormsAreRequiredOfRetries: an answer is kept under its idempotency key, and not that programs
// were locked out on the way.
func TestFormsAreRequiredOfRetries(t *testing.T) {
	e := newEnv(t)
	for _, again := range []bool{false, true} {
		a := e.do("PUT", "/v1/operators/clicks", `{"instances":2,"window":5}`, "Idempotency-Key: once")
		a.want(http.StatusCreated)
		if a.header.Get("Idempotent-Replayed") != "" != again {
			t.Errorf("again: %v, and the answer was replayed: %q", again, a.header.Get("Idempotent-Replayed"))
		}
	}
}

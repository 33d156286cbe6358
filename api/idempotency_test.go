package api_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plannerd/api"
	"plannerd/store"
)

// mutation is a request that changes something: prepare makes what it needs, and
// returns its target and body.
type mutation struct {
	name, method string
	prepare      func(e *env) (target, body string)
	headers      []string
	status       int // of the first time
	again        int // of the second time, without a key
}

func waitingPlan(config string) func(e *env) plan {
	return func(e *env) plan {
		e.Helper()
		e.operator("clicks", config)
		return e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	}
}

// betaTwo is reported, configured otherwise.
var betaTwo = strings.Replace(reported, "{", `{"beta":2,`, 1)

func verb(name, config, verb, body string, before ...string) mutation {
	return mutation{name: name, method: "POST", status: http.StatusOK, again: http.StatusOK,
		prepare: func(e *env) (string, string) {
			target := "/v1/plans/" + waitingPlan(config)(e).Id + "/"
			for i := 0; i < len(before); i += 2 {
				e.do("POST", target+before[i], before[i+1]).want(http.StatusOK)
			}
			return target + verb, body
		}}
}

// mutations is every request of the contract that changes something.
func mutations() []mutation {
	operator := func(e *env) { e.operator("clicks", reported) }
	return []mutation{
		{"create", "PUT", func(*env) (string, string) { return "/v1/operators/clicks", reported }, nil, http.StatusCreated,
			http.StatusOK},
		{"reconfigure", "PUT", func(e *env) (string, string) { operator(e); return "/v1/operators/clicks", betaTwo }, nil,
			http.StatusOK, http.StatusOK},
		{"delete", "DELETE", func(e *env) (string, string) { operator(e); return "/v1/operators/clicks", "" }, nil,
			http.StatusNoContent, http.StatusNotFound},
		{"plan", "POST", func(e *env) (string, string) { operator(e); return "/v1/operators/clicks/plans", interval(1, "") },
			nil, http.StatusCreated, http.StatusOK},
		{"report", "PUT", func(e *env) (string, string) {
			operator(e)
			return reportTarget(1, 0), `{"keys":[{"key":"a","cost":1,"hash_instance":0}]}`
		}, nil, http.StatusCreated, http.StatusOK},
		{"resolution", "PUT", func(e *env) (string, string) {
			return "/v1/plans/" + e.classPlan().ID + "/resolution", "key,from,to\na,0,1\nb,0,1\n"
		}, []string{csv}, http.StatusOK, http.StatusOK},
		verb("approve", approved, "approve", `{"actor":"ada"}`),
		verb("reject", approved, "reject", ""),
		verb("comment", approved, "comments", `{"comment":"why?"}`),
		verb("start", betaTwo, "start", `{"executor":"e"}`),
		verb("ack", betaTwo, "acks", `{"instances":[0]}`, "start", `{"executor":"e"}`),
		verb("commit", betaTwo, "commit", stopped),
		verb("stop", betaTwo, "stop", "", "start", `{"executor":"e"}`),
		verb("abort", betaTwo, "abort", ""),
		{"undo", "POST", func(e *env) (string, string) {
			e.operator("clicks", betaTwo)
			e.verb(e.planned(1).ID, "commit", stopped).want(http.StatusOK)
			return "/v1/operators/clicks/undo", ""
		}, nil, http.StatusCreated, http.StatusOK},
		{"propose", "POST", func(e *env) (string, string) {
			target := "/v1/plans/" + waitingPlan(betaTwo)(e).Id
			e.do("POST", target+"/abort", "").want(http.StatusOK)
			return target + "/replay", `{"propose":true}`
		}, nil, http.StatusCreated, http.StatusOK},
	}
}

// trace is what there is: all that a request could have done twice.
func (e *env) trace() string {
	e.Helper()
	out := string(e.do("GET", "/v1/operators", "").body)
	for _, name := range []string{"clicks", "classes"} {
		var list struct{ Plans []plan }
		a := e.do("GET", "/v1/operators/"+name+"/plans", "")
		if a.status != http.StatusOK {
			continue
		}
		a.into(&list)
		out += string(a.body) + string(e.do("GET", "/v1/operators/"+name+"/routing-table", "").body)
		for _, p := range list.Plans {
			out += string(e.do("GET", "/v1/plans/"+p.Id+"/transitions", "").body)
		}
	}
	return out
}

func sameAnswer(t *testing.T, got, want *answer) {
	t.Helper()
	if got.status != want.status || !bytes.Equal(got.body, want.body) ||
		got.header.Get("ETag") != want.header.Get("ETag") || got.header.Get("Location") != want.header.Get("Location") {
		t.Errorf("another answer:\n%d %v %s\nthe first was\n%d %v %s", got.status, got.header, got.body, want.status,
			want.header, want.body)
	}
}

// TestRetries: whatever is sent again under its key is answered again, and done once.
func TestRetries(t *testing.T) {
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			e := newEnv(t)
			target, body := m.prepare(e)
			key := append([]string{"Idempotency-Key: k1"}, m.headers...)
			first := e.do(m.method, target, body, key...).want(m.status)
			if first.header.Get("Idempotent-Replayed") != "" {
				t.Error("the first answer says that it is not")
			}
			before := e.trace()
			again := e.do(m.method, target, body, key...)
			sameAnswer(t, again, first)
			if again.header.Get("Idempotent-Replayed") != "true" {
				t.Error("the second answer says that it is the first")
			}
			other := body + "c,0,1\n"
			if !strings.HasPrefix(body, "key,") {
				other = " " + cmp.Or(body, "{}")
			}
			e.do(m.method, target, other, key...).fails(unprocessable, "idempotency_key_reused", "")
			if after := e.trace(); after != before {
				t.Errorf("a retry did something:\n%s\n%s", before, after)
			}
		})
	}
}

// TestRepeats: what is sent again without a key is done once, too.
func TestRepeats(t *testing.T) {
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			e := newEnv(t)
			target, body := m.prepare(e)
			e.do(m.method, target, body, m.headers...).want(m.status)
			before := e.trace()
			e.do(m.method, target, body, m.headers...).want(m.again)
			if after := e.trace(); after != before {
				t.Errorf("it was done twice:\n%s\n%s", before, after)
			}
		})
	}
}

// TestAtOnce: of the same requests at once one is done; those under its key get its
// answer, or are told to come again.
func TestAtOnce(t *testing.T) {
	for _, m := range mutations() {
		for _, key := range []string{"", "k"} {
			t.Run(m.name+key, func(t *testing.T) {
				e := newEnv(t)
				target, body := m.prepare(e)
				headers := m.headers
				if key != "" {
					headers = append([]string{"Idempotency-Key: " + key}, headers...)
				}
				answers := make([]*answer, 4)
				var all sync.WaitGroup
				for i := range answers {
					all.Go(func() { answers[i] = e.do(m.method, target, body, headers...) })
				}
				all.Wait()
				firsts := 0
				for _, a := range answers {
					switch {
					case a.status == m.status && a.header.Get("Idempotent-Replayed") == "":
						firsts++
					case key == "" && a.status == m.again, key != "" && a.status == m.status:
					case key != "" && a.status == http.StatusConflict && a.problem().Code == "idempotency_key_running" &&
						a.header.Get("Retry-After") != "":
					default:
						t.Errorf("%d %s", a.status, a.body)
					}
				}
				if firsts != 1 && (key != "" || m.again != m.status) {
					t.Errorf("%d were first", firsts)
				}
				if key != "" {
					e.do(m.method, target, body, headers...).want(m.status)
				}
				e.doneOnce(t, m)
			})
		}
	}
}

// doneOnce fails if a plan was made, or took a step, twice.
func (e *env) doneOnce(t *testing.T, m mutation) {
	t.Helper()
	var list struct{ Plans []plan }
	a := e.do("GET", "/v1/operators/clicks/plans", "")
	if a.status != http.StatusOK {
		return
	}
	a.into(&list)
	most := 1
	if m.name == "propose" || m.name == "undo" {
		most = 2
	}
	if len(list.Plans) > most {
		t.Errorf("%d plans", len(list.Plans))
	}
	for _, p := range list.Plans {
		var life struct{ Transitions []struct{ From, To string } }
		e.do("GET", "/v1/plans/"+p.Id+"/transitions", "").want(http.StatusOK).into(&life)
		seen := map[string]bool{}
		for _, s := range life.Transitions {
			if seen[s.From+" "+s.To] {
				t.Errorf("a step was taken twice: %+v", life)
			}
			seen[s.From+" "+s.To] = true
		}
	}
}

// lost is a store whose caller hangs up as soon as the effect is there.
type lost struct {
	store.Store
	hangUp context.CancelFunc
}

func (l *lost) gone() {
	if l.hangUp != nil {
		l.hangUp()
	}
}

func (l *lost) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	defer l.gone()
	return l.Store.CreatePlan(ctx, p, by)
}

func (l *lost) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (store.Plan, bool, error) {
	defer l.gone()
	_, _, err := l.Store.CommitPlan(ctx, id, to, keep, guards...)
	if err == nil {
		err = context.Canceled // the service does not learn of it, either
	}
	return store.Plan{}, false, err
}

// TestLostAnswers: who never got the answer gets it by asking again, though the
// service itself did not learn what became of the request.
func TestLostAnswers(t *testing.T) {
	l := &lost{}
	e := newEnv(t, func(c *api.Config) { l.Store = c.Store; c.Store = l })
	e.operator("clicks", reported)
	hangUp := func(target, body, key string) {
		ctx, cancel := context.WithCancel(t.Context())
		l.hangUp = cancel
		func() {
			defer func() { _ = recover() }()
			r := e.request(ctx, "POST", target, strings.NewReader(body), "Idempotency-Key: "+key)
			e.handler.ServeHTTP(hungUp{}, r)
		}()
		l.hangUp = nil
	}
	const plans = "/v1/operators/clicks/plans"
	hangUp(plans, interval(1, ""), "plan")
	a := e.do("POST", plans, interval(1, ""), "Idempotency-Key: plan").want(http.StatusCreated)
	if a.header.Get("Idempotent-Replayed") != "true" || len(a.plan().Migrations) == 0 {
		t.Errorf("%v %s", a.header, a.body)
	}
	commit := "/v1/plans/" + a.plan().Id + "/commit"
	hangUp(commit, stopped, "commit")
	a = e.do("POST", commit, stopped, "Idempotency-Key: commit").want(http.StatusOK)
	if a.header.Get("Idempotent-Replayed") != "true" || *a.plan().Version != 1 {
		t.Errorf("%v %s", a.header, a.body)
	}
	// It stays the answer, whatever happens afterwards.
	e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	sameAnswer(t, e.do("POST", commit, stopped, "Idempotency-Key: commit"), a)
	e.do("POST", plans, interval(1, ""), "Idempotency-Key: plan").fails(http.StatusGone, "purged", "")
}

// hungUp is a client that is gone.
type hungUp struct{}

func (hungUp) Header() http.Header       { return http.Header{} }
func (hungUp) WriteHeader(int)           {}
func (hungUp) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestRefusedKeys: what is refused, or fails, leaves its key unused.
func TestRefusedKeys(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) { f.Store = c.Store; c.Store = f })
	const plans, key = "/v1/operators/clicks/plans", "Idempotency-Key: a key"
	for name, bad := range map[string]string{"blank": "a key", "long": strings.Repeat("k", 256), "none": "",
		"not ASCII": "ké"} {
		e.do("DELETE", "/v1/operators/"+strings.ReplaceAll(name, " ", "-"), "", "Idempotency-Key: "+bad).
			fails(unprocessable, "invalid", "?Idempotency-Key")
	}
	const good = "Idempotency-Key: !~\"key\""
	e.do("POST", plans, interval(1, ""), good).fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("clicks", reported)
	f.set("CreatePlan", store.ErrUnavailable)
	e.do("POST", plans, interval(1, ""), good).fails(http.StatusServiceUnavailable, "unavailable", "")
	f.set("CreatePlan", nil)
	e.do("POST", plans, `{"interval":`, good).fails(badRequest, "malformed", "")
	e.do("POST", plans, interval(2, ""), good).want(http.StatusCreated)
	e.do("POST", plans, interval(2, ""), good).want(http.StatusCreated)
	// The key of one request says nothing of others.
	e.do("DELETE", "/v1/operators/clicks", "", good).want(http.StatusNoContent)
	e.do("PUT", "/v1/operators/clicks", reported, good).want(http.StatusCreated)
}

// TestKeysOfTheDead: a key that nobody gives back is free after its lease.
func TestKeysOfTheDead(t *testing.T) {
	var held store.Idempotency
	e := newEnv(t, func(c *api.Config) { c.Store = &claims{c.Store, &held} })
	const target, key = "/v1/operators/clicks", "Idempotency-Key: k"
	e.do("DELETE", target, "", key).fails(http.StatusNotFound, "operator_not_found", "")
	if _, err := e.store.BeginIdempotent(t.Context(), held, time.Minute, e.clock.Now()); err != nil {
		t.Fatal(err)
	}
	e.do("DELETE", target, "", key).fails(http.StatusConflict, "idempotency_key_running", "")
	e.clock.pass(time.Minute)
	e.do("DELETE", target, "", key).fails(http.StatusNotFound, "operator_not_found", "")
}

// TestLongRequests: a request holds its key for as long as it takes, also when the
// store is away in between; no longer than that, and no longer than the lease if it
// cannot say that it is still there.
func TestLongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faults{}
		l := &slow{Store: f}
		e := newEnv(t, func(c *api.Config) { f.Store, c.Store, c.Now = c.Store, l, time.Now })
		e.operator("clicks", reported)
		const plans, key = "/v1/operators/clicks/plans", "Idempotency-Key: k"
		first := make(chan *answer, 1)
		go func() { first <- e.do("POST", plans, interval(1, ""), key) }()
		begin := time.Now()
		for _, at := range []time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute, 599 * time.Second} {
			time.Sleep(time.Until(begin.Add(at)))
			synctest.Wait()
			e.do("POST", plans, interval(1, ""), key).fails(http.StatusConflict, "idempotency_key_running", "")
			if at == 3*time.Minute {
				f.set("ExtendIdempotent", store.ErrUnavailable)
				time.Sleep(time.Minute)
				f.set("ExtendIdempotent", nil)
			}
		}
		a := (<-first).want(http.StatusCreated)
		sameAnswer(t, e.do("POST", plans, interval(1, ""), key), a)
		if n := l.made.Load(); n != 1 {
			t.Errorf("made %d times", n)
		}

		// Nor does one that can say nothing any more keep others from it.
		f.set("ExtendIdempotent", store.ErrUnavailable)
		go func() { first <- e.do("POST", plans, interval(2, ""), key+"2") }()
		time.Sleep(2*time.Minute + time.Second)
		second := e.do("POST", plans, interval(2, ""), key+"2").want(http.StatusCreated)
		(<-first).fails(http.StatusConflict, "idempotency_key_running", "")
		sameAnswer(t, e.do("POST", plans, interval(2, ""), key+"2"), second)
	})
}

// slow is a store that takes its time to create the first two plans.
type slow struct {
	store.Store
	made atomic.Int32
}

func (s *slow) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	if s.made.Add(1) <= 2 {
		time.Sleep(10 * time.Minute)
	}
	return s.Store.CreatePlan(ctx, p, by)
}

// claims is a store that tells what key a request claims.
type claims struct {
	store.Store
	held *store.Idempotency
}

func (c *claims) BeginIdempotent(ctx context.Context, i store.Idempotency, lease time.Duration,
	at time.Time) (store.Claim, error) {
	*c.held = i
	return c.Store.BeginIdempotent(ctx, i, lease, at)
}

// TestDuplicateUnderKey: a plan that is there already is the answer under a key,
// and stays it.
func TestDuplicateUnderKey(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	const plans, key = "/v1/operators/clicks/plans", "Idempotency-Key: k"
	id := e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan().Id
	a := e.do("POST", plans, interval(1, ""), key).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+id+"/abort", "").want(http.StatusOK)
	sameAnswer(t, e.do("POST", plans, interval(1, ""), key), a)
	if other := e.do("POST", plans, interval(1, ""), "Idempotency-Key: l").want(http.StatusCreated).
		plan(); other.Id == id {
		t.Error("an aborted plan is no duplicate")
	}
}

// TestManyKeys: the lists of a plan are no part of what is kept for a retry.
func TestManyKeys(t *testing.T) {
	var rows strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&rows, `,{"key":"key-%d","cost":%d}`, i, i%7+1)
	}
	body := `{"interval":1,"keys":[` + rows.String()[1:] + `]}`
	var kept int
	e := newEnv(t, func(c *api.Config) { c.Store = &sized{c.Store, &kept} })
	e.operator("clicks", `{"instances":2,"theta_max":0}`)
	first := e.do("POST", "/v1/operators/clicks/plans", body, "Idempotency-Key: k").want(http.StatusCreated)
	sameAnswer(t, e.do("POST", "/v1/operators/clicks/plans", body, "Idempotency-Key: k"), first)
	if n := len(first.plan().Migrations); n < 500 || kept > 8<<10 {
		t.Errorf("%d bytes are kept for a plan with %d migrations", kept, n)
	}
}

// sized is a store that tells how much is kept as the answer to a request.
type sized struct {
	store.Store
	kept *int
}

func (s *sized) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	if c, found := store.CompletionOf(ctx); found {
		make := c.Answer
		c.Answer = func(o store.Outcome) (int, []byte, error) {
			status, answer, err := make(o)
			*s.kept = len(answer)
			return status, answer, err
		}
		ctx = store.WithCompletion(ctx, c)
	}
	return s.Store.CreatePlan(ctx, p, by)
}

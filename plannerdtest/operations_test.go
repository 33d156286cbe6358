package plannerdtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"go.uber.org/goleak"

	"plannerd/internal/lab/openapi"
	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exchange is a request that a client made, and the answer to it.
type exchange struct {
	request  *http.Request
	sent     []byte
	response *http.Response
	body     []byte
}

// recorder notes all exchanges.
type recorder struct {
	mu  sync.Mutex
	all []exchange
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	var sent bytes.Buffer
	if request.Body != nil {
		request.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(request.Body, &sent), request.Body}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, exchange{request, sent.Bytes(), response, body})
	return response, nil
}

// take returns what was noted since it was called before.
func (r *recorder) take() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// methodOf is the name of the client's method for an operation.
func methodOf(operation string) string {
	return string(unicode.ToUpper(rune(operation[0]))) + operation[1:]
}

// TestEveryOperation calls the method of each operation of the contract, and holds the
// request, the answer and how the client's types read it against the contract.
func TestEveryOperation(t *testing.T) {
	doc, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	methods := operations(doc)
	server, seen := plannerdtest.NewServer(t), &recorder{}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c, err := client.New(server.URL, client.Config{HTTP: &http.Client{Transport: seen}})
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, one := range scenario(t, c) {
		out, err := one.call()
		if err != nil {
			t.Fatalf("%s: %v", one.operation, err)
		}
		exchanges := seen.take()
		if len(exchanges) != 1 {
			t.Fatalf("%s made %d requests, want 1", one.operation, len(exchanges))
		}
		called[one.operation] = true
		compare(t, one.operation, router, exchanges[0], out)
	}
	for id := range methods {
		if _, ok := reflect.TypeFor[*client.Client]().MethodByName(methodOf(id)); !ok {
			t.Errorf("the client has no method %s for the operation %s", methodOf(id), id)
		}
		if !called[id] {
			t.Errorf("the operation %s was not called", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(called)) {
		if !methods[id] {
			t.Errorf("the contract has no operation %s", id)
		}
	}
}

// operations are the ids of all operations.
func operations(doc *openapi3.T) map[string]bool {
	ids := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			ids[operation.OperationID] = true
		}
	}
	return ids
}

// compare holds an exchange against an operation of the contract.
func compare(t *testing.T, operation string, router routers.Router, x exchange, out any) {
	t.Helper()
	r := x.request.Clone(t.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.sent))
	found, parameters, err := router.FindRoute(r)
	if err != nil {
		t.Errorf("%s: %s %s: %v", operation, r.Method, r.URL, err)
		return
	}
	if found.Operation.OperationID != operation {
		t.Errorf("%s: %s %s is the operation %s", operation, r.Method, r.URL, found.Operation.OperationID)
		return
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parameters, Route: found,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
			ExcludeRequestBody: r.Header.Get("Content-Encoding") != "", // the server reads it
		},
	}
	if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil {
		t.Errorf("%s: the request: %v", operation, err)
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.response.StatusCode, Header: x.response.Header, Options: input.Options,
	}
	if len(x.body) > 0 && !strings.Contains(x.response.Header.Get("Content-Type"), "yaml") {
		answer.SetBodyBytes(x.body)
		if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
			t.Errorf("%s: the answer: %v", operation, err)
		}
	}
	takesKey := slices.ContainsFunc(found.Operation.Parameters, func(p *openapi3.ParameterRef) bool {
		return p.Value.Name == "Idempotency-Key"
	})
	if hasKey := r.Header.Get("Idempotency-Key") != ""; hasKey != takesKey {
		t.Errorf("%s: the request has an Idempotency-Key: %v, the contract: %v", operation, hasKey, takesKey)
	}
	if out == nil || strings.HasPrefix(reflect.TypeOf(out).String(), "[]") {
		return
	}
	// The types know every member of the answer.
	strict := json.NewDecoder(bytes.NewReader(x.body))
	strict.DisallowUnknownFields()
	again := reflect.New(reflect.TypeOf(out).Elem()).Interface()
	if err := strict.Decode(again); err != nil {
		t.Errorf("%s: %v", operation, err)
	} else if !reflect.DeepEqual(again, out) {
		t.Errorf("%s: the client returns %+v, the answer is %+v", operation, out, again)
	}
}

// step is a call of an operation.
type step struct {
	operation string
	call      func() (any, error)
}

// result gives the result of a call any type.
func result[T any](out *T, err error) (any, error) { return out, err }

func rows(keys ...string) []wire.Row {
	all := make([]wire.Row, len(keys))
	for i, key := range keys {
		all[i] = wire.Row{Key: key, Cost: new(float64(1 + i)), State: new(2.0), HashInstance: new(wire.ID(0))}
	}
	return all
}

// scenario calls each operation at least once, in an order in which all succeed.
func scenario(t *testing.T, c *client.Client) []step {
	ctx := t.Context()
	var plan, second, third *wire.Plan
	two := wire.Numbered(2)
	reported := &wire.Hash{Function: new(wire.HashFunctionReported)}
	configuration := wire.OperatorConfiguration{Instances: two, Hash: reported, ThetaMax: new(0.01),
		Strategy: new(wire.StrategyOptimal), Policy: new(wire.PolicyChoice(map[string]any{
			"forecast": map[string]any{"method": "last"}}))}
	keys := rows("a", "b", "c", "d", "\u00e9")
	hold := wire.FreezeRequest{Until: time.Now().Add(time.Hour), Reason: "a sale"}
	stream := wire.AnalysisStream{{Key: "a"}, {Key: "b", Cost: new(2.0)}, {Key: "a"}, {Key: "c"}}
	return []step{
		{"healthz", func() (any, error) { return result(c.Healthz(ctx)) }},
		{"readyz", func() (any, error) { return result(c.Readyz(ctx)) }},
		{"getCaller", func() (any, error) { return result(c.GetCaller(ctx)) }},
		{"listStrategies", func() (any, error) { return result(c.ListStrategies(ctx)) }},
		{"metrics", func() (any, error) { return text(c.Metrics(ctx)) }},
		{"contract", func() (any, error) { return text(c.Contract(ctx)) }},
		{"docs", func() (any, error) { return text(c.Docs(ctx)) }},
		{"docsAsset", func() (any, error) { return text(c.DocsAsset(ctx, "tutorial")) }},
		{"whatIf", func() (any, error) {
			return result(c.WhatIf(ctx, wire.WhatIfRequest{
				Operator: wire.OperatorConfiguration{Instances: two, Hash: reported}, Keys: keys, Plans: new(true),
				Parameters: &wire.WhatIfGrid{ThetaMax: []float64{0.02, 0.08}, TableLimit: []*int64{nil, new(int64(3))}},
			}))
		}},
		{"analyseRing", func() (any, error) {
			return result(c.AnalyseRing(ctx, wire.RingRequest{Nodes: []wire.RingNode{{Id: 0}, {Id: 1}}, Stream: stream}))
		}},
		{"analysePKG", func() (any, error) {
			return result(c.AnalysePKG(ctx, wire.PKGRequest{Workers: new(wire.PKGWorkers(2)), Stream: stream}))
		}},
		{"analyseRanges", func() (any, error) {
			return result(c.AnalyseRanges(ctx, wire.RangesRequest{
				Followers: []wire.RangesFollower{{Id: 0}, {Id: 1}}, Stream: stream}))
		}},
		{"analyseSchemes", func() (any, error) {
			return result(c.AnalyseSchemes(ctx, wire.SchemesRequest{
				Instances: []wire.SchemesInstance{{Id: 0}, {Id: 1}}, Stream: stream}))
		}},
		{"analyseBacktest", func() (any, error) {
			return result(c.AnalyseBacktest(ctx, wire.BacktestIntervalsRequest{
				Operator: wire.OperatorConfiguration{Instances: two, Hash: reported}, Intervals: []wire.BacktestInterval{
					{Interval: 1, Keys: keys}, {Interval: 2, Keys: keys},
				},
			}))
		}},

		{"putOperator", func() (any, error) {
			return result(c.PutOperator(ctx, "clicks", configuration, client.IfNoneMatch("*")))
		}},
		{"patchOperator", func() (any, error) {
			return result(c.PatchOperator(ctx, "clicks", wire.OperatorPatch{"require_approval": true, "sigma": nil}))
		}},
		{"getOperator", func() (any, error) {
			return result(c.GetOperator(ctx, "clicks", client.GetOperatorOptions{Include: "recent", Window: 5}))
		}},
		{"listOperators", func() (any, error) {
			return result(c.ListOperators(ctx, client.ListOperatorsOptions{Include: "recent"}))
		}},
		{"putRouter", func() (any, error) {
			return result(c.PutRouter(ctx, "clicks", "r1", wire.RouterRequest{Lease: "30s"}))
		}},
		{"listRouters", func() (any, error) { return result(c.ListRouters(ctx, "clicks")) }},
		{"createPlan", func() (any, error) {
			out, err := c.CreatePlan(ctx, "clicks", wire.PlanRequest{Interval: 1, Keys: keys})
			plan = out
			return result(out, err)
		}},
		{"approvePlan", func() (any, error) {
			return result(c.ApprovePlan(ctx, plan.Id, wire.Transition{Reason: new("it is night")}))
		}},
		{"nextPlan", func() (any, error) {
			return result(c.NextPlan(ctx, "clicks", client.NextPlanOptions{Wait: time.Second}))
		}},
		{"startPlan", func() (any, error) {
			return result(c.StartPlan(ctx, plan.Id, wire.StartRequest{Executor: "driver"}))
		}},
		{"ackPlan", func() (any, error) {
			return result(c.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: wire.IDs(0)}))
		}},
		{"ackPlan", func() (any, error) {
			return result(c.AckPlan(ctx, plan.Id, wire.AckRequest{Instances: wire.IDs(1)}))
		}},
		{"deleteRouter", func() (any, error) { return nil, c.DeleteRouter(ctx, "clicks", "r1") }},
		{"getPlan", func() (any, error) {
			out, err := c.GetPlan(ctx, plan.Id, client.GetPlanOptions{Include: []string{"migrations", "routing_table"}})
			plan = out
			return result(out, err)
		}},
		{"listPlans", func() (any, error) {
			return result(c.ListPlans(ctx, "clicks", client.ListPlansOptions{Status: wire.PlanStatusCommitted}))
		}},
		{"listMigrations", func() (any, error) {
			return result(c.ListMigrations(ctx, plan.Id, client.ListMigrationsOptions{
				Sort: "cost", From: new(int32(0)), KeyEncoding: wire.KeyEncodingBase64}))
		}},
		{"listTableChanges", func() (any, error) {
			return result(c.ListTableChanges(ctx, plan.Id, client.ListTableChangesOptions{Instance: new(int32(1))}))
		}},
		{"listFlows", func() (any, error) {
			return result(c.ListFlows(ctx, plan.Id, client.ListFlowsOptions{PageSize: 1}))
		}},
		{"listTransitions", func() (any, error) { return result(c.ListTransitions(ctx, plan.Id)) }},
		{"getRoutingTable", func() (any, error) {
			return result(c.GetRoutingTable(ctx, "clicks", client.GetRoutingTableOptions{Since: new(int64(0))}))
		}},
		{"route", func() (any, error) {
			return result(c.Route(ctx, "clicks", []byte(plan.Migrations[0].Key)))
		}},
		{"freezeOperator", func() (any, error) { return result(c.FreezeOperator(ctx, "clicks", hold)) }},
		{"unfreezeOperator", func() (any, error) { return nil, c.UnfreezeOperator(ctx, "clicks") }},
		{"freezeAll", func() (any, error) { return result(c.FreezeAll(ctx, hold)) }},
		{"unfreezeAll", func() (any, error) { return nil, c.UnfreezeAll(ctx) }},
		{"diffPlans", func() (any, error) {
			return result(c.DiffPlans(ctx, plan.Id, client.DiffPlansOptions{With: plan.Id}))
		}},
		{"commentPlan", func() (any, error) {
			return result(c.CommentPlan(ctx, plan.Id, wire.CommentRequest{Comment: "why?"}))
		}},
		{"listConfigurations", func() (any, error) {
			return result(c.ListConfigurations(ctx, "clicks", client.ListConfigurationsOptions{}))
		}},
		{"getConfiguration", func() (any, error) {
			return result(c.GetConfiguration(ctx, "clicks", 1, client.GetConfigurationOptions{Since: new(int64(1))}))
		}},
		{"listChanges", func() (any, error) { return result(c.ListChanges(ctx, "clicks", time.Unix(0, 0))) }},
		{"previewUndo", func() (any, error) {
			return result(c.PreviewUndo(ctx, "clicks", client.PreviewUndoOptions{ToVersion: new(int64(0))}))
		}},
		{"undo", func() (any, error) {
			out, err := c.Undo(ctx, "clicks", wire.UndoRequest{})
			second = out
			return result(out, err)
		}},
		{"rejectPlan", func() (any, error) { return result(c.RejectPlan(ctx, second.Id, wire.Transition{})) }},
		{"putReport", func() (any, error) {
			return result(c.PutReport(ctx, "clicks", 2, "0", wire.ReportRequest{Keys: []wire.Row{}}))
		}},
		{"putReport", func() (any, error) {
			return result(c.PutReportFrom(ctx, "clicks", 2, "1", wire.ReportRequest{
				Coverage: new(wire.CoveragePartial),
				Residual: []wire.Residual{{Instance: "1", Cost: new(0.5), Keys: new(int64(3))}},
			}, client.Statistics{Hashed: true, Count: 1, Rows: client.Rows([]client.Row{{Key: []byte("z"), Cost: 2}})}))
		}},
		{"listReports", func() (any, error) {
			return result(c.ListReports(ctx, "clicks", 2, client.ListReportsOptions{}))
		}},
		{"createPlan", func() (any, error) {
			out, err := c.CreatePlanFrom(ctx, "clicks", wire.PlanRequest{Interval: 3, TableVersion: new(int64(0))},
				client.Statistics{Hashed: true, Rows: client.Rows([]client.Row{
					{Key: []byte("a"), Cost: 9, State: 1}, {Key: []byte{0xff}, Cost: 5, State: 1},
					{Key: []byte("c"), Cost: 5, State: 1},
				})})
			second = out
			return result(out, err)
		}},
		{"whatIfOperator", func() (any, error) {
			return result(c.WhatIfOperator(ctx, client.WhatIfOptions{
				Operator: "clicks", Strategies: []wire.Strategy{wire.StrategyMixed}, ThetaMax: []wire.ThetaMax{0.05, 0.1},
			}))
		}},
		{"replayPlan", func() (any, error) {
			return result(c.ReplayPlan(ctx, second.Id, wire.ReplayRequest{Strategies: []wire.Strategy{wire.StrategyMixed}}))
		}},
		{"rejectPlan", func() (any, error) {
			return result(c.RejectPlan(ctx, second.Id, wire.Transition{}))
		}},
		{"adviseOperator", func() (any, error) {
			return result(c.AdviseOperator(ctx, "clicks", client.AdviseOperatorOptions{InstanceLoad: 10}))
		}},
		{"backtestOperator", func() (any, error) {
			return result(c.BacktestOperator(ctx, "clicks", wire.BacktestRequest{}))
		}},

		{"putOperator", func() (any, error) { return result(c.PutOperator(ctx, "classes", configuration)) }},
		{"createPlan", func() (any, error) {
			out, err := c.CreatePlan(ctx, "classes", wire.PlanRequest{
				Interval: 1, Compact: &wire.CompactStatistics{Records: []wire.CompactRecord{{0, 0, 4, 1, 4}}}})
			third = out
			return result(out, err)
		}},
		{"resolvePlan", func() (any, error) {
			return result(c.ResolvePlan(ctx, third.Id, client.Resolution{
				Hashed: true, Moves: client.Moves([]client.Move{{Key: []byte("x"), To: 1}, {Key: []byte("y"), To: 1}})}))
		}},
		{"startPlan", func() (any, error) {
			return result(c.StartPlan(ctx, third.Id, wire.StartRequest{Executor: "driver", ExecutorEpoch: new(int64(2))}))
		}},
		{"stopPlan", func() (any, error) {
			return result(c.StopPlan(ctx, third.Id, wire.StopRequest{ExecutorEpoch: new(int64(2))}))
		}},
		{"abortPlan", func() (any, error) {
			return result(c.AbortPlan(ctx, third.Id, wire.AbortRequest{ExecutorEpoch: new(int64(2))}))
		}},
		{"abortPlan", func() (any, error) {
			return result(c.AbortPlan(ctx, third.Id, wire.AbortRequest{RolledBack: new(true), ExecutorEpoch: new(int64(2))}))
		}},
		{"createPlan", func() (any, error) {
			out, err := c.CreatePlan(ctx, "classes", wire.PlanRequest{Interval: 2, Keys: keys})
			third = out
			return result(out, err)
		}},
		{"commitPlan", func() (any, error) {
			return result(c.CommitPlan(ctx, third.Id, wire.CommitRequest{Stopped: new(true)}))
		}},
		{"deleteOperator", func() (any, error) { return nil, c.DeleteOperator(ctx, "classes") }},
	}
}

// text is the result of a call that has no type.
func text(out []byte, err error) (any, error) { return out, err }

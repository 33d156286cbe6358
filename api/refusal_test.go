package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/api"
	"plannerd/internal/input"
)

// state is everything that a refused request must leave as it was.
func (e *env) state() string {
	e.Helper()
	out := ""
	for _, target := range []string{"/v1/operators", "/v1/operators/clicks/plans", "/v1/operators/clicks/routing-table"} {
		out += string(e.do("GET", target, "").want(http.StatusOK).body)
	}
	return out
}

type refusal struct {
	name, method, target, body string
	headers                    []string
	status                     int
	code, where                string
}

// refused runs the cases and checks after each that nothing changed.
func (e *env) refused(t *testing.T, cases []refusal) {
	before := e.state()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			e.do(c.method, c.target, c.body, c.headers...).fails(c.status, c.code, c.where)
			if after := e.state(); after != before {
				t.Errorf("it left something behind:\n%s\n%s", before, after)
			}
		})
	}
}

const (
	unprocessable = http.StatusUnprocessableEntity
	badRequest    = http.StatusBadRequest
	ndjson        = "Content-Type: application/x-ndjson"
	csv           = "Content-Type: text/csv"
)

// prepared returns a server with the operator clicks, and an approved plan.
func prepared(t *testing.T, options ...func(*api.Config)) (*env, plan) {
	e := newEnv(t, options...)
	e.operator("clicks", `{"instances":2,"theta_max":0}`)
	p := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4},{"key":"d","cost":4}]}`).
		want(http.StatusCreated).plan()
	return e, p
}

func TestRefusedStatistics(t *testing.T) {
	e, _ := prepared(t)
	const plans = "/v1/operators/clicks/plans"
	long := strings.Repeat("k", 1025)
	post := func(name, body string, status int, code, where string, headers ...string) refusal {
		return refusal{name, "POST", plans, body, headers, status, code, where}
	}
	keys := func(rows string) string { return `{"interval":2,"keys":[` + rows + `]}` }
	with := func(member string) string { return `{"interval":2,"keys":[{"key":"a","cost":1}],` + member + `}` }
	e.refused(t, []refusal{
		post("duplicate keys", keys(`{"key":"a","cost":1},{"key":"b","cost":1},{"key":"a","cost":1}`), unprocessable,
			"invalid", "/keys/2/key"),
		post("NaN", keys(`{"key":"a","cost":NaN}`), badRequest, "malformed", ""),
		post("infinite", keys(`{"key":"a","cost":1e999}`), unprocessable, "invalid", "/keys/0/cost"),
		post("negative cost", keys(`{"key":"b","cost":1},{"key":"a","cost":-1}`), unprocessable, "invalid", "/keys/1/cost"),
		post("two great costs", keys(`{"key":"a","cost":1.7e308},{"key":"b","cost":1.7e308}`), unprocessable, "invalid",
			"/keys/0/cost"),
		post("a cost just too great", keys(`{"key":"b","cost":1e290},{"key":"a","cost":1.0000000000000002e290}`),
			unprocessable, "invalid", "/keys/1/cost"),
		post("great state", keys(`{"key":"a","cost":1,"state":1.7e308}`), unprocessable, "invalid", "/keys/0/state"),
		post("great frequency", keys(`{"key":"a","frequency":1.7e308}`), unprocessable, "invalid", "/keys/0/frequency"),
		post("great cost in a column", `{"interval":2,"columns":{"key":["a","b"],"cost":[1,1.7e308]}}`, unprocessable,
			"invalid", "/columns/cost/1"),
		post("great residual cost", with(`"coverage":"partial","residual":[{"instance":0,"cost":1.7e308}]`), unprocessable,
			"invalid", "/residual/0/cost"),
		post("great residual state",
			with(`"coverage":"partial","residual":[{"instance":1,"cost":1},{"instance":0,"state":1.7e308}]`), unprocessable,
			"invalid", "/residual/1/state"),
		post("great residual keys", with(`"coverage":"partial","residual":[{"instance":0,"keys":9223372036854775807}]`),
			unprocessable, "invalid", "/residual/0/keys"),
		post("greater residual keys", with(`"coverage":"partial","residual":[{"instance":0,"keys":9223372036854775808}]`),
			unprocessable, "invalid", "/residual/0/keys"),
		post("negative state", keys(`{"key":"a","cost":1,"state":-1}`), unprocessable, "invalid", "/keys/0/state"),
		post("unknown instance", keys(`{"key":"a","cost":1,"instance":9}`), unprocessable, "invalid", "/keys/0/instance"),
		post("negative instance", keys(`{"key":"a","cost":1,"instance":-1}`), unprocessable, "invalid", "/keys/0/instance"),
		post("fractional instance", keys(`{"key":"a","cost":1,"instance":0.5}`), unprocessable, "invalid",
			"/keys/0/instance"),
		post("hash instance of a known hash", keys(`{"key":"a","cost":1,"hash_instance":0}`), unprocessable, "invalid",
			"/keys/0/hash_instance"),
		post("empty key", keys(`{"key":"","cost":1}`), unprocessable, "invalid", "/keys/0/key"),
		post("long key", keys(`{"key":"`+long+`","cost":1}`), unprocessable, "invalid", "/keys/0/key"),
		post("no key", keys(`{"cost":1}`), unprocessable, "invalid", "/keys/0/key"),
		post("key of a wrong type", keys(`{"key":1,"cost":1}`), unprocessable, "invalid", "/keys/0/key"),
		post("cost of a wrong type", keys(`{"key":"a","cost":"1"}`), unprocessable, "invalid", "/keys/0/cost"),
		post("unknown field in a row", keys(`{"key":"a","cost":1,"weight":2}`), unprocessable, "invalid", "/keys/0/weight"),
		post("state on some rows", keys(`{"key":"a","cost":1,"state":1},{"key":"b","cost":1}`), unprocessable, "invalid", ""),
		post("columns of unequal lengths", `{"interval":2,"columns":{"key":["a","b"],"cost":[1]}}`, unprocessable,
			"invalid", ""),
		post("negative in a column", `{"interval":2,"columns":{"key":["a","b"],"cost":[1,-1]}}`, unprocessable, "invalid",
			"/columns/cost/1"),
		post("unknown instance in a column", `{"interval":2,"columns":{"key":["a","b"],"cost":[1,1],"instance":[0,7]}}`,
			unprocessable, "invalid", "/columns/instance/1"),
		post("unknown column", `{"interval":2,"columns":{"key":["a"],"cost":[1],"weight":[1]}}`, unprocessable, "invalid",
			"/columns/weight"),
		post("neither keys nor columns nor reports", `{"interval":2}`, http.StatusConflict, "reports_missing", ""),
		post("unknown field", with(`"weights":1`), unprocessable, "invalid", "/weights"),
		post("field of a later version", with(`"missing":"carry"`), unprocessable, "invalid", "/missing"),
		post("strategy is not overridden", with(`"strategy":"llfd"`), unprocessable, "invalid", "/strategy"),
		post("no interval", `{"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("negative interval", `{"interval":-1,"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("great interval", `{"interval":9007199254740992,"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("greater interval", `{"interval":99999999999999999999,"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("infinite interval", `{"interval":1e999,"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("great table version", with(`"table_version":99999999999999999999`), unprocessable, "invalid", "/table_version"),
		post("fractional interval", `{"interval":1.5,"keys":[]}`, unprocessable, "invalid", "/interval"),
		post("interval of a wrong type", `{"interval":"2","keys":[]}`, unprocessable, "invalid", "/interval"),
		post("negative epoch", with(`"epoch":-1`), unprocessable, "invalid", "/epoch"),
		post("negative table version", with(`"table_version":-1`), unprocessable, "invalid", "/table_version"),
		post("table version ahead", with(`"table_version":1`), http.StatusConflict, "table_version_ahead", ""),
		post("unknown coverage", with(`"coverage":"most"`), unprocessable, "invalid", "/coverage"),
		post("unknown key encoding", with(`"key_encoding":"hex"`), unprocessable, "invalid", "/key_encoding"),
		post("no base64", `{"interval":2,"key_encoding":"base64","keys":[{"key":"a!","cost":1}]}`, unprocessable, "invalid",
			"/keys/0/key"),
		post("residual of complete statistics", with(`"residual":[{"instance":0,"cost":1}]`), unprocessable,
			"invalid", "/residual"),
		post("residual of an unknown instance", with(`"coverage":"partial","residual":[{"instance":5,"cost":1}]`),
			unprocessable, "invalid", "/residual/0/instance"),
		post("residual twice", with(`"coverage":"partial","residual":[{"instance":0},{"instance":0}]`), unprocessable,
			"invalid", "/residual/1/instance"),
		post("negative residual", with(`"coverage":"partial","residual":[{"instance":0,"state":-1}]`), unprocessable,
			"invalid", "/residual/0/state"),
		post("residual without instance", with(`"coverage":"partial","residual":[{"cost":1}]`), unprocessable, "invalid",
			"/residual/0/instance"),
		post("unknown field in a residual", with(`"coverage":"partial","residual":[{"instance":0,"load":1}]`), unprocessable,
			"invalid", "/residual/0/load"),
		post("truncated", `{"interval":2,"keys":[{"key":"a"`, badRequest, "malformed", ""),
		post("trailing text", keys("")+"x", badRequest, "malformed", ""),
		post("member twice", `{"interval":2,"interval":3,"keys":[]}`, badRequest, "malformed", ""),
		post("no UTF-8", keys("{\"key\":\"\xff\",\"cost\":1}"), badRequest, "malformed", ""),
		post("no object", `[]`, badRequest, "malformed", ""),
		post("empty body", "", http.StatusUnsupportedMediaType, "unsupported_media_type", ""),
		post("empty JSON", "", badRequest, "malformed", "", "Content-Type: application/json"),
		{"query with JSON", "POST", plans + "?interval=2", `{"interval":2,"keys":[]}`, nil, unprocessable,
			"invalid", "?interval"},
		{"unknown operator", "POST", "/v1/operators/none/plans", keys(""), nil, http.StatusNotFound,
			"operator_not_found", ""},
		post("content type", "<a/>", http.StatusUnsupportedMediaType, "unsupported_media_type", "", "Content-Type: text/xml"),
		post("charset", keys(""), http.StatusUnsupportedMediaType, "unsupported_media_type", "",
			"Content-Type: application/json; charset=latin1"),
		post("content encoding", keys(""), http.StatusUnsupportedMediaType, "unsupported_media_type", "",
			"Content-Encoding: br"),
		post("no gzip", keys(""), badRequest, "malformed", "", "Content-Encoding: gzip"),
		post("no zstd", keys(""), badRequest, "malformed", "", "Content-Encoding: zstd"),
		post("accept", keys(""), http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html"),

		{"CSV without interval", "POST", plans, "key,cost\na,1\n", []string{csv}, unprocessable, "invalid", "?interval"},
		{"CSV, negative", "POST", plans + "?interval=2", "key,cost\na,1\nb,-1\n", []string{csv}, unprocessable,
			"invalid", "/1/cost"},
		{"CSV, NaN", "POST", plans + "?interval=2", "key,cost\na,NaN\n", []string{csv}, unprocessable, "invalid", "/0/cost"},
		{"CSV, infinite", "POST", plans + "?interval=2", "key,cost\na,Inf\n", []string{csv}, unprocessable,
			"invalid", "/0/cost"},
		{"CSV, duplicate", "POST", plans + "?interval=2", "key,cost\na,1\na,1\n", []string{csv}, unprocessable,
			"invalid", "/1/key"},
		{"CSV, unknown column", "POST", plans + "?interval=2", "key,cost,weight\na,1,1\n", []string{csv}, unprocessable,
			"invalid", ""},
		{"NDJSON, unknown instance", "POST", plans + "?interval=2", `{"key":"a","cost":1,"instance":9}`, []string{ndjson},
			unprocessable, "invalid", "/0/instance"},
		{"NDJSON, unknown field", "POST", plans + "?interval=2", `{"key":"a","cost":1,"weight":9}`, []string{ndjson},
			unprocessable, "invalid", "/0/weight"},
		{"NDJSON, truncated", "POST", plans + "?interval=2", `{"key":"a"`, []string{ndjson}, badRequest, "malformed", ""},
		{"query, no integer", "POST", plans + "?interval=two", "key\n", []string{csv}, badRequest, "malformed", "?interval"},
		{"query, great interval", "POST", plans + "?interval=9007199254740992", "key\n", []string{csv}, unprocessable,
			"invalid", "?interval"},
		{"query, greater interval", "POST", plans + "?interval=99999999999999999999", "key\n", []string{csv}, unprocessable,
			"invalid", "?interval"},
		{"query, great residual", "POST", plans + "?interval=2&coverage=partial&residual=0:0:0:9223372036854775807",
			"key,cost\na,1\n", []string{csv}, unprocessable, "invalid", "?residual"},
		{"CSV, great", "POST", plans + "?interval=2", "key,cost\na,1\nb,1.7e308\n", []string{csv}, unprocessable,
			"invalid", "/1/cost"},
		{"query, unknown", "POST", plans + "?interval=2&epic=1", "key\n", []string{csv}, unprocessable, "invalid", "?epic"},
		{"query, twice", "POST", plans + "?interval=2&interval=3", "key\n", []string{csv}, unprocessable,
			"invalid", "?interval"},
		{"query, no residual", "POST", plans + "?interval=2&coverage=partial&residual=0:1", "key,cost\na,1\n", []string{csv},
			unprocessable, "invalid", "?residual"},
		{"query, negative residual", "POST", plans + "?interval=2&coverage=partial&residual=0:-1:0:0", "key,cost\na,1\n",
			[]string{csv}, unprocessable, "invalid", "?residual"},
		{"query, NaN residual", "POST", plans + "?interval=2&coverage=partial&residual=0:NaN:0:0", "key,cost\na,1\n",
			[]string{csv}, unprocessable, "invalid", "?residual"},
		{"query, bad escape", "POST", plans + "?interval=%zz", "key\n", []string{csv}, badRequest, "malformed", ""},
	})
}

func TestRefusedConfigurations(t *testing.T) {
	e, _ := prepared(t)
	put := func(name, body, where string) refusal {
		return refusal{name, "PUT", "/v1/operators/clicks", body, nil, unprocessable, "invalid", where}
	}
	e.refused(t, []refusal{
		put("no instances", `{}`, "/instances"),
		put("empty list", `{"instances":[]}`, "/instances"),
		put("zero instances", `{"instances":0}`, "/instances"),
		put("too many", `{"instances":65537}`, "/instances"),
		put("fractional", `{"instances":1.5}`, "/instances"),
		put("instances of a wrong type", `{"instances":"8"}`, "/instances"),
		put("same id", `{"instances":[{"id":1},{"id":1}]}`, "/instances"),
		put("negative id", `{"instances":[{"id":0},{"id":-1}]}`, "/instances/1/id"),
		put("great id", `{"instances":[{"id":2147483648}]}`, "/instances/0/id"),
		put("no id", `{"instances":[{"capacity":1}]}`, "/instances/0"),
		put("zero capacity", `{"instances":[{"id":0,"capacity":0}]}`, "/instances/0/capacity"),
		put("great capacity", `{"instances":[{"id":0},{"id":1,"capacity":1e300}]}`, "/instances/1/capacity"),
		put("capacity just too great", `{"instances":[{"id":0,"capacity":1000000.1}]}`, "/instances/0/capacity"),
		put("small capacity", `{"instances":[{"id":0,"capacity":9.9e-7}]}`, "/instances/0/capacity"),
		put("unknown field in an instance", `{"instances":[{"id":0,"weight":1}]}`, "/instances/0/weight"),
		put("tokens of no ring", `{"instances":[{"id":1},{"id":0,"tokens":4}],"hash":{"function":"modulo"}}`,
			"/instances/1/tokens"),
		put("negative theta_max", `{"instances":2,"theta_max":-0.1}`, "/theta_max"),
		put("infinite theta_max", `{"instances":2,"theta_max":1e999}`, ""),
		put("negative beta", `{"instances":2,"beta":-1}`, "/beta"),
		put("negative table_limit", `{"instances":2,"table_limit":-1}`, "/table_limit"),
		put("negative key_overhead", `{"instances":2,"key_overhead":-1}`, "/key_overhead"),
		put("great key_overhead", `{"instances":2,"key_overhead":1e291}`, "/key_overhead"),
		put("unknown strategy", `{"instances":2,"strategy":"best"}`, "/strategy"),
		put("unknown strategy", `{"instances":2,"strategy":"oracle"}`, "/strategy"),
		put("unknown function", `{"instances":2,"hash":{"function":"crc"}}`, "/hash/function"),
		put("modulo with tokens", `{"instances":2,"hash":{"function":"modulo","tokens_per_instance":3}}`,
			"/hash/tokens_per_instance"),
		put("kafka without partitions", `{"instances":2,"hash":{"function":"kafka"}}`, "/hash/partitions"),
		put("assignment to nobody", `{"instances":2,"hash":{"function":"kafka","partitions":2,"assignment":[0,2]}}`,
			"/hash/assignment/1"),
		put("too short an assignment", `{"instances":2,"hash":{"function":"kafka","partitions":3,"assignment":[0,1]}}`,
			"/hash/assignment"),
		put("too little parallelism", `{"instances":4,"hash":{"function":"flink","max_parallelism":3}}`,
			"/hash/max_parallelism"),
		put("negative trigger", `{"instances":2,"trigger":{"theta":-1}}`, "/trigger/theta"),
		put("negative retention", `{"instances":2,"retention":{"plans":-1}}`, "/retention/plans"),
		put("unknown field", `{"instances":2,"thetamax":1}`, "/thetamax"),
		put("field of a later version", `{"instances":2,"auto_commit":true}`, "/auto_commit"),
		put("short ttl", `{"instances":2,"approval":{"ttl":"500ms"}}`, "/approval/ttl"),
		put("long ttl", `{"instances":2,"approval":{"ttl":"8761h"}}`, "/approval/ttl"),
		put("no ttl", `{"instances":2,"approval":{"ttl":"soon"}}`, "/approval/ttl"),
		put("unknown policy", `{"instances":2,"approval":{"on_pending":"ask"}}`, "/approval/on_pending"),
		put("unknown field of approval", `{"instances":2,"approval":{"by":"me"}}`, "/approval/by"),
		put("two at once", `{"instances":2,"beta":-1,"theta_max":"x"}`, "/beta"),
		put("no object", `[]`, ""),
		{"malformed", "PUT", "/v1/operators/clicks", `{"instances":2`, nil, badRequest, "malformed", ""},
		{"member twice", "PUT", "/v1/operators/clicks", `{"instances":2,"instances":3}`, nil, badRequest, "malformed", ""},
		{"no body", "PUT", "/v1/operators/clicks", ``, nil, badRequest, "malformed", ""},
		{"content type", "PUT", "/v1/operators/clicks", `instances: 2`, []string{"Content-Type: application/yaml"},
			http.StatusUnsupportedMediaType, "unsupported_media_type", ""},
		{"content encoding", "PUT", "/v1/operators/clicks", `{"instances":2}`, []string{"Content-Encoding: gzip"},
			http.StatusUnsupportedMediaType, "unsupported_media_type", ""},
		{"large", "PUT", "/v1/operators/clicks", `{"instances":2` + strings.Repeat(" ", 1<<20) + `}`, nil,
			http.StatusRequestEntityTooLarge, "too_large", ""},
		{"accept", "PUT", "/v1/operators/clicks", `{"instances":3}`, []string{"Accept: text/csv"}, http.StatusNotAcceptable,
			"not_acceptable", ""},
		{"name", "PUT", "/v1/operators/.hidden", `{"instances":2}`, nil, unprocessable, "invalid", "?operator"},
		{"long name", "PUT", "/v1/operators/" + strings.Repeat("a", 129), `{"instances":2}`, nil, unprocessable,
			"invalid", "?operator"},
	})
}

func TestRefusedReads(t *testing.T) {
	e, p := prepared(t)
	get := func(target string, status int, code, where string, headers ...string) refusal {
		return refusal{target + strings.Join(headers, ""), "GET", target, "", headers, status, code, where}
	}
	plan := "/v1/plans/" + p.Id
	post := func(verb, body string, status int, code, where string, headers ...string) refusal {
		return refusal{verb + body[:min(len(body), 20)] + strings.Join(headers, ""), "POST", plan + "/" + verb, body, headers,
			status, code, where}
	}
	cases := []refusal{
		get("/nothing", http.StatusNotFound, "not_found", ""),
		get("/docs/none.js", http.StatusNotFound, "not_found", ""),
		get("/v1/operators?page_size=0", unprocessable, "invalid", "?page_size"),
		get("/v1/operators?page_size=-99999999999999999999", unprocessable, "invalid", "?page_size"),
		get("/v1/operators?page_size=x", badRequest, "malformed", "?page_size"),
		get("/v1/operators?page_token=x", badRequest, "invalid_page_token", "?page_token"),
		get("/v1/operators?sort=name", unprocessable, "invalid", "?sort"),
		get("/v1/operators", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/operators", http.StatusNotAcceptable, "not_acceptable", "", "Accept: application/json;q=0, text/*"),
		get("/v1/operators/none", http.StatusNotFound, "operator_not_found", ""),
		get("/v1/operators/-", unprocessable, "invalid", "?operator"),
		get("/v1/operators/clicks", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/operators/none/plans", http.StatusNotFound, "operator_not_found", ""),
		get("/v1/operators/clicks/plans?status=done", unprocessable, "invalid", "?status"),
		get("/v1/operators/clicks/plans?interval=x", badRequest, "malformed", "?interval"),
		get("/v1/operators/clicks/plans?interval=99999999999999999999", unprocessable, "invalid", "?interval"),
		get("/v1/operators/clicks/plans", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/operators/none/routing-table", http.StatusNotFound, "operator_not_found", ""),
		get("/v1/operators/clicks/routing-table?version=-1", unprocessable, "invalid", "?version"),
		get("/v1/operators/clicks/routing-table?version=x", badRequest, "malformed", "?version"),
		get("/v1/operators/clicks/routing-table?version=99999999999999999999", unprocessable, "invalid", "?version"),
		get("/v1/operators/clicks/routing-table?since=-1", unprocessable, "invalid", "?since"),
		get("/v1/operators/clicks/routing-table?since=1e9", badRequest, "malformed", "?since"),
		get("/v1/operators/clicks/routing-table?since=0&version=0", unprocessable, "invalid", "?version"),
		get("/v1/operators/clicks/routing-table?wait=1s&version=0", unprocessable, "invalid", "?version"),
		get("/v1/operators/clicks/routing-table?wait=1s", unprocessable, "invalid", "?wait"),
		get("/v1/operators/clicks/routing-table?since=0&wait=61s", unprocessable, "invalid", "?wait"),
		get("/v1/operators/clicks/routing-table?since=0&wait=1h", unprocessable, "invalid", "?wait"),
		get("/v1/operators/clicks/routing-table?since=0&wait=9999999999999s", unprocessable, "invalid", "?wait"),
		get("/v1/operators/clicks/routing-table", http.StatusNotAcceptable, "not_acceptable", "", "Accept: application/xml"),
		get("/v1/operators/none/route?key=a", http.StatusNotFound, "operator_not_found", ""),
		get("/v1/operators/clicks/route", unprocessable, "invalid", "?key"),
		get("/v1/operators/clicks/route?key=%zz", badRequest, "malformed", ""),
		get("/v1/operators/clicks/route?key=a!&key_encoding=base64", unprocessable, "invalid", "?key"),
		get("/v1/operators/clicks/route?key=%ff", unprocessable, "invalid", "?key"),
		get("/v1/operators/clicks/route?key="+strings.Repeat("k", 1025), unprocessable, "invalid", "?key"),
		get("/v1/operators/clicks/route?key=a", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/plans/none", http.StatusNotFound, "plan_not_found", ""),
		get(plan+"?include=everything", unprocessable, "invalid", "?include"),
		get(plan, http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/plans/none/migrations", http.StatusNotFound, "plan_not_found", ""),
		get(plan+"/migrations?page_size=x", badRequest, "malformed", "?page_size"),
		get(plan+"/migrations?sort=size", unprocessable, "invalid", "?sort"),
		get(plan+"/migrations?reason=whim", unprocessable, "invalid", "?reason"),
		get(plan+"/migrations?key_prefix=a!&key_encoding=base64", unprocessable, "invalid", "?key_prefix"),
		get(plan+"/migrations?sort=count", unprocessable, "invalid", "?sort"),
		get(plan+"/migrations?order=up", unprocessable, "invalid", "?order"),
		get(plan+"/migrations?key_contains=a!&key_encoding=base64", unprocessable, "invalid", "?key_contains"),
		get(plan+"/migrations?key_contains=%ff", unprocessable, "invalid", "?key_contains"),
		get(plan+"/migrations?from=-1", unprocessable, "invalid", "?from"),
		get(plan+"/migrations?to=2147483648", unprocessable, "invalid", "?to"),
		get(plan+"/migrations?to=x", unprocessable, "invalid", "?to"),
		get(plan+"/migrations?min_cost=-1", unprocessable, "invalid", "?min_cost"),
		get(plan+"/migrations?min_state=NaN", unprocessable, "invalid", "?min_state"),
		get(plan+"/migrations?min_state=1e999", unprocessable, "invalid", "?min_state"),
		get(plan+"/migrations?skip=-1", unprocessable, "invalid", "?skip"),
		get(plan+"/migrations?skip=x", badRequest, "malformed", "?skip"),
		get(plan+"/migrations?skip=99999999999999999999", unprocessable, "invalid", "?skip"),
		get(plan+"/migrations?skip=1", unprocessable, "invalid", "?skip", "Accept: text/csv"),
		get("/v1/plans/none/flows", http.StatusNotFound, "plan_not_found", ""),
		get(plan+"/flows?sort=state", unprocessable, "invalid", "?sort"),
		get(plan+"/flows?page_token=x", badRequest, "invalid_page_token", "?page_token"),
		get(plan+"/flows?page_size=1", unprocessable, "invalid", "?page_size", "Accept: application/x-ndjson"),
		get(plan+"/flows", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html"),
		get("/v1/caller", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get(plan+"/migrations", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html"),
		get("/v1/plans/none/routing-table", http.StatusNotFound, "plan_not_found", ""),
		get(plan+"/routing-table?instance=x", unprocessable, "invalid", "?instance"),
		get(plan+"/routing-table?instance=2147483648", unprocessable, "invalid", "?instance"),
		get(plan+"/routing-table?skip=-1", unprocessable, "invalid", "?skip"),
		get(plan+"/routing-table?instance=-1", unprocessable, "invalid", "?instance"),
		get(plan+"/routing-table", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html"),
		{"delete", "DELETE", "/v1/operators/none", "", nil, http.StatusNotFound, "operator_not_found", ""},
		{"delete a bad name", "DELETE", "/v1/operators/-", "", nil, unprocessable, "invalid", "?operator"},
	}
	cases = append(cases,
		post("start", "", badRequest, "malformed", ""),
		post("start", `{}`, unprocessable, "invalid", "/executor"),
		post("start", `{"executor":""}`, unprocessable, "invalid", "/executor"),
		post("start", `{"executor":"a\u0007"}`, unprocessable, "invalid", "/executor"),
		post("acks", "", badRequest, "malformed", ""),
		post("acks", `{}`, unprocessable, "invalid", "/instances"),
		post("acks", `{"instances":[]}`, unprocessable, "invalid", "/instances"),
		post("acks", `{"instances":[-1]}`, unprocessable, "invalid", "/instances/0"),
		post("abort", `{"rolled_back":"yes"}`, unprocessable, "invalid", "/rolled_back"),
		post("replay", `{"strategies":[]}`, unprocessable, "invalid", "/strategies"),
		post("replay", `{"strategies":["magic"]}`, unprocessable, "invalid", "/strategies/0"),
		post("replay", `{"parameters":{"theta_max":[0,-1]}}`, unprocessable, "invalid", "/parameters/theta_max/1"),
		post("replay", `{"strategies":["mixed"],"parameters":{"objective":"min_imbalance"}}`, unprocessable, "invalid", "/parameters/objective"),
		post("replay", `{"strategies":["mixed","llfd"],"propose":true}`, unprocessable, "invalid", "/propose"),
		get(plan+"/transitions?page_size=1", unprocessable, "invalid", "?page_size"),
		get(plan+"/transitions", http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		get("/v1/plans/none/transitions", http.StatusNotFound, "plan_not_found", ""),
	)
	needs := map[string]string{"start": `{"executor":"e"}`, "acks": `{"instances":[0]}`}
	with := func(verb, member string) string {
		return strings.Replace("{"+member+strings.Replace(needs[verb], "{", ",", 1)+"}", "}}", "}", 1)
	}
	for _, verb := range []string{"approve", "reject", "start", "acks", "commit", "stop", "abort", "replay"} {
		cases = append(cases,
			post(verb, `{`, badRequest, "malformed", ""),
			post(verb, `{"force":true}`, unprocessable, "invalid", "/force"),
			post(verb, with(verb, `"reason":"a\u0007"`), unprocessable, "invalid", "/reason"),
			post(verb, with(verb, `"actor":"`+strings.Repeat("a", 257)+`"`), unprocessable, "invalid", "/actor"),
			post(verb, `{}`, http.StatusUnsupportedMediaType, "unsupported_media_type", "", "Content-Type: text/plain"),
			post(verb, `{}`, http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
			post(verb, strings.Repeat(" ", 1<<20+1), http.StatusRequestEntityTooLarge, "too_large", ""),
			refusal{verb, "POST", "/v1/plans/none/" + verb, needs[verb], nil, http.StatusNotFound, "plan_not_found", ""},
		)
	}
	e.refused(t, cases)
	for target, allow := range map[string]string{"/v1/what-if": "GET, HEAD, POST",
		"/v1/operators/clicks": "GET, HEAD, PUT, PATCH, DELETE", plan: "GET, HEAD"} {
		method := map[bool]string{true: "PATCH", false: "PUT"}[target == "/v1/what-if"]
		if strings.Contains(allow, "PATCH") {
			method = "POST"
		}
		a := e.do(method, target, "").fails(http.StatusMethodNotAllowed, "method_not_allowed", "")
		if a.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", target, a.header.Get("Allow"), allow)
		}
	}
}

func TestRefusedWhatIf(t *testing.T) {
	e, _ := prepared(t)
	post := func(name, body string, status int, code, where string, headers ...string) refusal {
		return refusal{name, "POST", "/v1/what-if", body, headers, status, code, where}
	}
	with := func(operator, rest string) string {
		return `{"operator":` + operator + `,"columns":{"key":["a","b"],"cost":[1,2]}` + rest + `}`
	}
	const hashed = `"columns":{"key":["a","b"],"cost":[1,2],"hash_instance":[0,1]}`
	e.refused(t, []refusal{
		post("no operator", `{"keys":[]}`, unprocessable, "invalid", "/operator"),
		post("no keys", `{"operator":{"instances":2}}`, unprocessable, "invalid", "/keys"),
		post("bad operator", with(`{"instances":[]}`, ""), unprocessable, "invalid", "/operator/instances"),
		post("bad hash", with(`{"instances":[{"id":1},{"id":0,"tokens":1}],"hash":{"function":"modulo"}}`, ""), unprocessable,
			"invalid", "/operator/instances/1/tokens"),
		post("unknown field in the operator", with(`{"instances":2,"size":1}`, ""), unprocessable, "invalid",
			"/operator/size"),
		post("same ids", with(`{"instances":[{"id":1},{"id":1}]}`, ""), unprocessable, "invalid", "/operator/instances"),
		post("unknown field", with(`{"instances":2}`, `,"epoch":1`), unprocessable, "invalid", "/epoch"),
		post("no strategies", with(`{"instances":2}`, `,"strategies":[]`), unprocessable, "invalid", "/strategies"),
		post("unknown strategy", with(`{"instances":2}`, `,"strategies":["mixed","magic"]`), unprocessable, "invalid",
			"/strategies/1"),
		post("strategy twice", with(`{"instances":2}`, `,"strategies":["mixed","mixed"]`), unprocessable, "invalid",
			"/strategies"),
		post("negative theta_max", with(`{"instances":2}`, `,"parameters":{"theta_max":-1}`), unprocessable, "invalid",
			"/parameters/theta_max"),
		post("negative theta_max in a list", with(`{"instances":2}`, `,"parameters":{"theta_max":[0,-1]}`), unprocessable,
			"invalid", "/parameters/theta_max/1"),
		post("great key_overhead", with(`{"instances":2}`, `,"parameters":{"key_overhead":1e291}`), unprocessable, "invalid",
			"/parameters/key_overhead"),
		post("great capacity", with(`{"instances":[{"id":0,"capacity":1e300}]}`, ""), unprocessable, "invalid",
			"/operator/instances/0/capacity"),
		post("great cost", `{"operator":{"instances":2},"columns":{"key":["a","b"],"cost":[1.7e308,1.7e308]}}`, unprocessable,
			"invalid", "/columns/cost/0"),
		post("negative beta", with(`{"instances":2}`, `,"parameters":{"beta":[-1]}`), unprocessable, "invalid",
			"/parameters/beta/0"),
		post("empty list", with(`{"instances":2}`, `,"parameters":{"beta":[]}`), unprocessable, "invalid",
			"/parameters/beta"),
		post("unknown parameter", with(`{"instances":2}`, `,"parameters":{"scheme":"ring"}`), unprocessable, "invalid",
			"/parameters/scheme"),
		post("plans of a wrong type", with(`{"instances":2}`, `,"plans":"yes"`), unprocessable, "invalid", "/plans"),
		post("table beside instances",
			`{"operator":{"instances":2},"routing_table":[],"keys":[{"key":"a","cost":1,"instance":0}]}`, unprocessable,
			"invalid", "/routing_table"),
		post("table to an unknown instance", with(`{"instances":2}`,
			`,"routing_table":[{"key":"a","instance":1},{"key":"b","instance":2}]`), unprocessable, "invalid",
			"/routing_table/1/instance"),
		post("table key twice", with(`{"instances":2}`,
			`,"routing_table":[{"key":"a","instance":1},{"key":"a","instance":0}]`), unprocessable, "invalid",
			"/routing_table/1/key"),
		post("table key empty", with(`{"instances":2}`, `,"routing_table":[{"key":"","instance":1}]`), unprocessable,
			"invalid", "/routing_table/0/key"),
		post("table key missing", with(`{"instances":2}`, `,"routing_table":[{"instance":1}]`), unprocessable, "invalid",
			"/routing_table/0"),
		post("table field unknown", with(`{"instances":2}`, `,"routing_table":[{"key":"a","instance":1,"x":1}]`),
			unprocessable, "invalid", "/routing_table/0/x"),
		post("hash instances of a known hash", `{"operator":{"instances":2,"hash":{"function":"ring"}},`+hashed+`}`,
			unprocessable, "invalid", "/columns/hash_instance/0"),
		post("reported without hash instances", with(`{"instances":2,"hash":{"function":"reported"}}`, ""), unprocessable,
			"invalid", "/columns/hash_instance/0"),
		post("unknown hash instance", `{"operator":{"instances":1},`+hashed+`}`, unprocessable, "invalid",
			"/columns/hash_instance/1"),
		post("malformed", `{"operator"`, badRequest, "malformed", ""),
		post("content type", `a`, http.StatusUnsupportedMediaType, "unsupported_media_type", "",
			"Content-Type: application/octet-stream"),
		post("accept", `{}`, http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/html"),
		{"no instances", "POST", "/v1/what-if", "key,cost\na,1\n", []string{csv}, unprocessable, "invalid", "?instances"},
		{"NaN", "POST", "/v1/what-if?instances=2&theta_max=NaN", "key,cost\na,1\n", []string{csv}, unprocessable, "invalid",
			"?theta_max"},
		{"negative", "POST", "/v1/what-if?instances=2&theta_max=0,-1", "key,cost\na,1\n", []string{csv}, unprocessable,
			"invalid", "?theta_max"},
		{"great", "POST", "/v1/what-if?instances=2&beta=1e999", "key,cost\na,1\n", []string{csv}, unprocessable,
			"invalid", "?beta"},
		{"great limit", "POST", "/v1/what-if?instances=2&table_limit=0,99999999999999999999", "key,cost\na,1\n",
			[]string{csv}, unprocessable, "invalid", "?table_limit"},
		{"no number", "POST", "/v1/what-if?instances=2&beta=a", "key,cost\na,1\n", []string{csv}, badRequest,
			"malformed", "?beta"},
		{"kafka without partitions", "POST", "/v1/what-if?instances=2&hash_function=kafka", "key,cost\na,1\n", []string{csv},
			unprocessable, "invalid", "?partitions"},
	})
}

// compressed returns text in a content encoding.
func compressed(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressedStatistics(t *testing.T) {
	e, _ := prepared(t, func(c *api.Config) { c.Limits.Statistics = input.Limits{Bytes: 64 << 10, Rows: 1000} })
	before := e.state()
	const target = "/v1/operators/clicks/plans?interval=2"
	bomb := "key,cost\n" + strings.Repeat("\n", 1<<20)
	for _, encoding := range []string{"gzip", "zstd"} {
		header := []string{csv, "Content-Encoding: " + encoding}
		good := compressed(t, encoding, "key,cost\n"+strings.Repeat("a", 400)+",1\n")
		e.do("POST", target, string(good[:len(good)/2]), header...).fails(badRequest, "malformed", "")
		e.do("POST", target, string(compressed(t, encoding, bomb)), header...).
			fails(http.StatusRequestEntityTooLarge, "too_large", "")
		e.do("POST", "/v1/what-if?instances=2", string(compressed(t, encoding, bomb)), header...).
			fails(http.StatusRequestEntityTooLarge, "too_large", "")
		e.do("POST", "/v1/what-if?instances=2", string(good), header...).want(http.StatusOK)
	}
	e.do("POST", target, bomb, csv).fails(http.StatusRequestEntityTooLarge, "too_large", "")
	var rows strings.Builder
	rows.WriteString("key,cost\n")
	for i := range 1001 {
		fmt.Fprintf(&rows, "%d,1\n", i)
	}
	e.do("POST", target, rows.String(), csv).fails(http.StatusRequestEntityTooLarge, "too_large", "")
	if e.state() != before {
		t.Error("a refused body left something behind")
	}
	good := compressed(t, "zstd", "key,cost\na,1\n")
	e.do("POST", target, string(good), csv, "Content-Encoding: zstd", "Plannerd-Row-Count: 1").want(http.StatusCreated)
}

// TestDeadline: a request that runs out of time stops planning and leaves
// nothing behind.
func TestDeadline(t *testing.T) {
	e, _ := prepared(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	a := e.send(ctx, "POST", "/v1/what-if", strings.NewReader(
		`{"operator":{"instances":2},"columns":{"key":["a"],"cost":[1]}}`))
	a.fails(http.StatusServiceUnavailable, "busy", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestNumbersThatAreNone: of a number in the query that is none it is said.
func TestNumbersThatAreNone(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	for _, target := range []string{
		"/v1/operators/clicks/plans?interval=1&compact_degree=4&state_scale=NaN",
		"/v1/operators/clicks/plans?interval=1&compact_degree=4&cost_scale=-Inf",
		"/v1/what-if?instances=2&compact_degree=4&cost_scale=nan",
		"/v1/what-if?instances=2&theta_max=0.1,Inf",
		"/v1/what-if?instances=2&beta=infinity",
	} {
		name := target[strings.LastIndexAny(target, "?&")+1 : strings.LastIndexByte(target, '=')]
		p := e.do("POST", target, "key,cost\na,1\n", csv).fails(unprocessable, "invalid", "?"+name).problem()
		if len(p.Errors) != 1 || p.Errors[0].Detail != "must be a finite number" {
			t.Errorf("%s: %+v", target, p.Errors)
		}
	}
	for _, target := range []string{"/v1/operators/clicks/plans?interval=1&state_scale=",
		"/v1/what-if?instances=2&theta_max="} {
		p := e.do("POST", target, "key,cost\na,1\n", csv).fails(unprocessable, "invalid", "").problem()
		if len(p.Errors) != 1 || p.Errors[0].Detail != "is needed and must not be empty" {
			t.Errorf("%s: %+v", target, p.Errors)
		}
	}
}

// TestShareWithoutASign: 5 may be meant as 5 % or as 500 %. An operator that was configured so
// before goes on, and can be changed otherwise.
func TestShareWithoutASign(t *testing.T) {
	e := newEnv(t)
	refused := func(a *answer, where, says string) {
		t.Helper()
		if a.fails(http.StatusUnprocessableEntity, "invalid", where); !strings.Contains(a.problem().Errors[0].Detail, says) {
			t.Errorf("%s", a.body)
		}
	}
	const target, says = "/v1/operators/clicks", `is a share, and 5 would be 500 %: write 5 % as 0.05, or 500 % as "500%"`
	refused(e.do("PUT", target, `{"instances":2,"theta_max":5}`), "/theta_max", says)
	refused(e.do("PUT", target, `{"instances":2,"trigger":{"theta":5}}`), "/trigger/theta", says)
	var op struct {
		ThetaMax float64 `json:"theta_max"`
		ThetaMin float64 `json:"theta_min"`
	}
	e.do("PUT", target, `{"instances":2,"theta_max":"500%","theta_min":"20 %"}`).want(http.StatusCreated).into(&op)
	if op.ThetaMax != 5 || op.ThetaMin != 0.2 {
		t.Errorf("%+v", op)
	}
	patch := func(body string) *answer {
		return e.do("PATCH", target, body, "Content-Type: application/merge-patch+json")
	}
	if patch(`{"table_limit":7}`).want(http.StatusOK).into(&op); op.ThetaMax != 5 {
		t.Errorf("%+v", op)
	}
	refused(patch(`{"theta_max":5}`), "/theta_max", says)
	if patch(`{"theta_max":"3%"}`).want(http.StatusOK).into(&op); op.ThetaMax != 0.03 {
		t.Errorf("%+v", op)
	}
	rows := func(query string) *answer {
		return e.do("POST", "/v1/what-if?instances=2&"+query, "key,cost\na,3\nb,1\n", "Content-Type: text/csv")
	}
	refused(rows("theta_max=3"), "?theta_max", "write 3 % as 0.03, or 300 % as 300%")
	refused(rows("theta_min=20"), "?theta_min", "would be 2000%: write 2000% if that is meant, or 20%")
	var answers struct {
		Results []struct {
			Parameters struct {
				ThetaMax float64 `json:"theta_max"`
				ThetaMin float64 `json:"theta_min"`
			}
		}
	}
	rows("theta_max=3%25,300%25&theta_min=20%25").want(http.StatusOK).into(&answers)
	if got := fmt.Sprint(answers.Results); got != "[{{0.03 0.2}} {{3 0.2}}]" {
		t.Error(got)
	}
	whatIf := func(operator, grid string) *answer {
		return e.do("POST", "/v1/what-if", fmt.Sprintf(
			`{"operator":{"instances":2,"theta_max":%s},"parameters":{"theta_max":[0.1,%s]},"keys":[{"key":"a","cost":1}]}`,
			operator, grid))
	}
	whatIf("0.1", `"20%"`).want(http.StatusOK)
	refused(whatIf("5", "0.2"), "/operator/theta_max", says)
	refused(whatIf("0.1", "5"), "/parameters/theta_max/1", says)
	refused(e.do("POST", "/v1/analyses/ring", `{"nodes":2,"theta_max":5,"keys":[{"key":"a","cost":1}]}`), "/theta_max", says)
}

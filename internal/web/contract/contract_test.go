package contract

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"plannerd/internal/web/httpkit"
)

const document = `
openapi: 3.0.3
info: {title: Things, version: "1"}
paths:
  /things/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, format: int32, minimum: 1}}
    put:
      parameters:
        - {name: page_size, in: query, schema: {type: integer, format: int64, minimum: 1}}
        - {name: share, in: query, schema: {allOf: [{type: number}], default: 1}}
        - {name: limits, in: query, explode: false, schema: {type: array, items: {type: number, x-share: true}}}
        - {name: kinds, in: query, style: form, explode: false,
           schema: {type: array, items: {type: string, enum: [a, b]}}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [name]
              properties:
                name: {type: string, pattern: '^[a-z]+$', x-words: lower-case letters}
                limit: {allOf: [{type: number, minimum: 0, x-share: true}], nullable: true}
                limits: {type: array, items: {oneOf: [{type: number, x-share: true}, {type: boolean}]}}
                size: {oneOf: [{type: integer}, {type: string}]}
      responses: {"200": {description: Done.}}
`

// asked is what the operation reads of a request.
type asked struct {
	ID       int32
	PageSize int64
	Share    float64
	Kinds    []string
	Limits   []float64
}

// put sends a request through a router to the operation, which reads all of it.
func put(t *testing.T, target, media, body string) (q asked, said map[string]any, err error) {
	t.Helper()
	c, err := Load([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	op, err := c.Operation("PUT", "/things/{id}")
	if err != nil {
		t.Fatal(err)
	}
	mux, reached := chi.NewRouter(), false
	mux.Put(op.Path, func(w http.ResponseWriter, r *http.Request) {
		reached = true
		var p Parameters
		if p, err = op.Check(r); err == nil {
			p.Decode(&q)
			_, err = op.Read(w, r, &said)
		}
	})
	r := httptest.NewRequest(http.MethodPut, target, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	mux.ServeHTTP(httptest.NewRecorder(), r)
	if !reached {
		t.Fatalf("%s is not routed", target)
	}
	return q, said, err
}

func TestRead(t *testing.T) {
	q, said, err := put(t, "/things/%37?kinds=a,b&share=0.5&page_size=99999999999999999999", "application/json",
		`{"name":"x"}`)
	if err != nil || q.ID != 7 || q.Share != 0.5 || q.PageSize != httpkit.MaxPageSize ||
		!slices.Equal(q.Kinds, []string{"a", "b"}) {
		t.Errorf("%+v, %v", q, err)
	}
	if said["name"] != "x" {
		t.Errorf("%v", said)
	}
}

// TestShares: the sign of a share is understood in bodies and queries.
func TestShares(t *testing.T) {
	q, said, err := put(t, "/things/7?limits=3%25,0.05,500%25,100%20%25", "application/json",
		`{"name":"x","limit":"500%","limits":["3 %",0.05,true]}`)
	if err != nil || !slices.Equal(q.Limits, []float64{0.03, 0.05, 5, 1}) {
		t.Errorf("%+v, %v", q, err)
	}
	if got := fmt.Sprint(said); got != "map[limit:5 limits:[0.03 0.05 true] name:x]" {
		t.Error(got)
	}
}

// TestRefusals: each names its place, and says what would do.
func TestRefusals(t *testing.T) {
	const media = "application/json"
	for _, c := range []struct {
		target, media, body string
		status              int
		where, detail       string
	}{
		{"/things/x", media, `{}`, 400, "id", "must be of type integer"},
		{"/things/0", media, `{}`, 422, "id", "number must be at least 1"},
		{"/things/4294967296", media, `{}`, 422, "id", "is out of range"},
		{"/things/1?kind=a", media, `{}`, 422, "kind", `is not a parameter of this operation; kinds is`},
		{"/things/1?kinds=a&kinds=b", media, `{}`, 422, "kinds", "stands more than once; separate values by commas: kinds=A,B"},
		{"/things/1?kinds=c", media, `{}`, 422, "kinds", "must be one of a, b"},
		{"/things/1?share=NaN", media, `{}`, 422, "share", "must be a finite number"},
		{"/things/1?share=", media, `{}`, 422, "share", "is needed and must not be empty"},
		{"/things/1?%zz", media, `{}`, 400, "", ""},
		{"/things/1", "text/plain", `{}`, 415, "", ""},
		{"/things/1", media + "; charset=latin1", `{}`, 415, "", ""},
		{"/things/1", media, ``, 400, "", ""},
		{"/things/1", media, `{"name":}`, 400, "/name", "at byte 8: invalid character '}' at start of value"},
		{"/things/1", media, `{"name":"x","name":"y"}`, 400, "/name", ""},
		{"/things/1", media, `{}`, 422, "/name", "is needed"},
		{"/things/1", media, `{"name":"X"}`, 422, "/name", "must be lower-case letters"},
		{"/things/1", media, `{"name":"x","sice":1}`, 422, "/sice", `is not a known field; size is`},
		{"/things/1", media, `{"name":"x","a/~":1}`, 422, "/a~1~0", "is not a known field"},
		{"/things/1?limits=0.5,3", media, `{}`, 422, "limits", "is a share, and 3 would be 300 %: write 3 % as 0.03, or 300 % as 300%"},
		{"/things/1?limits=x%25", media, `{}`, 400, "limits", "must be of type array of number"},
		{"/things/1", media, `{"name":"x","limit":1}`, 422, "/limit",
			`is a share, and 1 would be 100 %: write 1 % as 0.01, or 100 % as "100%"`},
		{"/things/1", media, `{"name":"x","limits":[0,7]}`, 422, "/limits/1",
			`is a share, and 7 would be 700 %: write 7 % as 0.07, or 700 % as "700%"`},
		{"/things/1", media, `{"name":"x","limit":"-5%"}`, 422, "/limit", "number must be at least 0"},
		{"/things/1", media, `{"name":"x","limit":"much"}`, 422, "/limit", "must be of type number"},
		{"/things/1", media, `{"name":"x","size":[]}`, 422, "/size", "must be of type integer or string"},
	} {
		_, _, err := put(t, c.target, c.media, c.body)
		var p *httpkit.Problem
		if !errors.As(err, &p) || p.Status != c.status {
			t.Errorf("%s %s: %v, want %d", c.target, c.body, err, c.status)
			continue
		}
		if c.where == "" {
			continue
		}
		found := slices.ContainsFunc(p.Errors, func(e httpkit.FieldError) bool {
			at := e.Pointer
			if at == nil {
				at = e.Parameter
			}
			return *at == c.where && (c.detail == "" || e.Detail == c.detail)
		})
		if !found {
			text := []string{}
			for _, e := range p.Errors {
				text = append(text, e.Detail)
			}
			t.Errorf("%s %s: %q, want %q at %s", c.target, c.body, text, c.detail, c.where)
		}
	}
}

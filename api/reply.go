package api

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/intake"
	"plannerd/internal/web/httpkit"
)

// reply is the answer to a request that changes something. What it says in full
// is what the store keeps of it under an idempotency key.
type reply struct {
	status   int
	ETag     string `json:"etag,omitzero"`
	Location string `json:"location,omitzero"`
	// Body and Sizes are whole, or the head of a plan whose long lists follow.
	Body  string `json:"body,omitzero"`
	Sizes string `json:"sizes,omitzero"` // of answers that older versions stored

	Plan       string `json:"plan,omitzero"` // its id, if its lists follow
	Base64     bool   `json:"base64,omitzero"`
	Changes    bool   `json:"changes,omitzero"` // what lists there are
	Migrations bool   `json:"migrations,omitzero"`
	text       *planText
}

type storedPlan = *intake.StoredPlan

// planReply is the answer with a whole plan. Its ETag is that of the plan as GET shows
// it.
func planReply(p storedPlan) (*reply, error) {
	plain, err := planBody(p.Plan, keyCoder{})
	if err != nil {
		return nil, err
	}
	text, err := newPlanText(p.Plan, p.Lists, keyCoder{}, p.Persist)
	if err != nil {
		return nil, err
	}
	r := &reply{
		status: http.StatusOK, ETag: httpkit.ETag(plain), Location: "/v1/plans/" + p.ID,
		Plan: p.ID, Body: string(text.head), Base64: text.keys.base64,
		Changes: p.Lists.Change != nil, Migrations: p.Lists.Migrations != nil, text: &text,
	}
	if p.Created {
		r.status = http.StatusCreated
	}
	return r, nil
}

// stepReply is the answer with a plan after a step of its life, without its lists.
func stepReply(p service.Plan) (*reply, error) {
	body, err := planBody(p, keyCoder{})
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, ETag: httpkit.ETag(body), Body: string(body)}, nil
}

func (r *reply) write(w http.ResponseWriter, request *http.Request) error {
	if r.ETag != "" {
		w.Header().Set("ETag", r.ETag)
	}
	if r.Location != "" {
		w.Header().Set("Location", r.Location)
	}
	switch {
	case r.text != nil:
		return httpkit.WriteStream(w, request, r.status, mediaJSON, r.text.write)
	case r.status == http.StatusNoContent:
		w.WriteHeader(r.status)
	default:
		httpkit.WriteBody(w, r.status, mediaJSON, []byte(r.Body))
	}
	return nil
}

// encode returns what the store keeps of the answer.
func (r *reply) encode() ([]byte, error) { return json.Marshal(r) }

func decodeReply(e *claim.EarlierAnswer) (*reply, error) {
	r := &reply{status: e.Status}
	err := json.Unmarshal(e.Answer, r)
	return r, service.Unreadable("a stored answer", err)
}

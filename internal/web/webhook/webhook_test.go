package webhook

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/store"
)

// now is when the tests send.
func now() time.Time { return time.Unix(1_700_000_000, 0) }

var (
	secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("24 bytes, or some more: these"))
	event  = store.WebhookEvent{
		ID: "p1-2", Type: "plannerd.plan.approved", Operator: "team a/clicks", Plan: "p1", Dropped: 3,
		At: time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC), Data: []byte(`{"theta_before":0.5}`),
	}
)

// TestSignature: the example of the specification of Standard Webhooks.
func TestSignature(t *testing.T) {
	secrets, err := parseSecrets([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
	if err != nil {
		t.Fatal(err)
	}
	r := Receiver{secrets: secrets}
	got := r.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSend: a receiver gets a CloudEvent that it can verify, and anything but 2xx is no delivery.
func TestSend(t *testing.T) {
	var got *http.Request
	var body []byte
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		if status/100 == 3 {
			http.Redirect(w, r, "/elsewhere", status)
			return
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	r, err := New(server.URL+"/hook?token=hidden", []byte("# old and new\n"+secret+"\n\n"+secret+"\n"), false, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	var e map[string]any
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"specversion": "1.0", "id": "p1-2", "source": "/v1/operators/team%20a%2Fclicks", "type": "plannerd.plan.approved",
		"subject": "p1", "time": "2026-03-01T12:00:00.000005Z", "datacontenttype": "application/json", "dropped": 3.,
		"data": map[string]any{"theta_before": 0.5},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	h := got.Header
	if h.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" || h.Get("Webhook-Id") != "p1-2" ||
		h.Get("Webhook-Timestamp") != "1700000000" {
		t.Errorf("header %v", h)
	}
	both := strings.Fields(h.Get("Webhook-Signature"))
	if len(both) != 2 || both[0] != both[1] {
		t.Errorf("signatures %q", both)
	}
	if strings.Contains(r.Name(), "hidden") || !strings.HasPrefix(r.Name(), "127.0.0.1-") {
		t.Errorf("it is called %s", r.Name())
	}
	for _, status = range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusGone, http.StatusBadGateway} {
		if err := r.Send(t.Context(), event); err == nil || got.URL.Path != "/hook" {
			t.Errorf("%d counts as delivered (%v), or %s was asked", status, err, got.URL.Path)
		}
	}
	server.Close()
	if err := r.Send(t.Context(), event); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestOpenssl: what the page on webhooks says verifies a signature.
func TestOpenssl(t *testing.T) {
	if _, err := exec.LookPath("openssl"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no openssl")
	}
	secrets, err := parseSecrets([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	r := Receiver{secrets: secrets}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `key=$(echo "${1#whsec_}" | base64 -d | od -An -tx1 | tr -d ' \n')
		printf '%s.%s.%s' p1-2 1700000000 '{"a": 1}' | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64`,
		"-", secret).Output()
	want, _ := strings.CutPrefix(r.sign("p1-2", "1700000000", []byte(`{"a": 1}`)), "v1,")
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("%s, want %s, error %v", got, want, err)
	}
}

// TestNew: what cannot be meant is said.
func TestNew(t *testing.T) {
	for _, c := range []struct {
		url, secrets string
		anyhow       bool
		err          string // "": there is none
	}{
		{"https://example.com/x", secret, false, ""},
		{"http://localhost:9000", secret, false, ""},
		{"http://[::1]:9000", secret, false, ""},
		{"http://example.com", secret, true, ""},
		{"http://example.com", secret, false, "must be https"},
		{"https://a:hidden@example.com", secret, false, "leave name and password out"},
		{"ftp://example.com", secret, false, "write https://"},
		{"example.com", secret, false, "write https://"},
		{"https://", secret, false, "write https://"},
		{"https://exa mple.com/hidden", secret, false, "no URL"},
		{"https://example.com", "", false, "there is no secret"},
		{"https://example.com", "# only this\n", false, "there is no secret"},
		{"https://example.com", "hidden", false, "line 1 is no secret"},
		{"https://example.com", secret + "\nwhsec_c2hvcnQ=", false, "line 2 is no secret"},
	} {
		_, err := New(c.url, []byte(c.secrets), c.anyhow, now)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s with %q: %v, want %q", c.url, c.secrets, err, c.err)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

// Package webhook sends events over HTTP: as CloudEvents 1.0 in structured mode, signed as Standard Webhooks
// has it, an HMAC with SHA-256 of the event's id, the time of sending and the body.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plannerd/store"
)

const (
	prefix      = "whsec_" // of secrets
	leastSecret = 24       // bytes
)

// Receiver is a URL to which events are posted.
type Receiver struct {
	name    string
	url     string
	secrets [][]byte
	client  *http.Client
	now     func() time.Time
}

// New returns the receiver of a URL. secrets has a secret in each line: every one signs, so that a
// receiver can be given another one before the old one ends. anyhow allows http beyond this machine.
func New(address string, secrets []byte, anyhow bool, now func() time.Time) (*Receiver, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL") // which may have a secret in it
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("write https://host/path")
	case u.User != nil:
		return nil, errors.New("leave name and password out: receivers know plannerd by its signature")
	case u.Scheme == "http" && !anyhow && !loopback(u.Hostname()):
		return nil, errors.New("beyond this machine it must be https, or --insecure-http given")
	}
	sum := sha256.Sum256([]byte(address))
	r := &Receiver{name: fmt.Sprintf("%s-%x", u.Hostname(), sum[:4]), url: address, now: now, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if r.secrets, err = parseSecrets(secrets); err != nil {
		return nil, err
	}
	return r, nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func parseSecrets(text []byte) (secrets [][]byte, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		encoded, found := strings.CutPrefix(line, prefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || len(secret) < leastSecret {
			return nil, fmt.Errorf("line %d is no secret: write %s and at least %d random bytes in base64, as "+
				"echo %[2]s$(openssl rand -base64 32) does", i+1, prefix, leastSecret)
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("there is no secret: make one with echo %s$(openssl rand -base64 32)", prefix)
	}
	return secrets, nil
}

// Name is the host with a part of a digest of the URL, since a URL may be a secret.
func (r *Receiver) Name() string { return r.name }

// cloudEvent is an event in the structured mode of CloudEvents.
type cloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Dropped         int64           `json:"dropped"`
	Data            json.RawMessage `json:"data"`
}

// Send posts an event. Any status but 2xx is an error, redirects too: whom they lead to is not who was
// configured.
func (r *Receiver) Send(ctx context.Context, e store.WebhookEvent) error {
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: "/v1/operators/" + url.PathEscape(e.Operator), Type: e.Type, Subject: e.Plan,
		Time: e.At, DataContentType: "application/json", Dropped: e.Dropped, Data: e.Data,
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(r.now().Unix(), 10)
	request.Header = http.Header{
		"Content-Type":      {"application/cloudevents+json; charset=utf-8"},
		"User-Agent":        {"plannerd"},
		"Webhook-Id":        {e.ID},
		"Webhook-Timestamp": {at},
		"Webhook-Signature": {r.sign(e.ID, at, body)},
	}
	response, err := r.client.Do(request)
	if failed := new(url.Error); errors.As(err, &failed) {
		return failed.Err // without the URL
	}
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	if err := response.Body.Close(); err != nil || response.StatusCode/100 == 2 {
		return err
	}
	return fmt.Errorf("the receiver answers %s", cmp.Or(response.Status, strconv.Itoa(response.StatusCode)))
}

// sign returns the signatures by all secrets.
func (r *Receiver) sign(id, at string, body []byte) string {
	var all []string
	for _, secret := range r.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

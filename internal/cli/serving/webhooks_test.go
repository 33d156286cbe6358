package serving

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plannerd/internal/cli"
)

// TestWebhookFlags: what cannot be meant is said at the start, and no secret with it.
func TestWebhookFlags(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	bad := file("bad", "hidden")
	for _, c := range []struct {
		urls, files string
		want        string // in the error; "": none
	}{
		{"", "", ""},
		{"https://a.example", good, ""},
		{"https://a.example https://b.example/x http://127.0.0.1:9", good, ""},
		{"https://a.example https://b.example", good + " " + good, ""},
		{"https://a.example", "", "go together"},
		{"", good, "go together"},
		{"https://a.example https://b.example https://c.example", good + " " + good, "go together"},
		{"https://a.example", filepath.Join(folder, "none"), "no such file"},
		{"https://a.example", bad, "line 1 is no secret"},
		{"https://a.example http://hidden.example", good, "number 2"},
		{"https://a.example https://a.example", good, "there already"},
	} {
		f := webhookFlags{Webhook: strings.Fields(c.urls), WebhookSecretFile: strings.Fields(c.files)}
		o, err := f.receivers(false, time.Now)
		var usage cli.UsageError
		if (err == nil) != (c.want == "") || err == nil && len(o.Receivers) != len(f.Webhook) || err != nil &&
			(!errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s with %s: %v, want %q", c.urls, c.files, err, c.want)
		}
	}
}

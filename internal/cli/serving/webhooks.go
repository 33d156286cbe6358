package serving

import (
	"os"
	"time"

	"plannerd/api"
	"plannerd/internal/cli"
	"plannerd/internal/web/webhook"
)

// webhookFlags say who is told what happens.
type webhookFlags struct {
	Webhook           []string      `placeholder:"URL" group:"Webhooks" help:"URL to which events of operators and plans are posted, such as that a plan waits for a decision (default: none)."`
	WebhookSecretFile []string      `placeholder:"FILE" group:"Webhooks" help:"File of the secrets that sign what is posted, one a line: one file for all URLs, or one for each, in their order (default: none; --webhook needs it)."`
	WebhookPatience   time.Duration `least:"1" default:"5m" group:"Webhooks" help:"Time that an approved plan may wait to be started, and at least that an operator may be without new statistics, before that is posted."`
}

// receivers are the options of the API. anyhow allows http beyond this machine.
func (f *webhookFlags) receivers(anyhow bool, now func() time.Time) (o api.Webhooks, err error) {
	o.Patience = f.WebhookPatience
	files := f.WebhookSecretFile
	if len(f.Webhook) > 1 && len(files) == 1 {
		for range f.Webhook[1:] {
			files = append(files, files[0])
		}
	}
	if len(files) != len(f.Webhook) {
		return o, cli.Usagef("--webhook and --webhook-secret-file go together: give one file, or one for each URL")
	}
	known := map[string]bool{}
	for i, url := range f.Webhook {
		secrets, err := os.ReadFile(files[i])
		if err != nil {
			return o, cli.Usagef("--webhook-secret-file: %w", err)
		}
		r, err := webhook.New(url, secrets, anyhow, now)
		if err != nil {
			return o, cli.Usagef("--webhook number %d with --webhook-secret-file %s: %w", i+1, files[i], err)
		}
		if known[r.Name()] {
			return o, cli.Usagef("--webhook number %d is there already", i+1)
		}
		known[r.Name()] = true
		o.Receivers = append(o.Receivers, r)
	}
	return o, nil
}

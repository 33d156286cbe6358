package collecting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"plannerd/internal/cli"
)

// Cluster says where Kafka is, and as whom it is asked.
type Cluster struct {
	Brokers []string `required:"true" sep:"," placeholder:"HOST:PORT,…" help:"Brokers to begin with; they name the others."`
	TLS     bool     `name:"tls" help:"Connect by TLS." group:"Access to the source"`
	SASL    string   `name:"sasl" enum:"none,plain,scram-sha-256,scram-sha-512,oauthbearer" default:"none" group:"Access to the source" help:"How to log in: none, plain, scram-sha-256, scram-sha-512, or oauthbearer, whose token is in --password-file."`
	Login
}

// Kafka is the command that collects from a topic, or from the partitions of a consumer group.
type Kafka struct {
	Cluster
	Topic  string        `placeholder:"TOPIC" help:"Count the records of a topic by their keys. With --group: only its partitions."`
	Group  string        `placeholder:"GROUP" help:"Collect what a consumer group reads: its partitions are the keys, as topic/partition."`
	Cost   string        `enum:"records,bytes" default:"records" help:"What a key of a topic costs: records, or their bytes (keys and values)."`
	For    time.Duration `placeholder:"DURATION" least:"0" help:"How long to collect (default: 1m, or with --every until the command is interrupted)."`
	From   time.Duration `placeholder:"-DURATION" help:"Count the records of a topic from this long ago on, such as -1h, cut into intervals by --every (default: those from now on)."`
	Memory int64         `type:"bytes" least:"1048576" default:"512MiB" placeholder:"SIZE" help:"Memory that the counts of a topic may take. Where they would take more, keys of little cost are forgotten, and standard error says how much that is (default 512MiB)."`
	Flags
}

// Run executes the command.
func (c *Kafka) Run(env *cli.Environment) error {
	switch {
	case c.Topic == "" && c.Group == "":
		return cli.Usagef("give --topic, or --group")
	case c.From != 0 && (c.Group != "" || c.For != 0):
		return cli.Usagef("--from is of a topic without --group, and without --for")
	}
	past := c.From.Abs()
	s, err := c.scheduleOf(max(c.For, past), time.Minute)
	if err != nil {
		return err
	}
	options, err := c.options(env, "plannerd-collect")
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer client.Close()
	r, err := c.begin(env, "kafka", s)
	if err != nil {
		return err
	}
	defer r.out.Close()
	if c.Group != "" {
		return r.live(env.Ctx, &consumers{Kafka: c, admin: kadm.NewClient(client)})
	}
	t := &topic{Kafka: c, client: client, admin: kadm.NewClient(client), every: s.every}
	if past == 0 {
		return r.live(env.Ctx, t)
	}
	start := time.Now().Add(-past)
	looks, err := t.past(env.Ctx, start, s.most)
	if err != nil {
		return err
	}
	return r.past(env.Ctx, start, looks)
}

// brokerTime is how long questions are asked again by the client itself.
const brokerTime = 10 * time.Second

// options are those of a client, which reads nothing yet.
func (c *Cluster) options(env *cli.Environment, id string) ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID(id), kgo.RetryTimeout(brokerTime),
		// Control records are kept, so that the position tells that all before an offset was read.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(500 * time.Millisecond),
	}
	config, err := c.maybeTLS(c.TLS)
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	if c.SASL == "none" {
		return options, nil
	}
	password, err := c.password(env)
	if err != nil {
		return nil, err
	}
	if password == "" {
		return nil, cli.Usagef("--sasl %s: give --password-file or the environment variable %s", c.SASL, PasswordVariable)
	}
	return append(options, kgo.SASL(c.mechanism(password))), nil
}

func (c *Cluster) mechanism(password string) sasl.Mechanism {
	shaken := scram.Auth{User: c.User, Pass: password}
	switch c.SASL {
	case "scram-sha-256":
		return shaken.AsSha256Mechanism()
	case "scram-sha-512":
		return shaken.AsSha512Mechanism()
	case "oauthbearer":
		return oauth.Auth{Token: password}.AsMechanism()
	}
	return plain.Auth{User: c.User, Pass: password}.AsMechanism()
}

func (c *Kafka) explain(err error) error { return c.explainOf(c.Group, c.Topic, err) }

// explainOf says of an error where it was, and which permission is missing.
func (c *Cluster) explainOf(group, topic string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if parts := (*kadm.ShardErrors)(nil); errors.As(err, &parts) && len(parts.Errs) > 0 {
		err = parts.Errs[0].Err // of a request to one broker
	}
	what := "topic " + topic
	if group != "" {
		what = "group " + group
	}
	at, as := "kafka at "+strings.Join(c.Brokers, ","), ""
	if c.User != "" {
		as = fmt.Sprintf(" %q", c.User)
	}
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Errorf("%s: group %s: the user%s needs the operation Describe on the group: %w", at, group, as, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed) && topic == "":
		return fmt.Errorf("%s: group %s: the user%s needs the operation Describe on the topics of the group: %w", at,
			group, as, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("%s: topic %s: the user%s needs the operations Describe and Read on the topic: %w", at, topic,
			as, err)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("%s: there is no topic %s", at, topic)
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Errorf("%s: the broker refuses to log the user%s in by %s: %w", at, as, c.SASL, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s does not answer: %w", at, err)
	}
	return fmt.Errorf("%s: %s: %w", at, what, err)
}

// listed returns offsets of topics, of which none may have an error.
func listed(
	ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topics ...string,
) (kadm.ListedOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, brokerTime)
	defer cancel()
	offsets, err := list(ctx, topics...)
	return offsets, errors.Join(err, offsets.Error())
}

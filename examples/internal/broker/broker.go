// Package broker runs Apache Kafka, as Maven brings it, for the examples.
package broker

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/examples/internal/trial"
)

// pom names the broker for Maven.
//
//go:embed pom.xml
var pom []byte

// properties are those of a broker that is its own controller.
const properties = `process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{{.Broker}},CONTROLLER://{{.Controller}}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@{{.Controller}}
log.dirs={{.Data}}
auto.create.topics.enable=false
message.max.bytes=16777216
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
add.partitions.to.txn.retry.backoff.ms=1
broker.session.timeout.ms=120000
`

// Broker is a process of Apache Kafka.
type Broker struct {
	Address string
	Secured string // an address that no listener has, unless more properties say so
	Process *os.Process
	classes string
	control string        // the address of the controller
	config  string        // a file
	output  string        // a file
	ended   chan struct{} // closed when the process has ended
}

// fenced is what the controller says once the session of a broker that was killed is over.
const fenced = "because its session has timed out"

// Programs are what brings and runs the broker. ErrMissing says that one is not there, and
// errTaken that the broker has ended because another program listens where it should.
var (
	Programs   = []string{"java", "mvn"}
	errTaken   = errors.New("a port of the broker is taken")
	ErrMissing = errors.New("the broker needs Java (17 or newer) and Maven: programs java and mvn must be in PATH")
)

// attempts is how often a broker is started whose ports another program takes.
const attempts = 3

// Start starts a broker on free ports of loopback, with all it has in a folder. Its properties
// are followed by more, a template of the same data, its class path by more classes.
func Start(ctx context.Context, dir, more string, others ...string) (*Broker, error) {
	text, err := template.New("").Parse(properties + more)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	classes, err := classPath(ctx, dir)
	if err != nil {
		return nil, err
	}
	classes = strings.Join(append([]string{classes}, others...), ":")
	// The broker does not say which ports it has, so it is given free ones. They are free no more
	// where another program takes one before the broker does.
	for attempt := 1; ; attempt++ {
		b, err := tryBroker(ctx, classes, filepath.Join(dir, strconv.Itoa(attempt)), text)
		if !errors.Is(err, errTaken) || attempt == attempts {
			return b, err
		}
	}
}

// tryBroker starts a broker on ports that are free now, with all it has in a new folder.
func tryBroker(ctx context.Context, classes, dir string, properties *template.Template) (*Broker, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	b := &Broker{output: filepath.Join(dir, "broker.log")}
	config := filepath.Join(dir, "server.properties")
	if err := b.configure(ctx, properties, config, filepath.Join(dir, "data")); err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	if err := run(ctx, "java", "-cp", classes, "kafka.tools.StorageTool", "format", "--config", config,
		"--cluster-id="+base64.RawURLEncoding.EncodeToString(id)); err != nil {
		return nil, fmt.Errorf("formatting the broker's storage: %w", err)
	}
	b.classes, b.config = classes, config
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// run runs the program until it answers.
func (b *Broker) run(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	if err := b.ready(ctx); err != nil {
		b.Stop()
		return err
	}
	return nil
}

// start starts the program.
func (b *Broker) start(ctx context.Context, more ...string) error {
	output, err := os.OpenFile(b.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	// It ends by Stop, and not with the context: what still runs writes to it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "java", append([]string{"-Xmx512m", "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.controller=info",
		"-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction=info",
		"-cp", b.classes, "kafka.Kafka", b.config}, more...)...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	b.Process, b.ended = cmd.Process, ended
	go func() { _ = cmd.Wait(); close(ended) }()
	return nil
}

// Restart kills the broker, and runs it again with the data that it had.
//
// At first the controller runs alone, until the session is over that the broker had. Otherwise the broker takes up
// its partitions as they were, and is told then that they have no leader until it has a new session; and Kafka takes
// partitions without a leader for deleted ones when it ends a transaction that was decided before. Such a one stays
// open in them for ever, and who reads what is committed waits (seen in Kafka 4.4.0).
func (b *Broker) Restart(ctx context.Context) error {
	b.kill()
	before := b.fences()
	err := b.start(ctx, "--override", "process.roles=controller", "--override", "listeners=CONTROLLER://"+b.control)
	for begin := time.Now(); err == nil && b.fences() == before && time.Since(begin) < time.Minute; {
		select {
		case <-b.ended:
			said, _ := os.ReadFile(b.output)
			err = fmt.Errorf("the controller has ended\n%s", tail(said))
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	time.Sleep(time.Second) // until the controller has written what it says
	b.Stop()
	return b.run(ctx)
}

func (b *Broker) kill() {
	_ = b.Process.Kill()
	<-b.ended
}

// fences is how often the controller said that a session is over.
func (b *Broker) fences() int {
	said, _ := os.ReadFile(b.output)
	return bytes.Count(said, []byte(fenced))
}

// classPath asks Maven for the broker, which it keeps in its local repository, and for what
// that needs.
func classPath(ctx context.Context, dir string) (string, error) {
	for _, program := range Programs {
		if _, err := exec.LookPath(program); err != nil {
			return "", ErrMissing
		}
	}
	project, list := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "classes")
	if err := os.WriteFile(project, pom, 0o600); err != nil {
		return "", err
	}
	err := run(ctx, "mvn", "--batch-mode", "--quiet", "--file", project, "dependency:build-classpath",
		"-Dmdep.outputFile="+list)
	if err != nil {
		return "", fmt.Errorf("asking Maven for Apache Kafka: %w", err)
	}
	classes, err := os.ReadFile(list)
	return strings.TrimSpace(string(classes)), err
}

// run runs a program, of whose output an error has the end.
func run(ctx context.Context, program string, arguments ...string) error {
	said, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(said))
	}
	return nil
}

// tail is the end of an output.
func tail(said []byte) []byte { return said[max(0, len(said)-4000):] }

// configure chooses the broker's addresses, and writes its configuration.
func (b *Broker) configure(ctx context.Context, properties *template.Template, file, data string) error {
	free, err := trial.FreeAddresses(ctx, 3)
	if err != nil {
		return err
	}
	b.Address, b.control, b.Secured = free[0], free[1], free[2]
	var text bytes.Buffer
	err = properties.Execute(&text, struct{ Broker, Controller, Secured, Data string }{free[0], free[1], free[2], data})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}

// ready waits until the broker answers.
func (b *Broker) ready(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	if err != nil {
		return err
	}
	defer client.Close()
	late := time.After(3 * time.Minute) // where other programs compute, a JVM starts slowly
	for {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		brokers, err := kadm.NewClient(client).ListBrokers(soon)
		cancel()
		if err == nil && len(brokers) == 1 {
			return nil
		}
		select {
		case <-b.ended:
			said, _ := os.ReadFile(b.output)
			if bytes.Contains(said, []byte("Address already in use")) {
				return fmt.Errorf("%w\n%s", errTaken, tail(said))
			}
			return fmt.Errorf("the broker has ended\n%s", tail(said))
		case <-late:
			return fmt.Errorf("the broker does not come up: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Stop ends the broker: by itself, or by force where that takes long.
func (b *Broker) Stop() {
	_ = b.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(10 * time.Second):
		b.kill()
	}
}
